#include "panto/lib/core/datasets/shuffle.h"

#include <deque>
#include <utility>
#include <vector>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/datasets/datasets.h"
#include "panto/lib/core/datasets/simple_dataset.h"
#include "panto/lib/core/tensor/tensor_alloc.h"

namespace panto::datasets {
namespace {

// One pass. The buffer is a ring that has a slice for each round of the input. Elements are drawn from the first slice
// only, so a round ends before elements of the next one come.
class Shuffled final {
 public:
  Shuffled(const DatasetValue& input, const ShuffleOptions& options) : input_(input), options_(options) { new_words(); }

  bool next(ElementTensors& element) {
    fill();
    if (count_ == 0) return false;
    while (slices_.front().begin == slices_.front().end) {
      slices_.pop_front();
      new_words();
    }
    Slice& slice = slices_.front();
    const auto offset = static_cast<uint64_t>(words_()) % (slice.end - slice.begin);
    ElementTensors& chosen = at(slice.begin + offset);
    element = std::move(chosen);
    // The slice's first element moves to the place of the drawn one (they may be the same).
    if (offset != 0) chosen = std::move(at(slice.begin));
    at(slice.begin).clear();
    ++slice.begin;
    --count_;
    return true;
  }

 private:
  struct Slice {
    uint64_t begin, end;
  };
  // Most rounds that may have elements in the buffer at a time.
  static constexpr size_t kMostSlices = 3;

  bool whole() const noexcept { return options_.buffer == DatasetValue::kUnknown; }
  // The ring grows to its full size as elements come. A buffer for all elements starts again with each round.
  ElementTensors& at(uint64_t i) {
    return ring_[static_cast<size_t>(whole() ? i : i % static_cast<uint64_t>(options_.buffer))];
  }

  void new_words() { words_ = options_.words(options_.seeds->next()); }

  bool should_fill() const {
    if (pass_ == nullptr && options_.count != -1 && round_ >= options_.count) return false;
    if (slices_.size() > kMostSlices && count_ > 0) return false;
    if (whole()) return pass_ != nullptr || count_ == 0;
    return count_ < static_cast<uint64_t>(options_.buffer);
  }

  void fill() {
    ElementTensors element;
    while (should_fill()) {
      const bool begins = pass_ == nullptr;
      if (begins) {
        const uint64_t end = slices_.empty() || whole() ? 0 : slices_.back().end;
        slices_.push_back({end, end});
        if (whole()) ring_.clear();
        pass_ = input_.iterate();
        ++round_;
      }
      if (pass_->next(element)) {
        Slice& slice = slices_.back();
        const uint64_t place = whole() ? slice.end : slice.end % static_cast<uint64_t>(options_.buffer);
        if (place >= ring_.size()) ring_.resize(static_cast<size_t>(place) + 1);
        ring_[static_cast<size_t>(place)] = std::move(element);
        element = {};
        ++slice.end;
        ++count_;
        some_ = true;
      } else {
        pass_.reset();
        // The input is empty: repeating it forever gives nothing.
        if (options_.count == -1 && !some_) return;
      }
    }
  }

  const DatasetValue& input_;
  const ShuffleOptions& options_;
  RandomWords words_;
  std::unique_ptr<ElementIterator> pass_;
  int64_t round_ = 0;
  bool some_ = false;
  uint64_t count_ = 0;  // of elements in the buffer
  std::deque<Slice> slices_;
  std::deque<ElementTensors> ring_;
};

}  // namespace

SeedGenerator::SeedGenerator(Seeds seeds, bool passes_differ, const WordsOfSeeds& words)
    : Resource("", ""), seeds_(seeds), passes_differ_(passes_differ), words_of_(words), words_(words(seeds)) {}

Seeds SeedGenerator::next() {
  const std::lock_guard lock(mutex_);
  if (!passes_differ_) return seeds_;
  ++passes_;
  const uint32_t first = words_();
  return {first, words_()};
}

SeedGenerator::State SeedGenerator::state() {
  const std::lock_guard lock(mutex_);
  return {seeds_, passes_};
}

void SeedGenerator::restore(const State& state) {
  const std::lock_guard lock(mutex_);
  seeds_ = state.seeds;
  words_ = words_of_(seeds_);
  for (passes_ = 0; passes_ < state.passes; ++passes_) {
    words_();
    words_();
  }
}

DatasetHandle shuffle_dataset(std::string name, DatasetHandle input, ShuffleOptions options, ElementSpec spec) {
  if (options.buffer < 1 && options.buffer != DatasetValue::kUnknown) {
    invalid("buffer_size: expected at least 1, or -2 for all elements, got {}", options.buffer);
  }
  if (options.count < 1 && options.count != -1) invalid("count: expected at least 1, or -1, got {}", options.count);
  const int64_t cardinality = repeated_cardinality(input->cardinality(), options.count);
  return simple_dataset(std::move(name), std::move(spec), {std::move(input)},
                        {.cardinality = cardinality,
                         .batch = SimpleDataset::kAsInputs,
                         .seeds = options.seeds,
                         .begin = [options = std::move(options)](const DatasetValue& self) -> ElementFunctionOfPass {
                           return [pass = std::make_shared<Shuffled>(self.input(), options)](ElementTensors& element) {
                             return pass->next(element);
                           };
                         }});
}

DatasetHandle random_dataset(std::shared_ptr<SeedGenerator> seeds, WordsOfSeeds words, ElementSpec spec) {
  return simple_dataset("RandomDataset", std::move(spec), {},
                        {.cardinality = DatasetValue::kInfinite,
                         .seeds = seeds,
                         .begin = [seeds, words = std::move(words)](const DatasetValue&) -> ElementFunctionOfPass {
                           return [next = words(seeds->next())](ElementTensors& element) {
                             Tensor t = allocate_tensor(cpu_device(), kInt64, Shape{});
                             *mutable_data<int64_t>(t) = next();
                             element.push_back(std::move(t));
                             return true;
                           };
                         }});
}

}  // namespace panto::datasets
