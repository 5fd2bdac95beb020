// Converts the arguments that callers write (numbers, lists, variables) to the tensors of a call (bind.h).
#include <algorithm>
#include <complex>
#include <limits>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/bind.h"

namespace panto::dispatch {
namespace {

Tensor mark_literal(Tensor t) {
  t.impl()->literal = true;
  return t;
}

template <class T>
Tensor scalar_of(T value) {
  Tensor t = allocate_tensor(cpu_device(), dtype_of<T>, Shape());
  *mutable_data<T>(t) = value;
  return mark_literal(std::move(t));
}

template <class T>
Tensor integer_scalar(int64_t value, std::string_view what) {
  if (value < static_cast<int64_t>(std::numeric_limits<T>::min()) ||
      (value > 0 && static_cast<uint64_t>(value) > static_cast<uint64_t>(std::numeric_limits<T>::max()))) {
    invalid("{}: expected a value that fits {}, got {}", what, dtype_name(dtype_of<T>), value);
  }
  return scalar_of(static_cast<T>(value));
}

}  // namespace

bool is_number(const Arg& a) {
  return a.kind() == Arg::Kind::kInt || a.kind() == Arg::Kind::kReal || a.kind() == Arg::Kind::kBool;
}

Tensor literal_tensor(const Arg& a, DType t, std::string_view what) {
  const bool real = a.kind() == Arg::Kind::kReal;
  const double value = real ? a.real() : static_cast<double>(a.integer());
  switch (t) {
    case DType::kFloat32: return scalar_of(static_cast<float>(value));
    case DType::kFloat64: return scalar_of(value);
    case DType::kFloat16: return scalar_of(Half(static_cast<float>(value)));
    case DType::kBFloat16: return scalar_of(BFloat16(static_cast<float>(value)));
    case DType::kComplex64: return scalar_of(std::complex<float>(static_cast<float>(value)));
    case DType::kComplex128: return scalar_of(std::complex<double>(value));
    default: break;
  }
  if (!real) {
    const int64_t i = a.integer();
    switch (t) {
      case DType::kInt8: return integer_scalar<int8_t>(i, what);
      case DType::kInt16: return integer_scalar<int16_t>(i, what);
      case DType::kInt32: return integer_scalar<int32_t>(i, what);
      case DType::kInt64: return integer_scalar<int64_t>(i, what);
      case DType::kUint8: return integer_scalar<uint8_t>(i, what);
      case DType::kUint16: return integer_scalar<uint16_t>(i, what);
      case DType::kUint32: return integer_scalar<uint32_t>(i, what);
      case DType::kUint64: return integer_scalar<uint64_t>(i, what);
      case DType::kBool:
        if (a.kind() == Arg::Kind::kBool) return scalar_of(i != 0);
        break;
      default: break;
    }
  }
  invalid("{}: expected a value of type {}, got the number {}", what, dtype_name(t), value);
}

namespace {

// The values of integers and of a brace list's elements.
int64_t value_of(int64_t value) { return value; }
int64_t value_of(const ListElement& element) { return element.value(); }

template <class Element>
bool fits_int32(std::span<const Element> values) {
  return std::ranges::all_of(values, [](const Element& e) { return value_of(e) == static_cast<int32_t>(value_of(e)); });
}

// A vector of type `t`; of int64 if `t` is neither int32 nor int64 or is too small.
template <class Element>
Tensor integers_tensor(std::span<const Element> values, DType t) {
  const bool small = t != kInt64 && fits_int32(values);
  Tensor result = allocate_tensor(cpu_device(), small ? kInt32 : kInt64, Shape{values.size()});
  for (size_t i = 0; i < values.size(); ++i) {
    if (small) {
      mutable_data<int32_t>(result)[i] = static_cast<int32_t>(value_of(values[i]));
    } else {
      mutable_data<int64_t>(result)[i] = value_of(values[i]);
    }
  }
  return mark_literal(std::move(result));
}

Tensor text_tensor(std::string_view text) {
  Tensor t = allocate_tensor(cpu_device(), kString, Shape());
  *mutable_data<std::string>(t) = text;
  return mark_literal(std::move(t));
}

Tensor cast_to(const Tensor& t, DType to) {
  const std::pair<std::string, AttrValue> attrs[] = {{"DstT", AttrValue(to)}};
  return std::move(call("Cast", {&t, 1}, attrs)[0]);
}

// A brace list that contains tensors: packed by an op, so that a trace records where the numbers come from.
Tensor packed_list(std::span<const ListElement> list, DType t) {
  for (size_t i = 0; i < list.size(); ++i) {
    const Tensor* element = list[i].tensor();
    if (element == nullptr) {
      if (list[i].value() != static_cast<int32_t>(list[i].value())) t = kInt64;
      continue;
    }
    if (!dtypes::kInteger.contains(element->dtype()) || element->partial_shape().rank() > 0) {
      invalid("list of integers: expected element {} to be an integer, got {}{}", i, dtype_name(element->dtype()),
              element->partial_shape().to_string());
    }
    if (element->dtype() != kInt32) t = kInt64;
  }
  if (t != kInt64) t = kInt32;
  std::vector<Tensor> elements;
  for (const ListElement& e : list) {
    if (e.tensor() == nullptr) {
      elements.push_back(t == kInt32 ? scalar_of(static_cast<int32_t>(e.value())) : scalar_of(e.value()));
    } else {
      elements.push_back(e.tensor()->dtype() == t ? *e.tensor() : cast_to(*e.tensor(), t));
    }
  }
  return std::move(call("Pack", elements)[0]);
}

// The axes 0 .. rank-1 of `x`: a constant if the rank is known, otherwise recorded ops.
Tensor all_axes_of(const Tensor& x) {
  if (x.partial_shape().known_rank()) {
    std::vector<int64_t> axes(static_cast<size_t>(x.partial_shape().rank()));
    for (size_t i = 0; i < axes.size(); ++i) axes[i] = static_cast<int64_t>(i);
    return integers_tensor(std::span<const int64_t>(axes), kInt32);
  }
  const Tensor rank = std::move(call("Rank", {&x, 1})[0]);
  const Tensor range[] = {scalar_of<int32_t>(0), rank, scalar_of<int32_t>(1)};
  return std::move(call("Range", range)[0]);
}

DType common_type(DType a, DType b, std::string_view what) {
  if (a == DType::kInvalid || b == DType::kInvalid) return a == DType::kInvalid ? b : a;
  const DType both = promote(a, b);
  if (both == DType::kInvalid) {
    invalid("{}: expected types with a common one, got {} and {} (cast one)", what, dtype_name(a), dtype_name(b));
  }
  return both;
}

// The type that tensors of `type` get beside a number: a real number makes integers float32.
DType type_beside(DType type, const Arg& number) {
  if (number.kind() == Arg::Kind::kReal && (dtypes::kInteger.contains(type) || type == kBool)) return kFloat32;
  if (number.kind() == Arg::Kind::kInt && type == kBool) return kInt32;
  return type;
}

// The common type of the tensors that share a type attribute; kInvalid if there are none.
class Groups {
 public:
  Groups(const Op& op, std::span<AttrSlot> attrs) : op_(op), types_(op.signature().attrs.size()) {
    for (size_t i = 0; i < types_.size(); ++i) {
      const AttrDef& def = op.signature().attrs[i];
      if (def.kind == AttrKind::kType && !def.inferred && attrs[i].set) types_[i] = attrs[i].t;
    }
  }
  void see(const ArgDef& def, DType t) {
    if (def.type_attr < 0) return;
    DType& type = types_[static_cast<size_t>(def.type_attr)];
    type = common_type(type, t, def.name);
  }
  void see_literal(const ArgDef& def, const Arg& a) {
    if (def.type_attr < 0) return;
    DType& type = types_[static_cast<size_t>(def.type_attr)];
    type = type_beside(type, a);
    if (type == DType::kInvalid) literal_only_[static_cast<size_t>(def.type_attr)] = true;
  }
  DType of(const ArgDef& def) const {
    return def.type_attr < 0 ? def.dtype : types_[static_cast<size_t>(def.type_attr)];
  }
  // Chooses the type of literals without a tensor beside them.
  void settle(const ArgDef& def, const Arg& a) {
    if (def.type_attr < 0) return;
    DType& type = types_[static_cast<size_t>(def.type_attr)];
    if (!literal_only_[static_cast<size_t>(def.type_attr)]) return;
    DType own = a.literal_type();
    const AttrDef& attr = op_.signature().attrs[static_cast<size_t>(def.type_attr)];
    if (a.kind() == Arg::Kind::kInt && attr.has_default() && dtypes::kInteger.contains(own)) {
      own = attr.default_value.as<DType>();
    }
    type = type == DType::kInvalid ? own : promote(type, own);
  }

