// Features of Example records as tensors.
#include "panto/lib/core/call/call.h"
#include "panto/lib/ops/batching.h"
#include "panto/lib/ops/parsing/example_shapes.h"

namespace panto {
namespace {

using parsing::Batch;
using parsing::Outputs;

constexpr const char* kNoGradient = "records are not differentiable";

void check_types(const ShapeContext& c, int64_t sparse) {
  parsing::expect_feature_types(c.types("sparse_types"), "sparse_types");
  parsing::expect_feature_types(c.types("Tdense"), "Tdense");
  parsing::expect_count(sparse, static_cast<int64_t>(c.types("sparse_types").size()), "number of sparse_types");
}

void parse_example_shape(ShapeContext& c) {
  const auto [sparse, sparse_end] = c.list(2);
  const auto [dense, dense_end] = c.list(3);
  const auto [defaults, defaults_end] = c.list(4);
  c.vector(0);
  const Batch batch = parsing::batch_of(c);
  parsing::expect_names(c, 1, batch);
  for (int i = sparse; i < dense_end; ++i) c.expect_scalar(i);
  check_types(c, sparse_end - sparse);
  parsing::expect_count(dense_end - dense, defaults_end - defaults, "number of dense_defaults");
  const auto shapes = c.shapes("dense_shapes");
  parsing::expect_dense(c, shapes, defaults, defaults_end, true, "dense_shapes");
  Outputs outputs(c, batch.known ? batch : Batch{});
  outputs.sparse(sparse_end - sparse, 2);
  outputs.dense(shapes);
}

void parse_example_v2_shape(ShapeContext& c) {
  const auto [defaults, defaults_end] = c.list(5);
  const int64_t sparse = c.integer("num_sparse");
  const auto ragged = static_cast<int64_t>(c.types("ragged_value_types").size());
  const Batch batch = parsing::batch_of(c);
  parsing::expect_names(c, 1, batch);
  parsing::expect_keys(c, 2, sparse, "sparse_keys");
  parsing::expect_keys(c, 3, defaults_end - defaults, "dense_keys");
  parsing::expect_keys(c, 4, ragged, "ragged_keys");
  check_types(c, sparse);
  parsing::expect_feature_types(c.types("ragged_value_types"), "ragged_value_types");
  parsing::expect_split_types(c.types("ragged_split_types"), "ragged_split_types");
  parsing::expect_count(ragged, static_cast<int64_t>(c.types("ragged_split_types").size()),
                        "number of ragged_split_types");
  const auto shapes = c.shapes("dense_shapes");
  parsing::expect_dense(c, shapes, defaults, defaults_end, true, "dense_shapes");
  Outputs outputs(c, batch);
  outputs.sparse(sparse, 2);
  outputs.dense(shapes);
  outputs.ragged(ragged, Shape{0});
}

void parse_single_example_shape(ShapeContext& c) {
  const auto [defaults, defaults_end] = c.list(1);
  const int64_t sparse = c.integer("num_sparse");
  c.expect_scalar(0);
  parsing::expect_count(sparse, static_cast<int64_t>(c.texts("sparse_keys").size()), "number of sparse_keys");
  parsing::expect_count(defaults_end - defaults, static_cast<int64_t>(c.texts("dense_keys").size()),
                        "number of dense_keys");
  check_types(c, sparse);
  const auto shapes = c.shapes("dense_shapes");
  parsing::expect_dense(c, shapes, defaults, defaults_end, true, "dense_shapes");
  Outputs outputs(c, {.single = true, .size = 1});
  outputs.sparse(sparse, 2);
  outputs.dense(shapes);
}

}  // namespace

const Op& kParseExample = define_op(
    "ParseExample(serialized: string, names: string, sparse_keys: Nsparse*string, dense_keys: Ndense*string, "
    "dense_defaults: Tdense; Nsparse: int >= 0, Ndense: int >= 0, sparse_types: list(type) >= 0, Tdense: list(type) >= "
    "0, dense_shapes: list(shape) >= 0) -> (sparse_indices: Nsparse*int64, sparse_values: sparse_types, sparse_shapes: "
    "Nsparse*int64, dense_values: Tdense)",
    {.doc = "ParseExampleV2 of a vector of records, whose keys are scalars, and which has no ragged features.",
     .cpp = "parse_example_v1",
     .traits = {Trait::kSelfAllocating},
     .shape = parse_example_shape,
     .no_gradient = kNoGradient,
     .batch = batching::loop});

const Op& kParseExampleV2 = define_op(
    "ParseExampleV2(serialized: string, names: string, sparse_keys: string, dense_keys: string, ragged_keys: string, "
    "dense_defaults: Tdense; Tdense: list(type) >= 0, num_sparse: int >= 0, sparse_types: list(type) >= 0, "
    "ragged_value_types: list(type) >= 0, ragged_split_types: list(type) >= 0, dense_shapes: list(shape) >= 0) -> "
    "(sparse_indices: num_sparse*int64, sparse_values: sparse_types, sparse_shapes: num_sparse*int64, dense_values: "
    "Tdense, ragged_values: ragged_value_types, ragged_row_splits: ragged_split_types)",
    {.doc =
         "The features of a batch of records, which are the bytes of Example messages, or of one. They have the types "
         "float32, int64 and string. A sparse one is [batch, most values of a record] with an entry for each value. A "
         "dense one is [batch, *its shape]: each record must have so many values, or none where its default has "
         "elements, which are there instead. A dense shape may begin with an unknown dimension: that of the record "
         "with most values, with the default's one element behind those of others. A ragged one is the values of all "
         "records and where those of each begin. The outputs of a single record have no dimension for the batch, and "
         "its splits no elements. Of several entries of one key the last counts. Bytes that are no message, "
         "features of another type and sizes that do not fit are errors with the record's name of `names`.",
     .cpp = "parse_example_v2",
     .traits = {Trait::kSelfAllocating},
     .shape = parse_example_v2_shape,
     .no_gradient = kNoGradient,
     .batch = batching::loop});

const Op& kParseSingleExample = define_op(
    "ParseSingleExample(serialized: string, dense_defaults: Tdense; num_sparse: int >= 0, sparse_keys: list(string) >= "
    "0, dense_keys: list(string) >= 0, sparse_types: list(type) >= 0, Tdense: list(type) >= 0, dense_shapes: "
    "list(shape) >= 0) -> (sparse_indices: num_sparse*int64, sparse_values: sparse_types, sparse_shapes: "
    "num_sparse*int64, dense_values: Tdense)",
    {.doc = "ParseExampleV2 of one record, whose keys are attributes, and which has no ragged features.",
     .cpp = "parse_single_example_v1",
     .traits = {Trait::kSelfAllocating},
     .shape = parse_single_example_shape,
     .no_gradient = kNoGradient,
     .batch = batching::loop});

}  // namespace panto
