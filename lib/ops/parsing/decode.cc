// Decodes numbers, fields and tensors from byte strings, and encodes them.
#include <algorithm>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/call.h"
#include "panto/lib/core/io/input_stream.h"
#include "panto/lib/ops/array/values.h"
#include "panto/lib/ops/batching.h"

namespace panto {
namespace {

constexpr const char* kStrings = "strings are not differentiable";

void decode_raw_shape(ShapeContext& c) {
  const PartialShape& in = c.shape(0);
  if (!in.known_rank()) return c.output(0, {});
  std::vector<int64_t> dims(in.dims().begin(), in.dims().end());
  dims.push_back(kUnknownDim);
  c.output(PartialShape(dims));
}

void decode_padded_raw_shape(ShapeContext& c) {
  const std::optional<int64_t> length = known_scalar(c, 1);
  const auto size = static_cast<int64_t>(dtype_size(c.type("out_type")));
  if (length && (*length <= 0 || *length % size != 0)) {
    invalid("fixed_length: expected a positive multiple of {}, the bytes of {}, got {}", size,
            dtype_name(c.type("out_type")), *length);
  }
  const PartialShape& in = c.shape(0);
  if (!in.known_rank()) return c.output(0, {});
  std::vector<int64_t> dims(in.dims().begin(), in.dims().end());
  dims.push_back(length ? *length / size : kUnknownDim);
  c.output(PartialShape(dims));
}

void decode_csv_shape(ShapeContext& c) {
  const auto [first, last] = c.list(1);
  const auto types = c.types("OUT_TYPE");
  for (int i = first; i < last; ++i) {
    const DType type = types[static_cast<size_t>(i - first)];
    if (type != kFloat32 && type != kFloat64 && type != kInt32 && type != kInt64 && type != kString) {
      invalid("record_defaults[{}]: expected float32, float64, int32, int64 or string, got {}", i - first,
              dtype_name(type));
    }
    const PartialShape& shape = c.shape(i);
    if (shape.rank() > 1 || shape.numel() > 1) {
      invalid("record_defaults[{}]: expected at most one element, got shape {}", i - first, shape.to_string());
    }
  }
  if (c.text("field_delim").size() != 1) {
    invalid("field_delim: expected one character, got '{}'", c.text("field_delim"));
  }
  const auto columns = c.integers("select_cols");
  if (!columns.empty()) {
    if (static_cast<int>(columns.size()) != last - first) {
      invalid("select_cols: expected {}, one for each of the defaults, got {}", last - first, columns.size());
    }
    for (size_t k = 0; k < columns.size(); ++k) {
      const int64_t least = k == 0 ? 0 : columns[k - 1] + 1;
      if (columns[k] < least)
        invalid("select_cols[{}]: expected at least {}, in ascending order, got {}", k, least, columns[k]);
    }
  }
  for (int k = 0; k < last - first; ++k) c.output(k, c.shape(0));
}

}  // namespace

const Op& kDecodeRaw = define_op(
    "DecodeRaw(bytes: string; out_type: bool|int8|uint8|int16|uint16|int32|int64|float16|bfloat16|float32|float64|"
    "complex64|complex128, little_endian: bool = true) -> (output: out_type)",
    {.doc = "The bytes of strings as numbers: [*shape of the strings, numbers in each]. All strings have one length, a "
            "multiple of a number's. Without `little_endian` the highest byte of each number comes first.",
     .traits = {Trait::kSelfAllocating},
     .shape = decode_raw_shape,
     .no_gradient = kStrings,
     .batch = batching::loop});

const Op& kDecodePaddedRaw = define_op(
    "DecodePaddedRaw(input_bytes: string, fixed_length: int32 @host; out_type: "
    "int8|uint8|int16|uint16|int32|int64|float16|bfloat16|float32|float64, little_endian: bool = true) -> (output: "
    "out_type)",
    {.doc =
         "DecodeRaw of the first `fixed_length` bytes of each string, with zero bytes behind those that are shorter.",
     .shape = decode_padded_raw_shape,
     .no_gradient = kStrings,
     .batch = batching::loop});

const Op& kDecodeCompressed = define_op(
    "DecodeCompressed(bytes: string; compression_type: string = \"\") -> (output: string)",
    {.doc =
         "Strings that were compressed as \"ZLIB\" or \"GZIP\" files are, as they were before; those of no "
         "compression as they are. Bytes that are not so compressed are DataLoss, more than 2 GiB ResourceExhausted.",
     .shape =
         [](ShapeContext& c) {
           compression_named(c.text("compression_type"));
           shapes::same_as_input(c);
         },
     .no_gradient = kStrings,
     .batch = batching::elementwise});

const Op& kDecodeCSV = define_op(
    "DecodeCSV(records: string, record_defaults: OUT_TYPE; OUT_TYPE: list(type) >= 1, field_delim: string = \",\", "
    "use_quote_delim: bool = true, na_value: string = \"\", select_cols: list(int) = []) -> (output: OUT_TYPE)",
    {.doc = "Fields of lines (RFC 4180), a tensor for each column, in the shape of the lines. A field that is empty or "
            "`na_value` becomes the column's default; one without elements means that there must be a field. With "
            "`use_quote_delim` fields may be in quotes, inside of which a quote is written twice. `select_cols`: the "
            "numbers of the columns that are wanted, in ascending order; else each line must have a field for each.",
     .cpp = "decode_csv",
     .shape = decode_csv_shape,
     .no_gradient = kStrings,
     .batch = batching::loop});

const Op& kSerializeTensor = define_op(  //
    "SerializeTensor(tensor: T; T: type) -> (serialized: string)",
    {.doc = "A tensor as one string, the bytes of a TensorProto.",
     .shape = shapes::scalar,
     .no_gradient = kStrings,
     .types_reason = "handles and variants have no values to write",
     .batch = batching::loop});

const Op& kParseTensor = define_op(
    "ParseTensor(serialized: string; out_type: type) -> (output: out_type)",
    {.doc =
         "The tensor of which SerializeTensor made a string. One of another type than `out_type`, and bytes that are "
         "no tensor, are errors.",
     .traits = {Trait::kSelfAllocating},
     .shape =
         [](ShapeContext& c) {
           c.expect_scalar(0);
           c.output(0, {});
         },
     .no_gradient = kStrings,
     .types_reason = "handles and variants have no values to read",
     .batch = batching::loop});

const Op& kDecodeJSONExample =
    define_op("DecodeJSONExample(json_examples: string) -> (binary_examples: string)",
              {.doc = "Example messages as JSON, in protobuf's form, as their bytes: "
                      "{\"features\": {\"feature\": {\"age\": {\"int64List\": {\"value\": [7]}}}}}.",
               .cpp = "decode_json_example",
               .shape = shapes::same_as_input,
               .no_gradient = kStrings,
               .batch = batching::elementwise});

}  // namespace panto
