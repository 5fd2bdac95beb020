#include "panto/nn/layers/core/masking.h"

#include <utility>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/caller.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/reductions.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"

namespace panto {

Tensor Masking::forward(const Tensor& x) const { return x * cast(any(x != value_, -1, true), x.dtype()); }
Tensor Masking::mask(const Tensor& x) const { return any(x != value_, -1, false); }
std::string Masking::to_string() const { return fmt::format("Masking({})", value_); }

Tensor sequence_mask(Arg lengths, Arg steps) {
  return from_caller(lengths.where(), [&] {
    const Tensor ends = identity(std::move(lengths));
    const Tensor count = cast(identity(std::move(steps)), ends.dtype());
    return range(cast(0, ends.dtype()), count, cast(1, ends.dtype())) < expand_dims(ends, -1);
  });
}

}  // namespace panto
