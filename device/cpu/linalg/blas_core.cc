// OpenBLAS chooses its kernels by the model of the processor when it is loaded, and takes the oldest for a model that
// is newer than itself: those of SSE3, with which a product takes five times as long as with AVX-512 and a
// decomposition twice. It is told which it may take when this library is loaded, before anybody can call it.
//
// Measured with Debian 12's 0.3.21 on Emerald Rapids, one thread, float32, 512x512: product 8.2 -> 1.7 ms, LU 4.7
// -> 2.4, QR 16 -> 6.4, eigenvectors of a symmetric matrix 32 -> 16, SVD 80 -> 34.
#ifdef __x86_64__
#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "panto/device/cpu/isa.h"
#include "panto/device/cpu/vendor.h"

namespace panto {
namespace {

// OpenBLAS's own functions, where it was built for many processors; else null.
template <class F>
F* function(const char* name) {
  return reinterpret_cast<F*>(dlsym(RTLD_DEFAULT, name));
}

// Whether kernels of this name have vectors of 128 bits, where there are twice or four times as wide ones.
bool is_narrow(std::string_view core) {
  constexpr std::string_view kNarrow[] = {
      "Prescott",  "Core2",  "Penryn",  "Dunnington",   "Nehalem",   "Atom", "Katmai",  "Coppermine",
      "Northwood", "Banias", "Opteron", "Opteron_SSE3", "Barcelona", "Nano", "Generic", "Unknown"};
  return std::find(std::begin(kNarrow), std::end(kNarrow), core) != std::end(kNarrow);
}

[[maybe_unused]] const bool chosen = [] {
  auto* const core = function<char*()>("openblas_get_corename");
  auto* const end = function<void()>("gotoblas_dynamic_quit");
  auto* const begin = function<void()>("gotoblas_dynamic_init");
  constexpr const char* kVariable = "OPENBLAS_CORETYPE";
  if (core == nullptr || end == nullptr || begin == nullptr || std::getenv(kVariable) != nullptr) return false;
  if (cpu::isa() == cpu::Isa::kPortable || !is_narrow(core())) return false;
  setenv(kVariable, cpu::isa() == cpu::Isa::kAvx512 ? "SkylakeX" : cpu::is_amd() ? "Zen" : "Haswell", 1);
  end();
  begin();
  unsetenv(kVariable);
  return true;
}();

}  // namespace
}  // namespace panto
#endif
