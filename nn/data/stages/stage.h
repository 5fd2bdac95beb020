// What a Dataset is made of. Internal.
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
  // False where there is none left. Not called again after that, or after it has thrown.
  virtual bool next(Element& element) = 0;
  // Where it stands: before, between and after its elements, but not after it has thrown. Throws FailedPrecondition for
  // a stage whose order differs from run to run.
  virtual void save(StateWriter& to) = 0;
  // Makes a source that was just started stand where the one did that was saved. Throws as StateReader.
  virtual void restore(StateReader& from) = 0;
};

// In the place of a number of elements.
constexpr int64_t kEndless = -1, kUnknown = -2;

// One step of a pipeline, with those before it. Immutable: passes share it.
class Stage {
 public:
  Stage() = default;
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;
  virtual ~Stage() = default;
  // `pass` tells passes apart, for those that draw random numbers. The stage outlives the source. It costs next to
  // nothing: files are opened, threads begun and elements made when the first one is asked for.
  virtual std::unique_ptr<Source> start(uint64_t pass) const = 0;
  // Of every pass, or kEndless or kUnknown.
  virtual int64_t size() const = 0;
  // Whether `at` gives element number i of every pass, in no time.
  virtual bool indexed() const { return false; }
  virtual Element at(int64_t i) const;
};
using StagePtr = std::shared_ptr<const Stage>;

struct StageAccess {
  static StagePtr stage(const Dataset& dataset);
  static Dataset dataset(StagePtr stage);
};

// Input that is left out, where options say so.
class BadInputs {
 public:
  BadInputs(std::string_view stage, bool skip, BadInput told) : stage_(stage), skip_(skip), told_(std::move(told)) {}
  bool skip() const { return skip_; }
  // Whether what threw `error` is left out; says so to those who listen.
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
  // Below n, without bias: numbers beyond the last full multiple of n are drawn again.
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
StagePtr slices(std::vector<Tensor> tensors);  // along the first dimension, of which all have the same size
StagePtr numbers(int64_t start, int64_t count, int64_t step);
StagePtr streams(Callable<ElementStream()> begin, int64_t size);

// One element for one, or fewer (elements.cc).
StagePtr map(StagePtr input, ElementFunction function, const MapOptions& options);
StagePtr filter(StagePtr input, ElementPredicate predicate);
StagePtr enumerate(StagePtr input, int64_t first);
StagePtr part(StagePtr input, int64_t first, int64_t count);  // from `first` on, at most `count`
StagePtr shard(StagePtr input, int64_t count, int64_t index);
// A seed that was drawn gives way to that of a state which is restored; one that was chosen must be that.
StagePtr shuffle(StagePtr input, int64_t buffer, uint64_t seed, bool chosen, bool reshuffle);

// Several pipelines, or several times one (sequences.cc).
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

// What was made once (cache.cc).
StagePtr cache(StagePtr input);
StagePtr cache(StagePtr input, const std::string& file);

// Stages with threads of their own (parallel.cc).
StagePtr parallel_map(StagePtr input, ElementFunction function, const MapOptions& options);
StagePtr prefetch(StagePtr input, int64_t count);

// function(element), whose Errors say which element it was. Throws InvalidArgument where it gives no tensors, or some
// without values.
Element mapped(const ElementFunction& function, const Element& element, int64_t number);
// The tensors of elements, stacked. Throws InvalidArgument, for `stage`, where they differ.
Element stacked(std::string_view stage, const std::vector<Element>& elements);
// The same, padded to the largest, or to `shapes`, with `values`: see PaddedBatchOptions.
Element padded(std::string_view stage, const std::vector<Element>& elements,
               const std::vector<std::vector<int64_t>>& shapes, const std::vector<double>& values);

}  // namespace panto::data
