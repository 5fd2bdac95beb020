#include "panto/device/random_stream.h"

#include <mutex>

#include "panto/lib/base/text/format.h"
#include "panto/lib/ops/array/values.h"
#include "panto/lib/ops/random/random.h"

namespace panto {

using philox::Stream;
using philox::Words;

Stream given_stream(const KernelContext& c) {
  const int64_t alg = host_integer(c.in(3));
  if (alg != 1 && alg != 3) invalid("alg: expected 1 (Philox) or 3 (automatic), got {}", alg);
  const auto* counter = c.data<uint64_t>(2);
  return {*c.data<uint64_t>(1), counter[0], counter[1]};
}

template <class T>
philox::IntegerBlock<T> asked_integers(const KernelContext& c, int at) {
  using U = std::make_unsigned_t<T>;
  const T low = *c.data<T>(at);
  const T high = *c.data<T>(at + 1);
  if (low >= high) invalid("minval: expected less than maxval {}, got {}", high, low);
  return {static_cast<U>(low), static_cast<U>(static_cast<U>(high) - static_cast<U>(low))};
}

Stream stream_of_seed(const Tensor& seed) {
  return philox::from_seed(static_cast<uint64_t>(host_integer(seed, 0)), static_cast<uint64_t>(host_integer(seed, 1)));
}

template <class T>
void find_key_and_counter(KernelContext& c) {
  const Stream stream = stream_of_seed(c.in(0));
  *c.out_data<uint64_t>(0) = stream.key;
  c.out_data<uint64_t>(1)[0] = stream.low;
  c.out_data<uint64_t>(1)[1] = stream.high;
}

template philox::IntegerBlock<int32_t> asked_integers(const KernelContext&, int);
template philox::IntegerBlock<int64_t> asked_integers(const KernelContext&, int);
template philox::IntegerBlock<uint32_t> asked_integers(const KernelContext&, int);
template philox::IntegerBlock<uint64_t> asked_integers(const KernelContext&, int);
template void find_key_and_counter<int32_t>(KernelContext&);
template void find_key_and_counter<int64_t>(KernelContext&);

namespace {

// The generator of one prepared call: a node of a session keeps its own.
class NodeGenerator final : public KernelState {
 public:
  explicit NodeGenerator(Stream start) : stream_(start) {}
  Stream take(uint64_t blocks) {
    const std::lock_guard lock(mutex_);
    const Stream start = stream_;
    stream_ = stream_.advanced(blocks);
    return start;
  }

 private:
  std::mutex mutex_;
  Stream stream_;
};

Stream seeded_stream(const KernelContext& c) {
  return {static_cast<uint64_t>(c.integer("seed")), 0, static_cast<uint64_t>(c.integer("seed2"))};
}

bool has_seed(const KernelContext& c) { return c.integer("seed") != 0 || c.integer("seed2") != 0; }

}  // namespace

std::shared_ptr<KernelState> prepare_generator(const KernelContext& c) {
  if (has_seed(c)) return std::make_shared<NodeGenerator>(seeded_stream(c));
  // A stream of its own for every node: its key is drawn from the process's generator.
  const detail::RandomStart drawn = detail::take_random(c.step(), 1);
  const Words w = Stream{drawn.key, drawn.low, drawn.high}.block(0);
  return std::make_shared<NodeGenerator>(
      Stream{w.w[0] | (static_cast<uint64_t>(w.w[1]) << 32), 0, w.w[2] | (static_cast<uint64_t>(w.w[3]) << 32)});
}

Stream next_stream(KernelContext& c, uint64_t blocks) {
  if (auto* generator = c.state<NodeGenerator>()) return generator->take(blocks);
  if (has_seed(c)) return seeded_stream(c);
  const uint64_t elements = blocks / philox::kBlocksPerElement + (blocks % philox::kBlocksPerElement != 0 ? 1 : 0);
  const detail::RandomStart start = detail::take_random(c.step(), elements);
  return {start.key, start.low, start.high};
}

Stream next_stream(KernelContext& c) {
  return next_stream(c, static_cast<uint64_t>(c.out_numel(0)) * philox::kBlocksPerElement);
}

}  // namespace panto
