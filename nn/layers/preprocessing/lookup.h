// Numbers for words and other categories, by a vocabulary.
//
//   StringLookup animals({"cat", "dog"});
//   animals(tensor({"dog", "cow", "cat"}));              // [2, 0, 1]: 0 is for what is not in the vocabulary
//   animals.words(tensor({1, 2}));                       // ["cat", "dog"]
//
//   TextVectorization text({.max_tokens = 1000, .length = 20});
//   text.adapt(sentences);                               // the most frequent words
//   text(tensor({"The cat sat."}));                      // int64[1, 20]
//
// Layers are handles: copies share the vocabulary that `adapt` sets. They compute with constants, so traced functions
// and graphs have the vocabulary of the time when they were made. Thread-safety: calls may run in several threads at
// once, but not beside `adapt`.
#pragma once

#include <concepts>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/nn/layers/layer.h"
#include "panto/nn/layers/preprocessing/preprocessing.h"

namespace panto {

struct StringLookupOptions {
  int64_t oov = 1;                       // numbers for words that are not in the vocabulary: by a hash, if several
  std::optional<std::string> mask = {};  // a word that has number 0, before those
  std::string oov_word = "[UNK]";        // what `words` gives for them
  int64_t max_tokens = 0;                // numbers altogether that `adapt` gives, 0: as many as there are words
  CategoryOutput output = CategoryOutput::kInt;
};

// int64 numbers of strings: 0 for the mask, if there is one, then `oov` numbers, then the vocabulary's words in order,
// as Keras's StringLookup (of several numbers for other words it is Fingerprint64 of FarmHash that chooses).
class PANTO_EXPORT StringLookup final : public BuiltInLayer {
 public:
  // Throws InvalidArgument for a word that occurs twice or is the mask, and unless oov is positive.
  // Of words in braces or in a vector: lists and templates, so that options in braces are taken for what they are.
  explicit StringLookup(std::initializer_list<std::string> vocabulary, StringLookupOptions options = {})
      : StringLookup(std::move(options), std::vector<std::string>(vocabulary)) {}
  template <std::same_as<std::vector<std::string>> Words>
  explicit StringLookup(const Words& vocabulary, StringLookupOptions options = {})
      : StringLookup(std::move(options), vocabulary) {}
  explicit StringLookup(StringLookupOptions options = {}) : StringLookup(std::move(options), {}) {}
  // The vocabulary becomes that of `data`'s strings: the most frequent first, of equally frequent ones the last in the
  // order of their bytes. Throws InvalidArgument for another dtype.
  void adapt(const Tensor& data) const;
  // Throws InvalidArgument for another dtype than string.
  Tensor forward(const Tensor& x) const override;
  // The words of numbers (int32 or int64): the mask, the oov word, or the vocabulary's. Throws InvalidArgument for
  // numbers that are none.
  Tensor words(const Tensor& numbers) const;
  // What stands for each number.
  std::vector<std::string> vocabulary() const;
  std::string to_string() const override;

 private:
  struct State;
  StringLookup(StringLookupOptions options, const std::vector<std::string>& vocabulary);
  void set(std::vector<std::string> words) const;
  Tensor numbers_of(const Tensor& x) const;
  int64_t count() const;  // of numbers, with those for the mask and for other words
  friend class TextVectorization;

  StringLookupOptions options_;
  std::shared_ptr<State> state_;
};

struct IntegerLookupOptions {
  int64_t oov = 1;  // numbers for integers that are not in the vocabulary: by the remainder, if several
  std::optional<int64_t> mask = {};  // an integer that has number 0, before those
  int64_t max_tokens = 0;            // numbers altogether that `adapt` gives, 0: as many as there are integers
  CategoryOutput output = CategoryOutput::kInt;
};

// The same of integers, as Keras's IntegerLookup.
class PANTO_EXPORT IntegerLookup final : public BuiltInLayer {
 public:
  // Throw as StringLookup's.
  explicit IntegerLookup(std::initializer_list<int64_t> vocabulary, IntegerLookupOptions options = {})
      : IntegerLookup(options, std::vector<int64_t>(vocabulary)) {}
  template <std::same_as<std::vector<int64_t>> Integers>
  explicit IntegerLookup(const Integers& vocabulary, IntegerLookupOptions options = {})
      : IntegerLookup(options, vocabulary) {}
  explicit IntegerLookup(IntegerLookupOptions options = {}) : IntegerLookup(options, {}) {}
  void adapt(const Tensor& data) const;
  // int32 or int64.
  Tensor forward(const Tensor& x) const override;
  // The vocabulary, without numbers for others.
  std::vector<int64_t> vocabulary() const;
  std::string to_string() const override;

 private:
  struct State;
  IntegerLookup(IntegerLookupOptions options, const std::vector<int64_t>& vocabulary);
  void set(std::vector<int64_t> integers) const;

  IntegerLookupOptions options_;
  std::shared_ptr<State> state_;
};

// What is done to a text before it is split.
enum class TextStandard : uint8_t { kNone, kLower, kStripPunctuation, kLowerAndStripPunctuation };
// Where it is split.
enum class TextSplit : uint8_t { kNone, kWhitespace };

struct TextVectorizationOptions {
  int64_t max_tokens = 0;  // numbers altogether, 0: as many as there are words
  TextStandard standard = TextStandard::kLowerAndStripPunctuation;
  TextSplit split = TextSplit::kWhitespace;
  CategoryOutput output = CategoryOutput::kInt;  // or kMultiHot, kCount
  int64_t length = 0;                            // of each text in words; 0: of the longest one
};

// Texts as the numbers of their words, as Keras's TextVectorization: strings [batch] or [batch, 1] -> int64[batch,
// length] with 0 behind the last word and 1 for words that are not in the vocabulary; or float32[batch, numbers],
// without a number for what is behind. No n-grams, and no weights by frequency (tf_idf).
class PANTO_EXPORT TextVectorization final : public BuiltInLayer {
 public:
  // Throws InvalidArgument for an output of kOneHot and a negative length.
  explicit TextVectorization(TextVectorizationOptions options = {});
  TextVectorization(const std::vector<std::string>& vocabulary, TextVectorizationOptions options);
  void adapt(const Tensor& texts) const;
  Tensor forward(const Tensor& x) const override;
  std::vector<std::string> vocabulary() const { return lookup_.vocabulary(); }
  std::string to_string() const override;

 private:
  struct Words {
    Tensor indices, values, shape;
  };
  Words words_of(const Tensor& texts) const;

  TextVectorizationOptions options_;
  StringLookup lookup_;
};

}  // namespace panto
