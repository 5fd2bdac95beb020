// Constants, placeholders, identities, and ops that return shapes.

#include <limits>
#include <string>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/op/gradient.h"
#include "panto/lib/ops/array/values.h"
#include "panto/lib/ops/batching.h"
#include "panto/lib/ops/tangents.h"
#include "panto/ops/array.h"

namespace panto {

const Op& kConst = define_op(  //
    "Const(; value: tensor, dtype: type) -> (output: dtype)",
    {.doc = "The tensor in attribute `value`.",
     .cpp = "constant",
     .kind = OpKind::kConstant,
     .traits = {Trait::kSelfAllocating},
     .shape =
         [](ShapeContext& c) {
           const Tensor& value = c.tensor_attr("value");
           if (value.dtype() != c.type("dtype")) {
             invalid("value: expected dtype {}, got {}", dtype_name(c.type("dtype")), dtype_name(value.dtype()));
           }
           c.output(value.shape());
           if (!c.symbolic()) return;
           if (auto values = known_integers(value)) c.output_values(0, std::move(*values));
         },
     .no_gradient = "a constant depends on nothing"});

const Op& kPlaceholder = define_op(  //
    "Placeholder(; dtype: type, shape: shape = ?) -> (output: dtype)",
    {.doc = "Stands for a value that is fed when the graph runs; it cannot run without one.",
     .cpp = "placeholder_op",  // `placeholder` is the friendlier function of trace/graph_scope.h
     .kind = OpKind::kPlaceholder,
     .traits = {Trait::kSelfAllocating},
     .shape = [](ShapeContext& c) { c.output(c.shape_attr("shape")); },
     .no_gradient = "it has no inputs"});

const Op& kPlaceholderWithDefault =
    define_op("PlaceholderWithDefault(input: dtype; dtype: type, shape: shape) -> (output: dtype)",
              {.doc = "`input`, unless another value of a shape that fits attribute `shape` is fed.",
               .traits = {Trait::kDataMovement, Trait::kSelfAllocating},
               .shape =
                   [](ShapeContext& c) {
                     const PartialShape& declared = c.shape_attr("shape");
                     if (!declared.compatible_with(c.shape(0))) {
                       invalid("input: expected a shape compatible with {}, got {}", declared.to_string(),
                               c.shape(0).to_string());
                     }
                     // In a symbolic call only the declared shape holds: a fed value may differ from the default.
                     c.output(c.symbolic() ? declared : c.shape(0));
                   },
               .gradient = [](GradContext& g) { g.set(0, g.dy()); },
               .batch = [](BatchContext& c) { c.set_out(0, identity(c.in(0))); }});

const Op& kIdentity = define_op(  //
    "Identity(input: T; T: type) -> (output: T)",
    {.doc = "Its input: the same bytes, a tensor of its own.",
     .aliases = {"DeepCopy", "GuaranteeConst"},
     .traits = {Trait::kIdentity, Trait::kDataMovement, Trait::kSelfAllocating},
     .shape =
         [](ShapeContext& c) {
           shapes::same_as_input(c);
           pass_values(c);
         },
     .gradient = [](GradContext& g) { g.set(0, g.dy()); }});

namespace {

[[noreturn]] void refuse_gradient(std::string_view message) {
  failf(Code::kFailedPrecondition, "gradient of PreventGradient: expected none to be asked for{}{}",
        message.empty() ? "" : ": ", message);
}

}  // namespace

const Op& kEnsureShape = define_op(  //
    "EnsureShape(input: T; T: type, shape: shape) -> (output: T)",
    {.doc = "Its input, whose shape must fit `shape`, in which -1 is a dimension of any size. Throws "
            "InvalidArgument where it does not.",
     .traits = {Trait::kDataMovement, Trait::kSelfAllocating},
     .shape =
         [](ShapeContext& c) {
           const PartialShape& wanted = c.shape_attr("shape");
           if (!c.shape(0).compatible_with(wanted)) {
             c.invalid("input: expected shape " + wanted.to_string() + ", got " + c.shape(0).to_string());
           }
           c.output(c.shape(0).merged_with(wanted));
           pass_values(c);
         },
     .gradient = [](GradContext& g) { g.set(0, g.dy()); },
     .batch =
         [](BatchContext& c) {
           const PartialShape& wanted = c.shape_attr("shape");
           if (wanted.rank() < 0) return c.set_out(0, c.in(0));
           std::vector<int64_t> dims(wanted.dims().begin(), wanted.dims().end());
           dims.insert(dims.begin(), c.size());
           c.set_out(0, ensure_shape(c.in(0), PartialShape(dims)));
         },
     .jvp = [](JvpContext& c) { c.set(0, c.tangent(0)); }});

const Op& kIdentityN = define_op("IdentityN(input: T; T: list(type) >= 1) -> (output: T)",
                                 {.doc = "Its inputs, all of which are computed before any output is there.",
                                  .traits = {Trait::kIdentity, Trait::kDataMovement, Trait::kSelfAllocating},
                                  .shape =
                                      [](ShapeContext& c) {
                                        for (int i = 0; i < c.num_inputs(); ++i) {
                                          c.output(i, c.shape(i));
                                          pass_values(c, i, i);
                                        }
                                      },
                                  .gradient =
                                      [](GradContext& g) {
                                        for (int i = 0; i < g.num_inputs(); ++i) {
                                          if (g.has_dy(i)) g.set(i, g.dy(i));
                                        }
                                      }});

const Op& kStopGradient = define_op(  //
    "StopGradient(input: T; T: type) -> (output: T)",
    {.doc = "Its input, through which no gradient flows.",
     .kind = OpKind::kStopGradient,
     .traits = {Trait::kIdentity, Trait::kDataMovement, Trait::kSelfAllocating},
     .shape =
         [](ShapeContext& c) {
           shapes::same_as_input(c);
           pass_values(c);
         },
     .no_gradient = "stopping it is what the op is for"});

const Op& kPreventGradient = define_op(
    "PreventGradient(input: T; T: type, message: string = \"\") -> (output: T)",
    {.doc = "Its input, which must not be differentiated: whoever asks for a gradient through it gets an error with "
            "`message`.",
     .traits = {Trait::kIdentity, Trait::kDataMovement, Trait::kSelfAllocating},
     .shape =
         [](ShapeContext& c) {
           shapes::same_as_input(c);
           pass_values(c);
         },
     .gradient = [](GradContext& g) { refuse_gradient(g.text("message")); },
     .jvp = [](JvpContext& c) { refuse_gradient(c.text("message")); }});

const Op& kCheckNumerics = define_op(
    "CheckNumerics(tensor: T; T: floating, message: string) -> (output: T)",
    {.doc = "Its input, all of which must be finite numbers. Throws InvalidArgument with `message` where there is an "
            "infinity or NaN, and likewise where there is one in the gradient.",
     .aliases = {"CheckNumericsV2"},
     .traits = {Trait::kSelfAllocating},
     .shape = shapes::same_as_input,
     .gradient =
         [](GradContext& g) { g.set(0, check_numerics(g.dy(), "gradient of: " + std::string(g.text("message")))); },
     .flops = [](const CostContext& c) { return c.numel(0); },
     .batch = batching::elementwise,
     .jvp = [](JvpContext& c) { c.set(0, c.tangent(0)); }});

const Op& kNoOp = define_op("NoOp() -> ()", {.doc = "Does nothing: a node to which control edges lead.",
                                             .kind = OpKind::kNoOperation,
                                             .shape = shapes::none,
                                             .no_gradient = "it has no outputs"});

namespace {

// Throws if a dimension does not fit the requested type.
void check_fits(int64_t value, DType type, const char* what) {
  if (type == kInt32 && value > std::numeric_limits<int32_t>::max()) {
    invalid("{}: expected a number that fits int32, got {}; out_type = int64 holds it", what, value);
  }
}

// The lists in a batch may differ in their elements' shapes.
void zeros_like_batch(BatchContext& c) {
  c.in(0).dtype() == kVariant ? batching::elementwise(c) : batching::shape_only(c);
}

// Sets output k to the dimensions of input k, of type `out_type`.
void put_dims(ShapeContext& c, int k) {
  const PartialShape& dims = c.shape(k);
  c.output(k, {dims.rank()});
  if (!dims.known_rank()) return;
  for (int64_t d : dims.dims()) check_fits(d, c.type("out_type"), "dimension");
  if (!c.symbolic()) return;
  PartialValues values(dims.dims().size());
  for (size_t i = 0; i < values.size(); ++i) {
    if (dims.dims()[i] >= 0) values[i] = dims.dims()[i];
  }
  c.output_values(k, std::move(values));
}

void shape_n_batch(BatchContext& c) {
  const DType type = c.type("out_type");
  for (int i = 0; i < c.num_inputs(); ++i) {
    const Tensor dims = shape(c.in(i), {.out_type = type});
    c.set_common(i, c.batched(i) ? slice(dims, {1}, {-1}) : dims);
  }
}

// The shape in input i, with unknown dimensions; nullopt if even its length is unknown.
std::optional<PartialShape> known_dims(const ShapeContext& c, int i) {
  const KnownIntegers values(c, i);
  if (!values.counted()) return std::nullopt;
  SmallVector<int64_t, 8> dims;
  for (int64_t k = 0; k < values.count(); ++k) {
    if (values.known(k) && values[k] < 0) {
      invalid("s{}[{}]: expected at least 0, got {}", i, k, values[k]);
    }
    dims.push_back(values.known(k) ? values[k] : kUnknownDim);
  }
  return PartialShape(std::span<const int64_t>(dims.data(), dims.size()));
}

void broadcast_args_shape(ShapeContext& c) {
  c.vector(0);
  c.vector(1);
  c.output({kUnknownDim});
  const std::optional<PartialShape> a = known_dims(c, 0), b = known_dims(c, 1);
  if (!a || !b) return;
  const PartialShape both = broadcast_shapes(*a, *b);
  c.output({both.rank()});
  PartialValues values;
  for (const int64_t d : both.dims()) values.push_back(d < 0 ? std::nullopt : std::optional(d));
  c.output_values(0, std::move(values));
}

void concat_offset_shape(ShapeContext& c) {
  const int n = c.num_inputs() - 1;
  const std::optional<int64_t> dim = known_scalar(c, 0);
  int64_t rank = kUnknownDim;
  for (int i = 1; i <= n; ++i) rank = c.merge(rank, c.vector(i), "lengths of shapes");
  if (dim && rank >= 0) c.axis(*dim, static_cast<int>(rank), "concat_dim");
  for (int k = 0; k < n; ++k) c.output(k, {rank});
}

void zeros_or_ones_like(ShapeContext& c, int64_t value) {
  shapes::same_as_input(c);
  if (!c.symbolic() || !dtypes::kInteger.contains(c.in(0).dtype())) return;
  const int64_t count = c.shape(0).numel();
  if (count >= 0 && count <= kMaxPartialValues) {
    c.output_values(0, PartialValues(static_cast<size_t>(count), value));
  }
}

}  // namespace

const Op& kShape = define_op("Shape(input: T; T: type, out_type: index = int32) -> (output: out_type @host)",
                             {.doc = "The dimensions of `input`, as a vector.",
                              .traits = {Trait::kShapeOnly},
                              .shape = [](ShapeContext& c) { put_dims(c, 0); },
                              .no_gradient = "integers have none"});

const Op& kShapeN =
    define_op("ShapeN(input: N*T; N: int >= 1, T: type, out_type: index = int32) -> (output: N*out_type @host)",
              {.doc = "The dimensions of each of the inputs, as vectors.",
               .traits = {Trait::kShapeOnly},
               .shape =
                   [](ShapeContext& c) {
                     for (int k = 0; k < c.num_inputs(); ++k) put_dims(c, k);
                   },
               .no_gradient = "integers have none",
               .batch = shape_n_batch});

const Op& kRank =
    define_op("Rank(input: T; T: type) -> (output: int32 @host)", {.doc = "The number of dimensions of `input`.",
                                                                   .traits = {Trait::kShapeOnly},
                                                                   .shape =
                                                                       [](ShapeContext& c) {
                                                                         shapes::scalar(c);
                                                                         if (c.symbolic() && c.rank(0) >= 0)
                                                                           c.output_values(0, {c.rank(0)});
                                                                       },
                                                                   .no_gradient = "integers have none"});

const Op& kSize = define_op("Size(input: T; T: type, out_type: index = int32) -> (output: out_type @host)",
                            {.doc = "The number of elements of `input`.",
                             .traits = {Trait::kShapeOnly},
                             .shape =
                                 [](ShapeContext& c) {
                                   const int64_t count = c.shape(0).numel();
                                   check_fits(count, c.type("out_type"), "number of elements");
                                   shapes::scalar(c);
                                   if (c.symbolic() && count >= 0) c.output_values(0, {count});
                                 },
                             .no_gradient = "integers have none"});

const Op& kZerosLike =
    define_op("ZerosLike(x: T; T: type) -> (y: T)",
              {.doc = "Zeros in the shape and dtype of `x`; empty strings where it holds strings, and lists of zeros "
                      "where it holds lists.",
               .traits = {Trait::kElementwise, Trait::kShapeOnly},
               .shape = [](ShapeContext& c) { zeros_or_ones_like(c, 0); },
               .no_gradient = "the values of x do not matter",
               .types_reason = "no resource is zero",
               .batch = zeros_like_batch});

const Op& kOnesLike =
    define_op("OnesLike(x: T; T: plain) -> (y: T)", {.doc = "Ones in the shape and dtype of `x`.",
                                                     .traits = {Trait::kElementwise, Trait::kShapeOnly},
                                                     .shape = [](ShapeContext& c) { zeros_or_ones_like(c, 1); },
                                                     .no_gradient = "the values of x do not matter"});

const Op& kBroadcastGradientArgs = define_op(
    "BroadcastGradientArgs(s0: T @host, s1: T @host; T: index = int32) -> (r0: T @host, r1: T @host)",
    {.doc = "For two shapes that broadcast: the axes over which the gradient of the result is summed to give the "
            "gradient of something of shape `s0`, and of `s1`.",
     .traits = {Trait::kSelfAllocating},
     .shape =
         [](ShapeContext& c) {
           c.vector(0);
           c.vector(1);
           c.output(0, {kUnknownDim});
           c.output(1, {kUnknownDim});
           if (!c.symbolic()) return;
           const KnownIntegers s0(c, 0);
           const KnownIntegers s1(c, 1);
           if (!s0.counted() || !s1.counted() || !s0.complete() || !s1.complete()) return;
           const BroadcastAxes axes = broadcast_gradient_axes(s0.values(), s1.values());
           const auto put = [&c](int k, const std::vector<int64_t>& list) {
             c.output(k, {static_cast<int64_t>(list.size())});
             c.output_values(k, PartialValues(list.begin(), list.end()));
           };
           put(0, axes.first);
           put(1, axes.second);
         },
     .no_gradient = "integers have none"});

const Op& kBroadcastArgs = define_op("BroadcastArgs(s0: T @host, s1: T @host; T: index = int32) -> (r0: T @host)",
                                     {.doc = "The shape to which two shapes broadcast.",
                                      .shape = broadcast_args_shape,
                                      .no_gradient = "integers have none",
                                      .batch = batching::loop});

const Op& kConcatOffset = define_op(
    "ConcatOffset(concat_dim: int32 @host, shape: N*shape_type @host; N: int >= 2, shape_type: index = int32)"
    " -> (offset: N*shape_type @host)",
    {.doc = "Where tensors of these shapes begin when they are put one after the other along dimension `concat_dim`. "
            "Their other dimensions are the same.",
     .shape = concat_offset_shape,
     .no_gradient = "integers have none",
     .batch = batching::loop});

}  // namespace panto
