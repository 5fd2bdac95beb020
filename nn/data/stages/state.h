// Where a pass stands, as bytes: what the sources of a pipeline write, from the last stage to the first, and read
// again in the same order. Internal.
//
// Bytes are read back wherever they come from: sizes are compared with what is there before memory is taken.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "panto/nn/data/dataset.h"

namespace panto::data {

class StateWriter {
 public:
  // Each source begins with the name of its stage, so that a state of another pipeline is told from this one's.
  void stage(std::string_view name) { text(name); }
  void number(uint64_t number);
  void flag(bool flag) { number(flag ? 1 : 0); }
  void text(std::string_view text);
  // Throws Unimplemented for tensors of resources and variants.
  void element(const Element& element);

  // The bytes, with a checksum.
  std::string finish() const;

 private:
  std::string bytes_;
};

class StateReader {
 public:
  // Throws DataLoss for what `finish` did not give.
  explicit StateReader(std::string_view bytes);

  // All throw DataLoss where the bytes hold something else.
  // Throws InvalidArgument where another stage wrote what follows.
  void stage(std::string_view name);
  uint64_t number();
  // Of a place or a count. Throws DataLoss beyond `most`.
  int64_t count(int64_t most = INT64_MAX);
  bool flag() { return count(1) == 1; }
  std::string text();
  Element element();
  // Throws InvalidArgument, for stages of the same name and other options: "state: expected the buffer 10, got 20".
  void expect(std::string_view what, uint64_t number);
  void expect(std::string_view what, std::string_view text);
  // Throws DataLoss.
  [[noreturn]] static void damaged(std::string_view expected, std::string_view got);
  // Throws DataLoss where bytes are left.
  void finish() const;

 private:
  std::string_view take(uint64_t count);

  std::string_view bytes_;
};

}  // namespace panto::data
