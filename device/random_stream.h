// The Philox stream that a call of a random op reads, on all devices.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "panto/device/math/random/philox.h"
#include "panto/device/math/random/philox_blocks.h"
#include "panto/lib/base/export.h"
#include "panto/lib/core/call/call.h"
#include "panto/lib/core/op/resumable_state.h"

namespace panto {

// Stateless ops: the stream from key, counter and algorithm, which are inputs 1, 2 and 3. Throws InvalidArgument if the
// algorithm is not Philox.
PANTO_EXPORT philox::Stream given_stream(const KernelContext& c);
// The range of StatelessRandomUniformIntV2: [minval, maxval), which are inputs `at` and `at` + 1. Throws
// InvalidArgument unless minval < maxval.
template <class T>
philox::IntegerBlock<T> asked_integers(const KernelContext& c, int at = 4);

// Stateful ops: a prepared call (a node of a session) has its own generator, which continues from run to run. Other
// calls start at their seed, or continue the process's generator.
class PANTO_EXPORT NodeGenerator : public ResumableState {
 public:
  explicit NodeGenerator(const KernelContext& c);
  // Returns the stream at the current position and advances by `blocks`. Without a seed the first call draws one from
  // the step's generator; a node that never runs, or whose position is restored by go_to, draws none.
  philox::Stream take(const KernelContext& c, uint64_t blocks);
  std::string position() const override;
  void go_to(std::string_view position) override;

 private:
  const std::optional<philox::Stream> first_;  // the start that the seed gives, if there is one
  mutable std::mutex mutex_;
  std::optional<philox::Stream> stream_;  // nullopt before the first block is taken
};
PANTO_EXPORT std::shared_ptr<KernelState> prepare_generator(const KernelContext& c);
// The stream of a stateful op. The state of a prepared call must be a NodeGenerator or a class derived from it.
PANTO_EXPORT philox::Stream next_stream(KernelContext& c);
// The same for a call that takes `blocks` blocks, whatever its number of elements.
PANTO_EXPORT philox::Stream next_stream(KernelContext& c, uint64_t blocks);
// Ops with a generator variable: input 0 is the variable, input 1 the algorithm. Returns the stream at its position and
// advances the variable past `delta` elements.
PANTO_EXPORT philox::Stream generator_stream(KernelContext& c, uint64_t delta);
// The same for a variable whose first number is the algorithm.
PANTO_EXPORT philox::Stream tagged_generator_stream(KernelContext& c, uint64_t delta);
// The stream for a seed of two numbers, an int32 or int64 tensor.
PANTO_EXPORT philox::Stream stream_of_seed(const Tensor& seed);

// RngReadAndSkip and RngSkip, which run on the host.
PANTO_EXPORT void read_and_skip_generator(KernelContext& c);
PANTO_EXPORT void skip_generator(KernelContext& c);
// A random order of the numbers 0, 1, ..., count - 1, and how many blocks of the stream it takes.
PANTO_EXPORT std::vector<int64_t> random_order(const philox::Stream& stream, int64_t count);
PANTO_EXPORT uint64_t blocks_of_order(int64_t count);

// StatelessRandomGetKeyCounter, which runs on the host. T: int32_t or int64_t.
template <class T>
void find_key_and_counter(KernelContext& c);

extern template PANTO_EXPORT philox::IntegerBlock<int32_t> asked_integers(const KernelContext&, int);
extern template PANTO_EXPORT philox::IntegerBlock<int64_t> asked_integers(const KernelContext&, int);
extern template PANTO_EXPORT philox::IntegerBlock<uint32_t> asked_integers(const KernelContext&, int);
extern template PANTO_EXPORT philox::IntegerBlock<uint64_t> asked_integers(const KernelContext&, int);
extern template PANTO_EXPORT void find_key_and_counter<int32_t>(KernelContext&);
extern template PANTO_EXPORT void find_key_and_counter<int64_t>(KernelContext&);

}  // namespace panto
