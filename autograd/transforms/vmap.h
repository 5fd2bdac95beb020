// vmap: makes a function of one example one of a batch of them.
//
//   auto norms = vmap([](const Tensor& x) { return sqrt(sum(square(x))); });
//   Tensor n = norms(batch);                                                  // [b, k] -> [b]
//   auto scores = vmap(score, {.in_axes = {kNoBatch, 0}});                    // one set of parameters for all
//
// The function runs once, with tensors that look like one example's; each op computes all examples. It may use what
// functions use otherwise: tapes, variables, traced functions, vmap itself; and vmap works in traces and under tapes.
#pragma once

#include <cstdint>
#include <source_location>
#include <utility>
#include <vector>

#include "panto/autograd/transforms/function.h"
#include "panto/lib/base/export.h"
#include "panto/lib/core/tensor/tensor.h"

namespace panto {

// In in_axes: the argument is the same for all examples. In out_axes: so is the result.
inline constexpr int64_t kNoBatch = INT64_MIN;

// What random ops do inside vmap.
enum class Randomness : uint8_t {
  kError,      // throw InvalidArgument, which names the other two
  kSame,       // give all examples the same numbers
  kDifferent,  // give each its own
};

struct VmapOptions {
  // Which dimension of each argument counts examples, negative from the end; one number: of all. An argument of several
  // tensors has one number for all of them.
  std::vector<int64_t> in_axes = detail::int_list({0});
  std::vector<int64_t> out_axes = detail::int_list({0});  // where it goes, by tensor of the result; one number: for all
  Randomness randomness = Randomness::kError;
};

namespace detail {
// `counts`: how many of `args` each argument has.
PANTO_EXPORT Tensors vmap_call(const TensorsFunction& f, const Tensors& args, const std::vector<int64_t>& counts,
                               const VmapOptions& options);
}  // namespace detail

// The result is called with f's arguments (tensors, structures of tensors as `trace` takes, or variables, which all
// examples share), each tensor with the batch's dimension, and gives what f gives, with it. Throws InvalidArgument
// where no argument has a batch, sizes differ, or an axis is out of range; reading a value inside f is
// FailedPrecondition, and assigning one that differs between examples to a variable InvalidArgument.
template <class F>
auto vmap(F f, VmapOptions options = {}) {
  return [f = std::move(f), options = std::move(options)](const auto&... args) {
    const std::vector<int64_t> counts = {static_cast<int64_t>(detail::tensors_of(args).size())...};
    return detail::through_tensors(
        f,
        [&](const detail::TensorsFunction& call, const detail::Tensors& flat) {
          return detail::vmap_call(call, flat, counts, options);
        },
        args...);
  };
}

}  // namespace panto
