// Kernels of ragged tensors. Splits are checked before they are used.
#include <algorithm>
#include <cmath>
#include <type_traits>
#include <utility>
#include <vector>

#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/row_numbers.h"
#include "panto/device/cpu/sparse/splits.h"
#include "panto/device/math/convert.h"
#include "panto/device/math/vocabulary.h"
#include "panto/device/op_kernels.h"
#include "panto/lib/base/checked.h"

namespace panto {
namespace {

// ---- RaggedRange ----------------------------------------------------------------------------------------------------

template <class T>
int64_t range_size(T start, T limit, T delta, int64_t row) {
  if (delta == 0) invalid("deltas[{}]: expected not 0, got 0", row);
  if ((delta > 0 && limit < start) || (delta < 0 && limit > start)) return 0;
  if constexpr (std::is_integral_v<T>) {
    // Unsigned, because the distance may exceed int64.
    const auto a = static_cast<uint64_t>(start), b = static_cast<uint64_t>(limit), d = static_cast<uint64_t>(delta);
    const uint64_t distance = delta > 0 ? b - a : a - b, step = delta > 0 ? d : 0 - d;
    return checked_cast<int64_t>(distance / step + (distance % step != 0 ? 1 : 0), "number of elements");
  } else {
    const T size = std::ceil(std::abs((limit - start) / delta));
    if (!(size < static_cast<T>(9223372036854775808.0))) {
      invalid("row {}: expected a number of elements below 2^63, got {}", row, static_cast<double>(size));
    }
    return static_cast<int64_t>(size);
  }
}

struct RunRange {
  template <class T>
  static void run(KernelContext& c) {
    using As = Compute<T>;
    int64_t rows = 1;
    for (int i = 0; i < 3; ++i) rows = c.shape(i).rank() == 1 ? c.numel(i) : rows;
    const auto at = [&](int i, int64_t row) { return convert<As>(c.data<T>(i)[c.shape(i).rank() == 1 ? row : 0]); };
    cpu::SplitsWriter splits(c, rows);
    std::vector<int64_t> sizes;
    for (int64_t r = 0; r < rows; ++r) {
      sizes.push_back(range_size<As>(at(0, r), at(1, r), at(2, r), r));
      splits.push(checked_add(splits.last(), sizes.back(), "number of elements"));
    }
    Tensor values = allocate_tensor(c.device(), c.in(0).dtype(), Shape{splits.last()});
    T* out = mutable_data<T>(values);
    for (int64_t r = 0; r < rows; ++r) {
      As value = at(0, r);
      const As delta = at(2, r);
      for (int64_t i = 0; i < sizes[static_cast<size_t>(r)]; ++i) {
        *out++ = convert<T>(value);
        value = k::add(value, delta);
      }
    }
    c.set_out(0, splits.take());
    c.set_out(1, std::move(values));
  }
};

// ---- RaggedGather ---------------------------------------------------------------------------------------------------

struct RunGather {
  template <class T>
  static void run(KernelContext& c) {
    const auto count = static_cast<int>(c.integer("PARAMS_RAGGED_RANK"));
    const std::vector<Indices> params = cpu::checked_splits(c, count, "params_nested_splits", cpu::check_splits_within);
    const Indices indices(c.in(count + 1));
    const Shape& shape = c.shape(count + 1);
    indices.check(params[0].count() - 1);
    // Splits with rows of equal length, for all dimensions of the indices but the last.
    const auto levels = static_cast<size_t>(c.integer("OUTPUT_RAGGED_RANK"));
    std::vector<cpu::SplitsWriter> out;
    int64_t rows = 1;
    for (int k = 0; k + 1 < shape.rank(); ++k) {
      rows = checked_mul(rows, shape.dim(k), "rows");
      out.emplace_back(c, rows);
      for (int64_t i = 1; i <= rows; ++i) out.back().push(i * shape.dim(k + 1));
    }
    // Counts the gathered rows, then copies them.
    const size_t before = out.size(), skipped = shape.rank() == 0 ? 1 : 0;  // a scalar removes a dimension
    std::vector<int64_t> sizes(static_cast<size_t>(count));
    int64_t total = 0;
    for_each_slice(params, indices, [&](size_t k, int64_t begin, int64_t end) {
      int64_t& size = k < sizes.size() ? sizes[k] : total;
      size = checked_add(size, end - begin, "number of rows");
    });
    for (size_t k = skipped; k < sizes.size(); ++k) out.emplace_back(c, sizes[k]);
    std::vector<int64_t> dims(c.shape(count).dims().begin(), c.shape(count).dims().end());
    dims[0] = total;
    const int64_t length = row_size(c.shape(count));
    Tensor values = allocate_tensor(c.device(), c.in(count).dtype(), Shape(dims));
    T* to = mutable_data<T>(values);
    for_each_slice(params, indices, [&](size_t k, int64_t begin, int64_t end) {
      if (k == params.size()) {
        to = std::copy_n(c.data<T>(count) + begin * length, (end - begin) * length, to);
      } else if (k >= skipped) {
        cpu::SplitsWriter& splits = out[before + k - skipped];
        const int64_t moved = splits.last() - params[k][begin];
        for (int64_t j = begin; j < end; ++j) splits.push(params[k][j + 1] + moved);
      }
    });
    for (size_t k = 0; k < levels; ++k) c.set_out(static_cast<int>(k), out[k].take());
    c.set_out(static_cast<int>(levels), std::move(values));
  }

