// Attributes of ops, in two forms: `AttrSlot`, what a call carries (16 bytes, borrowed, by signature position), and
// `AttrValue`, what a graph node keeps (owning). Slots become values only when somebody records.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/lib/core/dtype.h"
#include "panto/lib/core/shape.h"
#include "panto/lib/core/tensor.h"

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
};
// "int", "list(type)", ...: TensorFlow's spelling.
PANTO_EXPORT std::string_view attr_kind_name(AttrKind kind) noexcept;

// The name of a function in an attribute of type func.
struct FuncName {
  std::string name;
  bool operator==(const FuncName&) const = default;
};

// An owned attribute. The alternatives are in the order of AttrKind.
class PANTO_EXPORT AttrValue {
 public:
  using Storage = std::variant<std::monostate, int64_t, float, bool, DType, std::string, PartialShape, Tensor, FuncName,
                               std::vector<int64_t>, std::vector<float>, std::vector<uint8_t>, std::vector<DType>,
                               std::vector<std::string>, std::vector<PartialShape>>;

  AttrValue() = default;
  template <class T>
    requires(!std::is_same_v<std::decay_t<T>, AttrValue> && std::is_constructible_v<Storage, T>)
  explicit AttrValue(T&& value) : storage_(std::forward<T>(value)) {}

  AttrKind kind() const noexcept { return static_cast<AttrKind>(storage_.index()); }
  // Throws Internal if this is not one.
  template <class T>
  const T& as() const {
    const T* value = std::get_if<T>(&storage_);
    if (value == nullptr) wrong_kind();
    return *value;
  }
  const Storage& storage() const noexcept { return storage_; }
  // Tensors compare by value (bytes).
  bool operator==(const AttrValue& other) const;
  // As in a signature: "true", "[1, 2]", "float32", "\"SAME\"".
  std::string to_string() const;

 private:
  [[noreturn]] void wrong_kind() const;
  Storage storage_;
};

// A borrowed attribute: what it points to must outlive the call. Which member is valid follows from the signature.
struct AttrSlot {
  union {
    int64_t i;
    float f;
    bool b;
    DType t;
    const void* p;  // first element of a list, characters of a string, a PartialShape, a Tensor
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
// A copy of what `slot`, of this kind, borrows.
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
