// Tells errors that stop a step from errors of the computation. Internal.
#pragma once

#include "panto/lib/base/error.h"

namespace panto {

// Code that handles an error by trying something else must rethrow these.
inline bool is_stop(const Error& error) noexcept {
  return error.code() == Code::kCancelled || error.code() == Code::kDeadlineExceeded;
}

}  // namespace panto
