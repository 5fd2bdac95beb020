// Kernels that count numbers by rows.
#include <algorithm>

#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/row_numbers.h"
#include "panto/device/cpu/sparse/entries.h"
#include "panto/device/cpu/sparse/splits.h"
#include "panto/device/op_kernels.h"

namespace panto {
namespace {

// Adds elements to the bins of rows. Input `weights` has a weight for each element, or is empty.
template <class T>
class Bins {
 public:
  Bins(const KernelContext& c, int weights)
      : binary_(c.flag("binary_output")),
        weights_(c.numel(weights) > 0 && !binary_ ? c.data<T>(weights) : nullptr),
        out_(c.out_data<T>(0)),
        size_(c.out_shape(0).dim(c.out_shape(0).rank() - 1)) {
    std::fill_n(out_, c.out_numel(0), T{});
  }
  void add(int64_t row, int64_t number, int64_t element) {
    if (!cpu::in_range(number, size_)) return;
    T& bin = out_[row * size_ + number];
    bin = binary_ ? T{1} : k::add(bin, weights_ != nullptr ? weights_[element] : T{1});
  }

 private:
  bool binary_;
  const T* weights_;
  T* out_;
  int64_t size_;
};

void refuse_negative(const Indices& values) {
  for (int64_t i = 0; i < values.count(); ++i) {
    if (values[i] < 0) invalid("values[{}]: expected at least 0, got {}", i, values[i]);
  }
}

struct RunSparse {
  template <class T>
  static void run(KernelContext& c) {
    const cpu::EntryIndices indices(c, 0);
    const Indices values(c.in(1));
    cpu::check_within(indices, c.data<int64_t>(2), "indices");
    const bool one_row = indices.rank() == 1;
    if (one_row) refuse_negative(values);
    Bins<T> bins(c, 4);
    for (int64_t i = 0; i < values.count(); ++i) bins.add(one_row ? 0 : indices[i][0], values[i], i);
  }
};

struct RunRagged {
  template <class T>
  static void run(KernelContext& c) {
    const Indices splits(c.in(0)), values(c.in(1));
    cpu::check_splits(splits, values.count(), "splits");
    refuse_negative(values);
    Bins<T> bins(c, 3);
    for (int64_t r = 0; r + 1 < splits.count(); ++r) {
      for (int64_t i = splits[r]; i < splits[r + 1]; ++i) bins.add(r, values[i], i);
    }
  }
};

const CpuKernel sparse_kernel("SparseBincount", TypeList<float, double, int32_t, int64_t>{}, RunSparse{});
const CpuKernel ragged_kernel("RaggedBincount", TypeList<float, double, int32_t, int64_t>{}, RunRagged{});

}  // namespace
}  // namespace panto
