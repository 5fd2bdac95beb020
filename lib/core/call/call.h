// One op call in flight, and the views of it that shape functions, kernels and cost functions get.
//
// Inputs and outputs are flat: list arguments are spread in place; `args` tells where each one begins.
#pragma once

#include <bitset>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "panto/lib/base/error.h"
#include "panto/lib/base/export.h"
#include "panto/lib/base/small_vector.h"
#include "panto/lib/core/op/op.h"
#include "panto/lib/core/step/step.h"
#include "panto/lib/core/tensor/tensor.h"
#include "panto/lib/core/tensor/tensor_alloc.h"

namespace panto {

// What the shape function infers for one output.
struct OutputSpec {
  // Written out, because `= default` makes the compiler clear the whole object by a string instruction, which takes 30
  // cycles.
  OutputSpec() noexcept {}  // NOLINT(modernize-use-equals-default)
  OutputSpec(DType dtype, PartialShape shape) noexcept : dtype(dtype), shape(std::move(shape)) {}

  DType dtype = DType::kInvalid;
  PartialShape shape;
  std::optional<PartialValues> values;                 // META only
  std::shared_ptr<const HandleInfo> handle = nullptr;  // META only, of a resource
};

struct Call {
  const Op* op = nullptr;
  std::span<const Tensor* const> inputs;
  std::span<AttrSlot> attrs;  // by signature position; inferred ones filled in
  SmallVector<Tensor, 2> outputs;
  SmallVector<OutputSpec, 2> specs;  // one for each output
  Device* device = nullptr;
  const std::source_location* where = nullptr;
  std::string_view node_name;    // asked for by `named`, or the graph node that runs
  KernelState* state = nullptr;  // of a prepared kernel
  uint64_t donated = 0;          // bit i: input i is not read after the call
  const Step* step = nullptr;    // the step that the call belongs to; never null while a kernel runs
  bool symbolic = false;         // on META
  bool one_shape = false;        // an elementwise op whose inputs all have one known shape; the output has it too
};

// The attributes and inputs of a call: the common base of all contexts.
class PANTO_EXPORT CallView {
 public:
  explicit CallView(const Call& call) : call_(call) {}
  const Op& op() const { return *call_.op; }
  const Call& call() const { return call_; }

  // Attributes by name. Throws Internal if the op has no attribute of that name (a fault of the op's block).
  int64_t integer(AttrName name) const { return slot(name).i; }
  float real(AttrName name) const { return slot(name).f; }
  bool flag(AttrName name) const { return slot(name).b; }
  DType type(AttrName name) const { return slot(name).t; }
  std::string_view text(AttrName name) const {
    const AttrSlot& s = slot(name);
    return {static_cast<const char*>(s.p), s.n};
  }
  std::span<const int64_t> integers(AttrName name) const {
    const AttrSlot& s = slot(name);
    return {static_cast<const int64_t*>(s.p), s.n};
  }
  std::span<const std::string> texts(AttrName name) const {
    const AttrSlot& s = slot(name);
    return {static_cast<const std::string*>(s.p), s.n};
  }
  std::span<const DType> types(AttrName name) const {
    const AttrSlot& s = slot(name);
    return {static_cast<const DType*>(s.p), s.n};
  }
  std::span<const PartialShape> shapes(AttrName name) const {
    const AttrSlot& s = slot(name);
    return {static_cast<const PartialShape*>(s.p), s.n};
  }
  const PartialShape& shape_attr(AttrName name) const { return *static_cast<const PartialShape*>(slot(name).p); }
  const Tensor& tensor_attr(AttrName name) const { return *static_cast<const Tensor*>(slot(name).p); }
  const FunctionRef& function(AttrName name) const { return *static_cast<const FunctionRef*>(slot(name).p); }
  std::span<const FunctionRef> functions(AttrName name) const {
    const AttrSlot& s = slot(name);
    return {static_cast<const FunctionRef*>(s.p), s.n};
  }
  // Passes the name's two parts in registers: as a struct on the stack it cost a tenth of a small op's time, waiting
  // for memory.
  const AttrSlot& slot(AttrName name) const { return find_slot(name.hash, name.text); }

  int num_inputs() const { return static_cast<int>(call_.inputs.size()); }
  const Tensor& in(int i) const { return *call_.inputs[static_cast<size_t>(i)]; }
  // Flat range [first, last) of list argument `arg`.
  std::pair<int, int> list(int arg) const;
  // True if the gradient of this call uses the argument that `s` describes.
  bool is_saved(const Saved& s) const;

 protected:
  const Call& call_;

 private:
  const AttrSlot& find_slot(uint32_t hash, std::string_view name) const;
};

// One flag for each dimension.
using AxisFlags = std::bitset<kMaxRank + 1>;

// For shape functions. They run for eager calls (all shapes known) and for symbolic calls. These helpers check
// everything that can be wrong with a call's shapes, ranks, axes and attribute values.
class PANTO_EXPORT ShapeContext : public CallView {
 public:
  explicit ShapeContext(Call& call) : CallView(call), mutable_(call) {}

  const PartialShape& shape(int i) const { return in(i).partial_shape(); }
  int rank(int i) const { return shape(i).rank(); }  // -1: unknown
  int64_t dim(int i, int k) const;  // -1: unknown (also if the rank is unknown); negative k counts from the end
  // Known integer values of input i (design decision 14); unknown elements are nullopt.
  std::optional<PartialValues> values(int i) const { return known_integers(in(i)); }

