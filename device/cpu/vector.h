// Vectors of elements, as the compiler knows them: their operators are compiled for the instruction set of the function
// that they are inlined into.
#pragma once

namespace panto::cpu {

template <class T, int kBytes>
struct Vector {
  typedef T type __attribute__((vector_size(kBytes)));  // NOLINT(modernize-use-using)
  // The same in memory, where it need not be aligned.
  typedef T loose __attribute__((vector_size(kBytes), aligned(sizeof(T)), may_alias));  // NOLINT(modernize-use-using)
};

// A vector of one element is the element.
template <>
struct Vector<float, sizeof(float)> {
  using type = float;
  using loose = float;
};
template <>
struct Vector<double, sizeof(double)> {
  using type = double;
  using loose = double;
};

// Reads and writes vectors that need not be aligned. References, because functions that pass vectors by value differ
// between instruction sets.
template <class V, class T>
[[gnu::always_inline]] inline void load(const T* from, V& to) {
  to = *reinterpret_cast<const typename Vector<T, sizeof(V)>::loose*>(from);
}
template <class V, class T>
[[gnu::always_inline]] inline void store(const V& v, T* to) {
  *reinterpret_cast<typename Vector<T, sizeof(V)>::loose*>(to) = v;
}

}  // namespace panto::cpu
