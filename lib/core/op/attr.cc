#include "panto/lib/core/op/attr.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "panto/lib/base/error.h"
#include "panto/lib/base/text/quote.h"

namespace panto {
namespace {

// Tensors are equal if dtype, shape and bytes are: constants -0.0 and 0.0 are different.
bool equal_tensors(const Tensor& a, const Tensor& b) {
  if (!a.defined() || !b.defined()) return a.defined() == b.defined();
  if (a.impl() == b.impl()) return true;
  if (a.dtype() != b.dtype() || !(a.partial_shape() == b.partial_shape())) return false;
  if (a.is_meta() || b.is_meta()) return false;
  const Tensor x = a.cpu();
  const Tensor y = b.cpu();
  const auto count = static_cast<size_t>(x.numel());
  switch (x.dtype()) {
    case kString: {
      const auto* p = static_cast<const std::string*>(x.impl()->data);
      return std::equal(p, p + count, static_cast<const std::string*>(y.impl()->data));
    }
    case kResource: {
      const auto* p = static_cast<const ResourceHandle*>(x.impl()->data);
      return std::equal(p, p + count, static_cast<const ResourceHandle*>(y.impl()->data));
    }
    case kVariant: return count == 0;
    default: return std::memcmp(x.impl()->data, y.impl()->data, x.nbytes()) == 0;
  }
}

bool equal_floats(float a, float b) { return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b); }

// ---- Text ----------------------------------------------------------------------------------------------------------

std::string text_of(int64_t value) { return std::to_string(value); }
std::string text_of(float value) { return fmt::format("{}", value); }
std::string text_of(bool value) { return value ? "true" : "false"; }
std::string text_of(uint8_t value) { return text_of(value != 0); }  // an element of a list of bools
std::string text_of(DType value) { return std::string(dtype_name(value)); }
std::string text_of(const std::string& value) { return quote(value); }
std::string text_of(const PartialShape& value) { return value.to_string(); }
std::string text_of(const FunctionRef& value) { return value.name; }
std::string text_of(const Tensor& value) {
  if (!value.defined()) return "none";
  std::string text(dtype_name(value.dtype()));
  text += value.partial_shape().to_string();
  // For a small tensor the value is more useful than the shape.
  if (!value.is_meta() && value.numel() <= 8) {
    std::string printed = value.to_string();
    std::ranges::replace(printed, '\n', ' ');
    text += " " + printed;
  }
  return text;
}
template <class T>
std::string text_of(const std::vector<T>& list) {
  std::string text = "[";
  for (const T& item : list) text.append(text.size() > 1 ? ", " : "").append(text_of(item));
  return text + "]";
}

template <class T>
std::vector<T> list_of(const AttrSlot& slot) {
  const T* first = static_cast<const T*>(slot.p);
  return std::vector<T>(first, first + slot.n);
}

// Calls `f` with the value that `attr` holds (it must not be empty).
template <class F>
auto visit(const AttrValue& attr, F&& f) {
  switch (attr.kind()) {
    case AttrKind::kNone: break;
    case AttrKind::kInt: return f(attr.as<int64_t>());
    case AttrKind::kFloat: return f(attr.as<float>());
    case AttrKind::kBool: return f(attr.as<bool>());
    case AttrKind::kType: return f(attr.as<DType>());
    case AttrKind::kString: return f(attr.as<std::string>());
    case AttrKind::kShape: return f(attr.as<PartialShape>());
    case AttrKind::kTensor: return f(attr.as<Tensor>());
    case AttrKind::kFunc: return f(attr.as<FunctionRef>());
    case AttrKind::kIntList: return f(attr.as<std::vector<int64_t>>());
    case AttrKind::kFloatList: return f(attr.as<std::vector<float>>());
    case AttrKind::kBoolList: return f(attr.as<std::vector<uint8_t>>());
    case AttrKind::kTypeList: return f(attr.as<std::vector<DType>>());
    case AttrKind::kStringList: return f(attr.as<std::vector<std::string>>());
    case AttrKind::kShapeList: return f(attr.as<std::vector<PartialShape>>());
    case AttrKind::kFuncList: return f(attr.as<std::vector<FunctionRef>>());
  }
  fail(Code::kInternal, "attribute: expected a value, got none");
}

}  // namespace

std::string_view attr_kind_name(AttrKind kind) noexcept {
  switch (kind) {
    case AttrKind::kNone: return "none";
    case AttrKind::kInt: return "int";
    case AttrKind::kFloat: return "float";
    case AttrKind::kBool: return "bool";
    case AttrKind::kType: return "type";
    case AttrKind::kString: return "string";
    case AttrKind::kShape: return "shape";
    case AttrKind::kTensor: return "tensor";
    case AttrKind::kFunc: return "func";
    case AttrKind::kIntList: return "list(int)";
    case AttrKind::kFloatList: return "list(float)";
    case AttrKind::kBoolList: return "list(bool)";
    case AttrKind::kTypeList: return "list(type)";
    case AttrKind::kStringList: return "list(string)";
    case AttrKind::kShapeList: return "list(shape)";
    case AttrKind::kFuncList: return "list(func)";
  }
  return "?";
}

