// Candidate samplers: TensorFlow's methods, including which words of the stream they consume
// (tensorflow/core/kernels/range_sampler.cc, lib/random/distribution_sampler.cc).
#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "panto/device/cpu/kernel.h"
#include "panto/device/math/random/philox_blocks.h"
#include "panto/device/random_stream.h"
#include "panto/device/scratch.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/io/graph_files.h"
#include "panto/lib/core/io/input_stream.h"
#include "panto/lib/core/step/cancel.h"
#include "panto/lib/core/tensor/tensor_alloc.h"

namespace panto {
namespace {

using philox::below;
using philox::WordsInOrder;

struct Uniform {
  explicit Uniform(const KernelContext& c) : range(c.integer("range_max")) {}
  int64_t draw(WordsInOrder& words) const { return static_cast<int64_t>(below(static_cast<uint64_t>(range), words)); }
  float probability(int64_t /*one*/) const { return static_cast<float>(1.0 / static_cast<double>(range)); }

  int64_t range;
};

struct LogUniform {
  explicit LogUniform(const KernelContext& c)
      : range(c.integer("range_max")), log_range(std::log1p(static_cast<double>(range))) {}
  int64_t draw(WordsInOrder& words) const {
    const uint32_t high = words.next(), low = words.next();
    const auto drawn = static_cast<int64_t>(std::exp(philox::uniform_double(high, low) * log_range)) - 1;
    return drawn % range;  // rounding can make it `range`
  }
  float probability(int64_t k) const {
    const auto one = static_cast<double>(k);
    return static_cast<float>(std::log((one + 2.0) / (one + 1.0)) / log_range);
  }

  int64_t range;
  double log_range;
};

// Draws numbers in proportion to weights by the alias method (Walker 1977): a uniformly drawn item yields either itself
// or its alias. The memory is the device's, as the graph decides how many items there are.
class Alias {
 public:
  Alias(Device& device, const float* weights, int64_t count) : count_(count), items_(device, count) {
    Item* items = items_.data();
    double sum = 0;
    for (int64_t i = 0; i < count; ++i) sum += weights[i];
    const Scratch<double> all_left(device, count);  // each item's remaining probability mass
    double* left = all_left.data();
    // Two stacks in one array: items with less than their share, and items with more.
    const Scratch<int64_t> stacks(device, count);
    int64_t *low = stacks.data(), *high = low + count;
    const auto push = [&](int64_t i) { left[i] < 1 ? * low++ = i : * --high = i; };
    for (int64_t i = 0; i < count; ++i) {
      items[i] = {};
      left[i] = static_cast<double>(weights[i] * static_cast<float>(count)) / sum;
      push(i);
    }
    while (high != stacks.data() + count && low != stacks.data()) {
      const int64_t from = *high++, to = *--low;
      items[to].other = from;
      left[from] -= 1.0 - left[to];
      push(from);
    }
    for (int64_t i = 0; i < count; ++i) items[i].own = static_cast<float>(left[i]);
    const auto keep = [&](int64_t i) { items[i] = {1.0F, i}; };  // 1 but for rounding
    std::for_each(stacks.data(), low, keep);
    std::for_each(high, stacks.data() + count, keep);
  }
  int64_t draw(WordsInOrder& words) const {
    const float at = philox::uniform_float(words.next());
    const int64_t i = below(static_cast<uint32_t>(count_), words);
    const Item& item = items_.data()[i];
    return at < item.own ? i : item.other;
  }

 private:
  struct Item {
    float own = 0;
    int64_t other = 0;
  };
  int64_t count_;
  Scratch<Item> items_;
};

class FixedUnigram {
 public:
  explicit FixedUnigram(const KernelContext& c)
      : range(c.integer("range_max")), weights_(weights_of(c)), alias_(c.device(), weights_.data(), range) {
    for (int64_t i = 0; i < range; ++i) total_ += weights_.data()[i];
  }
  int64_t draw(WordsInOrder& words) const { return alias_.draw(words); }
  float probability(int64_t k) const { return weights_.data()[k] / total_; }

  int64_t range;

