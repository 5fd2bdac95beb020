// A dataset made of a few functions, as nearly all are. Internal.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "panto/lib/base/callable.h"
#include "panto/lib/core/datasets/dataset_value.h"

namespace panto {

// Makes the next element of one pass; returns false at the end. It may refer to the dataset's members: the dataset
// outlives the pass.
using ElementFunctionOfPass = Callable<bool(ElementTensors& element)>;

struct SimpleDataset {
  int64_t cardinality = DatasetValue::kUnknown;
  int64_t batch = kNoBatch;  // input elements per element; or one of these:
  static constexpr int64_t kNoBatch = -1, kAsInputs = -2;
  std::shared_ptr<datasets::SeedGenerator> seeds = nullptr;
  bool deterministic = true;
  // Begins a pass.
  Callable<ElementFunctionOfPass(const DatasetValue& self)> begin;
};

inline DatasetHandle simple_dataset(std::string name, ElementSpec spec, std::vector<DatasetHandle> inputs,
                                    SimpleDataset of) {
  class Iterator final : public ElementIterator {
   public:
    explicit Iterator(ElementFunctionOfPass next) : next_(std::move(next)) {}

   private:
    bool advance(ElementTensors& element) override { return next_(element); }
    ElementFunctionOfPass next_;
  };
  class Value final : public DatasetValue {
   public:
    Value(std::string name, ElementSpec spec, std::vector<DatasetHandle> inputs, SimpleDataset of)
        : DatasetValue(std::move(name), std::move(spec), std::move(inputs)), of_(std::move(of)) {}
    int64_t cardinality() const override { return of_.cardinality; }
    std::unique_ptr<ElementIterator> iterate() const override { return std::make_unique<Iterator>(of_.begin(*this)); }
    int64_t batch_size() const override {
      if (of_.batch != SimpleDataset::kAsInputs) return of_.batch;
      const int64_t first = input().batch_size();
      for (const DatasetHandle& other : inputs()) {
        if (other->batch_size() != first) return SimpleDataset::kNoBatch;
      }
      return first;
    }
    std::shared_ptr<datasets::SeedGenerator> seeds() const override { return of_.seeds; }
    bool deterministic() const override { return of_.deterministic; }

   private:
    SimpleDataset of_;
  };
  return std::make_shared<Value>(std::move(name), std::move(spec), std::move(inputs), std::move(of));
}

}  // namespace panto
