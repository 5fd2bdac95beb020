// Kernels that count numbers by row and return the counts as entries of a sparse tensor.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <utility>

#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/row_numbers.h"
#include "panto/device/cpu/sparse/entries.h"
#include "panto/device/cpu/sparse/splits.h"
#include "panto/device/op_kernels.h"
#include "panto/lib/base/text/format.h"

namespace panto {
namespace {

// Counts by row and number.
template <class T>
class Counts {
 public:
  Counts(const KernelContext& c, int values, int weights)
      : values_(c.in(values)),
        binary_(c.flag("binary_output")),
        weights_(c.numel(weights) > 0 ? c.data<T>(weights) : nullptr),
        most_(c.integer("maxlength")) {
    for (int64_t i = 0; i < values_.count(); ++i) {
      if (values_[i] < 0) invalid("values[{}]: expected at least 0, got {}", i, values_[i]);
    }
  }
  int64_t count() const { return values_.count(); }

  void add(int64_t row, int64_t element) {
    const int64_t number = values_[element];
    if (most_ > 0 && number >= most_) return;
    largest_ = std::max(largest_, number);
    T& count = counts_[{row, number}];
    count = binary_ ? T{1} : k::add(count, weights_ != nullptr ? weights_[element] : T{1});
  }
  // `rows` is -1 if the input is a vector.
  void put_out(KernelContext& c, int64_t rows) const {
    const int64_t rank = rows < 0 ? 1 : 2, n = static_cast<int64_t>(counts_.size());
    const Tensor indices = allocate_tensor(c.device(), kInt64, Shape{n, rank});
    const Tensor values = allocate_tensor(c.device(), dtype_of<T>, Shape{n});
    const Tensor shape = allocate_tensor(c.device(), kInt64, Shape{rank});
    auto* index = mutable_data<int64_t>(indices);
    T* value = mutable_data<T>(values);
    for (const auto& [place, count] : counts_) {
      if (rank == 2) *index++ = place.first;
      *index++ = place.second;
      *value++ = count;
    }
    if (most_ <= 0 && largest_ == std::numeric_limits<int64_t>::max()) {
      invalid("values: expected less than {}, got it", largest_);
    }
    auto* dims = mutable_data<int64_t>(shape);
    if (rank == 2) *dims++ = rows;
    *dims = most_ > 0 ? most_ : std::max(largest_ + 1, c.integer("minlength"));
    c.set_out(0, indices);
    c.set_out(1, values);
    c.set_out(2, shape);
  }

 private:
  Indices values_;
  bool binary_;
  const T* weights_;
  int64_t most_, largest_ = 0;
  std::map<std::pair<int64_t, int64_t>, T> counts_;
};

struct Dense {
  template <class T>
  static void run(KernelContext& c) {
    Counts<T> counts(c, 0, 1);
    const bool matrix = c.shape(0).rank() == 2;
    const int64_t width = matrix ? c.shape(0).dim(1) : 1;
    for (int64_t i = 0; i < counts.count(); ++i) counts.add(matrix ? i / width : 0, i);
    counts.put_out(c, matrix ? c.shape(0).dim(0) : -1);
  }
};

struct Sparse {
  template <class T>
  static void run(KernelContext& c) {
    const cpu::EntryIndices indices(c, 0);
    cpu::check_within(indices, c.data<int64_t>(2), "indices");
    Counts<T> counts(c, 1, 3);
    const bool one_row = indices.rank() == 1;
    for (int64_t i = 0; i < counts.count(); ++i) counts.add(one_row ? 0 : indices[i][0], i);
    counts.put_out(c, one_row ? -1 : c.data<int64_t>(2)[0]);
  }
};

struct Ragged {
  template <class T>
  static void run(KernelContext& c) {
    const Indices splits(c.in(0));
    Counts<T> counts(c, 1, 2);
    cpu::check_splits(splits, counts.count(), "splits");
    for (int64_t r = 0; r + 1 < splits.count(); ++r) {
      for (int64_t i = splits[r]; i < splits[r + 1]; ++i) counts.add(r, i);
    }
    counts.put_out(c, splits.count() - 1);
  }
};

using Types = TypeList<float, double, int32_t, int64_t>;
const CpuKernel dense("DenseCountSparseOutput", Types{}, Dense{});
const CpuKernel sparse("SparseCountSparseOutput", Types{}, Sparse{});
const CpuKernel ragged("RaggedCountSparseOutput", Types{}, Ragged{});

}  // namespace
}  // namespace panto
