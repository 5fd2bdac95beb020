#include "panto/lib/ops/batching.h"

#include <algorithm>
#include <string>

#include "panto/lib/base/log.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/ops/array/values.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"

namespace panto {
namespace {

// The dimensions; unknown ones are -1, of which reshape can infer one.
std::vector<int64_t> dims_of(const PartialShape& shape) { return {shape.dims().begin(), shape.dims().end()}; }

bool reshape_finds(const std::vector<int64_t>& dims) { return std::ranges::count(dims, kUnknownDim) <= 1; }

// Dimensions [first, first + count) of shape(t), as a vector.
Tensor recorded_dims(const Tensor& t, int64_t first, int64_t count) {
  return slice(shape(t, {.out_type = kInt64}), {first}, {count});
}

// The batch's size, as a vector of one element, from the first batched input.
Tensor recorded_size(std::span<const Tensor> inputs, std::span<const uint8_t> batched) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (batched[i] != 0) return recorded_dims(inputs[i], 0, 1);
  }
  return {};
}

}  // namespace

std::optional<std::vector<int64_t>> all_integers(const Tensor& t) {
  if (!dtypes::kInteger.contains(t.dtype()) || t.partial_shape().rank() > 1) return std::nullopt;
  const KnownIntegers known(t);
  if (!known.counted() || !known.complete()) return std::nullopt;
  return std::vector<int64_t>(known.values().begin(), known.values().end());
}

Tensor axes_behind_batch(const Tensor& axes, int rank) {
  if (auto known = all_integers(axes)) {
    for (int64_t& axis : *known) axis = axis < 0 ? axis + rank + 1 : axis + 1;
    const Tensor moved = cast(constant_integers(*known), axes.dtype());
    return axes.partial_shape().rank() == 0 ? reshape(moved, Shape{}) : moved;
  }
  return add(floor_mod(axes, cast(constant_integers({rank}), axes.dtype())),
             cast(constant_integers({1}), axes.dtype()));
}

Tensor put_before(const std::vector<int64_t>& first, const Tensor& values) {
  if (auto known = all_integers(values)) {
    std::vector<int64_t> all = first;
    all.insert(all.end(), known->begin(), known->end());
    return cast(constant_integers(all), values.dtype());
  }
  return concat({cast(constant_integers(first), values.dtype()), values}, 0);
}

Tensor merge_front(const Tensor& t) {
  const PartialShape& s = t.partial_shape();
  std::vector<int64_t> dims = dims_of(s);
  const bool known = dims[0] >= 0 && dims[1] >= 0;
  dims[1] = known ? dims[0] * dims[1] : kUnknownDim;
  dims.erase(dims.begin());
  const bool empty = std::ranges::count(dims, 0) > 0;
  if (known || (reshape_finds(dims) && !empty)) return reshape(t, dims);
  return reshape(
      t, concat({reduce_prod(recorded_dims(t, 0, 2), 0, {.keep_dims = true}), recorded_dims(t, 2, s.rank() - 2)}, 0));
}

Tensor split_front(const Tensor& t, int64_t batch, int64_t size) {
  std::vector<int64_t> dims = dims_of(t.partial_shape());
  if (dims[0] >= 0 && batch > 0 && size < 0) size = dims[0] / batch;
  if (dims[0] >= 0 && size > 0 && batch < 0) batch = dims[0] / size;
  dims[0] = size;
  dims.insert(dims.begin(), batch);
  if (!reshape_finds(dims)) {
    fail(Code::kUnimplemented,
         "vmap: expected the batch's size or the op's own number of rows to be known, got neither while tracing");
  }
  return reshape(t, dims);
}

BatchContext::BatchContext(const Call& call, std::span<const Tensor> inputs, std::span<const uint8_t> batched,
                           int64_t size)
    : RuleContext(call), inputs_(inputs), batched_(batched), size_(size), outputs_(call.specs.size()) {}

