// Attributes of ops, in two forms: `AttrSlot` is what a call carries (16 bytes, borrowed, by signature position);
// `AttrValue` is what a graph node keeps (owning). Slots are converted to values only when a call is recorded.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/lib/base/small_vector.h"
#include "panto/lib/core/tensor/dtype.h"
#include "panto/lib/core/tensor/shape.h"
#include "panto/lib/core/tensor/tensor.h"

namespace panto {

enum class AttrKind : uint8_t {
  kNone,
  kInt,
  kFloat,
  kBool,
  kType,
  kString,
  kShape,
  kTensor,
  kFunc,
  kIntList,
  kFloatList,
  kBoolList,
  kTypeList,
  kStringList,
  kShapeList,
  kFuncList,
};
// "int", "list(type)", ...: TensorFlow's spelling.
PANTO_EXPORT std::string_view attr_kind_name(AttrKind kind) noexcept;

class FunctionBody;
class FunctionLibrary;

// The value of an attribute of type func: a function's name and what is known of it. Equal if they name the same body.
struct FunctionRef {
  std::string name;
  std::shared_ptr<const FunctionBody> body = nullptr;  // null: only the name is known, or `library` has the body
  // For a function that calls itself, which cannot own its own body.
  std::shared_ptr<const FunctionLibrary> library = nullptr;
  bool operator==(const FunctionRef&) const = default;
};

// The attribute kind for a C++ type; kNone for other types.
template <class T>
inline constexpr AttrKind kAttrKind = AttrKind::kNone;
template <>
inline constexpr AttrKind kAttrKind<int64_t> = AttrKind::kInt;
template <>
inline constexpr AttrKind kAttrKind<float> = AttrKind::kFloat;
template <>
inline constexpr AttrKind kAttrKind<bool> = AttrKind::kBool;
template <>
inline constexpr AttrKind kAttrKind<DType> = AttrKind::kType;
template <>
inline constexpr AttrKind kAttrKind<std::string> = AttrKind::kString;
template <>
inline constexpr AttrKind kAttrKind<PartialShape> = AttrKind::kShape;
template <>
inline constexpr AttrKind kAttrKind<Tensor> = AttrKind::kTensor;
template <>
inline constexpr AttrKind kAttrKind<FunctionRef> = AttrKind::kFunc;
template <>
inline constexpr AttrKind kAttrKind<std::vector<int64_t>> = AttrKind::kIntList;
template <>
inline constexpr AttrKind kAttrKind<std::vector<float>> = AttrKind::kFloatList;
template <>
inline constexpr AttrKind kAttrKind<std::vector<uint8_t>> = AttrKind::kBoolList;
template <>
inline constexpr AttrKind kAttrKind<std::vector<DType>> = AttrKind::kTypeList;
template <>
inline constexpr AttrKind kAttrKind<std::vector<std::string>> = AttrKind::kStringList;
template <>
inline constexpr AttrKind kAttrKind<std::vector<PartialShape>> = AttrKind::kShapeList;
template <>
inline constexpr AttrKind kAttrKind<std::vector<FunctionRef>> = AttrKind::kFuncList;

// An owned attribute in 16 bytes; larger values are behind a pointer. A std::variant would take a tenth of the time to
// compile a program that includes panto.h.
class PANTO_EXPORT AttrValue {
 public:
  AttrValue() noexcept = default;
  explicit AttrValue(int64_t value) noexcept : held_{.i = value}, kind_(AttrKind::kInt) {}
  explicit AttrValue(float value) noexcept : held_{.f = value}, kind_(AttrKind::kFloat) {}
  explicit AttrValue(bool value) noexcept : held_{.b = value}, kind_(AttrKind::kBool) {}
  explicit AttrValue(DType value) noexcept : held_{.t = value}, kind_(AttrKind::kType) {}
  explicit AttrValue(std::string value);
  explicit AttrValue(const char* value);  // a string; without this overload text would become a bool
  explicit AttrValue(PartialShape value);
  explicit AttrValue(Tensor value);
  explicit AttrValue(FunctionRef value);
  explicit AttrValue(std::vector<int64_t> value);
  explicit AttrValue(std::vector<float> value);
  explicit AttrValue(std::vector<uint8_t> value);
  explicit AttrValue(std::vector<DType> value);
  explicit AttrValue(std::vector<std::string> value);
  explicit AttrValue(std::vector<PartialShape> value);
  explicit AttrValue(std::vector<FunctionRef> value);

  AttrValue(const AttrValue& other);
  AttrValue(AttrValue&& other) noexcept : AttrValue() { swap(other); }
  AttrValue& operator=(AttrValue other) noexcept {
    swap(other);
    return *this;
  }
  ~AttrValue() {
    if (owns()) destroy();
  }