 private:
  static Scratch<float> weights_of(const KernelContext& c) {
    const int64_t range = c.integer("range_max"), shards = c.integer("num_shards"), shard = c.integer("shard");
    const int64_t reserved = c.integer("num_reserved_ids");
    Scratch<float> all(c.device(), range);
    float* weights = all.data();
    int64_t count = reserved > shard ? (reserved - shard - 1) / shards + 1 : 0;  // number of this shard's classes
    std::fill_n(weights, std::min(count, range), 0.0F);
    int64_t place = reserved % shards;  // shard of the next class
    const float distortion = c.real("distortion");
    bool some = false;
    const auto add = [&](float weight) {
      if (!(weight >= 0) || std::isinf(weight)) invalid("unigrams: expected finite ones of at least 0, got {}", weight);
      if (place == shard) {
        if (count < range) weights[count] = std::pow(weight, distortion);
        some = some || (count < range && weights[count] > 0);
        ++count;
      }
      place = place + 1 == shards ? 0 : place + 1;
    };
    const AttrSlot& unigrams = c.slot("unigrams");
    const auto* given = static_cast<const float*>(unigrams.p);
    std::for_each(given, given + unigrams.n, add);
    if (const std::string path(c.text("vocab_file")); !path.empty()) read(path, add);
    if (count != range) invalid("range_max: expected as many as there are classes, {}, got {}", count, range);
    if (!some) invalid("unigrams: expected one above 0, got none");
    return all;
  }
  template <class Add>
  static void read(const std::string& path, const Add& add) {
    expect_graph_files_allowed(path);
    InputStream file(path);
    int64_t line_number = 1;
    for (std::string line; file.read_line(line); ++line_number) {
      const std::string_view last = std::string_view(line).substr(line.rfind(',') + 1);
      float weight = 0;
      const auto [end, error] = std::from_chars(last.data(), last.data() + last.size(), weight);
      if (error != std::errc() || end != last.data() + last.size()) {
        invalid("file '{}', line {}: expected a number in the last column, got '{}'", path, line_number, last);
      }
      add(weight);
    }
  }
  Scratch<float> weights_;
  Alias alias_;
  float total_ = 0;
};

// Growing weights in a Fenwick tree: sums[i] is the sum of the i & -i weights up to number i - 1 (Fenwick 1994, A new
// data structure for cumulative frequency tables).
class Learned {
 public:
  explicit Learned(const KernelContext& c)
      : range(c.integer("range_max")), weights_(c.device(), range), sums_(c.device(), range + 1), total_(range) {
    std::fill_n(weights_.data(), range, 1);
    for (int64_t i = 0; i <= range; ++i) sums_.data()[i] = i & -i;
  }
  int64_t draw(WordsInOrder& words) const {
    int64_t left = below(static_cast<uint32_t>(total_), words), at = 0;
    for (auto step = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(range))); step > 0; step /= 2) {
      if (at + step > range || sums_.data()[at + step] > left) continue;
      at += step;
      left -= sums_.data()[at];
    }
    return at;
  }
  float probability(int64_t k) const { return static_cast<float>(weights_.data()[k]) / static_cast<float>(total_); }
  void learn(const int64_t* classes, int64_t count) {
    if (total_ > std::numeric_limits<int32_t>::max() - count) {
      failf(Code::kResourceExhausted, "true classes: expected at most {} in all runs, got more",
            std::numeric_limits<int32_t>::max() - range);
    }
    for (int64_t i = 0; i < count; ++i) {
      ++weights_.data()[classes[i]];
      for (int64_t at = classes[i] + 1; at <= range; at += at & -at) ++sums_.data()[at];
    }
    total_ += count;
  }

  int64_t range;

 private:
  Scratch<int32_t> weights_;
  Scratch<int64_t> sums_;
  int64_t total_;
};

// Returns the expected count of a class with this probability among `sampled` classes that took `draws` draws.
float expected_count(float probability, int64_t sampled, int64_t draws) {
  if (draws == sampled) return probability * static_cast<float>(sampled);
  return -std::expm1(static_cast<float>(draws) * std::log1p(-probability));
}

void expect_classes(const KernelContext& c, int64_t range) {
  const auto* classes = c.data<int64_t>(0);
  for (int64_t i = 0; i < c.numel(0); ++i) {
    if (classes[i] < 0 || classes[i] >= range) {
      invalid("true_classes[{}]: expected 0 to {}, got {}", i, range - 1, classes[i]);
    }
  }
}

template <class Sampler>
void sample_by(KernelContext& c, const Sampler& sampler) {
  expect_classes(c, sampler.range);
  const int64_t count = c.integer("num_sampled");
  WordsInOrder words(next_stream(c, static_cast<uint64_t>(count) * 512));
  auto* out = c.out_data<int64_t>(0);
  int64_t draws = count;
  if (c.flag("unique")) {
    std::unordered_set<int64_t> seen;
    draws = 0;
    for (int64_t n = 0; n < count;) {
      if (++draws > std::numeric_limits<int32_t>::max()) {
        failf(Code::kResourceExhausted, "expected {} classes that differ, got {} of {} draws", count, n, draws);
      }
      if (draws % 65536 == 0) throw_if_cancelled();
      const int64_t drawn = sampler.draw(words);
      if (seen.insert(drawn).second) out[n++] = drawn;
    }
  } else {
    for (int64_t n = 0; n < count; ++n) out[n] = sampler.draw(words);
  }
  const auto expected = [&](int64_t k) { return expected_count(sampler.probability(k), count, draws); };
  const auto* classes = c.data<int64_t>(0);
  std::transform(classes, classes + c.numel(0), c.out_data<float>(1), expected);
  std::transform(out, out + count, c.out_data<float>(2), expected);
}

