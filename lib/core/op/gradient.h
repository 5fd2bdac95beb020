// GradContext: what a gradient function sees of one recorded call.
//
//   .gradient = [](GradContext& g) {
//     if (g.needs(0)) g.set(0, matmul(g.dy(), g.in(1), {.transpose_b = true}));
//     if (g.needs(1)) g.set(1, matmul(g.in(0), g.dy(), {.transpose_a = true}));
//   }
//
// Gradient functions use public ops only, so second order gradients and tracing need no extra code. If inputs
// broadcast, they return the gradient in the output's shape: the tape sums it to the input's shape.
#pragma once

#include <forward_list>
#include <memory>
#include <span>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/lib/core/call/call.h"

namespace panto {

// A gradient that is zero except in some rows (slices along the first dimension).
struct IndexedSlices {
  Tensor indices;   // [n], int32 or int64: row numbers; rows with the same number add up
  Tensor rows;      // [n, ...]
  Tensor num_rows;  // of the whole gradient: an integer scalar
};

// True if tensors of this type have gradients and tangents: floating and complex types, and variants, which may hold
// lists of such tensors.
inline bool differentiable(DType t) { return (dtypes::kDifferentiable | DTypeSet{kVariant}).contains(t); }
inline bool differentiable(const Tensor& t) { return differentiable(t.dtype()); }
// True if the op's block declares that gradients never pass its calls.
PANTO_EXPORT bool ends_gradients(const Op& op);

// One recorded call, as a tape keeps it. Inputs and outputs that the op does not save are undefined tensors.
struct GradRecord {
  const Op* op = nullptr;
  std::span<const AttrSlot> attrs;
  std::span<const Tensor> inputs;              // saved ones
  std::span<const Tensor> outputs;             // saved ones
  std::span<const PartialShape> input_shapes;  // empty unless the op saves shapes or broadcasts
  std::span<const DType> input_types;
  std::span<const Tensor> output_gradients;  // undefined where there is none
  std::span<const uint8_t> needed;           // by input
  bool takes_slices = false;                 // the gradient of input 0 may be given as IndexedSlices
};

// The vector that op Shape would return for a tensor of this known shape, as a constant in a trace.
Tensor shape_literal(const PartialShape& known);

class PANTO_EXPORT GradContext {
 public:
  explicit GradContext(const GradRecord& record);

  const Op& op() const { return *record_.op; }
  int num_inputs() const { return static_cast<int>(record_.needed.size()); }
  int num_outputs() const { return static_cast<int>(record_.output_gradients.size()); }
  // Saved tensors by flat position. Throws Internal if the op's block does not save it.
  const Tensor& in(int i) const;
  const Tensor& out(int k) const;
  // The same tensors, conjugated if they are complex. The gradient of y = f(x) is dy * conj(f'(x)), as in TensorFlow;
  // if f has real coefficients, that is f' of the conjugates. Real tensors are returned unchanged, without an op call.
  const Tensor& conj_in(int i) { return *conjugate(&in(i)); }
  const Tensor& conj_out(int k) { return *conjugate(&out(k)); }
  // Gradient with respect to output k; an undefined tensor if the output did not contribute.
  const Tensor& dy(int k = 0) const { return record_.output_gradients[static_cast<size_t>(k)]; }
  bool has_dy(int k = 0) const { return dy(k).defined(); }
  bool needs(int i) const { return record_.needed[static_cast<size_t>(i)] != 0; }
  // The shape of input i; the op must save in(i) or shape_of(i).
  const PartialShape& in_shape(int i) const;
  // The same as an int32 vector tensor: a constant where known, a recorded Shape op otherwise.
  Tensor shape(int i) const;
  DType in_type(int i) const { return record_.input_types[static_cast<size_t>(i)]; }

  int64_t integer(AttrName name) const { return view_.integer(name); }
  float real(AttrName name) const { return view_.real(name); }
  bool flag(AttrName name) const { return view_.flag(name); }
  DType type(AttrName name) const { return view_.type(name); }
  std::string_view text(AttrName name) const { return view_.text(name); }
  std::span<const int64_t> integers(AttrName name) const { return view_.integers(name); }
  std::span<const std::string> texts(AttrName name) const { return view_.texts(name); }
  const PartialShape& shape_attr(AttrName name) const { return view_.shape_attr(name); }
  const Tensor& tensor_attr(AttrName name) const { return view_.tensor_attr(name); }
  const FunctionRef& function(AttrName name) const { return view_.function(name); }
  std::span<const FunctionRef> functions(AttrName name) const { return view_.functions(name); }
  // Flat range of list argument `arg`.
  std::pair<int, int> list(int arg) const { return view_.list(arg); }

  // The gradient with respect to input i. Called at most once for each i; not calling it means zero.
  void set(int i, Tensor dx) { gradients_[static_cast<size_t>(i)] = std::move(dx); }
  SmallVector<Tensor, 4>& gradients() { return gradients_; }

  // True if the gradient of input 0 may be given as rows, by set_slices instead of set: the caller asked for rows, and
  // nothing else must be computed from the gradient. A rule that never checks this returns whole tensors.
  bool takes_slices() const { return record_.takes_slices; }
  void set_slices(IndexedSlices rows) { rows_ = std::make_unique<IndexedSlices>(std::move(rows)); }
  // Null if set_slices was not called.
  IndexedSlices* rows() { return rows_.get(); }

 private:
  const Tensor* conjugate(const Tensor* t);

  const GradRecord& record_;
  Call call_;  // attributes and argument ranges
  CallView view_;
  SmallVector<Tensor, 4> gradients_;
  std::unique_ptr<IndexedSlices> rows_;
  std::forward_list<Tensor> conjugates_;  // the tensors that conj_in and conj_out return
};

// The backward part of a recorded operation that is not an op.
class PANTO_EXPORT CustomBackward {
 public:
  virtual ~CustomBackward() = default;
  // Computes gradients by input (undefined: zero) from gradients by output (undefined: none), with public ops.
  // `needed`, by input: the caller ignores the other gradients.
  virtual std::vector<Tensor> gradient(std::span<const Tensor> output_gradients, std::span<const uint8_t> needed) = 0;
  // True if output `k` depends on one of the `tracked` inputs along a path that gradients follow. A tape keeps nothing
  // for other outputs, as if the inner calls had been made one by one.
  virtual bool depends(size_t k, std::span<const uint8_t> tracked) const {
    static_cast<void>(k);
    static_cast<void>(tracked);
    return true;
  }
};

}  // namespace panto
