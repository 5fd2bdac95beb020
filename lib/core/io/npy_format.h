// The .npy format: a header in the syntax of a Python dictionary, then the elements. Internal to lib/core.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "panto/lib/core/tensor/tensor.h"

namespace panto::npy {

// A parsed header: describes the elements that follow.
struct Header {
  char kind = 0;  // NumPy's: b i u f c S U, V for bfloat16
  size_t item_bytes = 0;
  bool swapped = false;  // most significant byte first
  bool fortran_order = false;
  Shape shape;
  DType quantized = DType::kInvalid;  // the quantized type that these integers represent, if any
  DType dtype() const;
};

// Throws InvalidArgument for an invalid header, Unimplemented for element types that the library lacks.
Header parse_header(std::string_view text);

// The bytes of a file, read sequentially.
class Source {
 public:
  virtual ~Source() = default;
  // Exactly `count` bytes. Throws DataLoss if fewer are left.
  virtual void read(void* to, size_t count) = 0;
  virtual uint64_t remaining() const = 0;
};

Tensor read(Source& source);

// A tensor as the two parts of its .npy file. Both parts live as long as this object does.
class Image {
 public:
  explicit Image(const Tensor& t);
  Image(const Image&) = delete;
  Image& operator=(const Image&) = delete;
  std::string_view header() const { return header_; }
  std::string_view elements() const { return elements_; }
  size_t bytes() const { return header_.size() + elements_.size(); }

 private:
  Tensor host_;
  std::string header_;
  std::string padded_;  // for string tensors
  std::string_view elements_;
};

}  // namespace panto::npy