  AttrKind kind() const noexcept { return kind_; }
  // Throws Internal if the value is of another kind.
  template <class T>
    requires(kAttrKind<T> != AttrKind::kNone)
  const T& as() const {
    if (kind_ != kAttrKind<T>) wrong_kind();
    return *static_cast<const T*>(owns() ? held_.object : static_cast<const void*>(&held_));
  }
  // Number of elements of a list, -1 for other kinds.
  int64_t list_length() const noexcept;
  // Tensors compare by value (bytes).
  bool operator==(const AttrValue& other) const;
  // The text as in a signature: "true", "[1, 2]", "float32", "\"SAME\"".
  std::string to_string() const;

 private:
  template <class T>
  void hold(T&& value);
  bool owns() const noexcept { return kind_ > AttrKind::kType; }
  void swap(AttrValue& other) noexcept {
    std::swap(held_, other.held_);
    std::swap(kind_, other.kind_);
  }
  void destroy() noexcept;
  [[noreturn]] void wrong_kind() const;

  union Held {
    int64_t i;
    float f;
    bool b;
    DType t;
    void* object;
  };
  Held held_{.i = 0};
  AttrKind kind_ = AttrKind::kNone;
};

// A borrowed attribute: the data that it points to must outlive the call. The signature tells which member is valid.
struct AttrSlot {
  union {
    int64_t i;
    float f;
    bool b;
    DType t;
    const void* p;  // first element of a list, characters of a string, a PartialShape, a Tensor ...
  };
  uint32_t n = 0;  // elements behind p
  bool set = false;

  constexpr AttrSlot() : p(nullptr) {}
  constexpr AttrSlot(int64_t value) : i(value), set(true) {}                  // NOLINT(google-explicit-constructor)
  constexpr AttrSlot(int32_t value) : i(value), set(true) {}                  // NOLINT(google-explicit-constructor)
  constexpr AttrSlot(float value) : f(value), set(true) {}                    // NOLINT(google-explicit-constructor)
  constexpr AttrSlot(bool value) : b(value), set(true) {}                     // NOLINT(google-explicit-constructor)
  constexpr AttrSlot(DType value) : t(value), set(true) {}                    // NOLINT(google-explicit-constructor)
  AttrSlot(std::string_view value) : AttrSlot(value.data(), value.size()) {}  // NOLINT(google-explicit-constructor)
  AttrSlot(const std::string& value) : AttrSlot(std::string_view(value)) {}   // NOLINT(google-explicit-constructor)
  AttrSlot(const char* value) : AttrSlot(std::string_view(value)) {}          // NOLINT(google-explicit-constructor)
  AttrSlot(const PartialShape& value) : AttrSlot(&value, size_t{1}) {}        // NOLINT(google-explicit-constructor)
  AttrSlot(const Tensor& value) : AttrSlot(&value, size_t{1}) {}              // NOLINT(google-explicit-constructor)
  AttrSlot(const FunctionRef& value) : AttrSlot(&value, size_t{1}) {}         // NOLINT(google-explicit-constructor)
  template <class T>
  AttrSlot(const std::vector<T>& list) : AttrSlot(list.data(), list.size()) {}  // NOLINT(google-explicit-constructor)
  template <class T>
  AttrSlot(std::span<const T> list) : AttrSlot(list.data(), list.size()) {}  // NOLINT(google-explicit-constructor)

 private:
  AttrSlot(const void* data, size_t count) : p(data), n(static_cast<uint32_t>(count)), set(true) {}
};
static_assert(sizeof(AttrSlot) == 16);

// A slot that borrows from `value` (which must outlive it); unset for an empty value.
PANTO_EXPORT AttrSlot borrow(const AttrValue& value);
PANTO_EXPORT SmallVector<AttrSlot, 8> borrow(std::span<const AttrValue> values);
// Copies the data that `slot` borrows into an owned value of this kind.
PANTO_EXPORT AttrValue to_value(const AttrSlot& slot, AttrKind kind);

// An attribute's name with its hash, computed by the compiler: looking one up compares a few integers.
struct AttrName {
  uint32_t hash;
  std::string_view text;
  consteval AttrName(const char* name) : hash(hash_of(name)), text(name) {}  // NOLINT(google-explicit-constructor)
  static constexpr uint32_t hash_of(std::string_view name) {
    uint32_t h = 2166136261u;  // FNV-1a
    for (char c : name) h = (h ^ static_cast<unsigned char>(c)) * 16777619u;
    return h;
  }
};

}  // namespace panto
