// Layers that map words and other categories to numbers, by a vocabulary.
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
// and graphs keep the vocabulary of the time when they were made. Thread-safety: calls may run in several threads at
// once, but not while `adapt` runs.
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
  int64_t oov = 1;                       // numbers for words outside the vocabulary; if several, a hash chooses
  std::optional<std::string> mask = {};  // a word with number 0, before the oov numbers
  std::string oov_word = "[UNK]";        // what `words` returns for the oov numbers
  int64_t max_tokens = 0;                // the most numbers that `adapt` gives; 0: as many as there are words
  CategoryOutput output = CategoryOutput::kInt;
};

// Maps strings to int64 numbers: 0 for the mask, if there is one, then `oov` numbers, then the vocabulary's words in
// order, as Keras's StringLookup (but with several oov numbers, Fingerprint64 of FarmHash chooses).
class PANTO_EXPORT StringLookup final : public BuiltInLayer {
 public:
  // Throws InvalidArgument for a word that occurs twice or is the mask, and unless oov is positive. Words come in
  // braces or in a vector: overloads and templates, so that options in braces are not taken for words.
  explicit StringLookup(std::initializer_list<std::string> vocabulary, StringLookupOptions options = {})
      : StringLookup(std::move(options), std::vector<std::string>(vocabulary)) {}
  template <std::same_as<std::vector<std::string>> Words>
  explicit StringLookup(const Words& vocabulary, StringLookupOptions options = {})
      : StringLookup(std::move(options), vocabulary) {}
  explicit StringLookup(StringLookupOptions options = {}) : StringLookup(std::move(options), {}) {}
  // Sets the vocabulary to the strings in `data`: the most frequent first; among equally frequent ones the one whose
  // bytes compare greater first. Throws InvalidArgument for another dtype.
  void adapt(const Tensor& data) const;
  // Throws InvalidArgument unless x has dtype string.
  Tensor forward(const Tensor& x) const override;
  // The words of numbers (int32 or int64): the mask, the oov word, or a word of the vocabulary. Throws InvalidArgument
  // for a number out of range.
  Tensor words(const Tensor& numbers) const;
  // The word of each number.
  std::vector<std::string> vocabulary() const;
  std::string to_string() const override;

 private:
  struct State;
  StringLookup(StringLookupOptions options, const std::vector<std::string>& vocabulary);
  void set(std::vector<std::string> words) const;
  Tensor numbers_of(const Tensor& x) const;
  int64_t count() const;  // of numbers, including those for the mask and for oov words
  friend class TextVectorization;

  StringLookupOptions options_;
  std::shared_ptr<State> state_;
};

struct IntegerLookupOptions {
  int64_t oov = 1;                   // numbers for integers outside the vocabulary; if several, the remainder chooses
  std::optional<int64_t> mask = {};  // an integer with number 0, before the oov numbers
  int64_t max_tokens = 0;            // the most numbers that `adapt` gives; 0: as many as there are integers
  CategoryOutput output = CategoryOutput::kInt;
};

// The same for integers, as Keras's IntegerLookup.
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
  // The vocabulary without the oov numbers.
  std::vector<int64_t> vocabulary() const;
  std::string to_string() const override;

 private:
  struct State;
  IntegerLookup(IntegerLookupOptions options, const std::vector<int64_t>& vocabulary);
  void set(std::vector<int64_t> integers) const;

  IntegerLookupOptions options_;
  std::shared_ptr<State> state_;
};

// How a text is changed before it is split.
enum class TextStandard : uint8_t { kNone, kLower, kStripPunctuation, kLowerAndStripPunctuation };
// Where a text is split.
enum class TextSplit : uint8_t { kNone, kWhitespace };

struct TextVectorizationOptions {
  int64_t max_tokens = 0;  // the most numbers in all; 0: as many as there are words
  TextStandard standard = TextStandard::kLowerAndStripPunctuation;
  TextSplit split = TextSplit::kWhitespace;
  CategoryOutput output = CategoryOutput::kInt;  // or kMultiHot, kCount
  int64_t length = 0;                            // words per text; 0: as many as the longest text has
};

// Maps texts to the numbers of their words, as Keras's TextVectorization: strings [batch] or [batch, 1] -> int64[batch,
// length], with 0 after the last word and 1 for words outside the vocabulary; or float32[batch, numbers] without the
// number 0. No n-grams, and no weights by frequency (tf_idf).
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
