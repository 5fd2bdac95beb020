// Arg: the parameter type of typed functions. The compiler makes it at the call from a tensor, a variable, a C++ number
// or a list of integers. It also carries what the callee could not know otherwise: whether the tensor is a temporary
// (its memory may be reused for the result) and the caller's source line (errors name it).
//
//   Tensor y = add(x, 2);              // two Args: a tensor and a number
//   Tensor z = reshape(x, {-1, 3});    // a tensor and a list of integers
//
// An Arg borrows its value: use it as a parameter type only, never as a member or local variable.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <source_location>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/lib/core/tensor/tensor.h"
#include "panto/lib/core/tensor/variable.h"

namespace panto {

// An element of a brace list of integers: an integer of any type, or a scalar tensor of integers, so that
// `reshape(x, {shape(x)[0], -1})` is a list. Borrows the tensor, as Arg does.
class ListElement {
 public:
  // NOLINTBEGIN(google-explicit-constructor): implicit on purpose
  template <std::integral I>
    requires(!std::same_as<I, bool>)
  constexpr ListElement(I value) : value_(Dim(value).value()) {}
  ListElement(const Tensor& t) : tensor_(&t) {}
  // NOLINTEND(google-explicit-constructor)
  const Tensor* tensor() const { return tensor_; }  // null: an integer
  int64_t value() const { return value_; }

 private:
  int64_t value_ = 0;
  const Tensor* tensor_ = nullptr;
};

class PANTO_EXPORT Arg {
 public:
  using Where = std::source_location;
  // kIntegers: consecutive integers; kList: the elements of a brace list.
  enum class Kind : uint8_t { kBorrowed, kOwned, kVariable, kInt, kReal, kBool, kIntegers, kList, kText, kAllAxes };

  // NOLINTBEGIN(google-explicit-constructor): implicit on purpose
  Arg(const Tensor& t, Where where = Where::current()) : kind_(Kind::kBorrowed), pointer_(&t), where_(where) {}
  Arg(Tensor&& t, Where where = Where::current()) : kind_(Kind::kOwned), owned_(std::move(t)), where_(where) {}
  Arg(const Variable& v, Where where = Where::current()) : kind_(Kind::kVariable), pointer_(&v), where_(where) {}
  Arg(const VariablePart& part, Where where = Where::current()) : Arg(part.value(), where) {}
  Arg(float value, Where where = Where::current()) : Arg(double{value}, Kind::kReal, kFloat32, where) {}
  Arg(double value, Where where = Where::current()) : Arg(value, Kind::kReal, kFloat64, where) {}
  Arg(int value, Where where = Where::current()) : Arg(int64_t{value}, where, kInt32) {}
  Arg(long value, Where where = Where::current()) : Arg(int64_t{value}, where, kInt64) {}
  Arg(long long value, Where where = Where::current()) : Arg(int64_t{value}, where, kInt64) {}
  Arg(bool value, Where where = Where::current())
      : kind_(Kind::kBool), literal_type_(kBool), int_(value), where_(where) {}
  Arg(std::initializer_list<ListElement> list, Where where = Where::current())
      : kind_(Kind::kList), pointer_(list.begin()), count_(list.size()), where_(where) {}
  Arg(const std::vector<int64_t>& list, Where where = Where::current())
      : kind_(Kind::kIntegers), pointer_(list.data()), count_(list.size()), where_(where) {}
  Arg(const Shape& shape, Where where = Where::current())
      : kind_(Kind::kIntegers), pointer_(shape.dims_.data()), count_(shape.dims_.size()), where_(where) {}
  Arg(const char* text, Where where = Where::current()) : Arg(std::string_view(text), where) {}
  Arg(const std::string& text, Where where = Where::current()) : Arg(std::string_view(text), where) {}
  Arg(std::string_view text, Where where = Where::current())
      : kind_(Kind::kText), pointer_(text.data()), count_(text.size()), where_(where) {}
  // NOLINTEND(google-explicit-constructor)
  // All axes of the first argument: the default of reductions.
  static Arg all_axes(Where where = Where::current()) { return Arg(0.0, Kind::kAllAxes, kInt32, where); }

  Kind kind() const { return kind_; }
  bool is_literal() const { return kind_ >= Kind::kInt; }
  bool is_integer_list() const { return kind_ == Kind::kIntegers || kind_ == Kind::kList; }
  const Where& where() const { return where_; }
  // The tensor. For a literal or a variable only after set_tensor.
  const Tensor& tensor() const { return kind_ == Kind::kBorrowed ? *static_cast<const Tensor*>(pointer_) : owned_; }
  // Called by typed functions: replaces a literal or variable by a tensor.
  void set_tensor(Tensor t) {
    owned_ = std::move(t);
    kind_ = Kind::kOwned;
  }
  // True if the dispatcher may take over the tensor's memory.
  bool is_owned() const { return kind_ == Kind::kOwned; }
  Tensor& owned() { return owned_; }

  const Variable& variable() const { return *static_cast<const Variable*>(pointer_); }
  int64_t integer() const { return int_; }
  double real() const { return real_; }
  DType literal_type() const { return literal_type_; }
  // A template for the same reason as PartialShape::dims.
  template <class Int = int64_t>
  std::span<const Int> integers() const {
    return {static_cast<const Int*>(pointer_), count_};
  }
  std::span<const ListElement> list() const;
  std::string_view text() const { return {static_cast<const char*>(pointer_), count_}; }

 private:
  Arg(int64_t value, Where where, DType type) : kind_(Kind::kInt), literal_type_(type), int_(value), where_(where) {}
  Arg(double value, Kind kind, DType type, Where where)
      : kind_(kind), literal_type_(type), real_(value), where_(where) {}

  Kind kind_;
  DType literal_type_ = DType::kInvalid;
  union {
    const void* pointer_ = nullptr;
    int64_t int_;
    double real_;
  };
  size_t count_ = 0;
  Tensor owned_;
  Where where_;
};

// A list of tensors: `pack({a, b})`, `concat(vector_of_tensors, 0)`. Numbers beside tensors take the tensors' dtype, as
// operands do: `pack({shape(x)[0], -1})`.
class PANTO_EXPORT ArgList {
 public:
  // NOLINTBEGIN(google-explicit-constructor): implicit on purpose
  ArgList(std::initializer_list<Arg> items, Arg::Where where = Arg::Where::current());
  ArgList(const std::vector<Tensor>& tensors, Arg::Where where = Arg::Where::current());
  ArgList(std::span<const Tensor> tensors, Arg::Where where = Arg::Where::current());
  // NOLINTEND(google-explicit-constructor)
  const std::vector<Tensor>& tensors() const { return tensors_; }
  const Arg::Where& where() const { return where_; }

 private:
  std::vector<Tensor> tensors_;
  Arg::Where where_;
};

}  // namespace panto
