#include "panto/lib/graph/files/import/adapters.h"

#include <array>
#include <map>
#include <optional>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/tensor/tensor_alloc.h"
#include "panto/lib/graph/files/import/adapters_nn.h"
#include "panto/lib/graph/files/import/for_loop.h"
#include "panto/lib/ops/math/complex.h"
#include "panto/lib/ops/operators.h"
#include "panto/ops/array.h"
#include "panto/ops/image.h"
#include "panto/ops/lists.h"
#include "panto/ops/math.h"
#include "panto/ops/nn.h"
#include "panto/ops/random.h"
#include "panto/ops/strings.h"
#include "panto/ops/summaries.h"

namespace panto {

using namespace adapters;

namespace {

// ---- Bodies that are longer than a line -------------------------------------------------------------------------

// Select's condition is a scalar, has the shape of the other inputs, or is a vector for their first dimension. SelectV2
// broadcasts from the last dimension instead.
Tensors select_by_rows(const AdapterCall& c) {
  const Tensor &condition = c.in(0), &t = c.in(1);
  const int have = condition.partial_shape().rank(), want = t.partial_shape().rank();
  if (have == 0 || (have >= 0 && have == want)) return {select(condition, t, c.in(2))};
  if (have > 1 && want >= 0) {
    invalid("condition: expected a scalar, a vector or a tensor of rank {}, got shape {}", want,
            condition.partial_shape().to_string());
  }
  if (have == 1 && want > 1) {
    Ints dims(static_cast<size_t>(want), 1);
    dims[0] = -1;
    return {select(reshape(condition, dims), t, c.in(2))};
  }
  const Tensor ones = fill(expand_dims(rank(t) - rank(condition), 0), 1);
  return {select(reshape(condition, concat({shape(condition), ones}, 0)), t, c.in(2))};
}

Tensors batch_matmul_v3(const AdapterCall& c) {
  const DType a = c.attr<DType>("Ta"), b = c.attr<DType>("Tb"), out = c.attr<DType>("Tout");
  if (a != b || a != out) {
    failf(Code::kUnimplemented, "BatchMatMulV3: expected one type, got {} and {} giving {}", dtype_name(a),
          dtype_name(b), dtype_name(out));
  }
  BatchMatMulAttrs attrs;
  attrs.adj_x = c.attr<bool>("adj_x");
  attrs.adj_y = c.attr<bool>("adj_y");
  return {batch_matmul(c.in(0), c.in(1), attrs)};
}

Tensors top_k_v1(const AdapterCall& c) {
  const auto k = c.attr<int64_t>("k");
  if (k != static_cast<int32_t>(k)) invalid("k: expected one that fits int32, got {}", k);
  auto [values, indices] = top_k(c.in(0), static_cast<int>(k), {.sorted = c.attr<bool>("sorted")});
  return {values, indices};
}

Tensors reverse_by_flags(const AdapterCall& c) {
  const PartialShape &tensor = c.in(0).partial_shape(), &dims = c.in(1).partial_shape();
  const bool fits = !dims.known_rank() ||
                    (dims.rank() == 1 && (dims.dim(0) < 0 || !tensor.known_rank() || dims.dim(0) == tensor.rank()));
  if (!fits) invalid("dims: expected a flag for each of {} dimensions, got shape {}", tensor.rank(), dims.to_string());
  return {reverse(c.in(0), reshape(nonzero(c.in(1)), Ints{-1}))};
}

// A shape in the form that list ops take: -1 if nothing is known.
Tensor spelled_shape(const PartialShape& shape) {
  if (!shape.known_rank()) return tensor(-1);
  std::vector<int32_t> dims;
  for (const int64_t d : shape.dims()) dims.push_back(static_cast<int32_t>(d));
  return tensor(dims);
}

// The indices of all elements of a TensorArray.
Tensor all_elements(const AdapterCall& c, const Tensor& flow) { return range(0, tensor_array_size(c.in(0), flow), 1); }

// Quantization with one range for all elements, given by attributes.
Tensors quantize_by_attrs(const AdapterCall& c) {
  const DType type = c.attr<DType>("T");
  return {quantize_and_dequantize_straight(c.in(0), cast(c.attr<float>("input_min"), type),
                                           cast(c.attr<float>("input_max"), type),
                                           {.signed_input = c.attr<bool>("signed_input"),
                                            .num_bits = c.attr<int64_t>("num_bits"),
                                            .range_given = c.attr<bool>("range_given")})};
}

// Clips the result to the given range.
Tensors contrast_in_range(const AdapterCall& c) {
  return {maximum(minimum(adjust_contrast(cast(c.in(0), kFloat32), c.in(1)), c.in(3)), c.in(2))};
}

// ---- The table --------------------------------------------------------------------------------------------------

constexpr Adapter renamed(std::string_view op, const char* becomes) { return {op, Adapter::Kind::kRenamed, becomes}; }
constexpr Adapter passed(std::string_view op, const char* becomes) { return {op, Adapter::Kind::kPassed, becomes}; }
constexpr Adapter variable(std::string_view op, Adapter::Kind kind) { return {op, kind, "VarHandleOp"}; }
constexpr Adapter of_kind(std::string_view op, Adapter::Kind kind, const char* becomes, const char* signature) {
  return {op, kind, becomes, signature};
}
constexpr Adapter update(std::string_view op, const char* becomes, int references = 1,
                         Adapter::Kind kind = Adapter::Kind::kUpdate) {
  return {op, kind, becomes, nullptr, nullptr, references};
}
constexpr Adapter body(const char* signature, Tensors (*calls)(const AdapterCall&)) {
  const std::string_view text(signature);
  return {text.substr(0, text.find('(')), Adapter::Kind::kBody, nullptr, signature, calls};
}

// Ops that only differ in name (BatchMatMul, Inv, BiasAddV1) are aliases instead (OpBlock::aliases). `Add`, which also
// takes strings, is an op of its own.
constexpr std::array kAdapters{
    renamed("FusedBatchNorm", "FusedBatchNormV3"),    // has one output more and a second type attribute
    renamed("FusedBatchNormV2", "FusedBatchNormV3"),  //
    renamed("PlaceholderV2", "Placeholder"),
    // References on branches and in loops. What leaves a loop or branch is the value that was read there.
    passed("RefIdentity", "Identity"),
    passed("RefSwitch", "Switch"),
    passed("RefEnter", "Enter"),
    renamed("RefMerge", "Merge"),
    renamed("RefExit", "Exit"),
    renamed("RefNextIteration", "NextIteration"),
    body("Select(condition: bool, t: T, e: T; T: type) -> (output: T)", select_by_rows),
    body("Concat(concat_dim: int32, values: N*T; N: int >= 2, T: type) -> (output: T)",
         [](const AdapterCall& c) -> Tensors { return {concat(c.from(1), c.in(0))}; }),
    body("BatchMatMulV3(x: Ta, y: Tb; Ta: numeric, Tb: numeric, Tout: numeric, adj_x: bool = false, adj_y: bool = "
         "false, grad_x: bool = false, grad_y: bool = false) -> (output: Tout)",
         batch_matmul_v3),
    body("Gather(params: Tparams, indices: Tindices; validate_indices: bool = true, Tparams: type, Tindices: index) -> "
         "(output: Tparams)",
         [](const AdapterCall& c) -> Tensors { return {gather(c.in(0), c.in(1), 0)}; }),
    body("TopK(input: T; k: int >= 0, sorted: bool = true, T: real) -> (values: T, indices: int32)", top_k_v1),
    body("Reverse(tensor: T, dims: bool; T: type) -> (output: T)", reverse_by_flags),
    body("MaxPoolV2(input: T, ksize: int32, strides: int32; T: real = float32, padding: {\"SAME\", \"VALID\"}, "
         "data_format: {\"NHWC\", \"NCHW\", \"NCHW_VECT_C\"} = \"NHWC\") -> (output: T)",
         max_pool_v2),
    body("MaxPoolGradV2(orig_input: T, orig_output: T, grad: T, ksize: int32, strides: int32; padding: {\"SAME\", "
         "\"VALID\"}, data_format: {\"NHWC\", \"NCHW\"} = \"NHWC\", T: real = float32) -> (output: T)",
         max_pool_grad_v2),
    body("MaxPoolGradGradV2(orig_input: T, orig_output: T, grad: T, ksize: int32, strides: int32; padding: {\"SAME\", "
         "\"VALID\"}, data_format: {\"NHWC\", \"NCHW\"} = \"NHWC\", T: real) -> (output: T)",
         max_pool_grad_grad_v2),
    body("Conv2DBackpropInputV2(input: T, filter: T, out_backprop: T; T: float16|bfloat16|float32|float64|int32, "
         "strides: list(int), use_cudnn_on_gpu: bool = true, "
         "padding: {\"SAME\", \"VALID\", \"EXPLICIT\"}, explicit_paddings: list(int) = [], data_format: {\"NHWC\", "
         "\"NCHW\"} = \"NHWC\", dilations: list(int) = [1, 1, 1, 1]) -> (output: T)",
         conv2d_by_input),
    body("Conv2DBackpropFilterV2(input: T, filter: T, out_backprop: T; T: float16|bfloat16|float32|float64, strides: "
         "list(int), use_cudnn_on_gpu: bool = true, "
         "padding: {\"SAME\", \"VALID\", \"EXPLICIT\"}, explicit_paddings: list(int) = [], data_format: {\"NHWC\", "
         "\"NCHW\"} = \"NHWC\", dilations: list(int) = [1, 1, 1, 1]) -> (output: T)",
         conv2d_by_filter),
    body("Conv3DBackpropInput(input: T, filter: T, out_backprop: T; T: float16|float32|float64, strides: list(int) >= "
         "5, padding: "
         "{\"SAME\", \"VALID\"}, dilations: list(int) = [1, 1, 1, 1, 1]) -> (output: T)",
         conv3d_by_input),
    body("Conv3DBackpropFilter(input: T, filter: T, out_backprop: T; T: float16|float32|float64, strides: list(int) >= "
         "5, padding: "
         "{\"SAME\", \"VALID\"}, dilations: list(int) = [1, 1, 1, 1, 1]) -> (output: T)",
         conv3d_by_filter),
    body("NonMaxSuppression(boxes: float32, scores: float32, max_output_size: int32; iou_threshold: float = 0.5) -> "
         "(selected_indices: int32)",
         [](const AdapterCall& c) -> Tensors { return {suppressed(c, tensor(c.attr<float>("iou_threshold")))}; }),
    body("NonMaxSuppressionV2(boxes: T, scores: T, max_output_size: int32, iou_threshold: T_threshold; "
         "T: float16|float32 = float32, T_threshold: float16|float32 = float32) -> (selected_indices: int32)",
         [](const AdapterCall& c) -> Tensors { return {suppressed(c, c.in(3))}; }),
    body("FusedBatchNormGrad(y_backprop: T, x: T, scale: T, reserve_space_1: T, reserve_space_2: T; T: float32, "
         "epsilon: float = 0.0001, data_format: {\"NHWC\", \"NCHW\"} = \"NHWC\", is_training: bool = true) -> "
         "(x_backprop: T, scale_backprop: T, offset_backprop: T, reserve_space_3: T, reserve_space_4: T)",
         batch_norm_grad),
    body("FusedBatchNormGradV2(y_backprop: T, x: T, scale: float32, reserve_space_1: U, reserve_space_2: U; "
         "T: float16|bfloat16|float32, U: float32, epsilon: float = 0.0001, data_format: {\"NHWC\", \"NCHW\"} = "
         "\"NHWC\", is_training: bool = true) -> (x_backprop: T, scale_backprop: U, offset_backprop: U, "
         "reserve_space_3: U, reserve_space_4: U)",
         batch_norm_grad),
    body("BatchNormWithGlobalNormalization(t: T, m: T, v: T, beta: T, gamma: T; T: numeric, variance_epsilon: float, "
         "scale_after_normalization: bool) -> (result: T)",
         global_normalization),
    // Gradient ops of TensorFlow, where this library uses plain ops. Some conjugate y themselves.
    body("InvGrad(y: T, dy: T; T: numeric) -> (z: T)",
         [](const AdapterCall& c) -> Tensors { return {-c.in(1) * square(conjugate(c.in(0)))}; }),
    body("ReciprocalGrad(y: T, dy: T; T: numeric) -> (z: T)",
         [](const AdapterCall& c) -> Tensors { return {-c.in(1) * square(conjugate(c.in(0)))}; }),
    body("SqrtGrad(y: T, dy: T; T: numeric) -> (z: T)",
         [](const AdapterCall& c) -> Tensors { return {c.in(1) * 0.5 / conjugate(c.in(0))}; }),
    body("RsqrtGrad(y: T, dy: T; T: numeric) -> (z: T)",
         [](const AdapterCall& c) -> Tensors {
           const Tensor y = conjugate(c.in(0));
           return {c.in(1) * (-0.5 * y) * square(y)};
         }),
    body("TanhGrad(y: T, dy: T; T: numeric) -> (z: T)",
         [](const AdapterCall& c) -> Tensors { return {c.in(1) * (1 - square(c.in(0)))}; }),
    body("SigmoidGrad(y: T, dy: T; T: numeric) -> (z: T)",
         [](const AdapterCall& c) -> Tensors { return {c.in(1) * c.in(0) * (1 - c.in(0))}; }),
    body("SoftplusGrad(gradients: T, features: T; T: floating) -> (backprops: T)",
         [](const AdapterCall& c) -> Tensors { return {c.in(0) * sigmoid(c.in(1))}; }),
    body("BatchNormWithGlobalNormalizationGrad(t: T, m: T, v: T, gamma: T, backprop: T; T: numeric, variance_epsilon: "
         "float, scale_after_normalization: bool) -> (dx: T, dm: T, dv: T, db: T, dg: T)",
         global_normalization_grad),
    body("Conv(input: T, filter: T; T: float16|bfloat16|float32|float64|int32, strides: list(int), padding: {\"SAME\", "
         "\"VALID\", \"EXPLICIT\"}, explicit_paddings: list(int) = [], data_format: {\"CHANNELS_FIRST\", "
         "\"CHANNELS_LAST\"} = \"CHANNELS_LAST\", dilations: list(int) = [], batch_dims: int = 1, groups: int = 1) -> "
         "(output: T)",
         conv_of_any_rank),
    body("FusedPadConv2D(input: T, paddings: int32, filter: T; T: floating, mode: {\"REFLECT\", \"SYMMETRIC\"}, "
         "strides: list(int), padding: {\"SAME\", \"VALID\"}) -> (output: T)",
         padded_conv2d),
    body("FusedResizeAndPadConv2D(input: T, size: int32, paddings: int32, filter: T; T: float16|float32|float64, "
         "resize_align_corners: bool = false, mode: {\"REFLECT\", \"SYMMETRIC\"}, strides: list(int), padding: "
         "{\"SAME\", \"VALID\"}) -> (output: T)",
         resized_conv2d),
    body("QuantizeAndDequantize(input: T; signed_input: bool = true, num_bits: int = 8, range_given: bool = false, "
         "input_min: float = 0, input_max: float = 0, T: floating) -> (output: T)",
         quantize_by_attrs),
    body("AdjustContrast(images: T, contrast_factor: float32, min_value: float32, max_value: float32; T: "
         "uint8|int8|int16|int32|int64|float32|float64) -> (output: float32)",
         contrast_in_range),
    body("RandomPoisson(shape: S, rate: dtype; seed: int = 0, seed2: int = 0, S: index, dtype: "
         "float16|float32|float64) -> (output: dtype)",
         [](const AdapterCall& c) -> Tensors {
           return {random_poisson(
               c.in(0), c.in(1),
               {.seed = c.attr<int64_t>("seed"), .seed2 = c.attr<int64_t>("seed2"), .dtype = c.attr<DType>("dtype")})};
         }),
    body("AudioSummary(tag: string, tensor: float32; sample_rate: float, max_outputs: int >= 1 = 3) -> (summary: "
         "string)",
         [](const AdapterCall& c) -> Tensors {
           return {audio_summary_bytes(c.in(0), c.in(1), tensor(c.attr<float>("sample_rate")),
                                       {.max_outputs = c.attr<int64_t>("max_outputs")})};
         }),
    body("ShardedFilespec(basename: string, num_shards: int32) -> (filename: string)",
         [](const AdapterCall& c) -> Tensors {
           return {string_join({c.in(0), tensor("-?\?\?\?\?-of-"), as_string(c.in(1), {.width = 5, .fill = "0"})})};
         }),
    body("For(start: int32, limit: int32, delta: int32, input: T; T: list(type) >= 0, body: func) -> (output: T)",
         [](const AdapterCall& c) -> Tensors {
           return for_loop(c.in(0), c.in(1), c.in(2), c.from(3), c.attr<FunctionRef>("body"));
         }),
    // Ops on reference handles, which become resource handles.
    renamed("FIFOQueue", "FIFOQueueV2"),
    renamed("RandomShuffleQueue", "RandomShuffleQueueV2"),
    renamed("PaddingFIFOQueue", "PaddingFIFOQueueV2"),
    renamed("PriorityQueue", "PriorityQueueV2"),
    renamed("QueueEnqueue", "QueueEnqueueV2"),
    renamed("QueueEnqueueMany", "QueueEnqueueManyV2"),
    renamed("QueueDequeue", "QueueDequeueV2"),
    renamed("QueueDequeueMany", "QueueDequeueManyV2"),
    renamed("QueueDequeueUpTo", "QueueDequeueUpToV2"),
    renamed("QueueClose", "QueueCloseV2"),
    renamed("QueueIsClosed", "QueueIsClosedV2"),
    renamed("QueueSize", "QueueSizeV2"),
    renamed("WholeFileReader", "WholeFileReaderV2"),
    renamed("TextLineReader", "TextLineReaderV2"),
    renamed("FixedLengthRecordReader", "FixedLengthRecordReaderV2"),
    renamed("TFRecordReader", "TFRecordReaderV2"),
    renamed("IdentityReader", "IdentityReaderV2"),
    renamed("ReaderRead", "ReaderReadV2"),
    renamed("ReaderReadUpTo", "ReaderReadUpToV2"),
    renamed("ReaderNumRecordsProduced", "ReaderNumRecordsProducedV2"),
    renamed("ReaderNumWorkUnitsCompleted", "ReaderNumWorkUnitsCompletedV2"),
    renamed("ReaderSerializeState", "ReaderSerializeStateV2"),
    renamed("ReaderRestoreState", "ReaderRestoreStateV2"),
    renamed("ReaderReset", "ReaderResetV2"),
    renamed("Send", "_Send"),
    renamed("Recv", "_Recv"),
    renamed("TensorArray", "TensorArrayV3"),
    renamed("TensorArrayGrad", "TensorArrayGradV3"),
    renamed("TensorArrayWrite", "TensorArrayWriteV3"),
    renamed("TensorArrayRead", "TensorArrayReadV3"),
    renamed("TensorArrayGather", "TensorArrayGatherV3"),
    renamed("TensorArrayScatter", "TensorArrayScatterV3"),
    renamed("TensorArrayConcat", "TensorArrayConcatV3"),
    renamed("TensorArraySplit", "TensorArraySplitV3"),
    renamed("TensorArraySize", "TensorArraySizeV3"),
    renamed("TensorArrayClose", "TensorArrayCloseV3"),
    renamed("TensorArrayV2", "TensorArrayV3"),
    renamed("TensorArrayGradV2", "TensorArrayGradV3"),
    renamed("TensorArrayWriteV2", "TensorArrayWriteV3"),
    renamed("TensorArrayReadV2", "TensorArrayReadV3"),
    renamed("TensorArrayGatherV2", "TensorArrayGatherV3"),
    renamed("TensorArrayScatterV2", "TensorArrayScatterV3"),
    renamed("TensorArrayConcatV2", "TensorArrayConcatV3"),
    renamed("TensorArraySplitV2", "TensorArraySplitV3"),
    renamed("TensorArraySizeV2", "TensorArraySizeV3"),
    renamed("TensorArrayCloseV2", "TensorArrayCloseV3"),
    renamed("StackPush", "StackPushV2"),
    renamed("StackPop", "StackPopV2"),
    renamed("StackClose", "StackCloseV2"),
    body("Stack(; elem_type: type, stack_name: string = \"\") -> (handle: resource)",
         [](const AdapterCall& c) -> Tensors {
           return {tensor_stack(-1, c.attr<DType>("elem_type"), {.stack_name = c.attr<std::string>("stack_name")})};
         }),
    renamed("HashTable", "HashTableV2"),
    renamed("MutableHashTable", "MutableHashTableV2"),
    renamed("MutableHashTableOfTensors", "MutableHashTableOfTensorsV2"),
    renamed("LookupTableFind", "LookupTableFindV2"),
    renamed("LookupTableInsert", "LookupTableInsertV2"),
    renamed("LookupTableImport", "LookupTableImportV2"),
    renamed("LookupTableExport", "LookupTableExportV2"),
    renamed("LookupTableSize", "LookupTableSizeV2"),
    renamed("MutableDenseHashTable", "MutableDenseHashTableV2"),
    renamed("InitializeTable", "InitializeTableV2"),
    renamed("InitializeTableFromTextFile", "InitializeTableFromTextFileV2"),
    // TensorFlow has these ops for resource handles, but accumulators of rows only for references. Here both are
    // resource handles, and written files have references.
    renamed("ResourceConditionalAccumulator", "ConditionalAccumulator"),
    renamed("ResourceAccumulatorApplyGradient", "AccumulatorApplyGradient"),
    renamed("ResourceAccumulatorTakeGradient", "AccumulatorTakeGradient"),
    renamed("ResourceAccumulatorSetGlobalStep", "AccumulatorSetGlobalStep"),
    renamed("ResourceAccumulatorNumAccumulated", "AccumulatorNumAccumulated"),
    body("TensorArrayPack(handle: resource, flow_in: float32; dtype: type, element_shape: shape = ?) -> (value: dtype)",
         [](const AdapterCall& c) -> Tensors {
           return {tensor_array_gather(c.in(0), all_elements(c, c.in(1)), c.in(1), c.attr<DType>("dtype"),
                                       {.element_shape = c.attr<PartialShape>("element_shape")})};
         }),
    body("TensorArrayUnpack(handle: resource, value: T, flow_in: float32; T: type) -> (flow_out: float32)",
         [](const AdapterCall& c) -> Tensors {
           const Tensor all = range(0, gather(shape(c.in(1)), 0, 0), 1);
           return {tensor_array_scatter(c.in(0), all, c.in(1), c.in(2))};
         }),
    body("TensorListConcat(input_handle: variant; element_dtype: type, element_shape: shape = ?) -> (tensor: "
         "element_dtype, lengths: int64)",
         [](const AdapterCall& c) -> Tensors {
           auto [tensor, lengths] = tensor_list_concat(c.in(0), spelled_shape(c.attr<PartialShape>("element_shape")),
                                                       Ints{}, c.attr<DType>("element_dtype"));
           return {tensor, lengths};
         }),
    body("TensorListScatter(tensor: element_dtype, indices: int32, element_shape: shape_type; element_dtype: type, "
         "shape_type: index) -> (output_handle: variant)",
         [](const AdapterCall& c) -> Tensors { return {tensor_list_scatter(c.in(0), c.in(1), c.in(2), -1)}; }),
    // Reference variables. An op that reads a reference as a value reads it after all nodes that it waits for.
    variable("VariableV2", Adapter::Kind::kVariable),
    variable("Variable", Adapter::Kind::kOldVariable),
    // A variable that exists for one step: it has the node's name, and DestroyTemporaryVariable reads its final value.
    of_kind("TemporaryVariable", Adapter::Kind::kTemporary, "VarHandleOp",
            "TemporaryVariable(; shape: shape, dtype: type, var_name: string = \"\") -> (ref: dtype)"),
    of_kind("DestroyTemporaryVariable", Adapter::Kind::kLastValue, "Identity",
            "DestroyTemporaryVariable(ref: T; T: type, var_name: string) -> (value: T)"),
    of_kind("RefSelect", Adapter::Kind::kChoice, "NoOp",
            "RefSelect(index: int32, inputs: N*T; T: type, N: int >= 1) -> (output: T)"),
    update("Assign", "AssignVariableOp", 1, Adapter::Kind::kAssign),
    update("AssignAdd", "AssignAddVariableOp"),
    update("AssignSub", "AssignSubVariableOp"),
    update("ScatterUpdate", "ResourceScatterUpdate"),
    update("ScatterAdd", "ResourceScatterAdd"),
    update("ScatterSub", "ResourceScatterSub"),
    update("ScatterMul", "ResourceScatterMul"),
    update("ScatterDiv", "ResourceScatterDiv"),
    update("ScatterMax", "ResourceScatterMax"),
    update("ScatterMin", "ResourceScatterMin"),
    update("ScatterNdUpdate", "ResourceScatterNdUpdate"),
    update("ScatterNdAdd", "ResourceScatterNdAdd"),
    update("ScatterNdSub", "ResourceScatterNdSub"),
    update("ScatterNdMax", "ResourceScatterNdMax"),
    update("ScatterNdMin", "ResourceScatterNdMin"),
    update("ApplyGradientDescent", "ResourceApplyGradientDescent"),
    update("ApplyMomentum", "ResourceApplyMomentum", 2),
    update("ApplyAdagradV2", "ResourceApplyAdagradV2", 2),
    update("ApplyAdam", "ResourceApplyAdam", 3),
    update("ApplyRMSProp", "ResourceApplyRMSProp", 3),
    update("ApplyCenteredRMSProp", "ResourceApplyCenteredRMSProp", 4),
    update("ApplyAdagrad", "ResourceApplyAdagrad", 2),
    update("ApplyAdadelta", "ResourceApplyAdadelta", 3),
    update("ApplyAdagradDA", "ResourceApplyAdagradDA", 3),
    update("ApplyProximalAdagrad", "ResourceApplyProximalAdagrad", 2),
    update("ApplyProximalGradientDescent", "ResourceApplyProximalGradientDescent"),
    update("ApplyAdaMax", "ResourceApplyAdaMax", 3),
    update("ApplyFtrl", "ResourceApplyFtrl", 3),
    update("ApplyFtrlV2", "ResourceApplyFtrlV2", 3),
    update("ApplyAddSign", "ResourceApplyAddSign", 2),
    update("ApplyPowerSign", "ResourceApplyPowerSign", 2),
    update("SparseApplyMomentum", "ResourceSparseApplyMomentum", 2),
    update("SparseApplyAdagrad", "ResourceSparseApplyAdagrad", 2),
    update("SparseApplyAdagradV2", "ResourceSparseApplyAdagradV2", 2),
    update("SparseApplyAdagradDA", "ResourceSparseApplyAdagradDA", 3),
    update("SparseApplyProximalAdagrad", "ResourceSparseApplyProximalAdagrad", 2),
    update("SparseApplyProximalGradientDescent", "ResourceSparseApplyProximalGradientDescent"),
    update("SparseApplyAdadelta", "ResourceSparseApplyAdadelta", 3),
    update("SparseApplyRMSProp", "ResourceSparseApplyRMSProp", 3),
    update("SparseApplyCenteredRMSProp", "ResourceSparseApplyCenteredRMSProp", 4),
    update("SparseApplyFtrl", "ResourceSparseApplyFtrl", 3),
    update("SparseApplyFtrlV2", "ResourceSparseApplyFtrlV2", 3),
    update("StridedSliceAssign", "ResourceStridedSliceAssign"),
    update("CountUpTo", "ResourceCountUpTo", 1, Adapter::Kind::kQuestion),
    update("IsVariableInitialized", "VarIsInitializedOp", 1, Adapter::Kind::kQuestion),
};

constexpr bool each_op_has_one_adapter() {
  for (size_t i = 0; i < kAdapters.size(); ++i) {
    for (size_t k = i + 1; k < kAdapters.size(); ++k) {
      if (kAdapters[i].op == kAdapters[k].op) return false;
    }
  }
  return true;
}
static_assert(each_op_has_one_adapter());

}  // namespace

Tensors AdapterCall::from(size_t first) const {
  Tensors out;
  for (size_t i = first; i < inputs_.size(); ++i) out.push_back(*inputs_[i]);
  return out;
}

Ints AdapterCall::constant(size_t i) const {
  const std::string& name = signature_.inputs[i].name;
  const std::optional<PartialValues> known = known_integers(in(i));
  Ints values;
  for (size_t k = 0; known && k < known->size(); ++k) {
    if ((*known)[k]) values.push_back(*(*known)[k]);
  }
  if (!known || values.size() != known->size()) {
    failf(Code::kUnimplemented, "{}: expected a constant, got values that are known only when the graph runs", name);
  }
  return values;
}

const Signature& Adapter::parsed() const {
  static const auto* signatures = [] {
    auto* all = new std::map<std::string_view, Signature>;
    for (const Adapter& adapter : kAdapters) {
      if (adapter.signature != nullptr) all->emplace(adapter.op, parse_signature(adapter.signature));
    }
    return all;
  }();
  return signatures->at(op);
}

const Adapter* find_adapter(std::string_view op) {
  static const auto* rows = [] {
    auto* all = new std::map<std::string_view, const Adapter*>;
    for (const Adapter& adapter : kAdapters) all->emplace(adapter.op, &adapter);
    return all;
  }();
  const auto found = rows->find(op);
  return found == rows->end() ? nullptr : found->second;
}

Tensor default_tensor(std::string_view op, std::string_view attr) {
  if (op != "ImageSummary" || attr != "bad_color") return Tensor();  // lint: allow(op-names) TensorFlow's own
  Tensor red = allocate_tensor(cpu_device(), kUint8, Shape{4});
  auto* to = mutable_data<uint8_t>(red);
  for (const int part : {255, 0, 0, 255}) *to++ = static_cast<uint8_t>(part);
  return red;
}

void forgive_scalar_shape(const Signature& signature, std::vector<AttrValue>& attrs) {
  const int at = signature.find_attr("shape");
  if (at < 0) return;
  AttrValue& value = attrs[static_cast<size_t>(at)];
  if (value.kind() == AttrKind::kShape && value.as<PartialShape>().rank() == 0) value = AttrValue(PartialShape());
}

}  // namespace panto
