// DatasetIterator: the resource that the ops Iterator... make and read: a pass over a dataset that continues from call
// to call.
//
//   const auto iterator = std::make_shared<DatasetIterator>("", "", spec);
//   iterator->begin(dataset);
//   for (ElementTensors element; iterator->next(element);) ...
//
// Thread-safe: calls make elements one after the other. A call that waits for its turn stops waiting when its step is
// stopped.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/lib/core/collections/variant.h"
#include "panto/lib/core/datasets/dataset_value.h"
#include "panto/lib/core/datasets/shuffle.h"
#include "panto/lib/core/tensor/resource.h"

namespace panto {

// The position of a pass, which SerializeIterator puts into a variant. Valid in this process only: it has no form as
// bytes.
class PANTO_EXPORT IteratorState final : public VariantValue {
 public:
  IteratorState(std::string dataset, uint64_t calls, std::vector<datasets::SeedGenerator::State> seeds);
  ~IteratorState() override;
  std::string_view kind() const noexcept override { return "IteratorState"; }
  std::string to_string() const override;
  const std::string& dataset() const noexcept { return dataset_; }
  uint64_t calls() const noexcept { return calls_; }
  const std::vector<datasets::SeedGenerator::State>& seeds() const noexcept { return seeds_; }

 private:
  std::string dataset_;                                // the names of its stages
  uint64_t calls_;                                     // how many elements were asked for
  std::vector<datasets::SeedGenerator::State> seeds_;  // as they were when the pass began
};

class PANTO_EXPORT DatasetIterator final : public Resource, public std::enable_shared_from_this<DatasetIterator> {
 public:
  // A spec without types allows any elements.
  DatasetIterator(std::string container, std::string name, ElementSpec spec);
  ~DatasetIterator() override;
  std::string_view kind() const noexcept override { return "Iterator"; }

  const ElementSpec& spec() const noexcept { return spec_; }
  // Begins a new pass over this dataset. Throws InvalidArgument if its elements do not fit the iterator's spec.
  void begin(DatasetHandle dataset);
  // The same, unless a pass has begun already.
  void begin_first(DatasetHandle dataset);
  bool begun() const;
  // Returns false at the end of the pass. Throws FailedPrecondition if no pass was begun, InvalidArgument for an
  // element that does not fit the iterator's spec, and what making the element throws.
  bool next(ElementTensors& element);
  // Releases the pass.
  void end();
  // Throws FailedPrecondition if no pass was begun, or if the dataset's order is not the same in every pass; the error
  // names the stage.
  IteratorState state() const;
  // Continues at `state`: begins a new pass over the present dataset and drops the elements before that position.
  // Random orders repeat, for all datasets that share the seeds. Throws FailedPrecondition if no pass was begun,
  // InvalidArgument if the dataset has other stages.
  void restore(const IteratorState& state);

  // A text that identifies the iterator in this process while it lives, and the iterator for such a text. Throws
  // InvalidArgument for other text, NotFound if the iterator is gone.
  std::string handle_text();
  static std::shared_ptr<DatasetIterator> of_text(const std::string& text);

 private:
  struct Impl;
  ElementSpec spec_;
  std::unique_ptr<Impl> impl_;
};

// The iterator that scalar resource tensor `handle` refers to. Throws InvalidArgument for anything else.
PANTO_EXPORT std::shared_ptr<DatasetIterator> iterator_of(const Tensor& handle);
// Throws InvalidArgument if elements of spec `got` do not fit `expected`.
PANTO_EXPORT void expect_spec(const ElementSpec& expected, const ElementSpec& got);

}  // namespace panto
