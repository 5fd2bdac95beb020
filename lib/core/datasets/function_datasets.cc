#include "panto/lib/core/datasets/function_datasets.h"

#include <algorithm>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "panto/lib/base/log.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/recorder.h"
#include "panto/lib/core/datasets/ahead.h"
#include "panto/lib/core/datasets/element_tensors.h"
#include "panto/lib/core/datasets/simple_dataset.h"
#include "panto/lib/core/tensor/tensor_alloc.h"

namespace panto::datasets {
namespace {

using Iterator = std::unique_ptr<ElementIterator>;

std::string names_of(std::span<const DType> types) {
  std::string text = "(";
  for (const DType type : types) {
    if (text.size() > 1) text += ", ";
    text += type == DType::kInvalid ? "any" : dtype_name(type);
  }
  return text + ")";
}

bool same_types(std::span<const DType> expected, std::span<const DType> got) {
  return std::ranges::equal(expected, got, [](DType a, DType b) { return a == b || a == DType::kInvalid; });
}

void expect_at_least_one(int64_t value, std::string_view what) {
  if (value < 1) invalid("{}: expected at least 1, got {}", what, value);
}

ElementTensors joined(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  ElementTensors all = a;
  all.insert(all.end(), b.begin(), b.end());
  return all;
}

const Tensor& one_of(const ElementTensors& results, DType type, std::string_view what) {
  if (results.size() != 1 || results[0].dtype() != type || results[0].shape().rank() != 0) {
    invalid("{}: expected a function that gives a {} scalar, got {}{}", what, dtype_name(type),
            results.size() == 1 ? dtype_name(results[0].dtype()) : "several tensors",
            whole(results.size() == 1 ? results[0].shape().to_string() : ""));
  }
  return results[0];
}

// A dataset of given elements.
DatasetHandle dataset_of_elements(std::vector<ElementTensors> elements, ElementSpec spec) {
  const auto count = static_cast<int64_t>(elements.size());
  return simple_dataset(
      "WindowDataset", std::move(spec), {},
      {.cardinality = count, .begin = [elements = std::move(elements)](const DatasetValue&) -> ElementFunctionOfPass {
         return [&elements, at = size_t{0}](ElementTensors& element) mutable {
           if (at == elements.size()) return false;
           for (const Tensor& t : elements[at]) element.push_back(shared_tensor(t));
           ++at;
           return true;
         };
       }});
}

}  // namespace

DatasetFunction::DatasetFunction(const FunctionRef& function, std::vector<Tensor> captured,
                                 const std::vector<DType>& types)
    : body_(body_of(function)), captured_(std::move(captured)) {
  std::vector<DType> all = types;
  for (const Tensor& t : captured_) all.push_back(t.dtype());
  if (!same_types(all, body_->input_types())) {
    invalid("function '{}': expected one of {}, got one of {}", body_->name(), whole(names_of(all)),
            whole(names_of(body_->input_types())));
  }
  results_.assign(body_->output_types().begin(), body_->output_types().end());
}

const DatasetFunction& DatasetFunction::giving(const std::vector<DType>& results) const {
  if (!same_types(results, results_)) {
    invalid("function '{}': expected one that gives {}, got one that gives {}", body_->name(), whole(names_of(results)),
            whole(names_of(results_)));
  }
  return *this;
}

ElementTensors DatasetFunction::operator()(const ElementTensors& element) const {
  std::vector<const Tensor*> inputs;
  for (const Tensor& t : element) inputs.push_back(&t);
  for (const Tensor& t : captured_) inputs.push_back(&t);
  ElementTensors results(results_.size());
  const RecorderPause pause;
  FunctionRuntime::get().call(*body_, inputs, results);
  for (Tensor& t : results) t = is_plain(t.dtype()) ? shared_tensor(copy_to_device(t, cpu_device())) : t;
  return results;
}

bool DatasetFunction::truth(const ElementTensors& element) const {
  const ElementTensors results = (*this)(element);
  return *static_cast<const bool*>(one_of(results, kBool, "predicate").impl()->data);
}

int64_t DatasetFunction::integer(const ElementTensors& element) const {
  const ElementTensors results = (*this)(element);
  return *static_cast<const int64_t*>(one_of(results, kInt64, "function").impl()->data);
}

DatasetHandle DatasetFunction::dataset(const ElementTensors& element) const {
  const ElementTensors results = (*this)(element);
  return dataset_of(one_of(results, kVariant, "function"));
}

DatasetHandle map_dataset(std::string name, DatasetHandle input, DatasetFunction f, bool preserve_cardinality,
                          ElementSpec spec) {
  f.giving(spec.types);
  const int64_t cardinality = preserve_cardinality ? input->cardinality() : DatasetValue::kUnknown;
  return simple_dataset(
      std::move(name), std::move(spec), {std::move(input)},
      {.cardinality = cardinality,
       .begin = [f = std::move(f), preserve_cardinality](const DatasetValue& self) -> ElementFunctionOfPass {
         return [&f, preserve_cardinality, pass = self.input().iterate(),
                 from = ElementTensors()](ElementTensors& element) mutable {
           if (!pass->next(from)) return false;
           try {
             element = f(from);
           } catch (const Error& error) {
             // A function may end the dataset by OutOfRange, unless the cardinality must be preserved.
             if (error.code() != Code::kOutOfRange) throw;
             if (preserve_cardinality) {
               failf(Code::kInvalidArgument, "function: expected an element, got OutOfRange: {}", error.what());
             }
             return false;
           }
           return true;
         };
       }});
}

DatasetHandle filter_dataset(std::string name, DatasetHandle input, DatasetFunction predicate, ElementSpec spec) {
  predicate.giving({kBool});
  return simple_dataset(
      std::move(name), std::move(spec), {std::move(input)},
      {.batch = SimpleDataset::kAsInputs,
       .begin = [predicate = std::move(predicate)](const DatasetValue& self) -> ElementFunctionOfPass {
         return [&predicate, pass = self.input().iterate()](ElementTensors& element) {
           while (pass->next(element)) {
             if (predicate.truth(element)) return true;
           }
           return false;
         };
       }});
}

DatasetHandle take_while_dataset(DatasetHandle input, DatasetFunction predicate, ElementSpec spec) {
  predicate.giving({kBool});
  return simple_dataset(
      "TakeWhileDataset", std::move(spec), {std::move(input)},
      {.begin = [predicate = std::move(predicate)](const DatasetValue& self) -> ElementFunctionOfPass {
        return [&predicate, pass = self.input().iterate()](ElementTensors& element) {
          return pass->next(element) && predicate.truth(element);
        };
      }});
}

DatasetHandle flat_map_dataset(DatasetHandle input, DatasetFunction f, ElementSpec spec) {
  f.giving({kVariant});
  return simple_dataset("FlatMapDataset", std::move(spec), {std::move(input)},
                        {.begin = [f = std::move(f)](const DatasetValue& self) -> ElementFunctionOfPass {
                          return [&f, pass = self.input().iterate(),
                                  inner = std::optional<DatasetPass>()](ElementTensors& element) mutable {
                            for (;;) {
                              if (inner && inner->next(element)) return true;
                              inner.reset();
                              ElementTensors from;
                              if (!pass->next(from)) return false;
                              inner.emplace(f.dataset(from));
                            }
                          };
                        }});
}

namespace {

// A pass that reads several datasets in turn. When a place's dataset ends, the place gets the next dataset at its next
// turn. The number of places grows with the datasets, up to `cycle`.
class Interleave {
 public:
  Interleave(const DatasetValue& self, const DatasetFunction& f, const InterleaveOptions& options)
      : self_(self), f_(f), options_(options), pass_(self.input().iterate()) {
    options_.threads = std::min({options.threads, options.cycle, kMostThreads});
  }

