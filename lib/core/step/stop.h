// Which errors say that a step was stopped, and nothing of what was computed. Internal.
#pragma once

#include "panto/lib/base/error.h"

namespace panto {

// What tries something else where there is an error lets these pass.
inline bool is_stop(const Error& error) noexcept {
  return error.code() == Code::kCancelled || error.code() == Code::kDeadlineExceeded;
}

}  // namespace panto
