#include "panto/device/cpu/vendor.h"

namespace panto::cpu {

bool is_amd() noexcept {
#ifdef __x86_64__
  static const bool found = [] {
    __builtin_cpu_init();
    return __builtin_cpu_is("amd") != 0;
  }();
  return found;
#else
  return false;
#endif
}

}  // namespace panto::cpu