  bool next(ElementTensors& element) {
    if (!std::exchange(begun_, true)) open_ahead();
    while (!ended_ || left_ > 0) {
      if (static_cast<int64_t>(places_.size()) <= at_) {
        if (ended_) {
          at_ = 0;  // places that were never filled are skipped
          given_ = 0;
          continue;
        }
        places_.emplace_back();
      }
      Place& place = places_[static_cast<size_t>(at_)];
      if (place.fault) std::rethrow_exception(std::exchange(place.fault, nullptr));
      if (place.pass) {
        if (place.pass->next(element)) {
          if (++given_ == options_.block) go_on();
          return true;
        }
        place.pass.reset();
        --left_;
        go_on();
      } else if (!ended_) {
        open(place, at_);
      } else {
        go_on();
      }
    }
    return false;
  }

 private:
  struct Place {
    std::optional<DatasetPass> pass;
    std::exception_ptr fault;  // an error of opening the dataset ahead; thrown at its turn
  };

  void go_on() {
    given_ = 0;
    at_ = (at_ + 1) % options_.cycle;
  }

  void open(Place& place, int64_t at) {
    ElementTensors from;
    if (!pass_->next(from)) {
      ended_ = true;
      return;
    }
    DatasetHandle opened = f_.dataset(from);
    if (at < options_.threads) opened = prefetch_at_once_dataset(std::move(opened), options_.buffer, self_.spec());
    place.pass.emplace(std::move(opened));
    ++left_;
  }

