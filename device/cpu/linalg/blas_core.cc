// When it is loaded, OpenBLAS chooses its kernels by processor model. For a model newer than itself it takes the oldest
// ones, SSE3, with which a product takes five times as long as with AVX-512 and a decomposition twice. This file tells
// OpenBLAS which kernels to take before its first function is called.
//
// Measured with Debian 12's 0.3.21 on Emerald Rapids, one thread, float32, 512x512: product 8.2 -> 1.7 ms, LU 4.7
// -> 2.4, QR 16 -> 6.4, eigenvectors of a symmetric matrix 32 -> 16, SVD 80 -> 34.
#ifdef __x86_64__
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "panto/device/cpu/isa.h"
#include "panto/device/cpu/vendor.h"
#include "panto/lib/base/delay_load/delay_load.h"

namespace panto {
namespace {

// Returns true if the kernels of this name use 128-bit vectors only.
bool is_narrow(std::string_view core) {
  constexpr std::string_view kNarrow[] = {
      "Prescott",  "Core2",  "Penryn",  "Dunnington",   "Nehalem",   "Atom", "Katmai",  "Coppermine",
      "Northwood", "Banias", "Opteron", "Opteron_SSE3", "Barcelona", "Nano", "Generic", "Unknown"};
  return std::find(std::begin(kNarrow), std::end(kNarrow), core) != std::end(kNarrow);
}

constexpr const char* kVariable = "OPENBLAS_CORETYPE";

// Calls f() with one more environment variable: the only way to tell OpenBLAS. Threads that read the environment
// meanwhile see the old or the new array, complete; setenv could move the array while they read it. Variables that
// other threads set meanwhile are lost.
template <class F>
void with_variable(std::string text, const F& f) {
  struct Environment {
    std::string text;
    std::vector<char*> variables;
  };
  static auto* const more = new Environment{std::move(text), {}};  // leaked on purpose: a thread may still read it
  char** const before = environ;
  for (char** variable = before; variable != nullptr && *variable != nullptr; ++variable) {
    more->variables.push_back(*variable);
  }
  more->variables.push_back(more->text.data());
  more->variables.push_back(nullptr);
  environ = more->variables.data();
  f();
  if (environ == more->variables.data()) {
    environ = before;
  } else {
    unsetenv(kVariable);
  }
}

// An OpenBLAS built for a single kind of processor lacks these functions.
void choose_kernels(void* openblas) {
  const auto core = reinterpret_cast<char* (*)()>(dlsym(openblas, "openblas_get_corename"));
  const auto end = reinterpret_cast<void (*)()>(dlsym(openblas, "gotoblas_dynamic_quit"));
  const auto begin = reinterpret_cast<void (*)()>(dlsym(openblas, "gotoblas_dynamic_init"));
  if (core == nullptr || end == nullptr || begin == nullptr || std::getenv(kVariable) != nullptr) return;
  if (cpu::isa() == cpu::Isa::kPortable || !is_narrow(core())) return;
  const char* const wanted = cpu::isa() == cpu::Isa::kAvx512 ? "SkylakeX" : cpu::is_amd() ? "Zen" : "Haswell";
  with_variable(std::string(kVariable) + "=" + wanted, [&] {
    end();
    begin();
  });
}

[[maybe_unused]] const bool configured = (configure_library("libopenblas.so", choose_kernels), true);

}  // namespace
}  // namespace panto
#endif
