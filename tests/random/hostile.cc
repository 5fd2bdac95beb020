#include "panto/tests/random/hostile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>
#include <optional>

#include "panto/lib/base/error.h"
#include "panto/lib/core/call/dispatch.h"
#include "panto/lib/core/step/step.h"
#include "panto/lib/core/tensor/tensor_alloc.h"
#include "panto/lib/graph/files/unknown.h"
#include "panto/tests/ops/table.h"
#include "panto/tests/random/hostile_values.h"
#include "panto/tests/random/program/rng.h"

namespace panto::random {
namespace {

using test::Row;

void set_attr(HostileCall& call, const std::string& name, AttrValue value) {
  for (auto& [have, old] : call.attrs) {
    if (have == name) {
      old = std::move(value);
      return;
    }
  }
  call.attrs.emplace_back(name, std::move(value));
}

// ---- Calls ----------------------------------------------------------------------------------------------------------

// By the signature alone.
HostileCall of_signature(Rng& rng, const Op& op) {
  HostileCall call{.op = &op};
  const Signature& s = op.signature();
  std::vector<AttrValue> told(s.attrs.size());
  for (size_t i = 0; i < s.attrs.size(); ++i) {
    const AttrDef& def = s.attrs[i];
    if (def.kind == AttrKind::kType) {
      told[i] = AttrValue(draw_type(rng, def.allowed_types));
    } else if (def.inferred && def.kind == AttrKind::kInt) {
      told[i] = AttrValue(int64_t{rng.between(0, 3)});
    } else if (def.inferred && def.kind == AttrKind::kTypeList) {
      told[i] = AttrValue(draw_list<DType>(rng, [&] { return draw_type(rng, def.allowed_types); }));
    }
  }
  for (const ArgDef& arg : s.inputs) {
    std::vector<DType> types;
    if (arg.type_list_attr >= 0) {
      const AttrValue& list = told[static_cast<size_t>(arg.type_list_attr)];
      if (list.kind() == AttrKind::kTypeList) types = list.as<std::vector<DType>>();
    } else {
      const DType t = arg.type_attr >= 0 ? told[static_cast<size_t>(arg.type_attr)].as<DType>() : arg.dtype;
      int64_t count = 1;
      if (arg.number_attr >= 0) {
        const AttrValue& number = told[static_cast<size_t>(arg.number_attr)];
        count = number.kind() == AttrKind::kInt ? number.as<int64_t>() : rng.between(0, 3);
      }
      types.assign(static_cast<size_t>(count), t);
    }
    // Often of one shape, as ops of several inputs want it.
    const Shape shared = draw_shape(rng);
    const bool alike = rng.chance(0.5);
    for (const DType t : types) {
      call.inputs.push_back(alike && t != kResource ? draw_tensor_of(rng, t, shared) : draw_input(rng, t));
    }
  }
  for (size_t i = 0; i < s.attrs.size(); ++i) {
    const AttrDef& def = s.attrs[i];
    if (told[i].kind() != AttrKind::kNone) {
      if (!def.inferred || rng.chance(0.5)) call.attrs.emplace_back(def.name, told[i]);
    } else if (!def.has_default() || rng.chance(0.4)) {
      call.attrs.emplace_back(def.name, draw_attr(rng, def));
    }
  }
  return call;
}

// By a sample of the op table, as it is.
std::optional<HostileCall> of_sample(Rng& rng, const Op& op) {
  static const auto* rows = [] {
    auto* by_op = new std::map<const Op*, std::vector<const Row*>>;
    for (const Row* row : test::all_rows()) {
      if (const Op* known = find_op(row->op_name); known != nullptr && !row->d.samples.empty()) {
        (*by_op)[known].push_back(row);
      }
    }
    return by_op;
  }();
  const auto found = rows->find(&op);
  if (found == rows->end()) return std::nullopt;
  const Row& row = *rng.pick(found->second);
  const test::Sample& sample = rng.pick(row.d.samples);
  const std::vector<DType> types = test::types_of(row);
  if (types.empty()) return std::nullopt;
  try {
    const DType type = rng.pick(types);
    if (!test::fits(row, sample, type)) return std::nullopt;
    const test::Bound bound = test::bind(row, sample, type);
    return HostileCall{.op = &op, .inputs = bound.in, .attrs = bound.attr_pairs()};
  } catch (const Error&) {
    return std::nullopt;
  }
}

Tensor of_other_shape(Rng& rng, const Tensor& t) {
  if (!is_plain(t.dtype()) && t.dtype() != kString) return draw_input(rng, t.dtype());
  std::vector<int64_t> dims(t.shape().dims().begin(), t.shape().dims().end());
  const auto at = dims.empty() ? 0 : static_cast<size_t>(rng.below(static_cast<int>(dims.size())));
  switch (rng.below(6)) {
    case 0: dims.push_back(1); break;
    case 1: dims.insert(dims.begin(), 1); break;
    case 2:
      if (!dims.empty()) dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(at));
      break;
    case 3:
      if (!dims.empty()) dims[at] = 0;
      break;
    case 4:
      if (!dims.empty()) dims[at] = std::max<int64_t>(0, dims[at] + rng.between(-1, 2));
      break;
    default: return draw_tensor_of(rng, t.dtype(), draw_shape(rng));
  }
  const int64_t numel = std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
  if (numel > 100000) return t;
  // The old elements as far as there are any.
  Tensor out = draw_tensor_of(rng, t.dtype(), Shape(std::span<const int64_t>(dims)));
  if (is_plain(t.dtype()) && !t.is_meta()) {
    std::memcpy(mutable_data<char>(out), t.impl()->data, std::min(t.nbytes(), out.nbytes()));
  }
  return out;
}

Tensor with_other_values(Rng& rng, const Tensor& t) {
  if (!is_plain(t.dtype()) && t.dtype() != kString) return draw_input(rng, t.dtype());
  if (t.numel() > 100000) return t;
  const Tensor drawn = draw_tensor_of(rng, t.dtype(), t.shape());
  if (t.dtype() == kString || rng.chance(0.3)) return drawn;
  Tensor out = allocate_tensor(cpu_device(), t.dtype(), t.shape());
  const size_t size = dtype_size(t.dtype());
  for (int64_t i = 0; i < t.numel(); ++i) {
    const Tensor& from = rng.chance(0.3) ? drawn : t;
    std::memcpy(mutable_data<char>(out) + static_cast<size_t>(i) * size,
                static_cast<const char*>(from.impl()->data) + static_cast<size_t>(i) * size, size);
  }
  return out;
}

void spoil(Rng& rng, HostileCall& call) {
  const std::vector<AttrDef>& attrs = call.op->signature().attrs;
  if ((call.inputs.empty() || rng.chance(0.3)) && !attrs.empty()) {
    const AttrDef& def = rng.pick(attrs);
    if (rng.chance(0.05)) {
      std::erase_if(call.attrs, [&](const auto& a) { return a.first == def.name; });
    } else {
      set_attr(call, def.name, draw_attr(rng, def));
    }
    return;
  }
  if (call.inputs.empty()) {
    call.inputs.push_back(draw_input(rng, kFloat32));
    return;
  }
  const auto at = static_cast<size_t>(rng.below(static_cast<int>(call.inputs.size())));
  Tensor& t = call.inputs[at];
  const int what = rng.below(20);
  if (what < 8) {
    t = of_other_shape(rng, t);
  } else if (what < 16) {
    t = with_other_values(rng, t);
  } else if (what == 16) {
    t = draw_tensor_of(rng, draw_type(rng, dtypes::kAny), t.is_meta() ? Shape{2} : t.shape());
  } else if (what == 17) {
    call.inputs.erase(call.inputs.begin() + static_cast<std::ptrdiff_t>(at));
  } else if (what == 18) {
    call.inputs.insert(call.inputs.begin() + static_cast<std::ptrdiff_t>(at), t);
  } else {
    std::swap(t, call.inputs[static_cast<size_t>(rng.below(static_cast<int>(call.inputs.size())))]);
  }
}

// What a trace knows of a tensor.
Tensor seen_from_a_trace(Rng& rng, const Tensor& t) {
  if (rng.chance(0.25)) return meta_tensor(t.dtype(), PartialShape());
  if (rng.chance(0.1)) return meta_tensor(t.dtype(), draw_partial_shape(rng));
  std::vector<int64_t> dims(t.shape().dims().begin(), t.shape().dims().end());
  for (int64_t& d : dims) {
    if (rng.chance(0.3)) d = kUnknownDim;
  }
  const PartialShape shape{std::span<const int64_t>(dims)};
  return meta_tensor(t.dtype(), shape, shape.fully_known() && rng.chance(0.5) ? known_integers(t) : std::nullopt);
}

uint64_t hash_of(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

}  // namespace

const std::vector<Tensor>& handles() {
  static std::vector<Tensor> all;
  static bool making = false;
  if (!all.empty() || making) return all;
  making = true;
  for (const Op* op : hostile_ops()) {
    const Signature& s = op->signature();
    const bool makes = std::ranges::any_of(
        s.outputs, [](const ArgDef& a) { return !a.is_list() && (a.dtype == kResource || a.dtype == kVariant); });
    if (!makes || !s.inputs.empty() || op->is(OpKind::kVariableHandle)) continue;
    Rng rng(hash_of(op->name()));
    for (int made = 0, tries = 0; made < 2 && tries < 20; ++tries) {
      HostileCall call = of_signature(rng, *op);
      for (const AttrDef& def : s.attrs) {
        if (def.name == "shared_name") set_attr(call, def.name, AttrValue(fmt::format("{} {}", op->name(), tries)));
        if (def.name == "container") set_attr(call, def.name, AttrValue(std::string()));
      }
      try {
        for (const Tensor& t : dispatch::call(op->name(), call.inputs, call.attrs)) {
          if (t.dtype() == kResource || t.dtype() == kVariant) all.push_back(t);
        }
        ++made;
      } catch (const Error&) {
        continue;
      }
    }
  }
  making = false;
  return all;
}

namespace {

unsigned read_bytes(const Tensor& t) {
  unsigned sum = 0;
  if (t.is_meta() || t.device().kind() != DeviceKind::kCpu) return sum;
  if (t.dtype() == kString) {
    for (int64_t i = 0; i < t.numel(); ++i) {
      for (const char c : static_cast<const std::string*>(t.impl()->data)[i]) sum += static_cast<unsigned char>(c);
    }
  } else if (is_plain(t.dtype())) {
    const auto* bytes = static_cast<const unsigned char*>(t.impl()->data);
    for (size_t i = 0; i < t.nbytes(); ++i) sum += bytes[i];
  }
  return sum;
}

void answer(const HostileCall& call) {
  volatile unsigned sum = 0;
  if (call.way != HostileCall::Way::kPrepared) {
    for (const Tensor& t : dispatch::call(call.op->name(), call.inputs, call.attrs)) {
      if (t.defined()) sum = sum + read_bytes(t);
    }
    return;
  }
  std::vector<AttrValue> values(call.op->signature().attrs.size());
  for (const auto& [name, value] : call.attrs) {
    if (const int at = call.op->signature().find_attr(name); at >= 0) values[static_cast<size_t>(at)] = value;
  }
  std::vector<Tensor> specs;
  std::vector<const Tensor*> pointers;
  for (const Tensor& t : call.inputs) {
    specs.push_back(meta_tensor(t.dtype(), PartialShape()));
    pointers.push_back(&t);
  }
  const auto prepared = dispatch::prepare(*call.op, specs, values, cpu_device(), "node");
  for (int time = 0; time < 2; ++time) {
    std::vector<Tensor> outputs(prepared->specs().size());
    dispatch::run(*prepared, current_step(), pointers, outputs);
    for (const Tensor& t : outputs) {
      if (t.defined()) sum = sum + read_bytes(t);
    }
  }
}

}  // namespace

std::string HostileCall::text() const {
  std::string result = op->name() + (way == Way::kPrepared ? ", prepared:" : ":");
  for (const Tensor& t : inputs) {
    result += fmt::format(" {}{}", dtype_name(t.dtype()), t.partial_shape().to_string());
    if (t.is_meta() || t.numel() > 12 || !is_plain(t.dtype())) continue;
    result += "=";
    for (const double v : test::to_array(t).values) result += fmt::format("{},", v);
  }
  for (const auto& [name, value] : attrs) result += fmt::format(" {}={}", name, value.to_string());
  return result;
}

const std::vector<const Op*>& hostile_ops() {
  static const auto* list = [] {
    auto* ops = new std::vector<const Op*>;
    for (const Op* op : all_ops()) {
      if (!op->name().starts_with("Test") && !is_unknown_op(*op)) ops->push_back(op);
    }
    return ops;
  }();
  return *list;
}

HostileCall make_hostile_call(const Op& op, uint64_t number) {
  Rng rng(hash_of(op.name()) + number);
  HostileCall call;
  bool legal = false;
  if (rng.chance(0.7)) {
    if (std::optional<HostileCall> sample = of_sample(rng, op)) {
      call = std::move(*sample);
      legal = true;
    }
  }
  if (!legal) call = of_signature(rng, op);
  for (int n = legal ? rng.between(1, 3) : rng.below(2); n > 0; --n) spoil(rng, call);
  if (rng.chance(0.15)) {
    call.way = HostileCall::Way::kPrepared;
  } else if (rng.chance(0.2)) {
    call.way = HostileCall::Way::kSymbolic;
    for (Tensor& t : call.inputs) {
      if (rng.chance(0.8)) t = seen_from_a_trace(rng, t);
    }
  }
  return call;
}

HostileOutcome try_hostile_call(const HostileCall& call) {
  Step step = current_step();
  step.deadline = Step::deadline_in(1);
  const StepScope scope(step);
  try {
    answer(call);
    return {.wrong = {}, .answered = true};
  } catch (const Error& error) {
    if (error.code() != Code::kInternal) return {};
    return {.wrong = fmt::format("expected another error than {}", error.what())};
  } catch (const std::exception& error) {
    return {.wrong = fmt::format("expected panto::Error, got {}", error.what())};
  }
}

}  // namespace panto::random
