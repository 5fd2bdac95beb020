// Products of matrices of 8-bit integers with 32-bit sums.
#pragma once

#include <cstdint>
#include <vector>

#include "panto/lib/core/tensor/tensor.h"

namespace panto::cpu {

// A matrix of bytes of any layout: element (i, j) is data[i * row + j * column], as int8 or uint8, less `zero`.
struct ByteMatrix {
  const uint8_t* data;
  int64_t row, column;
  bool is_signed;
  int64_t zero;
};

// The right factor b[k, n] in the order in which tiles read it. It is stored as int8 and the left factor as uint8, as
// processors multiply these two; shifting the elements by 128 shifts their zero too.
class PackedBytes {
 public:
  PackedBytes(int64_t k, int64_t n, const ByteMatrix& b);

  int64_t depth() const { return k_; }
  int64_t columns() const { return n_; }
  // Number of panels of columns: the units by which a product can be split between threads.
  int64_t panels() const;

  // Computes c[m, n] = a[m, k] b[k, n] in the columns of panels [first, last), on the calling thread. Sums wrap. `c` is
  // dense. Throws Cancelled if the call is cancelled.
  void multiply(int64_t m, const ByteMatrix& a, int32_t* c, int64_t first, int64_t last) const;
  void multiply(int64_t m, const ByteMatrix& a, int32_t* c) const { multiply(m, a, c, 0, panels()); }

 private:
  template <class Tile>
  void pack(const ByteMatrix& b);
  template <class Tile>
  void multiply_by(int64_t m, const ByteMatrix& a, int32_t* c, int64_t first, int64_t last) const;

  int64_t k_, n_;
  uint32_t zero_;               // zero of the stored elements
  Tensor packed_;               // of int8 or int16, as this machine's tile reads them
  std::vector<uint32_t> sums_;  // of each column
};

// Computes c[m, n] = a[m, k] b[k, n] on all threads.
void byte_gemm(int64_t m, int64_t n, int64_t k, const ByteMatrix& a, const ByteMatrix& b, int32_t* c);

}  // namespace panto::cpu
