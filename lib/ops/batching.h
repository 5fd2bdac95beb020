// BatchContext: what an op's rule for `vmap` sees of one call, which stands for one call for each element of a batch.
//
//   .batch = [](BatchContext& c) { c.set_out(0, transpose(c.in(0), ...)); }
//
// Inputs are there as they are computed with: those that differ between the batch's elements have its dimension in
// front, the others are as in every one of the calls. Rules are written with public ops only.
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
  // `inputs`: by flat position; `batched`: which have the batch's dimension. `size`: the batch's, -1 unknown.
  BatchContext(const Call& call, std::span<const Tensor> inputs, std::span<const uint8_t> batched, int64_t size);

  bool batched(int i) const { return batched_[static_cast<size_t>(i)] != 0; }
  const Tensor& in(int i) const { return inputs_[static_cast<size_t>(i)]; }
  // Of one of the calls: without the batch's dimension.
  const PartialShape& shape(int i) const { return call().inputs[static_cast<size_t>(i)]->partial_shape(); }
  int rank(int i) const { return shape(i).rank(); }  // -1: unknown
  const PartialShape& out_shape(int k = 0) const { return call().specs[static_cast<size_t>(k)].shape; }
  int64_t size() const { return size_; }

  // Input i with the batch's dimension, repeated along it if it had none.
  Tensor front(int i) const;
  std::vector<Tensor> fronts() const;
  // Batched input i, with dimensions of 1 behind the batch's so that its elements have `rank` dimensions.
  Tensor with_rank(int i, int rank) const;
  // An int64 vector: the batch's size and `shape`, of one element.
  Tensor with_size(const PartialShape& shape) const;

  // What the op gives for each element by itself. Named in the log when an op is first computed so.
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

// The values of an integer tensor as far as they are all known; nullopt: not so.
PANTO_EXPORT std::optional<std::vector<int64_t>> all_integers(const Tensor& t);
// The numbers of dimensions `axes`, of something of `rank` dimensions, behind a batch's: in the same type and shape.
PANTO_EXPORT Tensor axes_behind_batch(const Tensor& axes, int rank);
// Numbers, in front of those of the vector `values` and in its type: {0} before where slices begin.
PANTO_EXPORT Tensor put_before(const std::vector<int64_t>& first, const Tensor& values);
// Dimensions 0 and 1 made one, and the first made two again, of which the second has `size` (or the first, if that is
// known).
PANTO_EXPORT Tensor merge_front(const Tensor& t);
PANTO_EXPORT Tensor split_front(const Tensor& t, int64_t batch, int64_t size);

// Rules that ops share.
namespace batching {

// Elements are computed one by one and inputs broadcast.
PANTO_EXPORT void elementwise(BatchContext& c);
// The op works on the last dimensions, whatever is before them: on all inputs with a batch.
PANTO_EXPORT void trailing(BatchContext& c);
// The same where input `axes` names dimensions of input 0, which are then others by one.
PANTO_EXPORT void shifted(BatchContext& c, int axes);
template <int kAxes>
void axes(BatchContext& c) {
  shifted(c, kAxes);
}
// Dimension 0 of all inputs that are not marked @host, and of all outputs, counts independent rows: it takes up the
// batch.
PANTO_EXPORT void rows(BatchContext& c);
// The op makes output k of input k without looking at the elements.
PANTO_EXPORT void each(BatchContext& c);
// Only the shape of input 0 counts, which all elements share.
PANTO_EXPORT void shape_only(BatchContext& c);
// One element after the other.
PANTO_EXPORT void loop(BatchContext& c);

}  // namespace batching
}  // namespace panto
