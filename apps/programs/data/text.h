// Text as numbers, for the programs that learn to write it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "panto/lib/core/tensor/tensor.h"

namespace panto::apps {

// A text, each byte by its place in the alphabet.
struct CharacterText {
  std::string alphabet;  // the bytes that occur, in order
  Tensor codes;          // int32 [length]

  int64_t size() const { return static_cast<int64_t>(alphabet.size()); }
  // Codes [n] of these bytes. Throws InvalidArgument for one that does not occur.
  Tensor encode(const std::string& bytes) const;
  char decode(int32_t code) const { return alphabet[static_cast<size_t>(code)]; }
  // Pieces that begin at these places, `length` codes and the codes that follow each of them: int32 [batch, length].
  std::pair<Tensor, Tensor> pieces(const Tensor& starts, int64_t length) const;
};
// Throws as read_file, and InvalidArgument for a text that is shorter than `least`.
CharacterText read_characters(const std::string& path, int64_t least);

struct Vocabulary {
  std::vector<std::string> words;  // the most frequent first
  Tensor text;                     // int32 [n]: the words of the text that are among them
};
// The words of a text, in small letters, that occur most.
Vocabulary read_words(const std::string& path, int64_t size);

struct DrawOptions {
  double temperature = 1;  // by which logits are divided: below 1 what is likely becomes likelier
  int64_t top_k = 0;       // only among so many that are the likeliest; 0: among all
};
// One class by its logits [classes]. Draws from the process's generator.
int32_t draw(const Tensor& logits, const DrawOptions& options);

}  // namespace panto::apps