template <class T>
void AttrValue::hold(T&& value) {
  held_.object = new std::remove_cvref_t<T>(std::forward<T>(value));
  kind_ = kAttrKind<std::remove_cvref_t<T>>;
}

AttrValue::AttrValue(std::string value) { hold(std::move(value)); }
AttrValue::AttrValue(const char* value) { hold(std::string(value)); }
AttrValue::AttrValue(PartialShape value) { hold(std::move(value)); }
AttrValue::AttrValue(Tensor value) { hold(std::move(value)); }
AttrValue::AttrValue(FunctionRef value) { hold(std::move(value)); }
AttrValue::AttrValue(std::vector<int64_t> value) { hold(std::move(value)); }
AttrValue::AttrValue(std::vector<float> value) { hold(std::move(value)); }
AttrValue::AttrValue(std::vector<uint8_t> value) { hold(std::move(value)); }
AttrValue::AttrValue(std::vector<DType> value) { hold(std::move(value)); }
AttrValue::AttrValue(std::vector<std::string> value) { hold(std::move(value)); }
AttrValue::AttrValue(std::vector<PartialShape> value) { hold(std::move(value)); }
AttrValue::AttrValue(std::vector<FunctionRef> value) { hold(std::move(value)); }

AttrValue::AttrValue(const AttrValue& other) : held_(other.held_), kind_(other.kind_) {
  if (owns()) {
    visit(other, [this](const auto& value) { hold(value); });
  }
}

void AttrValue::destroy() noexcept {
  visit(*this, [](const auto& value) { delete &value; });
}

int64_t AttrValue::list_length() const noexcept {
  if (kind_ < AttrKind::kIntList) return -1;
  return visit(*this, []<class T>(const T& value) -> int64_t {
    if constexpr (requires { value.begin(); }) {
      return static_cast<int64_t>(value.size());
    } else {
      return -1;
    }
  });
}

bool AttrValue::operator==(const AttrValue& other) const {
  if (kind_ != other.kind_) return false;
  if (kind_ == AttrKind::kNone) return true;
  return visit(*this, [&other]<class T>(const T& value) {
    const T& theirs = other.as<T>();
    if constexpr (std::is_same_v<T, Tensor>) {
      return equal_tensors(value, theirs);
    } else if constexpr (std::is_same_v<T, float>) {
      return equal_floats(value, theirs);
    } else if constexpr (std::is_same_v<T, std::vector<float>>) {
      return std::ranges::equal(value, theirs, equal_floats);
    } else {
      return value == theirs;
    }
  });
}

std::string AttrValue::to_string() const {
  if (kind_ == AttrKind::kNone) return "none";
  return visit(*this, [](const auto& value) { return text_of(value); });
}

void AttrValue::wrong_kind() const {
  fail(Code::kInternal, "attribute: expected a value of another kind, got " + std::string(attr_kind_name(kind())));
}

AttrSlot borrow(const AttrValue& value) {
  if (value.kind() == AttrKind::kNone) return {};
  return visit(value, [](const auto& held) -> AttrSlot { return {held}; });
}

SmallVector<AttrSlot, 8> borrow(std::span<const AttrValue> values) {
  SmallVector<AttrSlot, 8> slots;
  slots.reserve(values.size());
  for (const AttrValue& value : values) slots.push_back(borrow(value));
  return slots;
}

AttrValue to_value(const AttrSlot& slot, AttrKind kind) {
  if (!slot.set) return {};
  const auto text = [&slot] { return std::string(static_cast<const char*>(slot.p), slot.n); };
  switch (kind) {
    case AttrKind::kNone: return {};
    case AttrKind::kInt: return AttrValue(slot.i);
    case AttrKind::kFloat: return AttrValue(slot.f);
    case AttrKind::kBool: return AttrValue(slot.b);
    case AttrKind::kType: return AttrValue(slot.t);
    case AttrKind::kString: return AttrValue(text());
    case AttrKind::kShape: return AttrValue(*static_cast<const PartialShape*>(slot.p));
    case AttrKind::kTensor: return AttrValue(*static_cast<const Tensor*>(slot.p));
    case AttrKind::kFunc: return AttrValue(*static_cast<const FunctionRef*>(slot.p));
    case AttrKind::kIntList: return AttrValue(list_of<int64_t>(slot));
    case AttrKind::kFloatList: return AttrValue(list_of<float>(slot));
    case AttrKind::kBoolList: return AttrValue(list_of<uint8_t>(slot));
    case AttrKind::kTypeList: return AttrValue(list_of<DType>(slot));
    case AttrKind::kStringList: return AttrValue(list_of<std::string>(slot));
    case AttrKind::kShapeList: return AttrValue(list_of<PartialShape>(slot));
    case AttrKind::kFuncList: return AttrValue(list_of<FunctionRef>(slot));
  }
  return {};
}

}  // namespace panto
