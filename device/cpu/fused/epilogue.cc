#include "panto/device/cpu/fused/epilogue.h"

#include <algorithm>
#include <type_traits>

#include "panto/device/batch_norm.h"
#include "panto/device/cpu/elementwise/loops.h"
#include "panto/device/cpu/parallel.h"
#include "panto/lib/base/checked.h"

namespace panto::cpu {
namespace {

constexpr int64_t kPiece = 4096;  // elements that pass from loop to loop in the first-level cache

using epilogue::with_activation;

template <class F>
[[gnu::always_inline]] inline void activate(F f, int64_t n, float* y) {
  PANTO_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) y[i] = f(y[i]);
}

// How the per-channel factor is used.
enum class Scaling : uint8_t { kNone, kNormalise, kMultiply };

Scaling scaling_of(const EpilogueTerms& t) {
  if (t.mean != nullptr) return Scaling::kNormalise;
  return t.factor == nullptr ? Scaling::kNone : Scaling::kMultiply;
}

// kAlong: elements run along the channels; else all belong to one channel.
template <bool kAlong, bool kBias, Scaling kScaling, bool kAdd, class F>
[[gnu::always_inline]] inline void add_terms(const EpilogueTerms& t, F f, int64_t n, float* y) {
  PANTO_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) {
    const int64_t c = kAlong ? i : 0;
    float v = y[i];
    if constexpr (kBias) v += t.bias[c];
    if constexpr (kScaling == Scaling::kNormalise) v = normalised(v, t.mean[c], t.factor[c], t.offset[c]);
    if constexpr (kScaling == Scaling::kMultiply) v *= t.factor[c];
    if constexpr (kAdd) v += t.added[i];
    y[i] = f(v);
  }
}

// Calls body(std::bool_constant<flag>).
template <class Body>
[[gnu::always_inline]] inline void with_flag(bool flag, const Body& body) {
  flag ? body(std::true_type{}) : body(std::false_type{});
}

// Calls body(std::integral_constant<Scaling, s>).
template <class Body>
[[gnu::always_inline]] inline void with_scaling(Scaling s, const Body& body) {
  switch (s) {
    case Scaling::kNone: return body(std::integral_constant<Scaling, Scaling::kNone>{});
    case Scaling::kNormalise: return body(std::integral_constant<Scaling, Scaling::kNormalise>{});
    case Scaling::kMultiply: return body(std::integral_constant<Scaling, Scaling::kMultiply>{});
  }
}

// `joined`: the activation if it is part of the loop, else kNone.
template <bool kAlong>
[[gnu::always_inline]] inline void add_in_one_loop(const EpilogueTerms& t, FusedActivation joined, int64_t n,
                                                   float* y) {
  with_flag(t.bias != nullptr, [&](auto bias) __attribute__((always_inline)) {
    with_scaling(scaling_of(t), [&](auto scaling) __attribute__((always_inline)) {
      with_flag(t.added != nullptr, [&](auto add) __attribute__((always_inline)) {
        switch (joined) {
          case FusedActivation::kRelu: return add_terms<kAlong, bias, scaling, add>(t, ReluFn{}, n, y);
          case FusedActivation::kRelu6: return add_terms<kAlong, bias, scaling, add>(t, epilogue::Relu6{}, n, y);
          default: return add_terms<kAlong, bias, scaling, add>(t, epilogue::Identity{}, n, y);
        }
      });
    });
  });
}

// The same, but if something is added to the product with the factor, then in a second loop: in one loop the compiler
// would contract both to a multiply-add, which rounds once.
template <bool kAlong>
[[gnu::always_inline]] inline void add_terms(const EpilogueTerms& t, FusedActivation joined, int64_t n, float* y) {
  const bool apart = t.mean == nullptr && t.factor != nullptr && (t.offset != nullptr || t.added != nullptr);
  if (!apart) return add_in_one_loop<kAlong>(t, joined, n, y);
  add_in_one_loop<kAlong>({.bias = t.bias, .factor = t.factor}, FusedActivation::kNone, n, y);
  add_in_one_loop<kAlong>({.bias = t.offset, .added = t.added}, joined, n, y);
}

}  // namespace

BoundEpilogue::BoundEpilogue(const KernelContext& call, int64_t channels)
    : epilogue_(parse_epilogue(call)), channels_(channels) {
  const GivenTerms given = given_terms(call, epilogue_, channels);
  terms_ = given.terms;
  if (!epilogue_.batch_norm) return;
  factors_.resize(checked_cast<size_t>(channels));
  for (size_t k = 0; k < factors_.size(); ++k) {
    factors_[k] = norm_factor(given.scale[k], given.variance[k], epilogue_.epsilon);
  }
  terms_.factor = factors_.data();
}

void BoundEpilogue::finish_rows(float* result, int64_t at, int64_t rows, int64_t first, int64_t count,
                                int64_t row_step) const {
  if (does_nothing()) return;
  const bool whole = count == row_step;
  const int64_t piece = std::max<int64_t>(1, kPiece / std::max<int64_t>(1, count));  // rows
  multiversioned([&] {
    for (int64_t r = 0; r < rows; r += piece) {
      const int64_t height = std::min(piece, rows - r);
      float* y = result + at + r * row_step;
      if (terms_.any()) {
        EpilogueTerms t = terms_.from(first, y - result);
        for (int64_t i = 0; i < height; ++i) {
          add_terms<true>(t, joined(), count, y + i * row_step);
          if (t.added != nullptr) t.added += row_step;
        }
      }
      if (joined() != FusedActivation::kNone) continue;
      with_activation(epilogue_, [&](auto f) __attribute__((always_inline)) {
        if (whole) return activate(f, height * count, y);
        for (int64_t i = 0; i < height; ++i) activate(f, count, y + i * row_step);
      });
    }
  });
}

void BoundEpilogue::finish_plane(float* result, int64_t at, int64_t channel, int64_t count) const {
  if (does_nothing()) return;
  multiversioned([&] {
    for (int64_t i = 0; i < count; i += kPiece) {
      const int64_t n = std::min(kPiece, count - i);
      float* y = result + at + i;
      if (terms_.any()) add_terms<false>(terms_.from(channel, at + i), joined(), n, y);
      if (joined() != FusedActivation::kNone) continue;
      with_activation(epilogue_, [&](auto f) __attribute__((always_inline)) { activate(f, n, y); });
    }
  });
}

void BoundEpilogue::finish_all(float* result, int64_t outer, int64_t inner) const {
  int64_t work = 8;
  with_activation(epilogue_, [&](auto f) { work += extra_work<decltype(f)>(); });
  const bool by_rows = inner == 1;
  const int64_t n = by_rows ? outer : outer * channels_, each = by_rows ? channels_ : inner;
  parallel_ranges(
      n, n * each * work,
      [&](int64_t begin, int64_t end) {
        if (by_rows) return finish_rows(result, begin * each, end - begin, 0, channels_, channels_);
        for (int64_t i = begin; i < end; ++i) finish_plane(result, i * each, i % channels_, each);
      },
      8);
}

}  // namespace panto::cpu