 private:
  const Op& op_;
  SmallVector<DType, 8> types_;
  bool literal_only_[kMaxOpAttributes] = {};
};

void make_tensor(Arg& a, const ArgDef& def, const Groups& groups) {
  const DType wanted = groups.of(def);
  switch (a.kind()) {
    case Arg::Kind::kInt:
    case Arg::Kind::kReal:
    case Arg::Kind::kBool: a.set_tensor(literal_tensor(a, wanted, def.name)); return;
    case Arg::Kind::kText: a.set_tensor(text_tensor(a.text())); return;
    default: break;
  }
  if (def.type_attr >= 0 && a.tensor().defined() && a.tensor().dtype() != wanted && wanted != DType::kInvalid) {
    a.set_tensor(cast_to(a.tensor(), wanted));
  }
}

}  // namespace

Tensor list_tensor(const Arg& a, DType t) {
  if (a.kind() == Arg::Kind::kIntegers) return integers_tensor(a.integers(), t);
  const auto is_tensor = [](const ListElement& e) { return e.tensor() != nullptr; };
  return std::ranges::any_of(a.list(), is_tensor) ? packed_list(a.list(), t) : integers_tensor(a.list(), t);
}

void make_tensor_of(Arg& a, DType t, std::string_view what) {
  if (is_number(a)) {
    a.set_tensor(literal_tensor(a, t, what));
  } else if (a.is_integer_list()) {
    const Tensor list = list_tensor(a, t);
    a.set_tensor(list.dtype() == t ? list : cast_to(list, t));
  } else if (a.kind() == Arg::Kind::kText) {
    a.set_tensor(text_tensor(a.text()));
  } else if (a.kind() == Arg::Kind::kVariable) {
    a.set_tensor(a.variable().value(a.where()));
  }
}

void resolve_list_arguments(const Op& op, std::span<TypedArg> args, std::span<AttrSlot> attrs,
                            std::vector<Tensor>& converted) {
  const auto& defs = op.signature().inputs;
  Groups groups(op, attrs);
  // Tensors first: the types of literals depend on them.
  for (size_t i = 0; i < args.size(); ++i) {
    const ArgDef& def = defs[i];
    if (args[i].list != nullptr) {
      for (const Tensor& t : args[i].list->tensors()) {
        if (t.defined()) groups.see(def, t.dtype());
      }
      continue;
    }
    Arg& a = *args[i].arg;
    if (a.kind() == Arg::Kind::kVariable) {
      // An op on the resource itself takes the handle; every other op takes the value.
      a.set_tensor(def.dtype == kResource ? a.variable().handle() : a.variable().value(a.where()));
    } else if (a.is_integer_list()) {
      a.set_tensor(list_tensor(a, groups.of(def)));
    } else if (a.kind() == Arg::Kind::kAllAxes) {
      a.set_tensor(all_axes_of(args[0].arg->tensor()));
    }
    if (!a.is_literal() && a.tensor().defined()) groups.see(def, a.tensor().dtype());
  }
  for (size_t i = 0; i < args.size(); ++i) {
    if (args[i].arg != nullptr && is_number(*args[i].arg)) groups.see_literal(defs[i], *args[i].arg);
  }
  for (size_t i = 0; i < args.size(); ++i) {
    if (args[i].arg != nullptr && is_number(*args[i].arg)) groups.settle(defs[i], *args[i].arg);
  }
  for (size_t i = 0; i < args.size(); ++i) {
    if (args[i].arg != nullptr) {
      make_tensor(*args[i].arg, defs[i], groups);
      continue;
    }
    const DType wanted = groups.of(defs[i]);
    for (const Tensor& t : args[i].list->tensors()) {
      const bool cast = defs[i].type_attr >= 0 && t.defined() && t.dtype() != wanted;
      converted.push_back(cast ? cast_to(t, wanted) : t);
    }
  }
}

void numbers_to_tensors(std::initializer_list<Arg> items, std::vector<Tensor>& tensors) {
  DType type = DType::kInvalid;
  for (const Tensor& t : tensors) {
    if (t.defined()) type = common_type(type, t.dtype(), "list of tensors");
  }
  const bool beside = type != DType::kInvalid;
  for (const Arg& a : items) {
    if (is_number(a)) type = beside ? type_beside(type, a) : common_type(type, a.literal_type(), "list of tensors");
  }
  auto t = tensors.begin();
  for (const Arg& a : items) {
    if (is_number(a)) *t = literal_tensor(a, type, "list of tensors");
    ++t;
  }
}

namespace {

// Fast path for `x * 2`: a number beside a tensor whose dtype it takes. Returns false if the call is another.
bool resolve_number(const Signature& s, std::span<Arg* const> args, std::span<const AttrSlot> attrs) {
  if (s.one_type < 0 || args.size() != 2 || attrs[static_cast<size_t>(s.one_type)].set) return false;
  const size_t at = is_number(*args[1]) ? 1 : 0;
  Arg& number = *args[at];
  const Arg& beside = *args[1 - at];
  if (!is_number(number) || beside.kind() > Arg::Kind::kOwned || !beside.tensor().defined()) return false;
  const DType type = beside.tensor().dtype();
  if (type_beside(type, number) != type) return false;
  number.set_tensor(literal_tensor(number, type, s.inputs[at].name));
  return true;
}

}  // namespace

void resolve_arguments(const Op& op, std::span<Arg* const> args, std::span<AttrSlot> attrs) {
  if (resolve_number(op.signature(), args, attrs)) return;
  SmallVector<TypedArg, 8> typed;
  for (Arg* a : args) typed.push_back(a);
  std::vector<Tensor> none;
  resolve_list_arguments(op, typed, attrs, none);
}

}  // namespace panto::dispatch

namespace panto {

std::span<const ListElement> Arg::list() const { return {static_cast<const ListElement*>(pointer_), count_}; }

ArgList::ArgList(const std::vector<Tensor>& tensors, Arg::Where where) : tensors_(tensors), where_(where) {}

ArgList::ArgList(std::span<const Tensor> tensors, Arg::Where where)
    : tensors_(tensors.begin(), tensors.end()), where_(where) {}

ArgList::ArgList(std::initializer_list<Arg> items, Arg::Where where) : where_(where) {
  bool numbers = false;
  for (const Arg& a : items) {
    numbers = numbers || dispatch::is_number(a);
    if (a.kind() == Arg::Kind::kVariable) {
      tensors_.push_back(a.variable().value(a.where()));
    } else if (!a.is_literal() || dispatch::is_number(a)) {
      tensors_.push_back(a.tensor());  // undefined for a number
    } else {
      invalid("list of tensors: expected tensors and numbers, got a {}", a.is_integer_list() ? "list" : "text");
    }
  }
  if (numbers) dispatch::numbers_to_tensors(items, tensors_);
}

}  // namespace panto
