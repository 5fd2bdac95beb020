// Datasets that select, repeat or combine elements of other datasets without changing them.
#include "panto/lib/core/call/call.h"
#include "panto/lib/ops/datasets/dataset_shapes.h"
#include "panto/ops/datasets.h"

namespace panto {

using namespace dataset_ops;

const Op& kRepeatDataset = define_op(
    "RepeatDataset(input_dataset: variant, count: int64; output_types: list(type) >= 1, output_shapes: "
    "list(shape) >= 1, metadata: string = \"\") -> (handle: variant)",
    {.doc = "All elements `count` times, or without end where it is negative. Every time is a pass of its own.",
     .traits = {Trait::kSelfAllocating},
     .shape = dataset_shape,
     .no_gradient = "elements are made when they are asked for"});

const Op& kTakeDataset = define_op(
    "TakeDataset(input_dataset: variant, count: int64; output_types: list(type) >= 1, output_shapes: "
    "list(shape) >= 1, metadata: string = \"\") -> (handle: variant)",
    {.doc = "The first `count` elements; all, where it is negative.",
     .traits = {Trait::kSelfAllocating},
     .shape = dataset_shape,
     .no_gradient = "elements are made when they are asked for"});

const Op& kSkipDataset = define_op(
    "SkipDataset(input_dataset: variant, count: int64; output_types: list(type) >= 1, output_shapes: "
    "list(shape) >= 1, metadata: string = \"\") -> (handle: variant)",
    {.doc = "The elements behind the first `count`; none, where it is negative.",
     .traits = {Trait::kSelfAllocating},
     .shape = dataset_shape,
     .no_gradient = "elements are made when they are asked for"});

const Op& kZipDataset = define_op(
    "ZipDataset(input_datasets: N * variant; output_types: list(type) >= 1, output_shapes: list(shape) >= 1, "
    "N: int >= 1, metadata: string = \"\") -> (handle: variant)",
    {.doc = "Element i has the components of element i of every input, in order. As many as the shortest input has.",
     .traits = {Trait::kSelfAllocating},
     .shape = any_shape,
     .no_gradient = "elements are made when they are asked for"});

const Op& kConcatenateDataset = define_op(
    "ConcatenateDataset(input_dataset: variant, another_dataset: variant; output_types: list(type) >= 1, "
    "output_shapes: list(shape) >= 1, metadata: string = \"\") -> (handle: variant)",
    {.doc = "The elements of the one, then those of the other.",
     .traits = {Trait::kSelfAllocating},
     .shape = dataset_shape,
     .no_gradient = "elements are made when they are asked for"});

const Op& kShardDataset = define_op(
    "ShardDataset(input_dataset: variant, num_shards: int64, index: int64; require_non_empty: bool = false, "
    "output_types: list(type) >= 1, output_shapes: list(shape) >= 1, metadata: string = \"\") -> (handle: "
    "variant)",
    {.doc = "Elements index, index + num_shards ... counted from 0. `require_non_empty`: InvalidArgument for fewer "
            "than num_shards elements.",
     .traits = {Trait::kSelfAllocating},
     .shape = dataset_shape,
     .no_gradient = "elements are made when they are asked for"});

const Op& kPrefetchDataset = define_op(
    "PrefetchDataset(input_dataset: variant, buffer_size: int64; output_types: list(type) >= 1, "
    "output_shapes: list(shape) >= 1, slack_period: int = 0, legacy_autotune: bool = true, buffer_size_min: "
    "int = 0, metadata: string = \"\") -> (handle: variant)",
    {.doc =
         "The elements as they are, of which a thread of the pass keeps `buffer_size` ready (-1: two; 0: there is no "
         "thread).",
     .traits = {Trait::kSelfAllocating},
     .shape = dataset_shape,
     .no_gradient = "elements are made when they are asked for"});

const Op& kOptionsDataset = define_op(
    "OptionsDataset(input_dataset: variant; serialized_options: string, output_types: list(type) >= 1, "
    "output_shapes: list(shape) >= 1, metadata: string = \"\") -> (handle: variant)",
    {.doc = "The elements as they are; options ask for speed only.",
     .traits = {Trait::kSelfAllocating},
     .shape = dataset_shape,
     .no_gradient = "elements are made when they are asked for"});

const Op& kModelDataset = define_op(
    "ModelDataset(input_dataset: variant; algorithm: int = 0, cpu_budget: int = 0, ram_budget: int = 0, "
    "output_types: list(type) >= 1, output_shapes: list(shape) >= 1) -> (handle: variant)",
    {.doc = "The elements as they are.",
     .traits = {Trait::kSelfAllocating},
     .shape = dataset_shape,
     .no_gradient = "elements are made when they are asked for"});

const Op& kOptimizeDataset = define_op(
    "OptimizeDataset(input_dataset: variant, optimizations: string; output_types: list(type) >= 1, "
    "output_shapes: list(shape) >= 1, optimization_configs: list(string) = []) -> (handle: variant)",
    {.doc = "The elements as they are.",
     .traits = {Trait::kSelfAllocating},
     .shape = vectors_shape,
     .no_gradient = "elements are made when they are asked for"});

const Op& kOptimizeDatasetV2 = define_op(
    "OptimizeDatasetV2(input_dataset: variant, optimizations_enabled: string, optimizations_disabled: "
    "string, optimizations_default: string; output_types: list(type) >= 1, output_shapes: list(shape) >= 1, "
    "optimization_configs: list(string) = []) -> (handle: variant)",
    {.doc = "The elements as they are.",
     .cpp = "optimize_dataset_v2",
     .traits = {Trait::kSelfAllocating},
     .shape = vectors_shape,
     .no_gradient = "elements are made when they are asked for"});

const Op& kRewriteDataset = define_op(
    "RewriteDataset(input_dataset: variant, rewrite_name: string; output_types: list(type) >= 1, "
    "output_shapes: list(shape) >= 1) -> (handle: variant)",
    {.doc = "The elements as they are.",
     .traits = {Trait::kSelfAllocating},
     .shape = dataset_shape,
     .no_gradient = "elements are made when they are asked for"});

const Op& kFinalizeDataset = define_op(
    "FinalizeDataset(input_dataset: variant; has_captured_ref: bool = false, output_types: list(type) >= 1, "
    "output_shapes: list(shape) >= 1) -> (handle: variant)",
    {.doc = "The elements as they are.",
     .traits = {Trait::kSelfAllocating},
     .shape = dataset_shape,
     .no_gradient = "elements are made when they are asked for"});

const Op& kMaxIntraOpParallelismDataset = define_op(
    "MaxIntraOpParallelismDataset(input_dataset: variant, max_intra_op_parallelism: int64; output_types: "
    "list(type) >= 1, output_shapes: list(shape) >= 1) -> (handle: variant)",
    {.doc = "The elements as they are.",
     .aliases = {"ExperimentalMaxIntraOpParallelismDataset"},
     .traits = {Trait::kSelfAllocating},
     .shape = dataset_shape,
     .no_gradient = "elements are made when they are asked for"});

const Op& kPrivateThreadPoolDataset = define_op(
    "PrivateThreadPoolDataset(input_dataset: variant, num_threads: int64; output_types: list(type) >= 1, "
    "output_shapes: list(shape) >= 1) -> (handle: variant)",
    {.doc = "The elements as they are.",
     .aliases = {"ExperimentalPrivateThreadPoolDataset"},
     .traits = {Trait::kSelfAllocating},
     .shape = dataset_shape,
     .no_gradient = "elements are made when they are asked for"});

const Op& kNonSerializableDataset = define_op(
    "NonSerializableDataset(input_dataset: variant; output_types: list(type) >= 1, output_shapes: "
    "list(shape) >= 1) -> (handle: variant)",
    {.doc = "The elements as they are.",
     .aliases = {"ExperimentalNonSerializableDataset"},
     .traits = {Trait::kSelfAllocating},
     .shape = dataset_shape,
     .no_gradient = "elements are made when they are asked for"});

const Op& kAssertNextDataset = define_op(
    "AssertNextDataset(input_dataset: variant, transformations: string; output_types: list(type) >= 1, "
    "output_shapes: list(shape) >= 1) -> (handle: variant)",
    {.doc = "The elements as they are: what TensorFlow's optimizer is to find next is no matter here.",
     .aliases = {"ExperimentalAssertNextDataset"},
     .traits = {Trait::kSelfAllocating},
     .shape = vectors_shape,
     .no_gradient = "elements are made when they are asked for"});

const Op& kAssertCardinalityDataset = define_op(
    "AssertCardinalityDataset(input_dataset: variant, cardinality: int64; output_types: list(type) >= 1, "
    "output_shapes: list(shape) >= 1) -> (handle: variant)",
    {.doc = "The elements as they are. FailedPrecondition where their number is not `cardinality` (-1: infinitely "
            "many).",
     .traits = {Trait::kSelfAllocating},
     .shape = dataset_shape,
     .no_gradient = "elements are made when they are asked for"});

const Op& kIgnoreErrorsDataset = define_op(
    "IgnoreErrorsDataset(input_dataset: variant; output_types: list(type) >= 1, output_shapes: list(shape) "
    ">= 1, log_warning: bool = false) -> (handle: variant)",
    {.doc = "The elements but those whose making fails. `log_warning`: with a line in the log for each.",
     .aliases = {"ExperimentalIgnoreErrorsDataset"},
     .traits = {Trait::kSelfAllocating},
     .shape = dataset_shape,
     .no_gradient = "elements are made when they are asked for"});

const Op& kUniqueDataset = define_op(
    "UniqueDataset(input_dataset: variant; output_types: list(type) >= 1, output_shapes: list(shape) >= 1, "
    "metadata: string = \"\") -> (handle: variant)",
    {.doc = "The elements, of one int32, int64 or string tensor, that are equal to none before.",
     .aliases = {"ExperimentalUniqueDataset"},
     .traits = {Trait::kSelfAllocating},
     .shape = dataset_shape,
     .no_gradient = "elements are made when they are asked for"});

const Op& kUnbatchDataset = define_op(
    "UnbatchDataset(input_dataset: variant; output_types: list(type) >= 1, output_shapes: list(shape) >= 1, "
    "metadata: string = \"\") -> (handle: variant)",
    {.doc = "The rows of each element's components, along their first dimensions, which are the same.",
     .aliases = {"ExperimentalUnbatchDataset"},
     .traits = {Trait::kSelfAllocating},
     .shape = dataset_shape,
     .no_gradient = "elements are made when they are asked for"});

const Op& kDirectedInterleaveDataset = define_op(
    "DirectedInterleaveDataset(selector_input_dataset: variant, data_input_datasets: N * variant; "
    "output_types: list(type) >= 1, output_shapes: list(shape) >= 1, N: int >= 1, stop_on_empty_dataset: "
    "bool = false) -> (handle: variant)",
    {.doc = "The next element of the input whose number is the selector's next element. Inputs at their end are "
            "passed over, or end all where `stop_on_empty_dataset`.",
     .aliases = {"ExperimentalDirectedInterleaveDataset"},
     .traits = {Trait::kSelfAllocating},
     .shape = dataset_shape,
     .no_gradient = "elements are made when they are asked for"});

const Op& kCacheDataset = define_op(
    "CacheDataset(input_dataset: variant, filename: string; output_types: list(type) >= 1, output_shapes: "
    "list(shape) >= 1, metadata: string = \"\") -> (handle: variant)",
    {.doc =
         "The elements, which are kept once a pass has come to its end: later passes get these. In memory, or, with a "
         "`filename`, in a checkpoint of that name, where the elements are those of other programs too. Elements "
         "without values (variants) are an error there.",
     .traits = {Trait::kSelfAllocating},
     .shape = dataset_shape,
     .no_gradient = "elements are made when they are asked for"});

const Op& kCacheDatasetV2 = define_op(
    "CacheDatasetV2(input_dataset: variant, filename: string, cache: resource; output_types: list(type) >= "
    "1, output_shapes: list(shape) >= 1, metadata: string = \"\") -> (handle: variant)",
    {.doc = "As CacheDataset; datasets with the same `cache` share what is kept in memory.",
     .cpp = "cache_dataset_v2",
     .traits = {Trait::kSelfAllocating},
     .effects = {effects::reads(2)},
     .shape = dataset_shape,
     .no_gradient = "elements are made when they are asked for"});

const Op& kWrapDatasetVariant = define_op("WrapDatasetVariant(input_handle: variant) -> (output_handle: variant)",
                                          {.doc = "The dataset.",
                                           .traits = {Trait::kSelfAllocating},
                                           .shape = one_variant,
                                           .no_gradient = "elements are made when they are asked for"});

const Op& kUnwrapDatasetVariant = define_op("UnwrapDatasetVariant(input_handle: variant) -> (output_handle: variant)",
                                            {.doc = "The dataset.",
                                             .traits = {Trait::kSelfAllocating},
                                             .shape = one_variant,
                                             .no_gradient = "elements are made when they are asked for"});

}  // namespace panto
