// What a Dataset is made of. Internal.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "panto/nn/data/dataset.h"

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
};

// One step of a pipeline, with those before it. Immutable: passes share it.
class Stage {
 public:
  Stage() = default;
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;
  virtual ~Stage() = default;
  // `pass` tells passes apart, for those that draw random numbers. The stage outlives the source.
  virtual std::unique_ptr<Source> start(uint64_t pass) const = 0;
  // None: without end.
  virtual std::optional<int64_t> size() const = 0;
};
using StagePtr = std::shared_ptr<const Stage>;

// Stages that run on the thread that asks for elements (stages.cc).
StagePtr slices(std::vector<Tensor> tensors);  // along the first dimension, of which all have the same size
StagePtr map(StagePtr input, ElementFunction function);
StagePtr shuffle(StagePtr input, int64_t buffer, uint64_t seed);
StagePtr batch(StagePtr input, int64_t size, bool drop_remainder);
StagePtr repeat(StagePtr input, std::optional<int64_t> times);  // none: without end
StagePtr part(StagePtr input, int64_t first, int64_t count);    // from `first` on, at most `count`

// Stages with threads of their own (parallel.cc).
StagePtr parallel_map(StagePtr input, ElementFunction function, int threads);
StagePtr prefetch(StagePtr input, int64_t count);

// function(element), whose Errors say which element it was. Throws InvalidArgument where it gives no tensors, or some
// without values.
Element mapped(const ElementFunction& function, const Element& element, int64_t number);

}  // namespace panto::data
