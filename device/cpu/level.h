// Which instructions kernels may use, beyond those that every machine of this architecture has.
#pragma once

namespace panto::cpu {

enum class Level { kPortable, kAvx2 };  // kAvx2: AVX2 and FMA

// The highest that this machine has, or "portable" where the environment variable PANTO_CPU says so. The same for the
// life of the process; may be asked before main.
Level level() noexcept;

#ifdef __x86_64__
template <class Body>
[[gnu::target("avx2,fma"), gnu::flatten]] void run_with_avx2(const Body& body) {
  body();
}
#endif

// Runs body(), compiled for this machine: whatever it calls is inlined, as far as the compiler sees its text. For loops
// that take far longer than the nanosecond of asking.
template <class Body>
void specialised(const Body& body) {
#ifdef __x86_64__
  if (level() >= Level::kAvx2) return run_with_avx2(body);
#endif
  body();
}

}  // namespace panto::cpu
