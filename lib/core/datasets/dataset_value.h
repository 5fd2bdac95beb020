// DatasetValue: the value in a variant tensor that the ops ...Dataset make: the description of a sequence of elements,
// each some tensors. A pass makes the elements one after the other.
//
//   const DatasetHandle numbers = range_dataset(0, 10, 1, {{kInt64}, {Shape{}}});   // lib/core/datasets/datasets.h
//   DatasetPass pass(batch_dataset(numbers, 4, false, {}));
//   for (ElementTensors element; pass.next(element);) ...
//
// Descriptions are immutable and shared by passes. Passes may run in several threads, each pass in one. A pass runs in
// the step of the caller that asks for its next element (lib/core/step/step.h): stopping that step stops the pass.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "panto/lib/base/depth.h"
#include "panto/lib/base/export.h"
#include "panto/lib/core/collections/variant.h"
#include "panto/lib/core/tensor/shape.h"
#include "panto/lib/core/tensor/tensor.h"

namespace panto {
namespace datasets {
class SeedGenerator;  // lib/core/datasets/shuffle.h
}

// The tensors of one element, in host memory.
using ElementTensors = std::vector<Tensor>;

// Dtypes and shapes of a dataset's elements, by component.
struct ElementSpec {
  std::vector<DType> types = {};
  std::vector<PartialShape> shapes = {};
};
// "(int64[], float32[?,2])".
PANTO_EXPORT std::string to_string(const ElementSpec& spec);
// Throws InvalidArgument if `element` does not fit `spec`.
PANTO_EXPORT void expect_element(const ElementTensors& element, const ElementSpec& spec);

// How many passes, each making an element for the next, this thread is inside. A thread that makes elements for another
// one continues that thread's count in a PassDepthScope: so the length of a chain is known on whatever threads it runs.
PANTO_EXPORT int pass_depth() noexcept;
class PANTO_EXPORT PassDepthScope : DepthScope {
 public:
  explicit PassDepthScope(int depth) noexcept;
};

// One pass over a dataset. The dataset must outlive it. Belongs to one thread at a time.
class PANTO_EXPORT ElementIterator {
 public:
  ElementIterator();
  ElementIterator(const ElementIterator&) = delete;
  ElementIterator& operator=(const ElementIterator&) = delete;
  virtual ~ElementIterator();

  // Replaces `element` by the next element. Returns false at the end, and from then on. If it throws because of a fault
  // of one element, a further call continues behind that element. Throws Cancelled or DeadlineExceeded if the thread's
  // step is stopped.
  bool next(ElementTensors& element);

 protected:
  // Not called again after it returned false.
  virtual bool advance(ElementTensors& element) = 0;

 private:
  bool ended_ = false;
};

class PANTO_EXPORT DatasetValue : public VariantValue {
 public:
  // Special cardinalities, with TensorFlow's values.
  static constexpr int64_t kInfinite = -1;
  static constexpr int64_t kUnknown = -2;

  // `inputs`: the datasets that it reads. Throws InvalidArgument for a chain of more than a thousand datasets.
  DatasetValue(std::string name, ElementSpec spec, std::vector<std::shared_ptr<const DatasetValue>> inputs = {});
  DatasetValue(const DatasetValue&) = delete;
  DatasetValue& operator=(const DatasetValue&) = delete;
  ~DatasetValue() override;

  std::string_view kind() const noexcept override { return "Dataset"; }
  // "MapDataset of (int64[])".
  std::string to_string() const override;
  // The name of the op that made it.
  const std::string& name() const noexcept { return name_; }
  const ElementSpec& spec() const noexcept { return spec_; }
  const DatasetValue& input(size_t i = 0) const { return *inputs_[i]; }
  std::span<const std::shared_ptr<const DatasetValue>> inputs() const noexcept {
    return {inputs_.data(), inputs_.size()};
  }

  // The number of elements of a pass, kInfinite or kUnknown.
  virtual int64_t cardinality() const = 0;
  virtual std::unique_ptr<ElementIterator> iterate() const = 0;
  // If each element is a batch: the batch size (the last batch may be smaller); -1 if not known.
  virtual int64_t batch_size() const { return -1; }
  // The source of the pass's random order; null if it has none of its own.
  virtual std::shared_ptr<datasets::SeedGenerator> seeds() const { return nullptr; }
  // True if two passes with the same seeds give the same order, as far as this dataset itself is concerned.
  virtual bool deterministic() const { return true; }

 private:
  std::string name_;
  ElementSpec spec_;
  std::vector<std::shared_ptr<const DatasetValue>> inputs_;
  int depth_ = 1;
};
using DatasetHandle = std::shared_ptr<const DatasetValue>;

// A pass that owns its dataset.
class PANTO_EXPORT DatasetPass {
 public:
  explicit DatasetPass(DatasetHandle dataset);
  bool next(ElementTensors& element) { return iterator_->next(element); }
  const DatasetValue& dataset() const noexcept { return *dataset_; }

 private:
  DatasetHandle dataset_;
  std::unique_ptr<ElementIterator> iterator_;
};

// A scalar variant tensor that holds the dataset.
PANTO_EXPORT Tensor dataset_tensor(DatasetHandle dataset);
// The dataset in a scalar variant tensor. Throws InvalidArgument for anything else.
PANTO_EXPORT DatasetHandle dataset_of(const Tensor& handle);

}  // namespace panto
