// Bidirectional: runs recurrent layers over a sequence from both ends.
//
//   Bidirectional both(Gru(16, 32, {.return_sequences = true}));       // [batch, steps, 16] -> [batch, steps, 64]
//   Bidirectional other(Lstm(16, 32), Lstm(16, 8, {.go_backwards = true}));
#pragma once

#include <concepts>
#include <memory>
#include <string>
#include <utility>

#include "panto/lib/base/export.h"
#include "panto/nn/layers/recurrent/rnn.h"

namespace panto {

// How the two outputs are combined.
enum class BidirectionalMerge : uint8_t { kConcat, kSum, kAverage, kMultiply };

struct BidirectionalOptions {
  BidirectionalMerge merge = BidirectionalMerge::kConcat;
};

// Both outputs, not merged: sequences are in the order of the input's steps.
struct BidirectionalOutput {
  RnnOutput forward, backward;
};

class PANTO_EXPORT Bidirectional final : public BuiltInLayer {
 public:
  // Combines a layer with a second one like it that goes backwards. Throws Unimplemented for a cell of your own that
  // does not override RnnCell::fresh.
  explicit Bidirectional(const Rnn& forward, BidirectionalOptions options = {});
  // Combines two layers. Throws InvalidArgument unless the second one goes backwards, the first one does not, and both
  // return sequences or neither does.
  Bidirectional(const Rnn& forward, const Rnn& backward, BidirectionalOptions options = {});
  Tensor forward(const Tensor& x) const override;
  // With a mask, bool[batch, steps].
  BidirectionalOutput run(const Tensor& x, const Tensor& mask = {},
                          std::source_location where = std::source_location::current()) const;
  Parts parts() const override { return {forward_, backward_}; }
  std::string to_string() const override;

 private:
  Rnn forward_, backward_;
  BidirectionalMerge merge_;
};

}  // namespace panto