Tensor BatchContext::with_size(const PartialShape& shape) const {
  if (size_ >= 0 && shape.fully_known()) {
    std::vector<int64_t> dims = dims_of(shape);
    dims.insert(dims.begin(), size_);
    return constant_integers(dims);
  }
  if (!shape.fully_known()) {
    fail(Code::kUnimplemented, "vmap: expected known dimensions, got " + shape.to_string() + " while tracing");
  }
  return concat({recorded_size(inputs_, batched_), constant_integers(dims_of(shape))}, 0);
}

Tensor BatchContext::front(int i) const {
  if (batched(i)) return in(i);
  const PartialShape& own = shape(i);
  if (own.fully_known()) return broadcast_to(in(i), with_size(own));
  const Tensor size = recorded_size(inputs_, batched_);
  return broadcast_to(in(i), concat({size, panto::shape(in(i), {.out_type = kInt64})}, 0));
}

std::vector<Tensor> BatchContext::fronts() const {
  std::vector<Tensor> all;
  for (int i = 0; i < num_inputs(); ++i) all.push_back(front(i));
  return all;
}

Tensor BatchContext::with_rank(int i, int rank) const {
  const Tensor& x = in(i);
  const int own = this->rank(i);
  if (own < 0) fail(Code::kUnimplemented, "vmap: expected a known rank, got an unknown one while tracing");
  if (own >= rank) return x;
  std::vector<int64_t> dims = dims_of(x.partial_shape());
  dims.insert(dims.begin() + 1, static_cast<size_t>(rank - own), 1);
  if (reshape_finds(dims) && std::ranges::count(dims, 0) == 0) return reshape(x, dims);
  if (x.partial_shape().fully_known()) return reshape(x, dims);
  return reshape(x, concat({recorded_dims(x, 0, 1), fill({rank - own}, int64_t{1}), recorded_dims(x, 1, own)}, 0));
}

void BatchContext::set_all(SmallVector<Tensor, 2> values) {
  for (size_t k = 0; k < values.size(); ++k) set_out(static_cast<int>(k), std::move(values[k]));
}

void BatchContext::loop() {
  log_warn_once(fmt::format("vmap: {}, called as it is here, runs once for each element of the batch", op().name()));
  if (size_ < 0) {
    failf(Code::kUnimplemented, "vmap of {}: expected a batch whose size is known, got an unknown one while tracing",
          op().name());
  }
  std::vector<std::vector<Tensor>> slices(inputs_.size());
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (batched_[i] != 0) slices[i] = unpack(inputs_[i], size_);
  }
  std::vector<std::vector<Tensor>> made(outputs_.size());
  for (int64_t b = 0; b < size_; ++b) {
    std::vector<Tensor> own;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      own.push_back(batched_[i] != 0 ? slices[i][static_cast<size_t>(b)] : inputs_[i]);
    }
    SmallVector<Tensor, 2> outputs = again(own);
    for (size_t k = 0; k < outputs.size(); ++k) made[k].push_back(std::move(outputs[k]));
  }
  for (size_t k = 0; k < made.size(); ++k) {
    if (size_ > 0) {
      for (const Tensor& t : made[k]) {
        if (t.partial_shape().compatible_with(made[k][0].partial_shape())) continue;
        failf(Code::kInvalidArgument,
              "vmap of {}: expected outputs of one shape for all elements of the batch, got {} and {}", op().name(),
              made[k][0].partial_shape().to_string(), t.partial_shape().to_string());
      }
      set_out(static_cast<int>(k), pack(made[k]));
      continue;
    }
    const OutputSpec& spec = call().specs[k];
    std::vector<int64_t> dims = dims_of(spec.shape);
    for (int64_t& d : dims) d = std::max<int64_t>(d, 0);
    dims.insert(dims.begin(), 0);
    set_out(static_cast<int>(k), allocate_tensor(cpu_device(), spec.dtype, Shape(dims)));
  }
}

