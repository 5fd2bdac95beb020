#include "panto/device/random_stream.h"

#include <numeric>
#include <utility>

#include "panto/lib/base/text/format.h"
#include "panto/lib/base/varint.h"
#include "panto/lib/core/tensor/resource.h"
#include "panto/lib/ops/array/values.h"
#include "panto/lib/ops/random/random.h"

namespace panto {

using philox::Stream;
using philox::Words;

namespace {
void expect_philox(int64_t alg) {
  if (alg != 1 && alg != 3) invalid("alg: expected 1 (Philox) or 3 (automatic), got {}", alg);
}
}  // namespace

Stream given_stream(const KernelContext& c) {
  expect_philox(host_integer(c.in(3)));
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

Stream seeded_stream(const KernelContext& c) {
  return {static_cast<uint64_t>(c.integer("seed")), 0, static_cast<uint64_t>(c.integer("seed2"))};
}

bool has_seed(const KernelContext& c) { return c.integer("seed") != 0 || c.integer("seed2") != 0; }

Stream drawn_stream(const KernelContext& c) {
  // Every node gets its own stream: its key is drawn from the process's generator.
  const detail::RandomStart drawn = detail::take_random(c.step(), 1);
  const Words w = Stream{drawn.key, drawn.low, drawn.high}.block(0);
  return {w.w[0] | (static_cast<uint64_t>(w.w[1]) << 32), 0, w.w[2] | (static_cast<uint64_t>(w.w[3]) << 32)};
}

}  // namespace

NodeGenerator::NodeGenerator(const KernelContext& c)
    : first_(has_seed(c) ? std::optional(seeded_stream(c)) : std::nullopt) {}

Stream NodeGenerator::take(const KernelContext& c, uint64_t blocks) {
  const std::lock_guard lock(mutex_);
  const Stream start = stream_ ? *stream_ : first_ ? *first_ : drawn_stream(c);
  stream_ = start.advanced(blocks);
  return start;
}

std::string NodeGenerator::position() const {
  const std::lock_guard lock(mutex_);
  std::string bytes;
  if (!stream_) return bytes;
  for (const uint64_t number : {stream_->key, stream_->low, stream_->high}) append_varint(bytes, number);
  return bytes;
}

void NodeGenerator::go_to(std::string_view position) {
  std::optional<Stream> stream;
  if (!position.empty()) {
    const uint64_t key = take_varint(position), low = take_varint(position), high = take_varint(position);
    stream = Stream{key, low, high};
    if (!position.empty()) fail(Code::kDataLoss, "generator: expected three numbers, got more");
  }
  const std::lock_guard lock(mutex_);
  stream_ = stream;
}

std::shared_ptr<KernelState> prepare_generator(const KernelContext& c) { return std::make_shared<NodeGenerator>(c); }

Stream next_stream(KernelContext& c, uint64_t blocks) {
  if (auto* generator = c.state<NodeGenerator>()) return generator->take(c, blocks);
  if (has_seed(c)) return seeded_stream(c);
  const uint64_t elements = blocks / philox::kBlocksPerElement + (blocks % philox::kBlocksPerElement != 0 ? 1 : 0);
  const detail::RandomStart start = detail::take_random(c.step(), elements);
  return {start.key, start.low, start.high};
}

Stream next_stream(KernelContext& c) {
  return next_stream(c, static_cast<uint64_t>(c.out_numel(0)) * philox::kBlocksPerElement);
}

namespace {

// The variable holds `before` other numbers, at most one, then the three numbers of the generator.
Stream advance_generator(KernelContext& c, int64_t before, uint64_t delta) {
  VariableResource& generator = variable_of(c.in(0));
  if (generator.dtype() != kInt64) {
    invalid("resource: expected a generator, an int64 variable, got one of {}", dtype_name(generator.dtype()));
  }
  Stream stream;
  Device& device = c.device();
  generator.update(device, [&](Tensor& state) {
    if (state.numel() != before + 3) {
      invalid("resource: expected a generator of {} numbers, got {}", before + 3, state.numel());
    }
    // Wherever the variable is, it stays there.
    int64_t all[4];
    device.copy_to_host(all, state.impl()->data, state.nbytes());
    if (before > 0) expect_philox(all[0]);
    int64_t* const numbers = all + before;
    stream = {.key = static_cast<uint64_t>(numbers[2]),
              .low = static_cast<uint64_t>(numbers[0]),
              .high = static_cast<uint64_t>(numbers[1])};
    detail::advance_random(numbers, delta);
    device.copy_from_host(mutable_data<int64_t>(state), all, state.nbytes());
  });
  return stream;
}

}  // namespace

Stream generator_stream(KernelContext& c, uint64_t delta) {
  expect_philox(host_integer(c.in(1)));
  return advance_generator(c, 0, delta);
}

Stream tagged_generator_stream(KernelContext& c, uint64_t delta) { return advance_generator(c, 1, delta); }

void read_and_skip_generator(KernelContext& c) {
  const Stream stream = generator_stream(c, *c.data<uint64_t>(2));
  auto* out = c.out_data<int64_t>(0);
  for (const uint64_t number : {stream.low, stream.high, stream.key}) *out++ = static_cast<int64_t>(number);
}

void skip_generator(KernelContext& c) { generator_stream(c, static_cast<uint64_t>(*c.data<int64_t>(2))); }

std::vector<int64_t> random_order(const Stream& stream, int64_t count) {
  std::vector<int64_t> order(static_cast<size_t>(count));
  std::iota(order.begin(), order.end(), int64_t{0});
  philox::WordsInOrder words(stream);
  for (size_t i = 0; i + 1 < order.size(); ++i) {
    const size_t choice = words.next() % static_cast<uint32_t>(order.size() - i);
    std::swap(order[i], order[i + choice]);
  }
  return order;
}

uint64_t blocks_of_order(int64_t count) { return static_cast<uint64_t>(count + 2) / 4; }

}  // namespace panto
