// Reading the arguments of dataset ops' calls.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "panto/device/cpu/kernel.h"
#include "panto/device/math/random/philox.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/call.h"
#include "panto/lib/core/datasets/dataset_value.h"
#include "panto/lib/core/datasets/element_tensors.h"
#include "panto/lib/core/datasets/function_datasets.h"
#include "panto/lib/core/datasets/shuffle.h"
#include "panto/lib/core/tensor/tensor_alloc.h"

namespace panto {

// Reads arguments by their position in the signature; list arguments before them do not change the position.
class DatasetArguments {
 public:
  explicit DatasetArguments(const KernelContext& c) : c_(c) {}

  const Tensor& tensor(int arg) const { return c_.in(c_.list(arg).first); }
  DatasetHandle dataset(int arg = 0) const { return dataset_of(tensor(arg)); }
  int64_t integer(int arg) const { return *data<int64_t>(arg, "an int64 scalar"); }
  bool flag(int arg) const { return *data<bool>(arg, "a bool scalar"); }
  const std::string& text(int arg) const { return *data<std::string>(arg, "a string scalar"); }
  // For a scalar or a vector.
  std::vector<std::string> texts(int arg) const { return values<std::string>(arg); }
  std::vector<int64_t> integers(int arg) const { return values<int64_t>(arg); }
  // For a list. The tensors are handles of their own, which the caller may keep.
  std::vector<Tensor> tensors(int arg) const {
    std::vector<Tensor> all;
    const auto [first, last] = c_.list(arg);
    for (int i = first; i < last; ++i) all.push_back(shared_tensor(c_.in(i)));
    return all;
  }
  std::vector<DatasetHandle> datasets(int arg) const {
    std::vector<DatasetHandle> all;
    for (const Tensor& t : tensors(arg)) all.push_back(dataset_of(t));
    return all;
  }

  // The types and shapes of the dataset's elements, from the op's attributes.
  ElementSpec spec(AttrName types = "output_types", AttrName shapes = "output_shapes") const {
    const std::span<const DType> t = c_.types(types);
    const AttrSlot& slot = c_.slot(shapes);
    const auto* first = static_cast<const PartialShape*>(slot.p);
    return {{t.begin(), t.end()}, {first, first + slot.n}};
  }
  // The function of attribute `name`, with the captured tensors of list argument `captured`; it is called with `types`.
  datasets::DatasetFunction function(AttrName name, int captured, const std::vector<DType>& types) const {
    return {c_.function(name), tensors(captured), types};
  }

 private:
  template <class T>
  const T* data(int arg, const char* expected) const {
    const Tensor& t = tensor(arg);
    if (t.numel() != 1) {
      invalid("{}: expected {}, got shape {}", c_.op().signature().inputs[static_cast<size_t>(arg)].name, expected,
              t.shape().to_string());
    }
    return static_cast<const T*>(t.impl()->data);
  }
  template <class T>
  std::vector<T> values(int arg) const {
    const Tensor& t = tensor(arg);
    const T* first = static_cast<const T*>(t.impl()->data);
    return {first, first + t.numel()};
  }

  const KernelContext& c_;
};

inline std::vector<DType> joined_types(std::vector<DType> a, const std::vector<DType>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// Returns a generator of the words of a Philox stream, in the order of TensorFlow's datasets.
inline datasets::RandomWords philox_words(datasets::Seeds seeds) {
  return
      [stream = philox::Stream{seeds.first, 0, seeds.second}, block = philox::Words{}, used = uint64_t{0}]() mutable {
        if (used % 4 == 0) block = stream.block(used / 4);
        return block.w[used++ % 4];
      };
}
// The two seeds; if both are 0, random ones.
datasets::Seeds given_seeds(int64_t seed, int64_t seed2);

// Iterators, caches and generators live as long as their last handle, so TensorFlow's deleter tensor holds nothing.
inline Tensor deleter_tensor() { return allocate_tensor(cpu_device(), kVariant, Shape{}); }

inline void give_dataset(KernelContext& c, DatasetHandle dataset) { c.set_out(0, dataset_tensor(std::move(dataset))); }

}  // namespace panto
