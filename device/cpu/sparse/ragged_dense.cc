// The kernel that converts ragged tensors to dense ones. Partitions are checked before they are used.
#include <algorithm>
#include <string>
#include <vector>

#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/row_numbers.h"
#include "panto/device/cpu/sparse/splits.h"
#include "panto/device/math/vocabulary.h"
#include "panto/device/op_kernels.h"
#include "panto/lib/ops/array/values.h"

namespace panto {
namespace {

// The row partition of one ragged dimension, as row splits or as each element's row number.
class Partition {
 public:
  // Throws InvalidArgument unless the tensor partitions `rows` rows.
  Partition(const Tensor& t, bool is_splits, int64_t rows, int number) : numbers_(t), is_splits_(is_splits) {
    const std::string what = fmt::format("row_partition_tensors[{}]", number);
    if (is_splits) {
      const int64_t count = numbers_.count() - 1;
      if (count != rows) invalid("{}: expected splits of {} rows, got {}", what, rows, count);
      cpu::check_splits(numbers_, numbers_[count], what.c_str());
      elements_ = numbers_[count];
      return;
    }
    elements_ = numbers_.count();
    for (int64_t i = 0; i < elements_; ++i) {
      const int64_t least = i == 0 ? 0 : numbers_[i - 1];
      if (numbers_[i] < least || numbers_[i] >= rows) {
        invalid("{}[{}]: expected a row in [{}, {}), got {}", what, i, least, rows, numbers_[i]);
      }
    }
  }
  int64_t elements() const { return elements_; }
  // Calls visit(row, column) for each element.
  template <class Visit>
  void for_each(const Visit& visit) const {
    int64_t row = 0, begin = 0;
    for (int64_t i = 0; i < elements_; ++i) {
      if (is_splits_) {
        while (numbers_[row + 1] <= i) ++row;
        begin = numbers_[row];
      } else if (numbers_[i] != row || i == 0) {
        row = numbers_[i];
        begin = i;
      }
      visit(row, i - begin);
    }
  }

 private:
  Indices numbers_;
  bool is_splits_;
  int64_t elements_ = 0;
};

struct Ragged {
  int64_t rows;  // size of the first dimension
  std::vector<Partition> partitions;

  explicit Ragged(const KernelContext& c) {
    const std::span<const std::string> types = c.texts("row_partition_types");
    const bool has_size = types[0] == "FIRST_DIM_SIZE";
    rows = has_size ? host_integer(c.in(3)) : c.numel(3) - 1;
    if (rows < 0) invalid("row_partition_tensors[0]: expected at least 0 rows, got {}", rows);
    int64_t elements = rows;
    for (size_t i = has_size ? 1 : 0; i < types.size(); ++i) {
      const auto number = static_cast<int>(i);
      partitions.emplace_back(c.in(3 + number), types[i] == "ROW_SPLITS", elements, number);
      elements = partitions.back().elements();
    }
    if (elements != c.shape(1).dim(0)) {
      invalid("values: expected {}, as the partitions say, got {}", elements, c.shape(1).dim(0));
    }
  }
};

struct RunToTensor {
  template <class T>
  static void run(KernelContext& c) {
    const Ragged ragged(c);
    const Shape& values = c.shape(1);
    std::vector<int64_t> dims;
    for (size_t k = 0; k <= ragged.partitions.size(); ++k) {
      const int64_t wanted = c.shape(0).rank() == 0 ? -1 : host_integer(c.in(0), static_cast<int64_t>(k));
      dims.push_back(wanted >= 0 ? wanted : k == 0 ? ragged.rows : longest(ragged.partitions[k - 1]));
    }
    const std::vector<int64_t> leading = dims;
    for (int k = 1; k < values.rank(); ++k) dims.push_back(values.dim(k));
    Tensor out = allocate_tensor(c.device(), c.in(1).dtype(), Shape(dims));
    if (out.numel() > 0) write(c, ragged, leading, mutable_data<T>(out), out.numel());
    c.set_out(0, std::move(out));
  }

 private:
  template <class T>
  static void write(const KernelContext& c, const Ragged& ragged, const std::vector<int64_t>& dims, T* out,
                    int64_t elements) {
    const int64_t length = row_size(c.shape(1));
    fill(c, out, elements / length, length);
    // The offset of each element of a dimension in the dense output, or -1 if it is cut off. Not stored for the first
    // dimension, which may have more elements than fit into memory.
    std::vector<int64_t> places, next;
    bool is_first = true;
    const auto place_of = [&](int64_t i) {
      if (is_first) return i < dims[0] ? i : -1;
      return places[static_cast<size_t>(i)];
    };
    for (size_t k = 0; k < ragged.partitions.size(); ++k) {
      next.clear();
      ragged.partitions[k].for_each([&](int64_t row, int64_t column) {
        const int64_t place = place_of(row), size = dims[k + 1];
        next.push_back(place < 0 || column >= size ? -1 : place * size + column);
      });
      places.swap(next);
      is_first = false;
    }
    for (int64_t i = 0; i < c.shape(1).dim(0); ++i) {
      const int64_t place = place_of(i);
      if (place >= 0) std::copy_n(c.data<T>(1) + i * length, length, out + place * length);
    }
  }

  static int64_t longest(const Partition& partition) {
    int64_t most = 0;
    partition.for_each([&](int64_t, int64_t column) { most = std::max(most, column + 1); });
    return most;
  }

  // Fills the output with the default, broadcast to the shape of a value.
  template <class T>
  static void fill(const KernelContext& c, T* out, int64_t places, int64_t length) {
    const Shape &values = c.shape(1), &shape = c.shape(2);
    const int added = values.rank() - shape.rank();
    for (int64_t i = 0; i < length; ++i) {
      int64_t rest = i, at = 0, stride = 1;
      for (int k = values.rank(); k-- > added;) {
        const int64_t dim = shape.dim(k - added);
        at += dim == 1 ? 0 : rest % values.dim(k) * stride;
        stride *= dim;
        rest /= values.dim(k);
      }
      out[i] = c.data<T>(2)[at];
    }
    for (int64_t i = 1; i < places; ++i) std::copy_n(out, length, out + i * length);
  }
};

const CpuKernel to_tensor_kernel("RaggedTensorToTensor", types::every{}, RunToTensor{});

}  // namespace
}  // namespace panto
