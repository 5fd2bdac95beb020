// Values of small integer tensors during shape inference (design decision 14): reads values that determine an output's
// shape, and passes values through ops that only move them. (Arithmetic on them is in elementwise.h.)
#pragma once

#include <cstdint>
#include <optional>

#include "panto/lib/base/small_vector.h"
#include "panto/lib/core/call/call.h"

namespace panto {

// The integers of a scalar or vector input: the elements of a host tensor, or the known elements of a symbolic tensor.
class PANTO_EXPORT KnownIntegers {
 public:
  explicit KnownIntegers(const Tensor& t);
  KnownIntegers(const ShapeContext& c, int input) : KnownIntegers(c.in(input)) {}
  // The same if other inputs imply that there are `count` integers: if nothing is known, there are `count` unknown
  // ones.
  KnownIntegers(const ShapeContext& c, int input, int64_t count);

  // -1 if even their number is unknown; only `counted` may be called then.
  int64_t count() const { return count_; }
  bool counted() const { return count_ >= 0; }
  // True if all are known.
  bool complete() const { return complete_; }
  bool known(int64_t i) const { return complete_ || known_[static_cast<size_t>(i)]; }
  // Precondition: known(i).
  int64_t operator[](int64_t i) const { return values_[static_cast<size_t>(i)]; }
  std::optional<int64_t> get(int64_t i) const { return known(i) ? std::optional((*this)[i]) : std::nullopt; }
  std::span<const int64_t> values() const { return {values_.data(), values_.size()}; }

 private:
  SmallVector<int64_t, 8> values_;
  SmallVector<uint8_t, 8> known_;  // used unless complete
  int64_t count_ = -1;
  bool complete_ = false;
};

// The value of scalar input i, if known. Throws InvalidArgument if it is not a scalar.
PANTO_EXPORT std::optional<int64_t> known_scalar(const ShapeContext& c, int i);
// Element i of a host tensor of an integer type.
PANTO_EXPORT int64_t host_integer(const Tensor& t, int64_t i = 0);

// An int64 vector that a trace records as a Const.
Tensor constant_integers(const std::vector<int64_t>& values);

// The axes of the result of broadcasting shapes `a` and `b` along which `a` (first) and `b` (second) were stretched or
// have size 1. Throws InvalidArgument if they do not broadcast.
using BroadcastAxes = std::pair<std::vector<int64_t>, std::vector<int64_t>>;
PANTO_EXPORT BroadcastAxes broadcast_gradient_axes(std::span<const int64_t> a, std::span<const int64_t> b);

// In symbolic calls: output k has the values of input i, in order (or refers to the same variable).
PANTO_EXPORT void pass_values(ShapeContext& c, int i = 0, int k = 0);

}  // namespace panto
