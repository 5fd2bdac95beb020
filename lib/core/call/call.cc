#include "panto/lib/core/call/call.h"

#include <algorithm>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/op/op.h"
#include "panto/lib/core/tensor/device.h"

namespace panto {

const AttrSlot& CallView::find_slot(uint32_t hash, std::string_view name) const {
  const AttrSlot* slot = call_.attrs.data();
  for (const uint32_t h : call_.op->signature().attr_hashes) {
    if (h == hash) return *slot;
    ++slot;
  }
  failf(Code::kInternal, "attribute: expected one that {} declares, got '{}'", call_.op->name(), name);
}

bool CallView::is_saved(const Saved& s) const {
  return s.flag == nullptr || call_.attrs[static_cast<size_t>(op().signature().find_attr(s.flag))].b;
}

std::pair<int, int> CallView::list(int arg) const {
  const Signature& s = call_.op->signature();
  if (!s.has_input_lists) return {arg, arg + 1};
  int first = 0;
  for (int i = 0;; ++i) {
    const ArgDef& a = s.inputs[static_cast<size_t>(i)];
    int count = 1;
    if (a.number_attr >= 0) count = static_cast<int>(call_.attrs[static_cast<size_t>(a.number_attr)].i);
    if (a.type_list_attr >= 0) count = static_cast<int>(call_.attrs[static_cast<size_t>(a.type_list_attr)].n);
    if (i == arg) return {first, first + count};
    first += count;
  }
}

std::string ShapeContext::argument_name(int flat_input) const {
  const Signature& s = call_.op->signature();
  for (size_t a = 0; a < s.inputs.size(); ++a) {
    const auto [first, last] = list(static_cast<int>(a));
    if (flat_input >= first && flat_input < last) {
      return s.inputs[a].is_list() ? fmt::format("{}[{}]", s.inputs[a].name, flat_input - first) : s.inputs[a].name;
    }
  }
  return "input " + std::to_string(flat_input);
}

int64_t ShapeContext::dim(int i, int k) const {
  const PartialShape& s = shape(i);
  if (!s.known_rank()) return kUnknownDim;
  const int at = k < 0 ? k + s.rank() : k;
  if (at < 0 || at >= s.rank()) {
    panto::invalid("{}: expected a shape with a dimension {}, got {}", argument_name(i), k, s.to_string());
  }
  return s.dim(at);
}

int64_t ShapeContext::vector(int i) const {
  expect_rank(i, 1);
  return rank(i) < 0 ? kUnknownDim : shape(i).dim(0);
}

std::pair<int64_t, int64_t> ShapeContext::matrix(int i, bool transposed) const {
  const PartialShape& s = shape(i);
  if (s.rank() != 2) [[unlikely]] {
    expect_rank(i, 2);
    return {kUnknownDim, kUnknownDim};
  }
  const int64_t rows = s.dim(0);
  const int64_t columns = s.dim(1);
  return transposed ? std::pair(columns, rows) : std::pair(rows, columns);
}

void ShapeContext::expect_rank(int i, int expected) const {
  const int got = rank(i);
  if (got >= 0 && got != expected) [[unlikely]] {
    static constexpr const char* kNames[] = {"a scalar", "a vector", "a matrix"};
    panto::invalid("{}: expected {}, got shape {}", argument_name(i),
                   expected <= 2 ? std::string(kNames[expected]) : fmt::format("rank {}", expected),
                   shape(i).to_string());
  }
}

void ShapeContext::expect_rank_at_least(int i, int expected) const {
  const int got = rank(i);
  if (got >= 0 && got < expected) [[unlikely]] {
    panto::invalid("{}: expected a rank of at least {}, got shape {}", argument_name(i), expected,
                   shape(i).to_string());
  }
}

void ShapeContext::expect_equal(int64_t a, int64_t b, std::string_view what) const {
  if (a >= 0 && b >= 0 && a != b) [[unlikely]]
    panto::invalid("{}: expected {}, got {}", what, a, b);
}

int64_t ShapeContext::merge(int64_t a, int64_t b, std::string_view what) const {
  expect_equal(a, b, what);
  return a >= 0 ? a : b;
}

int ShapeContext::axis(int64_t axis, int rank, std::string_view what) const {
  if (axis < -rank || axis >= rank) [[unlikely]] {
    panto::invalid("{}: expected one in [{}, {}), got {}", what, -rank, rank, axis);
  }
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

std::optional<AxisFlags> ShapeContext::axes(int i, int rank) const {
  if (this->rank(i) > 1) expect_rank(i, 1);
  AxisFlags reduced;
  const auto add = [&](int64_t given) {
    if (given < -rank || given >= rank) [[unlikely]]
      axis(given, rank, argument_name(i));  // throws
    const auto at = static_cast<size_t>(given < 0 ? given + rank : given);
    if (reduced[at]) [[unlikely]]
      panto::invalid("{}: expected every axis once, got {} twice", argument_name(i), at);
    reduced[at] = true;
  };
  // Fast path for eager calls, without a list of optional values.
  const TensorImpl& impl = *in(i).impl();
  if (impl.dtype == kInt32 && impl.data != nullptr && impl.device->host_memory()) {
    for (int64_t k = 0; k < impl.numel; ++k) add(static_cast<const int32_t*>(impl.data)[k]);
    return reduced;
  }
  const std::optional<PartialValues> given = values(i);
  if (!given || std::ranges::any_of(*given, [](const auto& v) { return !v; })) {
    // Too many values to look at. For symbolic tensors the fault is reported when the values become known.
    if (impl.meta == nullptr && impl.numel > std::max(rank, 1)) {
      panto::invalid("{}: expected every axis once, got {} of {}", argument_name(i), impl.numel, rank);
    }
    return std::nullopt;
  }
  for (const auto& v : *given) add(*v);
  return reduced;
}

PartialShape ShapeContext::shape_from(int i) const {
  if (rank(i) >= 0) expect_rank(i, 1);
  const std::optional<PartialValues> given = values(i);
  if (!given) {
    const int64_t length = vector(i);
    if (length > kMaxRank)
      panto::invalid("{}: expected at most {} dimensions, got {}", argument_name(i), kMaxRank, length);
    return length < 0 ? PartialShape() : PartialShape::of_rank(static_cast<int>(length));
  }
  std::vector<int64_t> dims;
  for (const auto& v : *given) {
    if (v && *v < 0) panto::invalid("{}: expected dimensions of at least 0, got {}", argument_name(i), *v);
    dims.push_back(v.value_or(kUnknownDim));
  }
  return PartialShape(dims);
}

void ShapeContext::output_values(int k, PartialValues values) {
  if (call_.symbolic) mutable_.specs[static_cast<size_t>(k)].values = std::move(values);
}

void ShapeContext::output_handle(int k, std::shared_ptr<const HandleInfo> handle) {
  if (call_.symbolic) mutable_.specs[static_cast<size_t>(k)].handle = std::move(handle);
}

const Shape& KernelContext::inferred_shape(int k) const {
  const PartialShape& shape = spec(k).shape;
  if (!shape.fully_known()) [[unlikely]] {
    failf(Code::kInternal, "output {}: expected a known shape from the shape function, got {}", k, shape.to_string());
  }
  return static_cast<const Shape&>(shape);
}

int64_t CostContext::numel(int i) const { return std::max<int64_t>(1, in(i).partial_shape().numel()); }

int64_t CostContext::dim(int i, int k) const {
  const PartialShape& s = in(i).partial_shape();
  if (!s.known_rank()) return 1;
  const int at = k < 0 ? k + s.rank() : k;
  return at < 0 || at >= s.rank() ? 1 : std::max<int64_t>(1, s.dim(at));
}

int64_t CostContext::out_numel(int k) const {
  return std::max<int64_t>(1, call_.specs[static_cast<size_t>(k)].shape.numel());
}

std::string describe(const Call& call) {
  const Signature& s = call.op->signature();
  std::string text = s.name + "(";
  const CallView view(call);
  size_t flat = 0;
  for (size_t a = 0; a < s.inputs.size(); ++a) {
    // If the call failed before its lists were counted, all remaining inputs are shown in the last argument.
    size_t last = flat + 1;
    if (s.inputs[a].is_list()) last = a + 1 == s.inputs.size() ? call.inputs.size() : flat + call.inputs.size();
    last = std::min(last, call.inputs.size());
    for (size_t i = flat; i < last; ++i) {
      text.append(i > 0 ? ", " : "").append(s.inputs[a].name).append(": ");
      const Tensor& t = *call.inputs[i];
      if (!t.defined()) {
        text += "undefined";
        continue;
      }
      text.append(dtype_name(t.dtype())).append(t.partial_shape().to_string());
    }
    flat = last;
  }
  bool first = true;
  for (size_t i = 0; i < s.attrs.size() && i < call.attrs.size(); ++i) {
    const AttrDef& def = s.attrs[i];
    if (!call.attrs[i].set || def.inferred) continue;
    const AttrValue value = to_value(call.attrs[i], def.kind);
    if (def.has_default() && value == def.default_value) continue;
    text.append(first ? "; " : ", ").append(def.name).append("=").append(value.to_string());
    first = false;
  }
  return text + ")";
}

namespace shapes {

void same_as_input(ShapeContext& c) {
  for (int k = 0; k < c.num_outputs(); ++k) c.output(k, c.shape(0));
}

void broadcast_two(ShapeContext& c) { c.output(c.broadcast(0, 1)); }

void scalar(ShapeContext& c) { c.output(PartialShape::of_rank(0)); }

void unknown(ShapeContext& c) {
  for (int k = 0; k < c.num_outputs(); ++k) c.output(k, PartialShape());
}

void none(ShapeContext&) {}

void reduction(ShapeContext& c) {
  const bool keep = c.flag("keep_dims");
  const int rank = c.rank(0);
  if (rank < 0) return c.output(PartialShape());
  const auto reduced = c.axes(1, rank);
  if (!reduced) return c.output(keep ? PartialShape::of_rank(rank) : PartialShape());
  SmallVector<int64_t, 8> dims;
  for (int k = 0; k < rank; ++k) {
    if (!(*reduced)[static_cast<size_t>(k)]) {
      dims.push_back(c.dim(0, k));
    } else if (keep) {
      dims.push_back(1);
    }
  }
  c.output(PartialShape(std::span<const int64_t>(dims)));
}

}  // namespace shapes

}  // namespace panto
