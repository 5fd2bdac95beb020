// Datasets that pass on the elements of others unchanged.
#include <algorithm>
#include <cstring>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "panto/lib/base/log.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/datasets/datasets.h"
#include "panto/lib/core/datasets/element_tensors.h"
#include "panto/lib/core/datasets/simple_dataset.h"
#include "panto/lib/core/step/stop.h"
#include "panto/lib/core/tensor/tensor_alloc.h"

namespace panto::datasets {
namespace {

using Iterator = std::unique_ptr<ElementIterator>;
constexpr int64_t kInfinite = DatasetValue::kInfinite;
constexpr int64_t kUnknown = DatasetValue::kUnknown;

}  // namespace

int64_t repeated_cardinality(int64_t elements, int64_t count) {
  if (count == 0 || elements == 0) return 0;
  if (count < 0) return kInfinite;
  if (elements < 0) return elements;
  return elements > INT64_MAX / count ? INT64_MAX : elements * count;
}

DatasetHandle repeat_dataset(DatasetHandle input, int64_t count, ElementSpec spec) {
  const int64_t cardinality = repeated_cardinality(input->cardinality(), count);
  return simple_dataset("RepeatDataset", std::move(spec), {std::move(input)},
                        {.cardinality = cardinality,
                         .batch = SimpleDataset::kAsInputs,
                         .begin = [count](const DatasetValue& self) -> ElementFunctionOfPass {
                           return
                               [&self, count, round = int64_t{0}, pass = Iterator()](ElementTensors& element) mutable {
                                 while (count < 0 || round < count) {
                                   const bool begins = pass == nullptr;
                                   if (begins) pass = self.input().iterate();
                                   if (pass->next(element)) return true;
                                   pass.reset();
                                   if (begins && count < 0) return false;  // an empty input, repeated forever
                                   ++round;
                                 }
                                 return false;
                               };
                         }});
}

DatasetHandle take_dataset(DatasetHandle input, int64_t count, ElementSpec spec) {
  int64_t cardinality = input->cardinality();
  if (cardinality == kInfinite) {
    cardinality = count < 0 ? kInfinite : count;
  } else if (cardinality >= 0 && count >= 0) {
    cardinality = std::min(cardinality, count);
  }
  return simple_dataset("TakeDataset", std::move(spec), {std::move(input)},
                        {.cardinality = cardinality,
                         .batch = SimpleDataset::kAsInputs,
                         .begin = [count](const DatasetValue& self) -> ElementFunctionOfPass {
                           return [count, at = int64_t{0}, pass = count == 0 ? nullptr : self.input().iterate()](
                                      ElementTensors& element) mutable {
                             if (count >= 0 && at == count) return false;
                             ++at;
                             return pass->next(element);
                           };
                         }});
}

DatasetHandle skip_dataset(DatasetHandle input, int64_t count, ElementSpec spec) {
  int64_t cardinality = input->cardinality();
  if (cardinality >= 0) cardinality = count < 0 ? 0 : std::max<int64_t>(0, cardinality - count);
  return simple_dataset("SkipDataset", std::move(spec), {std::move(input)},
                        {.cardinality = cardinality,
                         .batch = SimpleDataset::kAsInputs,
                         .begin = [count](const DatasetValue& self) -> ElementFunctionOfPass {
                           return [count, at = int64_t{0},
                                   pass = self.input().iterate()](ElementTensors& element) mutable {
                             if (count < 0) return false;
                             for (; at < count; ++at) {
                               if (!pass->next(element)) return false;
                             }
                             return pass->next(element);
                           };
                         }});
}

DatasetHandle zip_dataset(std::vector<DatasetHandle> inputs, ElementSpec spec) {
  int64_t cardinality = kInfinite;
  for (const DatasetHandle& input : inputs) {
    const int64_t n = input->cardinality();
    if (n == kUnknown) cardinality = kUnknown;
    if (cardinality == kUnknown) break;
    if (n != kInfinite && (cardinality == kInfinite || n < cardinality)) cardinality = n;
  }
  return simple_dataset("ZipDataset", std::move(spec), std::move(inputs),
                        {.cardinality = cardinality,
                         .batch = SimpleDataset::kAsInputs,
                         .begin = [](const DatasetValue& self) -> ElementFunctionOfPass {
                           std::vector<Iterator> passes;
                           for (const DatasetHandle& input : self.inputs()) passes.push_back(input->iterate());
                           return
                               [passes = std::move(passes), part = ElementTensors()](ElementTensors& element) mutable {
                                 for (const Iterator& pass : passes) {
                                   if (!pass->next(part)) return false;
                                   element.insert(element.end(), part.begin(), part.end());
                                 }
                                 return true;
                               };
                         }});
}

DatasetHandle concatenate_dataset(DatasetHandle first, DatasetHandle second, ElementSpec spec) {
  if (first->spec().types != second->spec().types) {
    invalid("another_dataset: expected elements of the types of the first one, {}, got {}",
            whole(to_string(first->spec())), whole(to_string(second->spec())));
  }
  const int64_t a = first->cardinality(), b = second->cardinality();
  const int64_t cardinality = a == kInfinite || b == kInfinite ? kInfinite
                              : a == kUnknown || b == kUnknown ? kUnknown
                              : a > INT64_MAX - b              ? INT64_MAX
                                                               : a + b;
  return simple_dataset("ConcatenateDataset", std::move(spec), {std::move(first), std::move(second)},
                        {.cardinality = cardinality,
                         .batch = SimpleDataset::kAsInputs,
                         .begin = [](const DatasetValue& self) -> ElementFunctionOfPass {
                           return [&self, at = size_t{0},
                                   pass = self.input(0).iterate()](ElementTensors& element) mutable {
                             for (;;) {
                               if (pass->next(element)) return true;
                               if (at == 1) return false;
                               pass = self.input(++at).iterate();
                             }
                           };
                         }});
}

DatasetHandle shard_dataset(DatasetHandle input, int64_t num_shards, int64_t index, bool require_non_empty,
                            ElementSpec spec) {
  if (num_shards < 1) invalid("num_shards: expected at least 1, got {}", num_shards);
  if (index < 0 || index >= num_shards) invalid("index: expected one in [0, {}), got {}", num_shards, index);
  int64_t cardinality = input->cardinality();
  if (cardinality >= 0) cardinality = cardinality / num_shards + (index < cardinality % num_shards ? 1 : 0);
  return simple_dataset("ShardDataset", std::move(spec), {std::move(input)},
                        {.cardinality = cardinality,
                         .batch = SimpleDataset::kAsInputs,
                         .begin = [=](const DatasetValue& self) -> ElementFunctionOfPass {
                           return [=, at = int64_t{0}, pass = self.input().iterate()](ElementTensors& element) mutable {
                             for (;; ++at) {
                               if (!pass->next(element)) {
                                 if (require_non_empty && at < num_shards) {
                                   const int64_t got = std::exchange(at, num_shards);  // thrown only once
                                   invalid("dataset: expected at least {} elements, one for each shard, got {}",
                                           num_shards, got);
                                 }
                                 return false;
                               }
                               if (at % num_shards != index) continue;
                               ++at;
                               return true;
                             }
                           };
                         }});
}

DatasetHandle same_dataset(std::string name, DatasetHandle input, ElementSpec spec) {
  const int64_t cardinality = input->cardinality();
  return simple_dataset(std::move(name), std::move(spec), {std::move(input)},
                        {.cardinality = cardinality,
                         .batch = SimpleDataset::kAsInputs,
                         .begin = [](const DatasetValue& self) -> ElementFunctionOfPass {
                           return
                               [pass = self.input().iterate()](ElementTensors& element) { return pass->next(element); };
                         }});
}

DatasetHandle ignore_errors_dataset(DatasetHandle input, bool log, ElementSpec spec) {
  return simple_dataset("IgnoreErrorsDataset", std::move(spec), {std::move(input)},
                        {.begin = [log](const DatasetValue& self) -> ElementFunctionOfPass {
                          return [log, pass = self.input().iterate()](ElementTensors& element) {
                            for (;;) {
                              try {
                                return pass->next(element);
                              } catch (const Error& error) {
                                if (is_stop(error)) throw;
                                if (log) log_warn(fmt::format("dataset: left out an element: {}", error.what()));
                              }
                            }
                          };
                        }});
}

DatasetHandle assert_cardinality_dataset(DatasetHandle input, int64_t cardinality, ElementSpec spec) {
  return simple_dataset("AssertCardinalityDataset", std::move(spec), {std::move(input)},
                        {.cardinality = cardinality,
                         .batch = SimpleDataset::kAsInputs,
                         .begin = [cardinality](const DatasetValue& self) -> ElementFunctionOfPass {
                           return [cardinality, at = int64_t{0}, told = false,
                                   pass = self.input().iterate()](ElementTensors& element) mutable {
                             if (told) return false;
                             const auto wrong = [&](std::string_view got) {
                               told = true;
                               failf(Code::kFailedPrecondition, "dataset: expected {} elements, got {}",
                                     cardinality == kInfinite ? "infinitely many" : fmt::format("{}", cardinality),
                                     got);
                             };
                             const bool more = pass->next(element);
                             if (more) ++at;
                             if (cardinality == kUnknown) return more;
                             if (!more && (cardinality == kInfinite || at < cardinality)) wrong(fmt::format("{}", at));
                             if (more && cardinality >= 0 && at > cardinality)
                               wrong("at least " + fmt::format("{}", at));
                             return more;
                           };
                         }});
}

DatasetHandle unique_dataset(DatasetHandle input, ElementSpec spec) {
  constexpr DTypeSet kTypes{kInt32, kInt64, kString};
  if (input->spec().types.size() != 1 || !kTypes.contains(input->spec().types[0])) {
    invalid("input_dataset: expected elements of one int32, int64 or string, got {}", whole(to_string(input->spec())));
  }
  return simple_dataset("UniqueDataset", std::move(spec), {std::move(input)},
                        {.begin = [](const DatasetValue& self) -> ElementFunctionOfPass {
                          // The key of an element: shape and elements as bytes, strings with their lengths.
                          return [seen = std::set<std::string, std::less<>>(),
                                  pass = self.input().iterate()](ElementTensors& element) mutable {
                            while (pass->next(element)) {
                              std::string key;
                              const Tensor& t = component_of(element, 0);
                              const auto add = [&key](const void* data, size_t size) {
                                key.append(static_cast<const char*>(data), size);
                              };
                              const auto dims = t.shape().dims();
                              add(dims.data(), dims.size_bytes());
                              if (t.dtype() == kString) {
                                for (const std::string& text : t.data<std::string>()) {
                                  const uint64_t size = text.size();
                                  add(&size, sizeof(size));
                                  add(text.data(), text.size());
                                }
                              } else if (is_plain(t.dtype())) {
                                add(t.impl()->data, static_cast<size_t>(t.numel()) * dtype_size(t.dtype()));
                              }
                              if (seen.insert(std::move(key)).second) return true;
                            }
                            return false;
                          };
                        }});
}

DatasetHandle unbatch_dataset(DatasetHandle input, ElementSpec spec) {
  int64_t cardinality = input->cardinality();
  int64_t rows = -1;
  for (const PartialShape& shape : input->spec().shapes) {
    if (shape.rank() == 0) invalid("input_dataset: expected components of at least one dimension, got a scalar");
    if (shape.rank() > 0 && shape.dim(0) >= 0) rows = shape.dim(0);
  }
  if (cardinality >= 0) cardinality = rows < 0 ? kUnknown : repeated_cardinality(cardinality, rows);
  return simple_dataset("UnbatchDataset", std::move(spec), {std::move(input)},
                        {.cardinality = cardinality, .begin = [](const DatasetValue& self) -> ElementFunctionOfPass {
                           return [batch = ElementTensors(), at = int64_t{0}, count = int64_t{0},
                                   pass = self.input().iterate()](ElementTensors& element) mutable {
                             while (at == count) {
                               at = count = 0;
                               if (!pass->next(batch)) return false;
                               int64_t batch_rows = 0;
                               for (size_t k = 0; k < batch.size(); ++k) {
                                 const Shape& shape = batch[k].shape();
                                 if (shape.rank() == 0)
                                   invalid("component {}: expected at least one dimension, got a scalar", k);
                                 if (k == 0) batch_rows = shape.dim(0);
                                 if (shape.dim(0) != batch_rows) {
                                   invalid("component {}: expected {} rows, as component 0 has, got {}", k, batch_rows,
                                           shape.dim(0));
                                 }
                               }
                               count = batch_rows;
                             }
                             for (const Tensor& t : batch) element.push_back(row_of(t, at));
                             ++at;
                             return true;
                           };
                         }});
}

DatasetHandle directed_interleave_dataset(DatasetHandle selector, std::vector<DatasetHandle> inputs, bool stop_on_empty,
                                          ElementSpec spec) {
  const ElementSpec& chosen = selector->spec();
  if (chosen.types.size() != 1 || chosen.types[0] != kInt64 || !chosen.shapes[0].compatible_with(Shape{})) {
    invalid("selector_input_dataset: expected elements of one int64[], got {}", whole(to_string(chosen)));
  }
  std::vector<DatasetHandle> all = {std::move(selector)};
  all.insert(all.end(), inputs.begin(), inputs.end());
  for (const DatasetHandle& input : inputs) {
    if (input->spec().types == inputs[0]->spec().types) continue;
    invalid("data_input_datasets: expected elements of one type, {} as the first one's, got {}",
            whole(to_string(inputs[0]->spec())), whole(to_string(input->spec())));
  }
  return simple_dataset("DirectedInterleaveDataset", std::move(spec), std::move(all),
                        {.begin = [stop_on_empty](const DatasetValue& self) -> ElementFunctionOfPass {
                          std::vector<Iterator> passes;
                          for (const DatasetHandle& input : self.inputs()) passes.push_back(input->iterate());
                          size_t left = passes.size() - 1;
                          return [passes = std::move(passes), left, stop_on_empty](ElementTensors& element) mutable {
                            ElementTensors choice;
                            while (left > 0) {
                              if (!passes[0]->next(choice)) return false;
                              const Tensor& number = component_of(choice, 0);
                              if (number.dtype() != kInt64 || number.numel() != 1)
                                invalid("selector: expected an int64 scalar, got another");
                              const int64_t at = number.item<int64_t>();
                              if (at < 0 || at >= static_cast<int64_t>(passes.size()) - 1) {
                                invalid("selector: expected a number in [0, {}), got {}", passes.size() - 1, at);
                              }
                              Iterator& pass = passes[static_cast<size_t>(at) + 1];
                              if (pass == nullptr) continue;
                              if (pass->next(element)) return true;
                              if (stop_on_empty) return false;
                              pass.reset();
                              --left;
                            }
                            return false;
                          };
                        }});
}

struct ElementCache::Impl {
  std::mutex mutex;
  std::shared_ptr<const std::vector<ElementTensors>> elements;
};
ElementCache::ElementCache() : impl_(std::make_unique<Impl>()) {}
ElementCache::~ElementCache() = default;
std::shared_ptr<const std::vector<ElementTensors>> ElementCache::elements() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->elements;
}
void ElementCache::set(std::vector<ElementTensors> elements) {
  const std::lock_guard lock(impl_->mutex);
  if (impl_->elements == nullptr) impl_->elements = std::make_shared<std::vector<ElementTensors>>(std::move(elements));
}

DatasetHandle cache_dataset(DatasetHandle input, std::shared_ptr<ElementCache> cache, ElementSpec spec) {
  const int64_t cardinality = input->cardinality();
  return simple_dataset("CacheDataset", std::move(spec), {std::move(input)},
                        {.cardinality = cardinality,
                         .batch = SimpleDataset::kAsInputs,
                         .begin = [cache = std::move(cache)](const DatasetValue& self) -> ElementFunctionOfPass {
                           const auto give = [](const ElementTensors& from, ElementTensors& to) {
                             for (const Tensor& t : from) to.push_back(shared_tensor(t));
                           };
                           if (auto made = cache->elements()) {
                             return [give, made = std::move(made), at = size_t{0}](ElementTensors& element) mutable {
                               if (at == made->size()) return false;
                               give((*made)[at++], element);
                               return true;
                             };
                           }
                           return [give, &cache, making = std::vector<ElementTensors>(),
                                   pass = self.input().iterate()](ElementTensors& element) mutable {
                             ElementTensors made;
                             if (!pass->next(made)) {
                               cache->set(std::move(making));
                               return false;
                             }
                             give(made, element);
                             making.push_back(std::move(made));
                             return true;
                           };
                         }});
}

}  // namespace panto::datasets
