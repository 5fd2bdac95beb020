#include "panto/lib/core/call/bind.h"

#include <fmt/format.h>

#include <algorithm>

#include "panto/lib/base/text/format.h"

namespace panto::dispatch {
namespace {

[[noreturn]] void wrong_type(const ArgDef& a, DType expected, DType got) {
  invalid("{}: expected {}, got {}", a.name, dtype_name(expected), dtype_name(got));
}

[[gnu::always_inline]] inline void bind_type(const ArgDef& a, const Tensor& t, std::span<AttrSlot> attrs) {
  const DType got = t.impl()->dtype;
  if (a.type_attr >= 0) {
    AttrSlot& slot = attrs[static_cast<size_t>(a.type_attr)];
    if (!slot.set) {
      slot = AttrSlot(got);
    } else if (slot.t != got) [[unlikely]] {
      wrong_type(a, slot.t, got);
    }
  } else if (a.type_list_attr < 0) {
    if (got != a.dtype) [[unlikely]]
      wrong_type(a, a.dtype, got);
  }
}

// The number of tensors of a list argument: from its attribute if that is set, otherwise what the other arguments
// leave.
int64_t list_length(const Signature& s, size_t arg, const Call& call) {
  const ArgDef& a = s.inputs[arg];
  const int attr = a.number_attr >= 0 ? a.number_attr : a.type_list_attr;
  const AttrSlot& slot = call.attrs[static_cast<size_t>(attr)];
  if (slot.set) return a.number_attr >= 0 ? slot.i : static_cast<int64_t>(slot.n);
  int64_t singles = 0;
  int64_t lists = 0;  // lists of open length that share this attribute
  int64_t taken = 0;
  for (const ArgDef& other : s.inputs) {
    if (!other.is_list()) {
      ++singles;
      continue;
    }
    const int other_attr = other.number_attr >= 0 ? other.number_attr : other.type_list_attr;
    if (other_attr == attr) {
      ++lists;
      continue;
    }
    const AttrSlot& other_slot = call.attrs[static_cast<size_t>(other_attr)];
    if (!other_slot.set) {
      invalid("{}: expected attribute {} to tell the number of tensors, got none", a.name,
              s.attrs[static_cast<size_t>(attr)].name);
    }
    taken += other.number_attr >= 0 ? other_slot.i : static_cast<int64_t>(other_slot.n);
  }
  const int64_t left = static_cast<int64_t>(call.inputs.size()) - singles - taken;
  return left < 0 ? 0 : left / lists;
}

void bind_list_inputs(Call& call, BindStorage& storage) {
  const Signature& s = call.op->signature();
  size_t flat = 0;
  const size_t given = call.inputs.size();
  for (size_t a = 0; a < s.inputs.size(); ++a) {
    const ArgDef& def = s.inputs[a];
    int64_t count = 1;
    if (def.is_list()) {
      count = list_length(s, a, call);
      if (count < 0) invalid("{}: expected a count of at least 0, got {}", def.name, count);
    }
    if (static_cast<uint64_t>(count) > given - flat) {
      invalid("inputs: expected {} more for '{}', got {}", count, def.name, given - flat);
    }
    const size_t last = flat + static_cast<size_t>(count);
    if (def.number_attr >= 0) call.attrs[static_cast<size_t>(def.number_attr)] = AttrSlot(count);
    if (def.type_list_attr >= 0) {
      AttrSlot& slot = call.attrs[static_cast<size_t>(def.type_list_attr)];
      if (slot.set) {
        const auto* types = static_cast<const DType*>(slot.p);
        for (size_t i = flat; i < last; ++i) {
          const DType expected = types[i - flat];
          if (expected != call.inputs[i]->dtype()) wrong_type(def, expected, call.inputs[i]->dtype());
        }
      } else {
        // TensorFlow's signatures infer at most one type list per op; a second one's length comes from its attribute.
        const size_t begin = storage.types.size();
        storage.types.reserve(given);
        for (size_t i = flat; i < last; ++i) storage.types.push_back(call.inputs[i]->dtype());
        slot = AttrSlot(std::span<const DType>(storage.types.data() + begin, static_cast<size_t>(count)));
      }
    } else {
      for (size_t i = flat; i < last; ++i) bind_type(def, *call.inputs[i], call.attrs);
    }
    flat = last;
  }
  if (flat != given) invalid("inputs: expected {}, got {}", flat, given);
}

void check_attr(const AttrDef& def, const AttrSlot& slot) {
  switch (def.kind) {
    case AttrKind::kType:
      if (!def.allowed_types.contains(slot.t)) [[unlikely]] {
        invalid("{}: expected one of ({}), got {}", def.name, dtype_set_text(def.allowed_types), dtype_name(slot.t));
      }
      break;
    case AttrKind::kInt:
      if (def.has_minimum && slot.i < def.minimum) [[unlikely]] {
        invalid("{}: expected at least {}, got {}", def.name, def.minimum, slot.i);
      }
      break;
    case AttrKind::kString:
      if (!def.allowed_strings.empty()) {
        const std::string_view text(static_cast<const char*>(slot.p), slot.n);
        if (std::ranges::find(def.allowed_strings, text) == def.allowed_strings.end()) {
          invalid("{}: expected one of ({}), got '{}'", def.name, fmt::join(def.allowed_strings, ", "), text);
        }
      }
      break;
    case AttrKind::kIntList:
    case AttrKind::kFloatList:
    case AttrKind::kBoolList:
    case AttrKind::kTypeList:
    case AttrKind::kStringList:
    case AttrKind::kShapeList:
    case AttrKind::kFuncList:
      if (def.has_minimum && slot.n < def.minimum) {
        invalid("{}: expected at least {} elements, got {}", def.name, def.minimum, slot.n);
      }
      break;
    default: break;
  }
}

}  // namespace

// Fast path for most calls: all inputs have one type, which is the op's only type attribute. Returns false if the call
// is different or invalid.
bool bind_one_type(const Signature& s, const Call& call) {
  AttrSlot& slot = call.attrs[static_cast<size_t>(s.one_type)];
  if (call.inputs.size() != s.inputs.size() || slot.set) return false;
  for (const Tensor* t : call.inputs) {
    if (!t->defined() || t->impl()->dtype != call.inputs[0]->impl()->dtype) return false;
  }
  const DType type = call.inputs[0]->impl()->dtype;
  if (!s.attrs[static_cast<size_t>(s.one_type)].allowed_types.contains(type)) return false;
  slot = AttrSlot(type);
  if (s.attrs.size() == 1) return true;
  const AttrDef* def = s.attrs.data();
  for (AttrSlot& flag : call.attrs) {
    if (!flag.set) flag = def->default_slot;
    ++def;
  }
  return true;
}

void bind_inputs(Call& call, BindStorage& storage) {
  const Signature& s = call.op->signature();
  if (s.one_type >= 0 && bind_one_type(s, call)) return;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    if (!call.inputs[i]->defined()) [[unlikely]] {
      invalid("input {}: expected a tensor, got an undefined handle", i);
    }
  }
  if (s.has_input_lists) {
    bind_list_inputs(call, storage);
  } else {
    if (call.inputs.size() != s.inputs.size()) [[unlikely]] {
      invalid("inputs: expected {}, got {}", s.inputs.size(), call.inputs.size());
    }
    for (size_t i = 0; i < s.inputs.size(); ++i) bind_type(s.inputs[i], *call.inputs[i], call.attrs);
  }
  for (size_t i = 0; i < s.attrs.size(); ++i) {
    const AttrDef& def = s.attrs[i];
    AttrSlot& slot = call.attrs[i];
    if (!slot.set) {
      if (!def.default_slot.set) [[unlikely]]
        invalid("attribute {}: expected a value, got none", def.name);
      slot = def.default_slot;
    }
    // Most attributes need no check, or just one.
    if (def.kind == AttrKind::kBool || (def.kind == AttrKind::kType && def.allowed_types.contains(slot.t))) continue;
    check_attr(def, slot);
  }
}