template <class Sampler>
void sample(KernelContext& c) {
  sample_by(c, Sampler(c));
}

// The node builds its table and reads its file once, at its first run, because a graph may have nodes that never run.
class UnigramNode final : public NodeGenerator {
 public:
  using NodeGenerator::NodeGenerator;
  const FixedUnigram& sampler(const KernelContext& c) {
    const std::lock_guard lock(mutex_);
    if (!sampler_) sampler_.emplace(c);
    return *sampler_;
  }

 private:
  std::mutex mutex_;
  std::optional<FixedUnigram> sampler_;
};

std::shared_ptr<KernelState> prepare_unigram(const KernelContext& c) { return std::make_shared<UnigramNode>(c); }
void sample_unigram(KernelContext& c) {
  if (auto* node = c.state<UnigramNode>()) return sample_by(c, node->sampler(c));
  sample<FixedUnigram>(c);
}

class LearningNode final : public NodeGenerator {
 public:
  using NodeGenerator::NodeGenerator;
  void sample(KernelContext& c) {
    const std::lock_guard lock(mutex_);
    if (!sampler_) sampler_.emplace(c);
    sample_by(c, *sampler_);
    sampler_->learn(c.data<int64_t>(0), c.numel(0));
  }

 private:
  std::mutex mutex_;
  std::optional<Learned> sampler_;
};

std::shared_ptr<KernelState> prepare_learned(const KernelContext& c) { return std::make_shared<LearningNode>(c); }
void sample_learned(KernelContext& c) {
  if (auto* node = c.state<LearningNode>()) return node->sample(c);
  sample<Learned>(c);
}

void sample_all(KernelContext& c) {
  expect_classes(c, c.out_numel(0));
  auto* out = c.out_data<int64_t>(0);
  for (int64_t n = 0; n < c.out_numel(0); ++n) out[n] = n;
  std::fill_n(c.out_data<float>(1), c.out_numel(1), 1.0F);
  std::fill_n(c.out_data<float>(2), c.out_numel(2), 1.0F);
}

void find_hits(KernelContext& c) {
  const auto *classes = c.data<int64_t>(0), *candidates = c.data<int64_t>(1);
  std::unordered_map<int64_t, int64_t> place;
  for (int64_t i = 0; i < c.numel(1); ++i) place[candidates[i]] = i;
  std::vector<int32_t> rows;
  std::vector<int64_t> places;
  const int64_t width = c.shape(0).dim(1);
  for (int64_t i = 0; i < c.numel(0); ++i) {
    const auto found = place.find(classes[i]);
    if (found == place.end()) continue;
    rows.push_back(static_cast<int32_t>(i / width));
    places.push_back(found->second);
  }
  const Shape shape{static_cast<int64_t>(rows.size())};
  Tensor indices = allocate_tensor(c.device(), kInt32, shape), ids = allocate_tensor(c.device(), kInt64, shape),
         weights = allocate_tensor(c.device(), kFloat32, shape);
  std::ranges::copy(rows, mutable_data<int32_t>(indices));
  std::ranges::copy(places, mutable_data<int64_t>(ids));
  std::fill_n(mutable_data<float>(weights), rows.size(), std::numeric_limits<float>::lowest());
  c.set_out(0, std::move(indices));
  c.set_out(1, std::move(ids));
  c.set_out(2, std::move(weights));
}

const CpuKernel uniform_kernel("UniformCandidateSampler", sample<Uniform>, prepare_generator);
const CpuKernel log_uniform_kernel("LogUniformCandidateSampler", sample<LogUniform>, prepare_generator);
const CpuKernel unigram_kernel("FixedUnigramCandidateSampler", sample_unigram, prepare_unigram);
const CpuKernel learned_kernel("LearnedUnigramCandidateSampler", sample_learned, prepare_learned);
const CpuKernel all_kernel("AllCandidateSampler", sample_all);
const CpuKernel hits_kernel("ComputeAccidentalHits", find_hits);

}  // namespace
}  // namespace panto
