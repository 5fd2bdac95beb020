// vmap: turns a function of one example into a function of a batch of examples.
//
//   auto norms = vmap([](const Tensor& x) { return sqrt(sum(square(x))); });
//   Tensor n = norms(batch);                                                  // [b, k] -> [b]
//   auto scores = vmap(score, {.in_axes = {kNoBatch, 0}});                    // one set of parameters for all
//
// The function runs once, with tensors that look like one example's; each op computes all examples. The function may
// use tapes, variables, traced functions and vmap itself; vmap works in traces and under tapes.
#pragma once

#include <cstdint>
#include <source_location>
#include <utility>
#include <vector>

#include "panto/autograd/transforms/function.h"
#include "panto/lib/base/export.h"
#include "panto/lib/core/tensor/tensor.h"

namespace panto {

// In in_axes: the argument is the same for all examples. In out_axes: the result is.
inline constexpr int64_t kNoBatch = INT64_MIN;

// How random ops behave inside vmap.
enum class Randomness : uint8_t {
  kError,      // throw InvalidArgument, naming the other two
  kSame,       // all examples get the same numbers
  kDifferent,  // each example gets its own numbers
};

struct VmapOptions {
  // The batch dimension of each argument; negative ones count from the end. One number applies to all arguments. An
  // argument of several tensors has one number for all of them.
  std::vector<int64_t> in_axes = detail::int_list({0});
  std::vector<int64_t> out_axes = detail::int_list({0});  // the same, by tensor of the result
  Randomness randomness = Randomness::kError;
};

namespace detail {
// `counts`: the number of tensors in each argument.
PANTO_EXPORT Tensors vmap_call(const TensorsFunction& f, const Tensors& args, const std::vector<int64_t>& counts,
                               const VmapOptions& options);
}  // namespace detail

// Returns a function that takes f's arguments (tensors, structures of tensors as `trace` takes, or variables, which all
// examples share) with a batch dimension in each tensor, and returns f's results with a batch dimension. It throws
// InvalidArgument if no argument has a batch, sizes differ, or an axis is out of range; FailedPrecondition if f reads a
// value; and InvalidArgument if f assigns a value that differs between examples to a variable.
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
