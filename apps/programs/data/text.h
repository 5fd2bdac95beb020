// Encodes text as numbers, for the programs that learn to write it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "panto/lib/core/tensor/tensor.h"

namespace panto::apps {

// A text in which each byte is coded by its position in the alphabet.
struct CharacterText {
  std::string alphabet;  // the bytes that occur, in order
  Tensor codes;          // int32 [length]

  int64_t size() const { return static_cast<int64_t>(alphabet.size()); }
  // Returns the codes [n] of these bytes. Throws InvalidArgument for a byte that is not in the alphabet.
  Tensor encode(const std::string& bytes) const;
  char decode(int32_t code) const { return alphabet[static_cast<size_t>(code)]; }
  // Returns pieces of `length` codes that begin at `starts`, and the same shifted by one code: int32 [batch, length]
  // each.
  std::pair<Tensor, Tensor> pieces(const Tensor& starts, int64_t length) const;
};
// Throws as read_file does, and InvalidArgument for a text shorter than `least`.
CharacterText read_characters(const std::string& path, int64_t least);

struct Vocabulary {
  std::vector<std::string> words;  // the most frequent first
  Tensor text;                     // int32 [n]: the text's words that are in `words`
};
// Returns the `size` most frequent words of a text, in lower case.
Vocabulary read_words(const std::string& path, int64_t size);

struct DrawOptions {
  double temperature = 1;  // divides the logits: below 1, likely classes become likelier
  int64_t top_k = 0;       // draws among this many likeliest classes; 0: among all
};
// Draws a class by its logits [classes], from the process's generator.
int32_t draw(const Tensor& logits, const DrawOptions& options);

}  // namespace panto::apps
