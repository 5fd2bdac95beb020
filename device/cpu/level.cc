#include "panto/device/cpu/level.h"

#include <cstdlib>
#include <string_view>

namespace panto::cpu {
namespace {

Level find_level() noexcept {
  const char* wanted = std::getenv("PANTO_CPU");  // NOLINT(concurrency-mt-unsafe): read once
  if (wanted != nullptr && std::string_view(wanted) == "portable") return Level::kPortable;
#ifdef __x86_64__
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return Level::kAvx2;
#endif
  return Level::kPortable;
}

}  // namespace

Level level() noexcept {
  static const Level found = find_level();
  return found;
}

}  // namespace panto::cpu
