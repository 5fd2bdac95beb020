// The scalars among the inputs of an optimizer's step, in order, as rules ask for them (device/training/rules.h).
#pragma once

#include "panto/device/math/convert.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/call.h"

namespace panto::training {

// Behind the `slots` variables, without inputs `first` to `last`: the gradient and, of rows, their numbers.
template <class T>
class Scalars {
 public:
  Scalars(const KernelContext& c, size_t slots, int first, int last)
      : c_(c), at_(static_cast<int>(slots)), first_(first), last_(last) {}
  Compute<T> next() { return convert<Compute<T>>(*c_.data<T>(position())); }
  bool of_rows() const { return last_ > first_; }
  // An int64 number.
  Compute<T> count() { return static_cast<Compute<T>>(*c_.data<int64_t>(position())); }
  // Throws InvalidArgument unless `holds`.
  void expect(bool holds, const char* what, const char* wanted, Compute<T> got) const {
    if (!holds) invalid("{}: expected {}, got {}", what, wanted, static_cast<double>(got));
  }

 private:
  int position() {
    if (at_ == first_) at_ = last_ + 1;
    return at_++;
  }
  const KernelContext& c_;
  int at_, first_, last_;
};

}  // namespace panto::training
