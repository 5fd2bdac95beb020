// Features of SequenceExample records, and lists of features, as tensors.
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/call.h"
#include "panto/lib/ops/batching.h"
#include "panto/lib/ops/parsing/example_shapes.h"

namespace panto {
namespace {

using parsing::Batch;
using parsing::Outputs;

constexpr const char* kNoGradient = "records are not differentiable";

// Checks the attributes that all three ops have: counts and types of sparse and dense features, and the defaults of the
// context's dense features, inputs [defaults, defaults_end).
struct Counts {
  int64_t context_sparse, context_dense, sparse, dense;
};
void check_attrs(const ShapeContext& c, const Counts& counts, int defaults, int defaults_end) {
  const auto count = [&](AttrName name, int64_t expected) {
    parsing::expect_feature_types(c.types(name), name.text);
    parsing::expect_count(expected, static_cast<int64_t>(c.types(name).size()), name.text);
  };
  count("context_sparse_types", counts.context_sparse);
  count("Tcontext_dense", counts.context_dense);
  count("feature_list_sparse_types", counts.sparse);
  count("feature_list_dense_types", counts.dense);
  parsing::expect_dense(c, c.shapes("context_dense_shapes"), defaults, defaults_end, false, "context_dense_shapes");
  const auto shapes = c.shapes("feature_list_dense_shapes");
  parsing::expect_count(counts.dense, static_cast<int64_t>(shapes.size()), "number of feature_list_dense_shapes");
  for (size_t k = 0; k < shapes.size(); ++k) {
    if (shapes[k].fully_known()) continue;
    invalid("feature_list_dense_shapes[{}]: expected a known shape, got {}", k, shapes[k].to_string());
  }
}

void sequence_shape(ShapeContext& c) {
  const auto [defaults, defaults_end] = c.list(2);
  const Counts n{c.integer("Ncontext_sparse"), c.integer("Ncontext_dense"), c.integer("Nfeature_list_sparse"),
                 c.integer("Nfeature_list_dense")};
  c.vector(0);
  const Batch batch = parsing::batch_of(c);
  parsing::expect_names(c, 1, batch);
  check_attrs(c, n, defaults, defaults_end);
  const auto keys = [&](AttrName name, int64_t count) {
    parsing::expect_count(count, static_cast<int64_t>(c.texts(name).size()), name.text);
  };
  keys("context_sparse_keys", n.context_sparse);
  keys("context_dense_keys", n.context_dense);
  keys("feature_list_sparse_keys", n.sparse);
  keys("feature_list_dense_keys", n.dense);
  Outputs outputs(c, batch);
  outputs.sparse(n.context_sparse, 2);
  outputs.dense(c.shapes("context_dense_shapes"));
  outputs.sparse(n.sparse, 3);
  outputs.dense_lists(c.shapes("feature_list_dense_shapes"), true);
}

void sequence_v2_shape(ShapeContext& c) {
  const auto [defaults, defaults_end] = c.list(9);
  const Counts n{c.integer("Ncontext_sparse"), defaults_end - defaults, c.integer("Nfeature_list_sparse"),
                 c.integer("Nfeature_list_dense")};
  const auto ragged = [&](AttrName values, AttrName splits) {
    parsing::expect_feature_types(c.types(values), values.text);
    parsing::expect_split_types(c.types(splits), splits.text);
    const auto count = static_cast<int64_t>(c.types(values).size());
    parsing::expect_count(count, static_cast<int64_t>(c.types(splits).size()), splits.text);
    return count;
  };
  const int64_t context_ragged = ragged("context_ragged_value_types", "context_ragged_split_types");
  const int64_t list_ragged = ragged("feature_list_ragged_value_types", "feature_list_ragged_split_types");
  const Batch batch = parsing::batch_of(c);
  parsing::expect_names(c, 1, batch);
  check_attrs(c, n, defaults, defaults_end);
  parsing::expect_keys(c, 2, n.context_sparse, "context_sparse_keys");
  parsing::expect_keys(c, 3, n.context_dense, "context_dense_keys");
  parsing::expect_keys(c, 4, context_ragged, "context_ragged_keys");
  parsing::expect_keys(c, 5, n.sparse, "feature_list_sparse_keys");
  parsing::expect_keys(c, 6, n.dense, "feature_list_dense_keys");
  parsing::expect_keys(c, 7, list_ragged, "feature_list_ragged_keys");
  parsing::expect_keys(c, 8, n.dense, "feature_list_dense_missing_assumed_empty");
  Outputs outputs(c, batch);
  outputs.sparse(n.context_sparse, 2);
  outputs.dense(c.shapes("context_dense_shapes"));
  outputs.ragged(context_ragged, Shape{});
  outputs.sparse(n.sparse, 3);
  outputs.dense_lists(c.shapes("feature_list_dense_shapes"), true);
  outputs.ragged_lists(list_ragged);
}

void single_sequence_shape(ShapeContext& c) {
  const Counts n{c.integer("Ncontext_sparse"), c.integer("Ncontext_dense"), c.integer("Nfeature_list_sparse"),
                 c.integer("Nfeature_list_dense")};
  const auto [defaults, defaults_end] = c.list(6);
  c.expect_scalar(0);
  c.vector(1);
  for (int i = 2; i < defaults; ++i) c.expect_scalar(i);
  c.expect_scalar(defaults_end);
  check_attrs(c, n, defaults, defaults_end);
  Outputs outputs(c, {.single = true, .size = 1});
  outputs.sparse(n.context_sparse, 2);
  outputs.dense(c.shapes("context_dense_shapes"));
  outputs.sparse(n.sparse, 3);
  outputs.dense_lists(c.shapes("feature_list_dense_shapes"), false);
}

}  // namespace

const Op& kParseSequenceExample = define_op(
    "ParseSequenceExample(serialized: string, debug_name: string, context_dense_defaults: Tcontext_dense; "
    "feature_list_dense_missing_assumed_empty: list(string) >= 0, context_sparse_keys: list(string) >= 0, "
    "context_dense_keys: list(string) >= 0, feature_list_sparse_keys: list(string) >= 0, feature_list_dense_keys: "
    "list(string) >= 0, Ncontext_sparse: int >= 0 = 0, Ncontext_dense: int >= 0 = 0, Nfeature_list_sparse: int >= 0 = "
    "0, Nfeature_list_dense: int >= 0 = 0, context_sparse_types: list(type) >= 0 = [], Tcontext_dense: list(type) >= 0 "
    "= [], feature_list_dense_types: list(type) >= 0 = [], context_dense_shapes: list(shape) >= 0 = [], "
    "feature_list_sparse_types: list(type) >= 0 = [], feature_list_dense_shapes: list(shape) >= 0 = []) -> "
    "(context_sparse_indices: Ncontext_sparse*int64, context_sparse_values: context_sparse_types, "
    "context_sparse_shapes: Ncontext_sparse*int64, context_dense_values: Tcontext_dense, feature_list_sparse_indices: "
    "Nfeature_list_sparse*int64, feature_list_sparse_values: feature_list_sparse_types, feature_list_sparse_shapes: "
    "Nfeature_list_sparse*int64, feature_list_dense_values: feature_list_dense_types, feature_list_dense_lengths: "
    "Nfeature_list_dense*int64)",
    {.doc = "ParseSequenceExampleV2 of a vector of records, whose keys are attributes, and which has no ragged "
            "features. Lists that may be missing are named by their keys.",
     .cpp = "parse_sequence_example_v1",
     .traits = {Trait::kSelfAllocating},
     .shape = sequence_shape,
     .no_gradient = kNoGradient,
     .batch = batching::loop});

const Op& kParseSequenceExampleV2 = define_op(
    "ParseSequenceExampleV2(serialized: string, debug_name: string, context_sparse_keys: string, context_dense_keys: "
    "string, context_ragged_keys: string, feature_list_sparse_keys: string, feature_list_dense_keys: string, "
    "feature_list_ragged_keys: string, feature_list_dense_missing_assumed_empty: bool, context_dense_defaults: "
    "Tcontext_dense; Ncontext_sparse: int >= 0 = 0, Tcontext_dense: list(type) >= 0 = [], context_sparse_types: "
    "list(type) >= 0 = [], context_ragged_value_types: list(type) >= 0 = [], context_ragged_split_types: list(type) >= "
    "0 = [], context_dense_shapes: list(shape) >= 0 = [], Nfeature_list_sparse: int >= 0 = 0, Nfeature_list_dense: int "
    ">= 0 = 0, feature_list_dense_types: list(type) >= 0 = [], feature_list_sparse_types: list(type) >= 0 = [], "
    "feature_list_ragged_value_types: list(type) >= 0 = [], feature_list_ragged_split_types: list(type) >= 0 = [], "
    "feature_list_dense_shapes: list(shape) >= 0 = []) -> (context_sparse_indices: Ncontext_sparse*int64, "
    "context_sparse_values: context_sparse_types, context_sparse_shapes: Ncontext_sparse*int64, context_dense_values: "
    "Tcontext_dense, context_ragged_values: context_ragged_value_types, context_ragged_row_splits: "
    "context_ragged_split_types, feature_list_sparse_indices: Nfeature_list_sparse*int64, feature_list_sparse_values: "
    "feature_list_sparse_types, feature_list_sparse_shapes: Nfeature_list_sparse*int64, feature_list_dense_values: "
    "feature_list_dense_types, feature_list_dense_lengths: Nfeature_list_dense*int64, feature_list_ragged_values: "
    "feature_list_ragged_value_types, feature_list_ragged_outer_splits: feature_list_ragged_split_types, "
    "feature_list_ragged_inner_splits: feature_list_ragged_split_types)",
    {.doc =
         "The features of a batch of records, which are the bytes of SequenceExample messages, or of one. Those of the "
         "context are as of ParseExampleV2, with dense shapes that are known. Those of the feature lists have a "
         "feature for each step: a sparse one is [batch, most steps, most values of a step]; a dense one [batch, most "
         "steps, *its shape], with zeros behind the last step of a record, and the numbers of steps; a ragged one the "
         "values of all, where those of each step begin (inner splits) and where the steps of each record do (outer "
         "splits). A record must have the list of a dense one unless `feature_list_dense_missing_assumed_empty` is "
         "true of it. The outputs of a single record have no dimension for the batch, and 0 for splits of it.",
     .cpp = "parse_sequence_example_v2",
     .traits = {Trait::kSelfAllocating},
     .shape = sequence_v2_shape,
     .no_gradient = kNoGradient,
     .batch = batching::loop});

const Op& kParseSingleSequenceExample = define_op(
    "ParseSingleSequenceExample(serialized: string, feature_list_dense_missing_assumed_empty: string, "
    "context_sparse_keys: Ncontext_sparse*string, context_dense_keys: Ncontext_dense*string, feature_list_sparse_keys: "
    "Nfeature_list_sparse*string, feature_list_dense_keys: Nfeature_list_dense*string, context_dense_defaults: "
    "Tcontext_dense, debug_name: string; Ncontext_sparse: int >= 0 = 0, Ncontext_dense: int >= 0 = 0, "
    "Nfeature_list_sparse: int >= 0 = 0, Nfeature_list_dense: int >= 0 = 0, context_sparse_types: list(type) >= 0 = "
    "[], Tcontext_dense: list(type) >= 0 = [], feature_list_dense_types: list(type) >= 0 = [], context_dense_shapes: "
    "list(shape) >= 0 = [], feature_list_sparse_types: list(type) >= 0 = [], feature_list_dense_shapes: list(shape) >= "
    "0 = []) -> (context_sparse_indices: Ncontext_sparse*int64, context_sparse_values: context_sparse_types, "
    "context_sparse_shapes: Ncontext_sparse*int64, context_dense_values: Tcontext_dense, feature_list_sparse_indices: "
    "Nfeature_list_sparse*int64, feature_list_sparse_values: feature_list_sparse_types, feature_list_sparse_shapes: "
    "Nfeature_list_sparse*int64, feature_list_dense_values: feature_list_dense_types)",
    {.doc =
         "ParseSequenceExampleV2 of one record, whose keys are scalars, and which has no ragged features. Lists that "
         "may be missing are named by their keys.",
     .cpp = "parse_single_sequence_example_v1",
     .traits = {Trait::kSelfAllocating},
     .shape = single_sequence_shape,
     .no_gradient = kNoGradient,
     .batch = batching::loop});

}  // namespace panto