namespace {

[[gnu::noinline]] void bind_list_outputs(Call& call) {
  const Signature& s = call.op->signature();
  for (const ArgDef& a : s.outputs) {
    if (a.type_list_attr >= 0) {
      const AttrSlot& slot = call.attrs[static_cast<size_t>(a.type_list_attr)];
      for (uint32_t i = 0; i < slot.n; ++i) {
        call.specs.push_back({static_cast<const DType*>(slot.p)[i], PartialShape()});
      }
      continue;
    }
    const DType t = a.type_attr >= 0 ? call.attrs[static_cast<size_t>(a.type_attr)].t : a.dtype;
    const int64_t count = a.number_attr >= 0 ? call.attrs[static_cast<size_t>(a.number_attr)].i : 1;
    if (count > (1 << 20)) invalid("{}: expected at most 2^20 tensors, got {}", a.name, count);
    for (int64_t i = 0; i < count; ++i) call.specs.push_back({t, PartialShape()});
  }
  call.outputs.resize(call.specs.size());
}

}  // namespace

void bind_outputs(Call& call) {
  const Signature& s = call.op->signature();
  if (s.has_output_lists) return bind_list_outputs(call);
  for (const ArgDef& a : s.outputs) {
    call.specs.emplace_back().dtype = a.type_attr >= 0 ? call.attrs[static_cast<size_t>(a.type_attr)].t : a.dtype;
    call.outputs.emplace_back();
  }
}

bool types_differ(const Op& op, std::span<const Tensor* const> inputs) {
  const auto& defs = op.signature().inputs;
  for (size_t i = 1; i < inputs.size() && i < defs.size(); ++i) {
    if (defs[i].type_attr < 0) continue;
    for (size_t j = 0; j < i; ++j) {
      if (defs[j].type_attr == defs[i].type_attr && inputs[i]->defined() && inputs[j]->defined() &&
          inputs[i]->dtype() != inputs[j]->dtype()) {
        return true;
      }
    }
  }
  return false;
}

}  // namespace panto::dispatch
