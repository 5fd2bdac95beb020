// The scalar inputs of an optimizer step, in the order in which rules read them (device/training/rules.h).
#pragma once

#include "panto/device/math/convert.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/call.h"

namespace panto::training {

// Reads the inputs after the `slots` variables, except inputs `first` to `last`: the gradient and, for sparse steps,
// the row numbers.
template <class T>
class Scalars {
 public:
  Scalars(const KernelContext& c, size_t slots, int first, int last)
      : c_(c), at_(static_cast<int>(slots)), first_(first), last_(last) {}
  Compute<T> next() { return convert<Compute<T>>(*c_.data<T>(position())); }
  bool of_rows() const { return last_ > first_; }
  // Reads an int64 scalar.
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
