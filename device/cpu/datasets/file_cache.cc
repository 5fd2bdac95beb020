#include "panto/device/cpu/datasets/file_cache.h"

#include <memory>
#include <utility>
#include <vector>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/datasets/element_tensors.h"
#include "panto/lib/core/datasets/simple_dataset.h"
#include "panto/lib/graph/checkpoints/checkpoint_file.h"

namespace panto::datasets {
namespace {

// Names sort in the order of the elements, for up to ten million elements.
std::string name_of(int64_t element, size_t component, size_t components) {
  const size_t width = fmt::format("{}", components - 1).size();
  return fmt::format("{:>7}_{:>{}}", element, component, width);
}

class Reading {
 public:
  Reading(const std::string& prefix, const ElementSpec& spec) : reader_(prefix), components_(spec.types.size()) {}
  bool next(ElementTensors& element) {
    if (reader_.find(name_of(at_, 0, components_)) == nullptr) return false;
    for (size_t k = 0; k < components_; ++k) element.push_back(reader_.read(name_of(at_, k, components_)));
    ++at_;
    return true;
  }

 private:
  CheckpointReader reader_;
  size_t components_;
  int64_t at_ = 0;
};

class Writing {
 public:
  Writing(const DatasetValue& input, const std::string& prefix) : pass_(input.iterate()), prefix_(prefix) {}
  bool next(ElementTensors& element) {
    ElementTensors made;
    if (!pass_->next(made)) {
      write_checkpoint(prefix_, std::exchange(all_, {}));
      return false;
    }
    for (size_t k = 0; k < made.size(); ++k) {
      element.push_back(shared_tensor(made[k]));
      all_.emplace_back(name_of(at_, k, made.size()), std::move(made[k]));
    }
    ++at_;
    return true;
  }

 private:
  std::unique_ptr<ElementIterator> pass_;
  const std::string& prefix_;
  std::vector<NamedTensor> all_;
  int64_t at_ = 0;
};

}  // namespace

DatasetHandle file_cache_dataset(DatasetHandle input, std::string prefix, ElementSpec spec) {
  for (const DType type : input->spec().types) {
    if (is_plain(type) || type == kString) continue;
    invalid("filename: expected elements that have values, which files can keep, got {}", dtype_name(type));
  }
  const int64_t cardinality = input->cardinality();
  return simple_dataset("CacheDataset", std::move(spec), {std::move(input)},
                        {.cardinality = cardinality,
                         .batch = SimpleDataset::kAsInputs,
                         .begin = [prefix = std::move(prefix)](const DatasetValue& self) -> ElementFunctionOfPass {
                           if (checkpoint_exists(prefix)) {
                             return [pass = std::make_shared<Reading>(prefix, self.spec())](ElementTensors& element) {
                               return pass->next(element);
                             };
                           }
                           return [pass = std::make_shared<Writing>(self.input(), prefix)](ElementTensors& element) {
                             return pass->next(element);
                           };
                         }});
}

}  // namespace panto::datasets
