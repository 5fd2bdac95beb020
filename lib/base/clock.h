// Wall-clock time of the machine. Internal.
#pragma once

#include <chrono>

namespace panto {

// Seconds since 1970.
inline double machine_time() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace panto
