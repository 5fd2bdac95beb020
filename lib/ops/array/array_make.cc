// Ops that make tensors from a few numbers.

#include <cmath>

#include "panto/lib/base/checked.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/op/gradient.h"
#include "panto/lib/ops/array/values.h"
#include "panto/lib/ops/batching.h"
#include "panto/lib/ops/create.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/tangents.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"

namespace panto {
namespace {

using Dims = SmallVector<int64_t, 8>;

void fill_shape(ShapeContext& c) {
  c.vector(0);
  c.expect_scalar(1);
  const KnownIntegers values(c, 0);
  if (!values.counted()) return c.output(PartialShape::unknown());
  Dims dims;
  for (int64_t i = 0; i < values.count(); ++i) {
    if (values.known(i) && values[i] < 0) invalid("dims[{}]: expected at least 0, got {}", i, values[i]);
    dims.push_back(values.known(i) ? values[i] : kUnknownDim);
  }
  PartialShape result(std::span<const int64_t>(dims.data(), dims.size()));
  if (c.symbolic() && result.rank() <= 1 && result.numel() >= 0 && result.numel() <= kMaxPartialValues) {
    if (const auto value = c.values(1); value && value->size() == 1) {
      c.output_values(0, PartialValues(static_cast<size_t>(result.numel()), (*value)[0]));
    }
  }
  c.output(std::move(result));
}

// The number of steps of size `delta` from `start` to `limit`, rounded up.
int64_t step_count(int64_t start, int64_t limit, int64_t delta) {
  if (delta == 0) invalid("delta: expected a number other than 0, got 0");
  if ((delta > 0 && start > limit) || (delta < 0 && start < limit)) {
    invalid("limit: expected it at or beyond start {} in the direction of delta {}, got {}", start, delta, limit);
  }
  // Unsigned: the difference of two int64 may need 64 bits.
  const uint64_t distance = delta > 0 ? static_cast<uint64_t>(limit) - static_cast<uint64_t>(start)
                                      : static_cast<uint64_t>(start) - static_cast<uint64_t>(limit);
  const uint64_t step = delta > 0 ? static_cast<uint64_t>(delta) : uint64_t{0} - static_cast<uint64_t>(delta);
  const uint64_t count = distance / step + (distance % step != 0 ? 1 : 0);
  if (count > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    invalid("number of elements: expected fewer than 2^63, got {}", count);
  }
  return static_cast<int64_t>(count);
}

// The same for floating types, in the element's precision, as in TensorFlow.
template <class T>
int64_t step_count_real(T start, T limit, T delta) {
  if (delta == 0) invalid("delta: expected a number other than 0, got 0");
  if ((delta > 0 && start > limit) || (delta < 0 && start < limit)) {
    invalid("limit: expected it at or beyond start {} in the direction of delta {}, got {}", start, delta, limit);
  }
  const double count = std::ceil(std::abs((limit - start) / delta));
  // Also false for NaN.
  if (!(count < 0x1p63)) invalid("number of elements: expected fewer than 2^63, got {}", count);
  return static_cast<int64_t>(count);
}

// The value of floating scalar input i, nullopt if it is symbolic or not in host memory.
std::optional<double> known_real(const ShapeContext& c, int i) {
  const TensorImpl& impl = *c.in(i).impl();
  if (impl.meta != nullptr || !impl.device->host_memory()) return std::nullopt;
  switch (impl.dtype) {
    case kFloat32: return *static_cast<const float*>(impl.data);
    case kFloat64: return *static_cast<const double*>(impl.data);
    case kFloat16: return static_cast<float>(*static_cast<const Half*>(impl.data));
    case kBFloat16: return static_cast<float>(*static_cast<const BFloat16*>(impl.data));
    default: return std::nullopt;
  }
}

// The value of uint64 scalar input i, which may exceed int64; nullopt if it is symbolic or not in host memory.
std::optional<uint64_t> known_unsigned(const ShapeContext& c, int i) {
  const TensorImpl& impl = *c.in(i).impl();
  if (impl.meta != nullptr || !impl.device->host_memory()) return std::nullopt;
  return *static_cast<const uint64_t*>(impl.data);
}

// Handles ranges of uint64; returns whether this was one with known bounds.
bool unsigned_range(ShapeContext& c) {
  if (c.in(0).dtype() != kUint64) return false;
  const auto start = known_unsigned(c, 0), limit = known_unsigned(c, 1), delta = known_unsigned(c, 2);
  if (!start || !limit || !delta) return false;
  if (*delta == 0) invalid("delta: expected a number other than 0, got 0");
  if (*start > *limit) {
    invalid("limit: expected it at or beyond start {} in the direction of delta {}, got {}", *start, *delta, *limit);
  }
  const uint64_t distance = *limit - *start, count = distance / *delta + (distance % *delta != 0 ? 1 : 0);
  if (count > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    invalid("number of elements: expected fewer than 2^63, got {}", count);
  }
  c.output({static_cast<int64_t>(count)});
  return true;
}

void range_shape(ShapeContext& c) {
  for (int i = 0; i < 3; ++i) c.expect_scalar(i);
  c.output({kUnknownDim});
  if (unsigned_range(c)) return;
  if (dtypes::kFloating.contains(c.in(0).dtype())) {
    const auto start = known_real(c, 0);
    const auto limit = known_real(c, 1);
    const auto delta = known_real(c, 2);
    if (!start || !limit || !delta) return;
    c.output({c.in(0).dtype() == kFloat64 ? step_count_real(*start, *limit, *delta)
                                          : step_count_real(static_cast<float>(*start), static_cast<float>(*limit),
                                                            static_cast<float>(*delta))});
    return;
  }
  const auto start = known_scalar(c, 0);
  const auto limit = known_scalar(c, 1);
  const auto delta = known_scalar(c, 2);
  if (delta == 0) invalid("delta: expected a number other than 0, got 0");
  if (!start || !limit || !delta) return;
  const int64_t count = step_count(*start, *limit, *delta);
  c.output({count});
  if (!c.symbolic() || count > kMaxPartialValues) return;
  PartialValues values;
  for (int64_t i = 0; i < count; ++i) values.push_back(*start + i * *delta);
  c.output_values(0, std::move(values));
}

void fill_batch(BatchContext& c) {
  if (c.batched(0)) return c.loop();
  const Tensor value = c.with_rank(1, c.out_shape().rank());
  c.set_out(0, broadcast_to(value, c.with_size(c.out_shape())));
}

void lin_space_shape(ShapeContext& c) {
  for (int i = 0; i < 2; ++i) c.expect_scalar(i);
  const std::optional<int64_t> num = known_scalar(c, 2);
  if (num && *num < 1) invalid("num: expected at least 1, got {}", *num);
  c.output({num.value_or(kUnknownDim)});
}

void bitcast_shape(ShapeContext& c) {
  const auto from = static_cast<int64_t>(dtype_size(c.in(0).dtype()));
  const auto to = static_cast<int64_t>(dtype_size(c.type("type")));
  const PartialShape& shape = c.shape(0);
  if (from == to) return c.output(shape);
  if (!shape.known_rank()) return c.output(PartialShape::unknown());
  SmallVector<int64_t, 8> dims;
  for (const int64_t d : shape.dims()) dims.push_back(d);
  if (from > to) {
    dims.push_back(from / to);
  } else {
    if (dims.empty() || (dims.back() >= 0 && dims.back() != to / from)) {
      invalid("last dimension: expected {}, the elements that make one of {}, got shape {}", to / from,
              dtype_name(c.type("type")), shape.to_string());
    }
    dims.pop_back();
  }
  c.output(PartialShape(std::span<const int64_t>(dims.data(), dims.size())));
}

}  // namespace

const Op& kFill = define_op("Fill(dims: index_type @host, value: T; T: type, index_type: index = int32) -> (output: T)",
                            {.doc = "A tensor of shape `dims` full of the scalar `value`.",
                             .traits = {Trait::kDataMovement},
                             .primary = "T",
                             .shape = fill_shape,
                             .gradient = [](GradContext& g) { g.set(1, sum(g.dy())); },
                             .batch = fill_batch});

const Op& kRange =
    define_op("Range(start: Tidx @host, limit: Tidx @host, delta: Tidx @host; Tidx: real = int32) -> (output: Tidx)",
              {.doc = "start, start + delta, start + 2 delta, ... up to but without `limit`.",
               .shape = range_shape,
               .no_gradient = "its inputs say how many elements there are"});

const Op& kLinSpace = define_op(
    "LinSpace(start: T, stop: T, num: Tidx @host; T: floating, Tidx: index = int32) -> (output: T)",
    {.doc = "`num` numbers at equal distances, of which the first is `start` and the last `stop`. With one, `start`.",
     .primary = "T",
     .shape = lin_space_shape,
     .saves = {in(2)},
     .gradient =
         [](GradContext& g) {
           const auto end = [&](double value) { return cast(constant(tensor(value), kFloat64), g.in_type(0)); };
           if (g.needs(0)) g.set(0, sum(g.dy() * lin_space(end(1), end(0), g.in(2))));
           if (g.needs(1)) g.set(1, sum(g.dy() * lin_space(end(0), end(1), g.in(2))));
         },
     .flops = [](const CostContext& c) { return 2 * c.out_numel(0); },
     .batch = batching::loop,
     .jvp = tangents::linear});

const Op& kBitcast = define_op(
    "Bitcast(input: T; T: numeric|quantized, type: numeric|quantized) -> (output: type)",
    {.doc = "The same bytes, read as elements of another type. Where those are smaller, each element becomes several, "
            "along a new last dimension; where they are larger, the last dimension becomes one element, and goes.",
     .shape = bitcast_shape,
     .no_gradient = "bytes are not differentiable",
     .batch = batching::trailing});

const Op& kEmpty = define_op(
    "Empty(shape: int32 @host; dtype: type, init: bool = false) -> (output: dtype)",
    {.doc = "Zeros (empty strings) of a shape that a tensor holds. TensorFlow leaves what was in memory unless `init` "
            "is true.",
     .body =
         [](CompositeContext& c) {
           const DType type = c.type("dtype");
           const Tensor one = type == kString ? constant(tensor(std::string()), kString) : zeros(Shape{}, type);
           c.set_out(0, fill(c.in(0), one));
         },
     .in_tensorflow = true,
     .no_gradient = "it has no elements to depend on"});

}  // namespace panto
