// Combines elements: stacks their tensors along a new first dimension, as they are or padded to equal size.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/tensor/print.h"
#include "panto/lib/core/tensor/tensor_alloc.h"
#include "panto/lib/ops/arrays.h"
#include "panto/nn/data/stages/stage.h"

namespace panto::data {
namespace {

void expect_alike(std::string_view stage, const std::vector<Element>& elements, size_t i, bool shapes) {
  const Tensor& first = elements[0][i];
  for (const Element& e : elements) {
    if (e.size() != elements[0].size()) {
      invalid("{}: expected elements of {} tensors as the first one, got {}", stage, elements[0].size(), e.size());
    }
    const Tensor& t = e[i];
    if (t.dtype() != first.dtype() || t.rank() != first.rank() || (shapes && !(t.shape() == first.shape()))) {
      invalid("{}: expected {} as of the first element, got {} [in tensor {}]", stage,
              type_text(first.dtype(), first.partial_shape()), type_text(t.dtype(), t.partial_shape()), i);
    }
  }
  if (!is_plain(first.dtype()) && first.dtype() != kString) {
    invalid("{}: expected numbers, bools or strings, got {} [in tensor {}]", stage, dtype_name(first.dtype()), i);
  }
}

// Stacks tensor number i of all elements.
Tensor stacked_one(std::string_view stage, const std::vector<Element>& elements, size_t i) {
  expect_alike(stage, elements, i, true);
  const Tensor& first = elements[0][i];
  if (std::ranges::any_of(elements, [&](const Element& e) { return !e[i].device().host_memory(); })) {
    std::vector<Tensor> tensors;
    for (const Element& e : elements) tensors.push_back(e[i]);
    return stack(tensors);
  }
  std::vector<int64_t> dims = {static_cast<int64_t>(elements.size())};
  dims.insert(dims.end(), first.shape().dims().begin(), first.shape().dims().end());
  const Tensor t = allocate_tensor(cpu_device(), first.dtype(), Shape(dims));
  if (first.dtype() == kString) {
    auto* to = mutable_data<std::string>(t);
    for (const Element& e : elements) to = std::ranges::copy(e[i].data<std::string>(), to).out;
    return t;
  }
  auto* to = mutable_data<std::byte>(t);
  const size_t bytes = first.nbytes();
  for (const Element& e : elements) {
    if (bytes > 0) std::memcpy(to, e[i].impl()->data, bytes);
    to += bytes;
  }
  return t;
}

// The bytes of `value` in the given type.
std::string bytes_of(std::string_view stage, double value, DType dtype) {
  constexpr double kExactly = 0x1p53;
  const bool whole_number = std::trunc(value) == value && std::fabs(value) <= kExactly;
  if (dtypes::kInteger.contains(dtype) &&
      (!whole_number || cast(cast(tensor(value), dtype), kFloat64).item<double>() != value)) {
    invalid("{}: expected a padding value that fits {}, got {}", stage, dtype_name(dtype), value);
  }
  const Tensor t = dtype == kBool ? tensor(value != 0) : cast(tensor(value), dtype);
  return {static_cast<const char*>(t.impl()->data), t.nbytes()};
}

// Copies the elements of `from` to their places in a larger tensor, run by run along the last dimension.
template <class Copy>
void for_each_run(std::span<const int64_t> from, std::span<const int64_t> to, Copy copy) {
  const size_t rank = from.size();
  if (rank == 0) return copy(0, 0, 1);
  if (std::ranges::find(from, 0) != from.end()) return;
  const int64_t run = from[rank - 1];
  std::vector<int64_t> at(rank, 0);
  for (int64_t source = 0;; source += run) {
    int64_t target = 0;
    for (size_t d = 0; d < rank; ++d) target = target * to[d] + at[d];
    copy(source, target, run);
    size_t d = rank - 1;
    for (; d > 0 && ++at[d - 1] == from[d - 1]; --d) at[d - 1] = 0;
    if (d == 0) return;
  }
}

Tensor padded_one(std::string_view stage, const std::vector<Element>& elements, size_t i,
                  const std::vector<int64_t>& wanted, double value) {
  expect_alike(stage, elements, i, false);
  const Tensor& first = elements[0][i];
  const size_t rank = static_cast<size_t>(first.rank());
  std::vector<int64_t> dims = wanted.empty() ? std::vector<int64_t>(rank, -1) : wanted;
  if (dims.size() != rank) {
    invalid("{}: expected elements of rank {} as the shape that was asked for, got {} [in tensor {}]", stage,
            dims.size(), type_text(first.dtype(), first.partial_shape()), i);
  }
  for (size_t d = 0; d < rank; ++d) {
    const bool open = dims[d] < 0;
    for (const Element& e : elements) {
      const int64_t n = e[i].dim(static_cast<int>(d));
      if (!open && n > dims[d]) {
        invalid("{}: expected a size of at most {} in dimension {}, got {} [in tensor {}]", stage, dims[d], d,
                type_text(e[i].dtype(), e[i].partial_shape()), i);
      }
      if (open) dims[d] = std::max(dims[d], n);
    }
  }
  std::vector<int64_t> all = {static_cast<int64_t>(elements.size())};
  all.insert(all.end(), dims.begin(), dims.end());
  const Tensor t = allocate_tensor(cpu_device(), first.dtype(), Shape(all));
  const int64_t each = t.numel() / static_cast<int64_t>(elements.size());
  const size_t width = dtype_size(first.dtype());
  if (first.dtype() != kString && t.numel() > 0) {
    // Fill the first element, then double the filled part by copying.
    auto* to = mutable_data<char>(t);
    const std::string one = bytes_of(stage, value, first.dtype());
    std::memcpy(to, one.data(), one.size());
    for (size_t done = width; done < t.nbytes();) {
      const size_t some = std::min(done, t.nbytes() - done);
      std::memcpy(to + done, to, some);
      done += some;
    }
  }
  for (size_t k = 0; k < elements.size(); ++k) {
    const Tensor& e = elements[k][i];
    const Tensor host = e.device().host_memory() ? e : copy_to_device(e, cpu_device());
    const int64_t base = static_cast<int64_t>(k) * each;
    for_each_run(host.shape().dims(), dims, [&](int64_t from, int64_t to, int64_t count) {
      if (first.dtype() == kString) {
        std::copy_n(host.data<std::string>().data() + from, count, mutable_data<std::string>(t) + base + to);
      } else {
        std::memcpy(mutable_data<char>(t) + static_cast<size_t>(base + to) * width,
                    static_cast<const char*>(host.impl()->data) + static_cast<size_t>(from) * width,
                    static_cast<size_t>(count) * width);
      }
    });
  }
  return t;
}

}  // namespace

Element stacked(std::string_view stage, const std::vector<Element>& elements) {
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < elements[0].size(); ++i) tensors.push_back(stacked_one(stage, elements, i));
  return Element(std::move(tensors));
}

Element padded(std::string_view stage, const std::vector<Element>& elements,
               const std::vector<std::vector<int64_t>>& shapes, const std::vector<double>& values) {
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < elements[0].size(); ++i) {
    tensors.push_back(padded_one(stage, elements, i, i < shapes.size() ? shapes[i] : std::vector<int64_t>(),
                                 values.empty() ? 0. : values[std::min(i, values.size() - 1)]));
  }
  return Element(std::move(tensors));
}

}  // namespace panto::data