 private:
  // Calls visit(k, begin, end) for each index with its rows in each ragged dimension k, and last with its values.
  template <class Visit>
  static void for_each_slice(const std::vector<Indices>& params, const Indices& indices, const Visit& visit) {
    for (int64_t i = 0; i < indices.count(); ++i) {
      int64_t begin = indices[i], end = begin + 1;
      for (size_t k = 0; k < params.size(); ++k) {
        visit(k, begin, end);
        begin = params[k][begin];
        end = params[k][end];
      }
      visit(params.size(), begin, end);
    }
  }
};

// ---- RaggedTensorToSparse -------------------------------------------------------------------------------------------

struct RunToSparse {
  template <class T>
  static void run(KernelContext& c) {
    const auto count = static_cast<int>(c.integer("RAGGED_RANK"));
    const std::vector<Indices> splits = cpu::checked_splits(c, count, "rt_nested_splits", cpu::check_splits);
    const Shape& shape = c.shape(count);
    const int64_t rank = count + shape.rank(), length = row_size(shape);
    Tensor indices = allocate_tensor(c.device(), kInt64, Shape{c.numel(count), rank});
    Tensor values = allocate_tensor(c.device(), c.in(count).dtype(), Shape{c.numel(count)});
    Tensor dims = allocate_tensor(c.device(), kInt64, Shape{rank});
    std::copy_n(c.data<T>(count), c.numel(count), mutable_data<T>(values));
    auto* dim = mutable_data<int64_t>(dims);
    dim[0] = splits[0].count() - 1;
    for (int k = 0; k < count; ++k) {
      int64_t longest = 0;
      const Indices& s = splits[static_cast<size_t>(k)];
      for (int64_t r = 0; r + 1 < s.count(); ++r) longest = std::max(longest, s[r + 1] - s[r]);
      dim[k + 1] = longest;
    }
    for (int k = 1; k < shape.rank(); ++k) dim[count + k] = shape.dim(k);
    auto* to = mutable_data<int64_t>(indices);
    std::vector<int64_t> row(static_cast<size_t>(count));  // the element's row in each ragged dimension
    for (int64_t v = 0; v < shape.dim(0); ++v) {
      int64_t element = v;
      for (int k = count; k-- > 0;) {
        const Indices& s = splits[static_cast<size_t>(k)];
        int64_t& r = row[static_cast<size_t>(k)];
        while (s[r + 1] <= element) ++r;
        to[k + 1] = element - s[r];
        element = r;
      }
      to[0] = element;
      for (int64_t i = 0; i < length; ++i) {
        if (i > 0) std::copy_n(to - rank, count + 1, to);
        int64_t rest = i;
        for (int k = shape.rank(); k-- > 1;) {
          to[count + k] = rest % shape.dim(k);
          rest /= shape.dim(k);
        }
        to += rank;
      }
    }
    c.set_out(0, std::move(indices));
    c.set_out(1, std::move(values));
    c.set_out(2, std::move(dims));
  }
};

const CpuKernel range_kernel("RaggedRange", TypeList<float, double, int32_t, int64_t, BFloat16>{}, RunRange{});
const CpuKernel gather_kernel("RaggedGather", types::every{}, RunGather{});
const CpuKernel to_sparse_kernel("RaggedTensorToSparse", types::every{}, RunToSparse{});

}  // namespace
}  // namespace panto
