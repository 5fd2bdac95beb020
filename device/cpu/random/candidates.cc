// Candidate samplers: TensorFlow's methods, which words of the stream they take included
// (tensorflow/core/kernels/range_sampler.cc, lib/random/distribution_sampler.cc).
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "panto/device/cpu/kernel.h"
#include "panto/device/math/philox_blocks.h"
#include "panto/device/random_stream.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/io/graph_files.h"
#include "panto/lib/core/io/input_stream.h"
#include "panto/lib/core/tensor/tensor_alloc.h"

namespace panto {
namespace {

using philox::WordsInOrder;

// Below n: words below the remainder of their number by n would make some numbers more likely, and are left out.
uint64_t below(uint64_t n, WordsInOrder& words) {
  if ((n & (n - 1)) == 0) return words.next_long() & (n - 1);
  const uint64_t remainder = std::numeric_limits<uint64_t>::max() % n + 1;
  for (;;) {
    if (const uint64_t word = words.next_long(); word >= remainder) return word % n;
  }
}
uint32_t below(uint32_t n, WordsInOrder& words) {
  if ((n & (n - 1)) == 0) return words.next() & (n - 1);
  const uint32_t remainder = std::numeric_limits<uint32_t>::max() % n + 1;
  for (;;) {
    if (const uint32_t word = words.next(); word >= remainder) return word % n;
  }
}

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

// Numbers in proportion to weights, by one uniform number and one of a table: of each either itself or another, so that
// all are as likely (Walker 1977).
class Alias {
 public:
  explicit Alias(const std::vector<float>& weights) : items_(weights.size()) {
    double sum = 0;
    for (const float w : weights) sum += w;
    std::vector<double> left(weights.size());  // what an item still has to give away
    std::vector<size_t> high, low;
    for (size_t i = 0; i < weights.size(); ++i) {
      left[i] = static_cast<double>(weights[i] * static_cast<float>(weights.size())) / sum;
      (left[i] < 1 ? low : high).push_back(i);
    }
    while (!high.empty() && !low.empty()) {
      const size_t from = high.back(), to = low.back();
      high.pop_back();
      low.pop_back();
      items_[to].other = from;
      left[from] -= 1.0 - left[to];
      (left[from] < 1 ? low : high).push_back(from);
    }
    for (size_t i = 0; i < left.size(); ++i) items_[i].own = static_cast<float>(left[i]);
    for (const std::vector<size_t>& rest : {high, low}) {
      for (const size_t i : rest) items_[i] = {1.0F, i};  // 1 but for rounding
    }
  }
  int64_t draw(WordsInOrder& words) const {
    const float at = philox::uniform_float(words.next());
    const uint32_t i = below(static_cast<uint32_t>(items_.size()), words);
    return at < items_[i].own ? int64_t{i} : static_cast<int64_t>(items_[i].other);
  }

 private:
  struct Item {
    float own = 0;
    size_t other = 0;
  };
  std::vector<Item> items_;
};

class FixedUnigram {
 public:
  explicit FixedUnigram(const KernelContext& c)
      : range(c.integer("range_max")), weights_(weights_of(c)), alias_(weights_) {
    for (const float w : weights_) total_ += w;
  }
  int64_t draw(WordsInOrder& words) const { return alias_.draw(words); }
  float probability(int64_t k) const { return weights_[static_cast<size_t>(k)] / total_; }

  int64_t range;

 private:
  static std::vector<float> weights_of(const KernelContext& c) {
    const int64_t shards = c.integer("num_shards"), shard = c.integer("shard");
    const float distortion = c.real("distortion");
    int64_t number = 0;
    std::vector<float> weights;
    const auto add = [&](float weight) {
      if (number++ % shards == shard) weights.push_back(weight);
    };
    const int64_t reserved = std::min(c.integer("num_reserved_ids"), c.integer("range_max") * shards);
    for (int64_t i = 0; i < reserved; ++i) add(0);
    const AttrSlot& unigrams = c.slot("unigrams");
    const auto* given = static_cast<const float*>(unigrams.p);
    const auto add_unigram = [&](float weight) {
      if (!(weight >= 0) || std::isinf(weight)) invalid("unigrams: expected finite ones of at least 0, got {}", weight);
      add(std::pow(weight, distortion));
    };
    for (int64_t i = 0; i < static_cast<int64_t>(unigrams.n); ++i) add_unigram(given[i]);
    if (const std::string path(c.text("vocab_file")); !path.empty()) read(path, add_unigram);
    if (const int64_t range = c.integer("range_max"); static_cast<int64_t>(weights.size()) != range) {
      invalid("range_max: expected as many as there are classes, {}, got {}", weights.size(), range);
    }
    if (std::ranges::none_of(weights, [](float w) { return w > 0; })) {
      invalid("unigrams: expected one above 0, got none");
    }
    return weights;
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
  std::vector<float> weights_;
  Alias alias_;
  float total_ = 0;
};

// How often a class of a probability is expected among `sampled` classes that took so many draws.
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
void sample(KernelContext& c) {
  const Sampler sampler(c);
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
const CpuKernel unigram_kernel("FixedUnigramCandidateSampler", sample<FixedUnigram>, prepare_generator);
const CpuKernel all_kernel("AllCandidateSampler", sample_all);
const CpuKernel hits_kernel("ComputeAccidentalHits", find_hits);

}  // namespace
}  // namespace panto