namespace batching {

void elementwise(BatchContext& c) {
  int rank = 0;
  bool known = true;
  for (int i = 0; i < c.num_inputs(); ++i) {
    known = known && c.rank(i) >= 0;
    rank = std::max(rank, c.rank(i));
  }
  if (!known) fail(Code::kUnimplemented, "vmap: expected a known rank, got an unknown one while tracing");
  const bool broadcasts = c.op().has(Trait::kBroadcasts) || !c.op().has(Trait::kElementwise);
  std::vector<Tensor> inputs;
  for (int i = 0; i < c.num_inputs(); ++i) {
    inputs.push_back(c.batched(i) ? c.with_rank(i, rank) : broadcasts ? c.in(i) : c.front(i));
  }
  c.set_all(c.again(inputs));
}

void trailing(BatchContext& c) {
  std::vector<Tensor> inputs;
  const auto& args = c.op().signature().inputs;
  for (int i = 0; i < c.num_inputs(); ++i) {
    const bool host = !c.op().signature().has_input_lists && args[static_cast<size_t>(i)].host;
    if (host && c.batched(i)) return c.loop();
    inputs.push_back(host ? c.in(i) : c.front(i));
  }
  c.set_all(c.again(inputs));
}

void shifted(BatchContext& c, int axes) {
  if (c.batched(axes)) return c.loop();
  std::vector<Tensor> inputs;
  const auto& args = c.op().signature().inputs;
  for (int i = 0; i < c.num_inputs(); ++i) {
    if (i == axes) {
      if (c.rank(0) < 0) fail(Code::kUnimplemented, "vmap: expected a known rank, got an unknown one while tracing");
      inputs.push_back(axes_behind_batch(c.in(i), c.rank(0)));
      continue;
    }
    const bool host = args[static_cast<size_t>(i)].host;
    if (host && c.batched(i)) return c.loop();
    inputs.push_back(host ? c.in(i) : c.front(i));
  }
  c.set_all(c.again(inputs));
}

void rows(BatchContext& c) {
  std::vector<Tensor> inputs;
  const auto& args = c.op().signature().inputs;
  int64_t size = kUnknownDim;
  for (int i = 0; i < c.num_inputs(); ++i) {
    const bool host = args[static_cast<size_t>(i)].host;
    if (host && c.batched(i)) return c.loop();
    if (!host && c.rank(i) > 0) size = std::max(size, c.shape(i).dim(0));
    inputs.push_back(host ? c.in(i) : merge_front(c.front(i)));
  }
  SmallVector<Tensor, 2> outputs = c.again(inputs);
  for (Tensor& t : outputs) t = split_front(t, c.size(), size);
  c.set_all(std::move(outputs));
}

void each(BatchContext& c) {
  std::vector<Tensor> inputs;
  for (int i = 0; i < c.num_inputs(); ++i) inputs.push_back(c.in(i));
  SmallVector<Tensor, 2> outputs = c.again(inputs);
  for (int k = 0; k < c.num_inputs(); ++k) {
    Tensor& t = outputs[static_cast<size_t>(k)];
    c.batched(k) ? c.set_out(k, std::move(t)) : c.set_common(k, std::move(t));
  }
}

void shape_only(BatchContext& c) {
  const Tensor& x = c.in(0);
  const PartialShape& own = c.shape(0);
  Tensor like;  // a tensor with one element's shape; its values are not read
  if (own.fully_known() && !x.is_meta()) {
    like = x.numel() >= own.numel() ? view_tensor(x, Shape(own)) : allocate_tensor(x.device(), x.dtype(), Shape(own));
  } else {
    like = gather(x, 0, 0);
  }
  SmallVector<Tensor, 2> outputs = c.again({like});
  for (size_t k = 0; k < outputs.size(); ++k) c.set_common(static_cast<int>(k), std::move(outputs[k]));
}

void loop(BatchContext& c) { c.loop(); }

}  // namespace batching
}  // namespace panto
