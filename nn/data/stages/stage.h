// The stages of a Dataset. Internal.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "panto/nn/data/dataset.h"
#include "panto/nn/data/stages/state.h"

namespace panto::data {

// One pass: elements one after the other.
class Source {
 public:
  Source() = default;
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;
  virtual ~Source() = default;
  // Returns false at the end. Not called again after that, or after it has thrown.
  virtual bool next(Element& element) = 0;
  // Saves the position: before, between or after its elements, but not after `next` has thrown. Throws
  // FailedPrecondition for a stage whose order differs from run to run.
  virtual void save(StateWriter& to) = 0;
  // Moves a source that was just started to the saved position. Throws as StateReader.
  virtual void restore(StateReader& from) = 0;
};

// Special values of a number of elements.
constexpr int64_t kEndless = -1, kUnknown = -2;

// One step of a pipeline, with those before it. Immutable: all passes share it.
class Stage {
 public:
  Stage() = default;
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;
  virtual ~Stage() = default;
  // Starts a pass. `pass` numbers the passes, for stages that draw random numbers. The stage outlives the source.
  // Starting is cheap: files are opened, threads started and elements computed when the first element is asked for.
  virtual std::unique_ptr<Source> start(uint64_t pass) const = 0;
  // The number of elements of every pass, or kEndless or kUnknown.
  virtual int64_t size() const = 0;
  // Whether `at` returns element i of every pass in constant time.
  virtual bool indexed() const { return false; }
  virtual Element at(int64_t i) const;
};
using StagePtr = std::shared_ptr<const Stage>;

struct StageAccess {
  static StagePtr stage(const Dataset& dataset);
  static Dataset dataset(StagePtr stage);
};

// Decides whether bad input is skipped, as the options say, and reports it.
class BadInputs {
 public:
  BadInputs(std::string_view stage, bool skip, BadInput told) : stage_(stage), skip_(skip), told_(std::move(told)) {}
  bool skip() const { return skip_; }
  // Returns whether the input that threw `error` is skipped; if so, reports the error to `told`, or logs a warning.
  bool left_out(const Error& error) const;

 private:
  std::string_view stage_;
  bool skip_;
  BadInput told_;
  mutable std::atomic<bool> warned_{false};
};

// Random numbers: SplitMix64 (Steele, Lea and Flood 2014), since the standard library's distributions differ between
// implementations.
uint64_t mixed(uint64_t z);
constexpr uint64_t kGamma = 0x9e3779b97f4a7c15u;
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t state() const { return state_; }
  // Returns a number below n, without bias: numbers beyond the last full multiple of n are drawn again.
  size_t below(uint64_t n) {
    const uint64_t limit = UINT64_MAX - UINT64_MAX % n;
    uint64_t x = next();
    while (x >= limit) x = next();
    return static_cast<size_t>(x % n);
  }

 private:
  uint64_t next() { return mixed(state_ += kGamma); }
  uint64_t state_;
};

// Sources (sources.cc).
StagePtr slices(std::vector<Tensor> tensors);  // along the first dimension, which is the same for all
StagePtr numbers(int64_t start, int64_t count, int64_t step);
StagePtr streams(Callable<ElementStream()> begin, int64_t size);

// One element for each input element, or fewer (elements.cc).
StagePtr map(StagePtr input, ElementFunction function, const MapOptions& options);
StagePtr filter(StagePtr input, ElementPredicate predicate);
StagePtr enumerate(StagePtr input, int64_t first);
StagePtr part(StagePtr input, int64_t first, int64_t count);  // from `first` on, at most `count`
StagePtr shard(StagePtr input, int64_t count, int64_t index);
// If the seed was drawn (not `chosen`), restoring a state replaces it by the state's seed; a chosen seed must equal the
// state's.
StagePtr shuffle(StagePtr input, int64_t buffer, uint64_t seed, bool chosen, bool reshuffle);

// Several pipelines, or one several times (sequences.cc).
constexpr int64_t kWithoutEnd = -1;
StagePtr repeat(StagePtr input, int64_t times);
StagePtr concatenate(StagePtr first, StagePtr second);
StagePtr zip(std::vector<StagePtr> inputs);
// `name`: flat_map or interleave.
StagePtr interleave(std::string_view name, StagePtr input, DatasetFunction function, int64_t cycle, int64_t block);

// Several elements in one (batches.cc).
StagePtr batch(StagePtr input, int64_t size, bool drop_remainder);
StagePtr padded_batch(StagePtr input, int64_t size, const PaddedBatchOptions& options);
StagePtr bucket_by_length(StagePtr input, ElementLength length, std::vector<int64_t> bounds, std::vector<int64_t> sizes,
                          const BucketOptions& options);
StagePtr window(StagePtr input, int64_t size, const WindowOptions& options);
StagePtr unbatch(StagePtr input);

// Elements that are computed once (cache.cc).
StagePtr cache(StagePtr input);
StagePtr cache(StagePtr input, const std::string& file);

// Stages with threads of their own (parallel.cc).
StagePtr parallel_map(StagePtr input, ElementFunction function, const MapOptions& options);
StagePtr prefetch(StagePtr input, int64_t count);

// Calls function(element); its Errors say which element it was. Throws InvalidArgument if the result has no tensors, or
// tensors without values.
Element mapped(const ElementFunction& function, const Element& element, int64_t number);
// Stacks the tensors of the elements. Throws InvalidArgument, on behalf of `stage`, if dtypes or shapes differ.
Element stacked(std::string_view stage, const std::vector<Element>& elements);
// The same, padded to the largest, or to `shapes`, with `values`: see PaddedBatchOptions.
Element padded(std::string_view stage, const std::vector<Element>& elements,
               const std::vector<std::vector<int64_t>>& shapes, const std::vector<double>& values);

}  // namespace panto::data
