#include "panto/device/cpu/isa.h"

#include <cstdlib>
#include <string_view>

namespace panto::cpu {
namespace {

Isa find_isa() noexcept {
  const char* variable = std::getenv("PANTO_CPU");  // NOLINT(concurrency-mt-unsafe): read once
  const std::string_view wanted = variable != nullptr ? variable : "";
  if (wanted == "portable") return Isa::kPortable;
#ifdef __x86_64__
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return Isa::kPortable;
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  return avx512 && wanted != "avx2" ? Isa::kAvx512 : Isa::kAvx2;
#else
  return Isa::kPortable;
#endif
}

}  // namespace

Isa isa() noexcept {
  static const Isa found = find_isa();
  return found;
}

bool has_bfloat16() noexcept {
#ifdef __x86_64__
  static const bool found = isa() == Isa::kAvx512 && __builtin_cpu_supports("avx512bf16");
  return found;
#else
  return false;
#endif
}

}  // namespace panto::cpu
