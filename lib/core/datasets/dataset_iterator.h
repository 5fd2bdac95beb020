// DatasetIterator: what a resource tensor refers to that the ops Iterator... make and read: a pass over a dataset that
// goes on from call to call.
//
//   const auto iterator = std::make_shared<DatasetIterator>("", "", spec);
//   iterator->begin(dataset);
//   for (ElementTensors element; iterator->next(element);) ...
//
// Thread-safe: one call after the other makes an element. Who waits for its turn waits no longer than its step.
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

// Where a pass is: what SerializeIterator puts into a variant. Of this process, since it is no bytes.
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
  std::string dataset_;                                // its stages by their names
  uint64_t calls_;                                     // for an element, that were made
  std::vector<datasets::SeedGenerator::State> seeds_;  // when the pass began
};

class PANTO_EXPORT DatasetIterator final : public Resource, public std::enable_shared_from_this<DatasetIterator> {
 public:
  // Without types: of any elements.
  DatasetIterator(std::string container, std::string name, ElementSpec spec);
  ~DatasetIterator() override;
  std::string_view kind() const noexcept override { return "Iterator"; }

  const ElementSpec& spec() const noexcept { return spec_; }
  // Goes on with a new pass over this dataset. Throws InvalidArgument where its elements are none of the iterator's.
  void begin(DatasetHandle dataset);
  // The same, unless there is a pass already.
  void begin_first(DatasetHandle dataset);
  bool begun() const;
  // False at the end of the pass. Throws FailedPrecondition where none was begun, InvalidArgument for an element that
  // is none of the iterator's, and what making it throws.
  bool next(ElementTensors& element);
  // Lets go of the pass.
  void end();
  // Throws FailedPrecondition where no pass was begun, and for a dataset whose order is not the same each time, naming
  // the stage.
  IteratorState state() const;
  // Goes on there, by a new pass over the dataset of the present one, whose first elements are dropped. Random orders
  // are again as they were, for all who share their seeds. Throws FailedPrecondition where no pass was begun,
  // InvalidArgument where it is over a dataset of other stages.
  void restore(const IteratorState& state);

  // A text that names it in this process, as long as it lives; and the iterator of such a text. Throws InvalidArgument
  // for another text, NotFound where the iterator is gone.
  std::string handle_text();
  static std::shared_ptr<DatasetIterator> of_text(const std::string& text);

 private:
  struct Impl;
  ElementSpec spec_;
  std::unique_ptr<Impl> impl_;
};

// The iterator that scalar resource tensor `handle` refers to. Throws InvalidArgument for anything else.
PANTO_EXPORT std::shared_ptr<DatasetIterator> iterator_of(const Tensor& handle);
// Throws InvalidArgument where elements as `got` says are none of `expected`.
PANTO_EXPORT void expect_spec(const ElementSpec& expected, const ElementSpec& got);

}  // namespace panto
