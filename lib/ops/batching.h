// BatchContext: the argument of an op's rule for `vmap`. It describes one batched call, which stands for one call per
// element of the batch.
//
//   .batch = [](BatchContext& c) { c.set_out(0, transpose(c.in(0), ...)); }
//
// A batched input, which differs between elements, has the batch's dimension in front; other inputs are the same in
// every call. Rules use public ops only.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/lib/core/call/transform.h"

namespace panto {

class PANTO_EXPORT BatchContext : public RuleContext {
 public:
  // `inputs`: by flat position; `batched`: which have the batch's dimension. `size`: the batch's size, -1 if unknown.
  BatchContext(const Call& call, std::span<const Tensor> inputs, std::span<const uint8_t> batched, int64_t size);

  bool batched(int i) const { return batched_[static_cast<size_t>(i)] != 0; }
  const Tensor& in(int i) const { return inputs_[static_cast<size_t>(i)]; }
  // The shape in one of the calls: without the batch's dimension.
  const PartialShape& shape(int i) const { return call().inputs[static_cast<size_t>(i)]->partial_shape(); }
  int rank(int i) const { return shape(i).rank(); }  // -1: unknown
  const PartialShape& out_shape(int k = 0) const { return call().specs[static_cast<size_t>(k)].shape; }
  int64_t size() const { return size_; }

  // Input i with the batch's dimension in front; repeated along it if it is not batched.
  Tensor front(int i) const;
  std::vector<Tensor> fronts() const;
  // Batched input i, with dimensions of 1 inserted after the batch's so that each element has `rank` dimensions.
  Tensor with_rank(int i, int rank) const;
  // An int64 vector: the batch's size followed by `shape`, the shape of one element.
  Tensor with_size(const PartialShape& shape) const;

  // Computes the op once per element, in a loop. Logged when an op is first computed this way.
  void loop();

  // Output k, with the batch's dimension in front.
  void set_out(int k, Tensor value) { outputs_[static_cast<size_t>(k)] = {std::move(value), true}; }
  // Output k is the same for all elements.
  void set_common(int k, Tensor value) { outputs_[static_cast<size_t>(k)] = {std::move(value), false}; }
  void set_all(SmallVector<Tensor, 2> values);

  struct Output {
    Tensor value = {};
    bool batched = true;
  };
  std::vector<Output>& outputs() { return outputs_; }

 private:
  std::span<const Tensor> inputs_;
  std::span<const uint8_t> batched_;
  int64_t size_;
  std::vector<Output> outputs_;
};

// The values of an integer tensor; nullopt unless all are known.
PANTO_EXPORT std::optional<std::vector<int64_t>> all_integers(const Tensor& t);
// Axes of a tensor of `rank` dimensions, shifted for a batch's dimension in front; in the same type and shape.
PANTO_EXPORT Tensor axes_behind_batch(const Tensor& axes, int rank);
// Puts `first` in front of the vector `values`, in its type; for example {0} in front of the begin of a slice.
PANTO_EXPORT Tensor put_before(const std::vector<int64_t>& first, const Tensor& values);
// merge_front merges dimensions 0 and 1 into one. split_front splits dimension 0 into [batch, size]; one of the two may
// be unknown.
PANTO_EXPORT Tensor merge_front(const Tensor& t);
PANTO_EXPORT Tensor split_front(const Tensor& t, int64_t batch, int64_t size);

// Rules that several ops use.
namespace batching {

// For elementwise ops whose inputs broadcast.
PANTO_EXPORT void elementwise(BatchContext& c);
// For ops that work on the last dimensions and accept any dimensions in front; all inputs get the batch.
PANTO_EXPORT void trailing(BatchContext& c);
// For ops whose input `axes` names dimensions of input 0: these are shifted by one.
PANTO_EXPORT void shifted(BatchContext& c, int axes);
template <int kAxes>
void axes(BatchContext& c) {
  shifted(c, kAxes);
}
// For ops that treat rows independently: dimension 0 of all outputs, and of all inputs not marked @host, counts rows
// and is merged with the batch.
PANTO_EXPORT void rows(BatchContext& c);
// For ops that make output k from input k without looking at elements.
PANTO_EXPORT void each(BatchContext& c);
// For ops that read only the shape of input 0, which is the same for all elements.
PANTO_EXPORT void shape_only(BatchContext& c);
// For all other ops: one element after the other.
PANTO_EXPORT void loop(BatchContext& c);

}  // namespace batching
}  // namespace panto