  // Each throws InvalidArgument `<argument>: expected ..., got ...` if the shape is known and does not fit.
  void expect_scalar(int i) const { expect_rank(i, 0); }
  int64_t vector(int i) const;  // the length
  // Rows and columns, exchanged if `transposed`.
  std::pair<int64_t, int64_t> matrix(int i, bool transposed = false) const;
  void expect_rank(int i, int rank) const;
  void expect_rank_at_least(int i, int rank) const;
  void expect_equal(int64_t a, int64_t b, std::string_view what) const;  // unknown equals everything
  // Checks that the two dimensions agree, and returns the known one.
  int64_t merge(int64_t a, int64_t b, std::string_view what) const;
  // `axis` in [-rank, rank) made non-negative.
  int axis(int64_t axis, int rank, std::string_view what = "axis") const;
  // The reduced axes that input i holds, made non-negative, as flags by dimension; nullopt if they are unknown. Throws
  // for an axis that is given twice.
  std::optional<AxisFlags> axes(int i, int rank) const;
  // NumPy broadcasting of the shapes of inputs i and j. Throws if they do not broadcast.
  PartialShape broadcast(int i, int j) const { return broadcast_shapes(shape(i), shape(j)); }
  // The shape whose dimensions integer vector input i holds; dimensions with unknown values are unknown.
  PartialShape shape_from(int i) const;
  [[noreturn]] void invalid(const std::string& text) const { fail(Code::kInvalidArgument, text); }

  void output(std::initializer_list<Dim> dims) { output(0, PartialShape(dims)); }
  void output(PartialShape shape) { output(0, std::move(shape)); }
  void output(int k, PartialShape shape) { mutable_.specs[static_cast<size_t>(k)].shape = std::move(shape); }
  // Sets the known values of integer output k; ignored by eager calls.
  void output_values(int k, PartialValues values);
  // Sets what handle output k refers to; ignored by eager calls.
  void output_handle(int k, std::shared_ptr<const HandleInfo> handle);
  bool symbolic() const { return call_.symbolic; }
  int num_outputs() const { return static_cast<int>(call_.specs.size()); }

 private:
  std::string argument_name(int flat_input) const;
  Call& mutable_;
};

// For kernels. Outputs are allocated (unless the op is kSelfAllocating) and uninitialised. Only for a kElementwise op
// may an output share memory with an input.
class PANTO_EXPORT KernelContext : public CallView {
 public:
  explicit KernelContext(Call& call) : CallView(call), mutable_(call) {}

  // Elements of input i; T must be its dtype (the kernel table guarantees it).
  template <class T>
  const T* data(int i) const {
    return static_cast<const T*>(in(i).impl()->data);
  }
  const Shape& shape(int i) const { return in(i).impl()->shape; }
  int64_t numel(int i) const { return in(i).impl()->numel; }

  // True if the kernel may overwrite the elements of input i: the input is donated, and its tensor has no other owner.
  bool may_take(int i) const { return i < 64 && ((call_.donated >> i) & 1) != 0 && exclusively_owned(in(i)); }

  int num_outputs() const { return static_cast<int>(call_.outputs.size()); }
  const Tensor& out(int k) const { return call_.outputs[static_cast<size_t>(k)]; }
  template <class T>
  T* out_data(int k) const {
    return static_cast<T*>(out(k).impl()->data);
  }
  const Shape& out_shape(int k) const { return out(k).impl()->shape; }
  int64_t out_numel(int k) const { return out(k).impl()->numel; }
  // For kSelfAllocating ops.
  void set_out(int k, Tensor value) { mutable_.outputs[static_cast<size_t>(k)] = std::move(value); }
  // Inferred shape and dtype of output k.
  const OutputSpec& spec(int k) const { return call_.specs[static_cast<size_t>(k)]; }

  // Inferred shape of output k, for kSelfAllocating ops. Throws Internal if it is not fully known.
  const Shape& inferred_shape(int k) const;

  Device& device() const { return *call_.device; }
  // The step that the call belongs to: it has the resources, the stop requests and the number of threads to use.
  const Step& step() const { return *call_.step; }
  // The state that the kernel's prepare function returned; null if the call was not prepared.
  template <class State>
  State* state() const {
    return static_cast<State*>(call_.state);
  }

 private:
  Call& mutable_;
};

// For cost functions: sizes of a call whose outputs are inferred. Unknown sizes count as 1.
class PANTO_EXPORT CostContext : public CallView {
 public:
  using CallView::CallView;
  int64_t numel(int i) const;
  int64_t dim(int i, int k) const;
  int64_t out_numel(int k) const;
};

// For the bodies of composites.
class PANTO_EXPORT CompositeContext : public CallView {
 public:
  explicit CompositeContext(Call& call) : CallView(call), mutable_(call) {}
  void set_out(int k, Tensor value) { mutable_.outputs[static_cast<size_t>(k)] = std::move(value); }

 private:
  Call& mutable_;
};

// "MatMul(a: float32[2,3], b: float32[4,5]; transpose_a=false)": for error context and logs.
PANTO_EXPORT std::string describe(const Call& call);

// Shape functions that many ops share.
namespace shapes {
PANTO_EXPORT void same_as_input(ShapeContext& c);  // output k like input 0, for every output
PANTO_EXPORT void broadcast_two(ShapeContext& c);  // NumPy broadcasting of inputs 0 and 1
PANTO_EXPORT void scalar(ShapeContext& c);
PANTO_EXPORT void unknown(ShapeContext& c);
PANTO_EXPORT void none(ShapeContext& c);       // for ops without outputs
PANTO_EXPORT void reduction(ShapeContext& c);  // axes in input 1, attribute keep_dims
}  // namespace shapes

}  // namespace panto
