// Kernels of ragged tensors in variants.
#include <algorithm>
#include <ranges>
#include <utility>
#include <vector>

#include "panto/device/cpu/collections/stacked.h"
#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/sparse/splits.h"
#include "panto/device/op_kernels.h"
#include "panto/lib/core/collections/ragged_value.h"

namespace panto {
namespace {

std::vector<int64_t> dims_of(const Shape& shape) { return {shape.dims().begin(), shape.dims().end()}; }

// ---- RaggedTensorToVariant ------------------------------------------------------------------------------------------

struct RunToVariant {
  template <class T>
  static void run(KernelContext& c) {
    const auto count = static_cast<int>(c.integer("RAGGED_RANK"));
    const std::vector<Indices> splits = cpu::checked_splits(c, count, "rt_nested_splits", cpu::check_splits);
    const Tensor& values = c.in(count);
    if (!c.flag("batched_input")) {
      std::vector<Tensor> nested;
      for (int k = 0; k < count; ++k) nested.push_back(c.in(k));
      return c.set_out(0, ragged_tensor(RaggedValue(std::move(nested), values)));
    }
    const int64_t rows = count == 0 ? values.shape().dim(0) : splits[0].count() - 1;
    const Tensor variants = allocate_tensor(c.device(), kVariant, Shape{rows});
    for (int64_t r = 0; r < rows; ++r) {
      mutable_data<Variant>(variants)[r].value = std::make_shared<RaggedValue>(row<T>(c, splits, values, r));
    }
    c.set_out(0, variants);
  }

 private:
  template <class T>
  static RaggedValue row(const KernelContext& c, const std::vector<Indices>& splits, const Tensor& values, int64_t r) {
    std::vector<Tensor> nested;
    int64_t begin = r, end = r + 1;
    for (size_t k = 0; k < splits.size(); ++k) {
      const int64_t first = splits[k][begin], last = splits[k][end];
      if (k > 0) {
        cpu::SplitsWriter writer(c, end - begin);
        for (int64_t j = begin; j < end; ++j) writer.push(splits[k][j + 1] - first);
        nested.push_back(writer.take());
      }
      begin = first;
      end = last;
    }
    std::vector<int64_t> dims = dims_of(values.shape());
    if (splits.empty()) {
      dims.erase(dims.begin());
    } else {
      dims[0] = end - begin;
    }
    const int64_t length = row_size(values.shape());
    const Tensor part = allocate_tensor(c.device(), values.dtype(), Shape(dims));
    std::copy_n(static_cast<const T*>(values.impl()->data) + begin * length, (end - begin) * length,
                mutable_data<T>(part));
    return {std::move(nested), part};
  }
};

// ---- RaggedTensorFromVariant ----------------------------------------------------------------------------------------

// Returns the ragged tensors in the variants of input 0. Throws InvalidArgument for other ragged ranks or types.
std::vector<const RaggedValue*> pieces_of(const KernelContext& c, int64_t ragged_rank) {
  const DType type = c.type("Tvalues"), splits_type = c.type("Tsplits");
  std::vector<const RaggedValue*> pieces;
  for (int64_t i = 0; i < c.numel(0); ++i) {
    const RaggedValue& piece = ragged_of(c.data<Variant>(0)[i], i);
    if (static_cast<int64_t>(piece.row_splits().size()) != ragged_rank) {
      invalid("encoded_ragged[{}]: expected {} ragged dimensions, got {}", i, ragged_rank, piece.row_splits().size());
    }
    if (piece.values().dtype() != type) {
      invalid("encoded_ragged[{}]: expected values of {}, got {}", i, dtype_name(type),
              dtype_name(piece.values().dtype()));
    }
    if (ragged_rank > 0 && piece.row_splits()[0].dtype() != splits_type) {
      invalid("encoded_ragged[{}]: expected splits of {}, got {}", i, dtype_name(splits_type),
              dtype_name(piece.row_splits()[0].dtype()));
    }
    pieces.push_back(&piece);
  }
  return pieces;
}

struct RunFromVariant {
  template <class T>
  static void run(KernelContext& c) {
    const Shape& shape = c.shape(0);
    const int64_t out = c.integer("output_ragged_rank"), in = out == 0 ? 0 : out - shape.rank();
    const std::vector<const RaggedValue*> pieces = pieces_of(c, in);
    if (shape.rank() == 0) return give(c, pieces[0]->row_splits(), pieces[0]->values());
    if (out == 0) return give(c, {}, stacked_values(c, pieces));
    std::vector<Tensor> splits;
    // Splits with rows of equal length, for all dimensions of the variants but the last.
    int64_t rows = 1;
    for (int k = 0; k + 1 < shape.rank(); ++k) {
      rows = checked_mul(rows, shape.dim(k), "rows");
      cpu::SplitsWriter writer(c, rows);
      for (int64_t i = 1; i <= rows; ++i) writer.push(i * shape.dim(k + 1));
      splits.push_back(writer.take());
    }
    cpu::SplitsWriter writer(c, c.numel(0));
    for (size_t i = 0; i < pieces.size(); ++i) {
      const RaggedValue& piece = *pieces[i];
      if (piece.values().rank() < 1) {
        invalid("encoded_ragged[{}]: expected values with at least 1 dimension, got a scalar", i);
      }
      const int64_t length = in > 0 ? piece.row_splits()[0].numel() - 1 : piece.values().shape().dim(0);
      writer.push(checked_add(writer.last(), length, "rows"));
    }
    splits.push_back(writer.take());
    for (int64_t k = 0; k < in; ++k) splits.push_back(joined_splits(c, pieces, static_cast<size_t>(k)));
    give(c, std::move(splits), joined_values<T>(c, pieces));
  }

