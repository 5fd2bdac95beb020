// What a planned step prepares once from a constant input.
#pragma once

#include "panto/lib/base/error.h"
#include "panto/lib/core/call/call.h"

namespace panto::cpu {

// For a kernel's prepare function: whether input i is a constant in this device's memory.
inline bool is_constant(const KernelContext& call, int i) {
  return !call.in(i).is_meta() && &call.in(i).device() == &call.device();
}

// A constant and the value made from it. `made` is empty if there was nothing to make or no memory for it.
template <class Made>
struct MadeOfConstant {
  Tensor constant;
  Made made{};

  template <class Make>
  void set(const Tensor& input, const Make& make) {
    try {
      made = make(input);
      if (made) constant = input;
    } catch (const Error& error) {
      if (error.code() != Code::kResourceExhausted) throw;
    }
  }
  // The value made is assumed to be about as large as the constant.
  int64_t bytes() const noexcept { return constant.defined() ? static_cast<int64_t>(constant.nbytes()) : 0; }
  // Returns the value made from this constant; null for any other input.
  const Made* of(const Tensor& input) const {
    return constant.defined() && input.impl() == constant.impl() ? &made : nullptr;
  }
};

}  // namespace panto::cpu