  // Opens the datasets that have threads at the beginning, so that all threads work from the start. After an error the
  // others are opened at their turns, so that the order is that of a single thread.
  void open_ahead() {
    for (int64_t at = 0; at < options_.threads && !ended_; ++at) {
      Place& place = places_.emplace_back();
      try {
        open(place, at);
      } catch (...) {
        place.fault = std::current_exception();
        return;
      }
    }
  }

  const DatasetValue& self_;
  const DatasetFunction& f_;
  InterleaveOptions options_;
  Iterator pass_;
  std::vector<Place> places_;
  int64_t at_ = 0, given_ = 0, left_ = 0;
  bool begun_ = false, ended_ = false;
};

}  // namespace

DatasetHandle interleave_dataset(std::string name, DatasetHandle input, DatasetFunction f,
                                 const InterleaveOptions& options, ElementSpec spec) {
  f.giving({kVariant});
  expect_at_least_one(options.cycle, "cycle_length");
  expect_at_least_one(options.block, "block_length");
  expect_at_least_one(options.buffer, "buffer_output_elements");
  return simple_dataset(std::move(name), std::move(spec), {std::move(input)},
                        {.begin = [f = std::move(f), options](const DatasetValue& self) -> ElementFunctionOfPass {
                          return [pass = std::make_shared<Interleave>(self, f, options)](ElementTensors& element) {
                            return pass->next(element);
                          };
                        }});
}

DatasetHandle scan_dataset(DatasetHandle input, DatasetFunction f, std::vector<Tensor> initial,
                           bool preserve_cardinality, ElementSpec spec) {
  std::vector<DType> results;
  for (const Tensor& t : initial) results.push_back(t.dtype());
  results.insert(results.end(), spec.types.begin(), spec.types.end());
  f.giving(results);
  const int64_t cardinality = preserve_cardinality ? input->cardinality() : DatasetValue::kUnknown;
  return simple_dataset(
      "ScanDataset", std::move(spec), {std::move(input)},
      {.cardinality = cardinality,
       .begin = [f = std::move(f), initial = std::move(initial)](const DatasetValue& self) -> ElementFunctionOfPass {
         return [&f, state = initial, pass = self.input().iterate()](ElementTensors& element) mutable {
           ElementTensors from;
           if (!pass->next(from)) return false;
           ElementTensors results = f(joined(state, from));
           const auto split = results.begin() + static_cast<std::ptrdiff_t>(state.size());
           element.assign(split, results.end());
           state.assign(results.begin(), split);
           return true;
         };
       }});
}

DatasetHandle generator_dataset(DatasetFunction init, DatasetFunction next, DatasetFunction finalize,
                                ElementSpec spec) {
  next.giving(spec.types);
  // Calls init with the first element, and finalize after the last one, or when the pass is destroyed.
  class Generator {
   public:
    Generator(const DatasetFunction& init, const DatasetFunction& next, const DatasetFunction& finalize)
        : init_(init), next_(next), finalize_(finalize) {}
    Generator(const Generator&) = delete;
    Generator& operator=(const Generator&) = delete;
    ~Generator() {
      try {
        end();
      } catch (const Error& error) {
        log_warn(fmt::format("dataset: the generator's end failed: {}", error.what()));
      }
    }
    bool advance(ElementTensors& element) {
      if (!begun_) {
        state_ = init_({});
        begun_ = true;
      }
      try {
        element = next_(state_);
        return true;
      } catch (const Error& error) {
        if (error.code() != Code::kOutOfRange) throw;
      }
      end();
      return false;
    }

   private:
    void end() {
      if (!std::exchange(begun_, false)) return;
      finalize_(state_);
    }
    const DatasetFunction &init_, &next_, &finalize_;
    bool begun_ = false;
    ElementTensors state_;
  };
  return simple_dataset("GeneratorDataset", std::move(spec), {},
                        {.begin = [init = std::move(init), next = std::move(next),
                                   finalize = std::move(finalize)](const DatasetValue&) -> ElementFunctionOfPass {
                          return [pass = std::make_shared<Generator>(init, next, finalize)](ElementTensors& element) {
                            return pass->advance(element);
                          };
                        }});
}

DatasetHandle group_by_window_dataset(DatasetHandle input, DatasetFunction key, DatasetFunction reduce,
                                      DatasetFunction size, ElementSpec spec) {
  key.giving({kInt64});
  reduce.giving({kVariant});
  size.giving({kInt64});
  struct Group {
    int64_t size = 0;
    std::vector<ElementTensors> elements;
  };
  return simple_dataset(
      "GroupByWindowDataset", std::move(spec), {std::move(input)},
      {.begin = [key = std::move(key), reduce = std::move(reduce),
                 size = std::move(size)](const DatasetValue& self) -> ElementFunctionOfPass {
        return [&key, &reduce, &size, &self, pass = self.input().iterate(), groups = std::map<int64_t, Group>(),
                inner = std::optional<DatasetPass>()](ElementTensors& element) mutable {
          const auto scalar = [](int64_t value) {
            Tensor t = allocate_tensor(cpu_device(), kInt64, Shape{});
            *mutable_data<int64_t>(t) = value;
            return t;
          };
          const auto begin_group = [&](std::map<int64_t, Group>::iterator group) {
            std::vector<ElementTensors> elements = std::move(group->second.elements);
            const int64_t number = group->first;
            groups.erase(group);
            inner.emplace(reduce.dataset(
                {scalar(number), dataset_tensor(dataset_of_elements(std::move(elements), self.input().spec()))}));
          };
          for (;;) {
            if (inner && inner->next(element)) return true;
            inner.reset();
            ElementTensors from;
            if (!pass->next(from)) {
              if (groups.empty()) return false;
              begin_group(groups.begin());
              continue;
            }
            const int64_t number = key.integer(from);
            auto found = groups.find(number);
            if (found == groups.end()) {
              const int64_t most = size.integer({scalar(number)});
              expect_at_least_one(most, "window size");
              found = groups.emplace(number, Group{most, {}}).first;
            }
            found->second.elements.push_back(std::move(from));
            if (static_cast<int64_t>(found->second.elements.size()) == found->second.size) begin_group(found);
          }
        };
      }});
}

DatasetHandle group_by_reducer_dataset(DatasetHandle input, DatasetFunction key, DatasetFunction init,
                                       DatasetFunction reduce, DatasetFunction finalize, ElementSpec spec) {
  key.giving({kInt64});
  reduce.giving(init.results());
  finalize.giving(spec.types);
  return simple_dataset("GroupByReducerDataset", std::move(spec), {std::move(input)},
                        {.begin = [key = std::move(key), init = std::move(init), reduce = std::move(reduce),
                                   finalize = std::move(finalize)](const DatasetValue& self) -> ElementFunctionOfPass {
                          return [&key, &init, &reduce, &finalize, pass = self.input().iterate(), gathered = false,
                                  states = std::map<int64_t, ElementTensors>()](ElementTensors& element) mutable {
                            for (ElementTensors from; !gathered;) {
                              if (!pass->next(from)) {
                                gathered = true;
                                break;
                              }
                              const int64_t number = key.integer(from);
                              auto found = states.find(number);
                              if (found == states.end()) {
                                Tensor t = allocate_tensor(cpu_device(), kInt64, Shape{});
                                *mutable_data<int64_t>(t) = number;
                                found = states.emplace(number, init({t})).first;
                              }
                              found->second = reduce(joined(found->second, from));
                            }
                            if (states.empty()) return false;
                            const ElementTensors state = std::move(states.begin()->second);
                            states.erase(states.begin());
                            element = finalize(state);
                            return true;
                          };
                        }});
}

std::vector<Tensor> reduce_dataset(const DatasetHandle& input, const DatasetFunction& f, std::vector<Tensor> initial) {
  std::vector<DType> types;
  for (const Tensor& t : initial) types.push_back(t.dtype());
  f.giving(types);
  DatasetPass pass(input);
  for (ElementTensors element; pass.next(element);) initial = f(joined(initial, element));
  return initial;
}

}  // namespace panto::datasets
