// Products of matrices of 8-bit integers in sums of 32 bits.
#pragma once

#include <cstdint>
#include <vector>

namespace panto::cpu {

// A matrix of bytes of any layout: element (i, j) is data[i * row + j * column], as int8 or uint8, less `zero`.
struct ByteMatrix {
  const uint8_t* data;
  int64_t row, column;
  bool is_signed;
  int64_t zero;
};

// The right factor b[k, n] in the order in which tiles read it. Its elements are kept as int8, those of the left factor
// as uint8, since that is what processors multiply; what is added to either moves its zero.
class PackedBytes {
 public:
  PackedBytes(int64_t k, int64_t n, const ByteMatrix& b);

  int64_t depth() const { return k_; }
  int64_t columns() const { return n_; }
  // Panels of columns, the unit in which a product may be divided between threads.
  int64_t panels() const;

  // Rows of c[m, n] = a[m, k] b[k, n] in the columns of panels [first, last), on the calling thread. Sums wrap. `c` is
  // dense. Throws Cancelled where that was requested.
  void multiply(int64_t m, const ByteMatrix& a, int32_t* c, int64_t first, int64_t last) const;
  void multiply(int64_t m, const ByteMatrix& a, int32_t* c) const { multiply(m, a, c, 0, panels()); }

 private:
  template <class Tile>
  void pack(const ByteMatrix& b);
  template <class Tile>
  void multiply_by(int64_t m, const ByteMatrix& a, int32_t* c, int64_t first, int64_t last) const;

  int64_t k_, n_;
  uint32_t zero_;                // of the elements as they are kept
  std::vector<int8_t> bytes_;    // one of the two, by what the processor multiplies
  std::vector<int16_t> shorts_;  //
  std::vector<uint32_t> sums_;   // of each column
};

// c[m, n] = a[m, k] b[k, n], on all threads.
void byte_gemm(int64_t m, int64_t n, int64_t k, const ByteMatrix& a, const ByteMatrix& b, int32_t* c);

}  // namespace panto::cpu
