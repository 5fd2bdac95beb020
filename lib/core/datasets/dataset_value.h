// DatasetValue: what a variant tensor holds that the ops ...Dataset make: the description of elements, each some
// tensors, that a pass makes one after the other.
//
//   const DatasetHandle numbers = range_dataset(0, 10, 1, {{kInt64}, {Shape{}}});   // lib/core/datasets/datasets.h
//   DatasetPass pass(batch_dataset(numbers, 4, false, {}));
//   for (ElementTensors element; pass.next(element);) ...
//
// Descriptions are immutable and shared by passes, which may go on in several threads, each in one. A pass belongs to
// the step of who asks for its next element (lib/core/step/step.h): stopping that step stops it.
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

// What is said of a dataset's elements.
struct ElementSpec {
  std::vector<DType> types = {};
  std::vector<PartialShape> shapes = {};
};
// "(int64[], float32[?,2])".
PANTO_EXPORT std::string to_string(const ElementSpec& spec);
// Throws InvalidArgument where `element` is none of these.
PANTO_EXPORT void expect_element(const ElementTensors& element, const ElementSpec& spec);

// How many elements this thread makes for one another. A thread that makes elements for another one goes on counting
// where that one was, while a scope lives: a chain of passes has a length, whatever threads it goes through.
PANTO_EXPORT int pass_depth() noexcept;
class PANTO_EXPORT PassDepthScope : DepthScope {
 public:
  explicit PassDepthScope(int depth) noexcept;
};

// One pass over a dataset, which outlives it. Belongs to one thread at a time.
class PANTO_EXPORT ElementIterator {
 public:
  ElementIterator();
  ElementIterator(const ElementIterator&) = delete;
  ElementIterator& operator=(const ElementIterator&) = delete;
  virtual ~ElementIterator();

  // The next element, in the place of what `element` had. False at the end, and from then on. Where it throws, for a
  // fault of one element, a further call goes on behind it. Throws Cancelled or DeadlineExceeded where the thread's
  // step is stopped.
  bool next(ElementTensors& element);

 protected:
  // Not called again once it returned false.
  virtual bool advance(ElementTensors& element) = 0;

 private:
  bool ended_ = false;
};

class PANTO_EXPORT DatasetValue : public VariantValue {
 public:
  // Cardinalities that are no numbers, as TensorFlow has them.
  static constexpr int64_t kInfinite = -1;
  static constexpr int64_t kUnknown = -2;

  // `inputs`: the datasets that it is made of. Throws InvalidArgument for more than a thousand one upon the other.
  DatasetValue(std::string name, ElementSpec spec, std::vector<std::shared_ptr<const DatasetValue>> inputs = {});
  DatasetValue(const DatasetValue&) = delete;
  DatasetValue& operator=(const DatasetValue&) = delete;
  ~DatasetValue() override;

  std::string_view kind() const noexcept override { return "Dataset"; }
  // "MapDataset of (int64[])".
  std::string to_string() const override;
  // Of the op.
  const std::string& name() const noexcept { return name_; }
  const ElementSpec& spec() const noexcept { return spec_; }
  const DatasetValue& input(size_t i = 0) const { return *inputs_[i]; }
  std::span<const std::shared_ptr<const DatasetValue>> inputs() const noexcept {
    return {inputs_.data(), inputs_.size()};
  }

  // The number of elements of a pass, kInfinite or kUnknown.
  virtual int64_t cardinality() const = 0;
  virtual std::unique_ptr<ElementIterator> iterate() const = 0;
  // Of how many elements each of these is a batch, the last one perhaps of fewer; -1 where that is not known.
  virtual int64_t batch_size() const { return -1; }
  // Where a pass takes its random order from; null where it has none of its own.
  virtual std::shared_ptr<datasets::SeedGenerator> seeds() const { return nullptr; }
  // Whether the order of two passes with the same seeds is the same, as far as its own part goes.
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

// A scalar variant tensor that holds it.
PANTO_EXPORT Tensor dataset_tensor(DatasetHandle dataset);
// What a scalar variant tensor holds. Throws InvalidArgument for anything else.
PANTO_EXPORT DatasetHandle dataset_of(const Tensor& handle);

}  // namespace panto
