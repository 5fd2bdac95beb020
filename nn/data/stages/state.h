// The position of a pass as bytes: the sources of a pipeline write it, from the last stage to the first, and read it in
// the same order. Internal.
//
// Bytes may come from anywhere: sizes are compared with the bytes that are left before memory is allocated.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "panto/nn/data/dataset.h"

namespace panto::data {

class StateWriter {
 public:
  // Each source begins with the name of its stage, so that a state of another pipeline is recognized.
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
  // Throws DataLoss for bytes that `finish` did not write.
  explicit StateReader(std::string_view bytes);

  // All throw DataLoss if the bytes hold something else.
  // Throws InvalidArgument if another stage wrote the following bytes.
  void stage(std::string_view name);
  uint64_t number();
  // Reads a position or a count. Throws DataLoss if it is above `most`.
  int64_t count(int64_t most = INT64_MAX);
  bool flag() { return count(1) == 1; }
  std::string text();
  Element element();
  // Throws InvalidArgument, for stages of the same name with other options: "state: expected the buffer 10, got 20".
  void expect(std::string_view what, uint64_t number);
  void expect(std::string_view what, std::string_view text);
  // Throws DataLoss.
  [[noreturn]] static void damaged(std::string_view expected, std::string_view got);
  // Throws DataLoss if bytes are left over.
  void finish() const;

 private:
  std::string_view take(uint64_t count);

  std::string_view bytes_;
};

}  // namespace panto::data
