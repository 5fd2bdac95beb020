// The same numbers on every machine: SplitMix64.
#pragma once

#include <cstdint>
#include <vector>

namespace panto::random {

class Rng {
 public:
  // Mixed first: steps of the state are multiples of one number, and so would be the distances between seeds.
  explicit Rng(uint64_t seed) : state_(seed) { state_ = next() ^ (seed << 32); }
  uint64_t next() {
    state_ += 0x9E3779B97F4A7C15u;
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  // In [0, n).
  int below(int n) { return static_cast<int>(next() % static_cast<uint64_t>(n)); }
  int between(int low, int high) { return low + below(high - low + 1); }
  double real() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  double between(double low, double high) { return low + (high - low) * real(); }
  bool chance(double p) { return real() < p; }
  template <class T>
  const T& pick(const std::vector<T>& list) {
    return list[static_cast<size_t>(below(static_cast<int>(list.size())))];
  }

 private:
  uint64_t state_;
};

}  // namespace panto::random
