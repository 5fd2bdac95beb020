// Where the numbers of a call of a random op come from, on all devices.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "panto/device/math/philox.h"
#include "panto/device/math/philox_blocks.h"
#include "panto/lib/base/export.h"
#include "panto/lib/core/call/call.h"
#include "panto/lib/core/op/resumable_state.h"

namespace panto {

// Of a stateless op: key, counter and algorithm are its inputs 1, 2 and 3. Throws InvalidArgument for an algorithm that
// is not Philox.
PANTO_EXPORT philox::Stream given_stream(const KernelContext& c);
// The numbers that StatelessRandomUniformIntV2 asks for. Throws InvalidArgument unless minval < maxval.
// They are inputs `at` and `at` + 1.
template <class T>
philox::IntegerBlock<T> asked_integers(const KernelContext& c, int at = 4);

// Of a stateful one. A prepared call, a node of a session, has a generator of its own, which goes on from run to run;
// other calls start at their seed, or go on with the process's generator.
class PANTO_EXPORT NodeGenerator : public ResumableState {
 public:
  explicit NodeGenerator(const KernelContext& c);
  // Where the next blocks, so many, begin. Without a seed the first call draws one from the step's generator: a node
  // that never runs, or goes on elsewhere, takes none.
  philox::Stream take(const KernelContext& c, uint64_t blocks);
  std::string position() const override;
  void go_to(std::string_view position) override;

 private:
  const std::optional<philox::Stream> first_;  // of a seed
  mutable std::mutex mutex_;
  std::optional<philox::Stream> stream_;  // none: at its beginning
};
PANTO_EXPORT std::shared_ptr<KernelState> prepare_generator(const KernelContext& c);
// The state of a prepared call must be a NodeGenerator, which may hold more.
PANTO_EXPORT philox::Stream next_stream(KernelContext& c);
// The same for a call that takes so many blocks, not what its elements are given.
PANTO_EXPORT philox::Stream next_stream(KernelContext& c, uint64_t blocks);
// Of a generator, the variable that is input 0, by the algorithm that is input 1: where its numbers begin. It goes on
// behind what `delta` elements need.
PANTO_EXPORT philox::Stream generator_stream(KernelContext& c, uint64_t delta);
// The same of a variable whose first number says the algorithm.
PANTO_EXPORT philox::Stream tagged_generator_stream(KernelContext& c, uint64_t delta);
// What a seed of two numbers, an int32 or int64 tensor, stands for.
PANTO_EXPORT philox::Stream stream_of_seed(const Tensor& seed);

// StatelessRandomGetKeyCounter, all of which happens on the host. T: int32_t or int64_t.
template <class T>
void find_key_and_counter(KernelContext& c);

extern template PANTO_EXPORT philox::IntegerBlock<int32_t> asked_integers(const KernelContext&, int);
extern template PANTO_EXPORT philox::IntegerBlock<int64_t> asked_integers(const KernelContext&, int);
extern template PANTO_EXPORT philox::IntegerBlock<uint32_t> asked_integers(const KernelContext&, int);
extern template PANTO_EXPORT philox::IntegerBlock<uint64_t> asked_integers(const KernelContext&, int);
extern template PANTO_EXPORT void find_key_and_counter<int32_t>(KernelContext&);
extern template PANTO_EXPORT void find_key_and_counter<int64_t>(KernelContext&);

}  // namespace panto
