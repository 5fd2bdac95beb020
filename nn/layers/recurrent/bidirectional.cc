#include "panto/nn/layers/recurrent/bidirectional.h"

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/caller.h"
#include "panto/lib/ops/operators.h"
#include "panto/ops/array.h"

namespace panto {

Bidirectional::Bidirectional(const Rnn& forward, BidirectionalOptions options)
    : Bidirectional(forward, forward.reversed(), options) {}

Bidirectional::Bidirectional(const Rnn& forward, const Rnn& backward, BidirectionalOptions options)
    : forward_(forward), backward_(backward), merge_(options.merge) {
  if (forward.options().go_backwards || !backward.options().go_backwards) {
    invalid("Bidirectional: expected a first layer that goes forwards and a second one that goes backwards");
  }
  if (forward.options().return_sequences != backward.options().return_sequences) {
    invalid("Bidirectional: expected two layers that both return sequences, or both do not");
  }
}

Tensor Bidirectional::forward(const Tensor& x) const {
  const Tensor a = forward_(x);
  Tensor b = backward_(x);
  if (backward_.options().return_sequences) b = reverse(b, {1});
  switch (merge_) {
    case BidirectionalMerge::kSum: return a + b;
    case BidirectionalMerge::kAverage: return (a + b) / 2.0;
    case BidirectionalMerge::kMultiply: return a * b;
    case BidirectionalMerge::kConcat: break;
  }
  return concat({a, b}, -1);
}

BidirectionalOutput Bidirectional::run(const Tensor& x, const Tensor& mask, std::source_location where) const {
  return from_caller(where, [&]() -> BidirectionalOutput {
    RnnOutput a = forward_.run(x, {}, mask), b = backward_.run(x, {}, mask);
    b.sequence = reverse(b.sequence, {1});
    return {std::move(a), std::move(b)};
  });
}

std::string Bidirectional::to_string() const { return "Bidirectional(" + forward_.to_string() + ")"; }

}  // namespace panto