 private:
  static void give(KernelContext& c, std::vector<Tensor> splits, Tensor values) {
    int next = 0;
    for (Tensor& t : splits) c.set_out(next++, std::move(t));
    c.set_out(next, std::move(values));
  }

  static Tensor stacked_values(const KernelContext& c, const std::vector<const RaggedValue*>& pieces) {
    if (pieces.empty()) return allocate_tensor(c.device(), c.type("Tvalues"), Shape{0});
    const Shape& first = pieces[0]->values().shape();
    std::vector<Tensor> values;
    for (size_t i = 0; i < pieces.size(); ++i) {
      values.push_back(pieces[i]->values());
      if (values[i].shape() != first) {
        invalid("encoded_ragged[{}]: expected values of shape {}, as the others, got {}", i, first.to_string(),
                values[i].shape().to_string());
      }
    }
    return stacked(values, c.type("Tvalues"), first);
  }

  // Concatenates the splits of ragged dimension k of all pieces.
  static Tensor joined_splits(const KernelContext& c, const std::vector<const RaggedValue*>& pieces, size_t k) {
    int64_t rows = 0;
    for (const RaggedValue* piece : pieces) rows += piece->row_splits()[k].numel() - 1;
    cpu::SplitsWriter writer(c, rows);
    for (const RaggedValue* piece : pieces) {
      const Indices splits(piece->row_splits()[k]);
      const int64_t before = writer.last();
      for (int64_t i = 1; i < splits.count(); ++i) writer.push(checked_add(before, splits[i], "rows"));
    }
    return writer.take();
  }

  template <class T>
  static Tensor joined_values(const KernelContext& c, const std::vector<const RaggedValue*>& pieces) {
    std::vector<int64_t> dims = pieces.empty() ? std::vector<int64_t>{0} : dims_of(pieces[0]->values().shape());
    int64_t rows = 0;
    for (size_t i = 0; i < pieces.size(); ++i) {
      const std::vector<int64_t> own = dims_of(pieces[i]->values().shape());
      if (!std::ranges::equal(own | std::views::drop(1), dims | std::views::drop(1))) {
        invalid("encoded_ragged[{}]: expected values of shape {} but for the first dimension, as the others, got {}", i,
                whole(Shape(dims).to_string()), whole(Shape(own).to_string()));
      }
      rows = checked_add(rows, own[0], "number of values");
    }
    dims[0] = rows;
    Tensor joined = allocate_tensor(c.device(), c.type("Tvalues"), Shape(dims));
    T* to = mutable_data<T>(joined);
    for (const RaggedValue* piece : pieces) {
      to = std::copy_n(static_cast<const T*>(piece->values().impl()->data), piece->values().numel(), to);
    }
    return joined;
  }
};

// ---- RaggedTensorToVariantGradient ----------------------------------------------------------------------------------

struct RunToVariantGradient {
  template <class T>
  static void run(KernelContext& c) {
    const DType type = c.type("Tvalues");
    const Shape& shape = c.inferred_shape(0);
    const Indices splits(c.in(1));
    Tensor gradient = zeros_of(type, shape);
    T* to = mutable_data<T>(gradient);
    int64_t left = shape.numel();
    const auto take = [&](int64_t count) {
      if (count < 0 || count > left) {
        invalid("encoded_ragged_grad: expected {} elements, as dense_values_shape says, got more", shape.numel());
      }
      left -= count;
      return std::exchange(to, to + count);
    };
    const int64_t length = shape.rank() > 0 ? row_size(shape) : 1;
    for (int64_t i = 0; i < c.numel(0); ++i) {
      const Variant& variant = c.data<Variant>(0)[i];
      if (variant.value == nullptr) {
        // No gradient for this row: it stays zero.
        if (i + 1 >= splits.count()) invalid("row_splits: expected a split for each variant, got {}", splits.count());
        take(checked_mul(splits[i + 1] - splits[i], length, "number of elements"));
        continue;
      }
      const Tensor& values = ragged_of(variant, i).values();
      if (values.dtype() != type) {
        invalid("encoded_ragged_grad[{}]: expected values of {}, got {}", i, dtype_name(type),
                dtype_name(values.dtype()));
      }
      std::copy_n(static_cast<const T*>(values.impl()->data), values.numel(), take(values.numel()));
    }
    if (left != 0) {
      invalid("encoded_ragged_grad: expected {} elements, as dense_values_shape says, got {}", shape.numel(),
              shape.numel() - left);
    }
    c.set_out(0, std::move(gradient));
  }
};

using Numbers = TypeList<float, double, Half, BFloat16, std::complex<float>, std::complex<double>, int8_t, int16_t,
                         int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t>;

const CpuKernel to_variant_kernel("RaggedTensorToVariant", types::every{}, RunToVariant{});
const CpuKernel from_variant_kernel("RaggedTensorFromVariant", types::every{}, RunFromVariant{});
const CpuKernel gradient_kernel("RaggedTensorToVariantGradient", Numbers{}, RunToVariantGradient{});

}  // namespace
}  // namespace panto
