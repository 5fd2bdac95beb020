#include "panto/nn/layers/core/reshaping.h"

#include <algorithm>

#include "panto/lib/base/checked.h"
#include "panto/lib/base/text/format.h"
#include "panto/nn/layers/core/shapes.h"
#include "panto/ops/array.h"

namespace panto {
namespace {

std::string list_text(const std::vector<int64_t>& list) {
  std::string text;
  for (const int64_t n : list) text += fmt::format("{}{}", text.empty() ? "" : ", ", n);
  return "{" + text + "}";
}

}  // namespace

Reshape::Reshape(std::vector<int64_t> dims) : dims_(std::move(dims)) {
  if (std::ranges::any_of(dims_, [](int64_t d) { return d < -1; }) || std::ranges::count(dims_, -1) > 1) {
    invalid("Reshape: expected dimensions of at least 0, and at most one of -1, got {}", list_text(dims_));
  }
}

Tensor Reshape::forward(const Tensor& x) const {
  const PartialShape& shape = x.partial_shape();
  const int rank = detail::known_rank("Reshape", x, 1);
  std::vector<int64_t> dims = dims_;
  const auto rest = std::ranges::find(dims, -1);
  int64_t elements = 1, others = 1;
  for (int k = 1; k < rank; ++k) {
    elements = elements < 0 || shape.dim(k) < 0 ? kUnknownDim : checked_mul(elements, shape.dim(k));
  }
  for (const int64_t d : dims) others = d == -1 ? others : checked_mul(others, d);
  if (elements >= 0) {
    const bool fits = rest == dims.end() ? elements == others : others > 0 && elements % others == 0;
    if (!fits) {
      invalid("Reshape: expected examples of a size that {} has, got an input of shape {}", list_text(dims_),
              shape.to_string());
    }
    if (rest != dims.end()) *rest = elements / others;
    dims.insert(dims.begin(), ~int64_t{0});
    return detail::reshape_as(x, x, dims);
  }
  // A dimension besides the batch is unknown. The batch stays, and the op checks the rest.
  std::vector<Tensor> each = {shape.dim(0) >= 0 ? tensor(checked_cast<int32_t>(shape.dim(0), "size"))
                                                : panto::shape(x)[0]};
  for (const int64_t d : dims) each.push_back(tensor(checked_cast<int32_t>(d, "size")));
  return reshape(x, pack(each));
}

std::string Reshape::to_string() const { return "Reshape(" + list_text(dims_) + ")"; }

Permute::Permute(std::vector<int64_t> dims) : dims_(std::move(dims)) {
  std::vector<int64_t> sorted = dims_;
  std::ranges::sort(sorted);
  for (size_t k = 0; k < sorted.size(); ++k) {
    if (sorted[k] != static_cast<int64_t>(k) + 1) {
      invalid("Permute: expected the numbers from 1 to {} in some order, got {}", sorted.size(), list_text(dims_));
    }
  }
}

Tensor Permute::forward(const Tensor& x) const {
  const PartialShape& shape = x.partial_shape();
  if (shape.known_rank() && static_cast<size_t>(shape.rank()) != dims_.size() + 1) {
    invalid("Permute: expected an input of rank {}, got {}", dims_.size() + 1, shape.to_string());
  }
  std::vector<int64_t> perm = {0};
  perm.insert(perm.end(), dims_.begin(), dims_.end());
  return transpose(x, perm);
}

std::string Permute::to_string() const { return "Permute(" + list_text(dims_) + ")"; }

RepeatVector::RepeatVector(int64_t times) : times_(times) {
  if (times < 1) invalid("RepeatVector: expected a positive number, got {}", times);
}

Tensor RepeatVector::forward(const Tensor& x) const {
  const PartialShape& shape = x.partial_shape();
  if (shape.known_rank() && shape.rank() != 2) {
    invalid("RepeatVector: expected an input of shape [batch, features], got {}", shape.to_string());
  }
  return tile(expand_dims(x, 1), {1, times_, 1});
}

std::string RepeatVector::to_string() const { return fmt::format("RepeatVector({})", times_); }

TimeDistributed::TimeDistributed(std::shared_ptr<const Layer> layer) : layer_(std::move(layer)) {
  if (!layer_) invalid("TimeDistributed: expected a layer, got none");
}

Tensor TimeDistributed::forward(const Tensor& x) const {
  const PartialShape& shape = x.partial_shape();
  const int rank = detail::known_rank("TimeDistributed", x, 2);
  const int64_t batch = shape.dim(0), steps = shape.dim(1);
  std::vector<int64_t> dims = {batch < 0 || steps < 0 ? -1 : checked_mul(batch, steps)};
  bool others_known = true;
  for (int k = 2; k < rank; ++k) {
    dims.push_back(shape.dim(k));
    others_known = others_known && shape.dim(k) > 0;
  }
  Tensor merged;
  if (others_known || dims[0] >= 0) {
    if (!others_known) {
      for (int k = 2; k < rank; ++k) {
        if (dims[static_cast<size_t>(k) - 1] < 0) dims[static_cast<size_t>(k) - 1] = ~int64_t{k};
      }
      merged = detail::reshape_as(x, x, dims);
    } else {
      merged = reshape(x, dims);
    }
  } else {
    invalid("TimeDistributed: expected dimensions behind the steps that the trace knows, got an input of shape {}",
            shape.to_string());
  }
  const Tensor y = (*layer_)(merged);
  const int result = detail::known_rank("TimeDistributed", y, 1);
  if (y.partial_shape().dim(0) >= 0 && dims[0] >= 0 && y.partial_shape().dim(0) != dims[0]) {
    invalid("TimeDistributed: expected a layer that keeps the batch of {}, got {}", dims[0],
            y.partial_shape().to_string());
  }
  // The dimensions after batch and steps are y's.
  std::vector<Tensor> each;
  std::vector<int64_t> known;
  bool all_known = true;
  Tensor in, out;
  for (int k = 0; k <= result; ++k) {
    const Tensor& from = k < 2 ? x : y;
    const int at = k < 2 ? k : k - 1;
    const int64_t d = from.partial_shape().dim(at);
    known.push_back(d);
    if (d >= 0) {
      each.push_back(tensor(checked_cast<int32_t>(d, "size")));
      continue;
    }
    all_known = false;
    Tensor& sizes = k < 2 ? in : out;
    if (!sizes.defined()) sizes = panto::shape(from);
    each.push_back(sizes[at]);
  }
  return all_known ? reshape(y, known) : reshape(y, pack(each));
}

std::string TimeDistributed::to_string() const { return "TimeDistributed(" + layer_->to_string() + ")"; }

}  // namespace panto
