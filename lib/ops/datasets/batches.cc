// Datasets that combine several elements into one, and shuffling.
#include "panto/lib/core/call/call.h"
#include "panto/lib/ops/datasets/dataset_shapes.h"
#include "panto/ops/datasets.h"

namespace panto {

using namespace dataset_ops;

const Op& kBatchDataset = define_op(
    "BatchDataset(input_dataset: variant, batch_size: int64; output_types: list(type) >= 1, output_shapes: "
    "list(shape) >= 1, metadata: string = \"\") -> (handle: variant)",
    {.doc = "Each `batch_size` elements, put side by side along a new first dimension; their shapes must be the "
            "same. The last one may be smaller.",
     .traits = {Trait::kSelfAllocating},
     .shape = dataset_shape,
     .no_gradient = "elements are made when they are asked for"});

const Op& kBatchDatasetV2 = define_op(
    "BatchDatasetV2(input_dataset: variant, batch_size: int64, drop_remainder: bool; parallel_copy: bool = "
    "false, output_types: list(type) >= 1, output_shapes: list(shape) >= 1, metadata: string = \"\") -> "
    "(handle: variant)",
    {.doc = "As BatchDataset; without a last one that is smaller if `drop_remainder`.",
     .cpp = "batch_dataset_v2",
     .traits = {Trait::kSelfAllocating},
     .shape = dataset_shape,
     .no_gradient = "elements are made when they are asked for"});

const Op& kParallelBatchDataset = define_op(
    "ParallelBatchDataset(input_dataset: variant, batch_size: int64, num_parallel_calls: int64, "
    "drop_remainder: bool; parallel_copy: bool = false, output_types: list(type) >= 1, output_shapes: "
    "list(shape) >= 1, deterministic: string = \"default\", metadata: string = \"\") -> (handle: variant)",
    {.doc = "As BatchDatasetV2: the elements are made when they are asked for, one after the other.",
     .traits = {Trait::kSelfAllocating},
     .shape = dataset_shape,
     .no_gradient = "elements are made when they are asked for"});

const Op& kPaddedBatchDataset = define_op(
    "PaddedBatchDataset(input_dataset: variant, batch_size: int64, padded_shapes: N * int64, padding_values: "
    "Toutput_types; Toutput_types: list(type) >= 1, output_shapes: list(shape) >= 1, N: int >= 1, metadata: "
    "string = \"\") -> (handle: variant)",
    {.doc = "As BatchDataset, of elements of different shapes, which are made as large as `padded_shapes` says by "
            "`padding_values`, a scalar for each component. A dimension of -1 is the largest of the batch's. "
            "DataLoss for elements that are larger.",
     .traits = {Trait::kSelfAllocating},
     .shape = padded_shape,
     .no_gradient = "elements are made when they are asked for"});

const Op& kPaddedBatchDatasetV2 = define_op(
    "PaddedBatchDatasetV2(input_dataset: variant, batch_size: int64, padded_shapes: N * int64, "
    "padding_values: Toutput_types, drop_remainder: bool; parallel_copy: bool = false, Toutput_types: "
    "list(type) >= 1, output_shapes: list(shape) >= 1, N: int >= 1, metadata: string = \"\") -> (handle: "
    "variant)",
    {.doc = "As PaddedBatchDataset; without a last one that is smaller if `drop_remainder`.",
     .cpp = "padded_batch_dataset_v2",
     .traits = {Trait::kSelfAllocating},
     .shape = padded_shape,
     .no_gradient = "elements are made when they are asked for"});

const Op& kWindowDataset = define_op(
    "WindowDataset(input_dataset: variant, size: int64, shift: int64, stride: int64, drop_remainder: bool; "
    "output_types: list(type) >= 1, output_shapes: list(shape) >= 1, metadata: string = \"\") -> (handle: "
    "variant)",
    {.doc = "Windows of `size` elements, `stride` apart, each beginning `shift` elements after the one before: a "
            "dataset for each component. Windows at the end that are smaller are left out if `drop_remainder`.",
     .traits = {Trait::kSelfAllocating},
     .shape = dataset_shape,
     .no_gradient = "elements are made when they are asked for"});

const Op& kSlidingWindowDataset = define_op(
    "SlidingWindowDataset(input_dataset: variant, window_size: int64, window_shift: int64, window_stride: "
    "int64; drop_remainder: bool = true, output_types: list(type) >= 1, output_shapes: list(shape) >= 1) -> "
    "(handle: variant)",
    {.doc = "Windows as WindowDataset's, put side by side as BatchDataset does.",
     .aliases = {"ExperimentalSlidingWindowDataset"},
     .traits = {Trait::kSelfAllocating},
     .shape = dataset_shape,
     .no_gradient = "elements are made when they are asked for"});

const Op& kRebatchDatasetV2 = define_op(
    "RebatchDatasetV2(input_dataset: variant, batch_sizes: int64, drop_remainder: bool; output_types: "
    "list(type) >= 1, output_shapes: list(shape) >= 1) -> (handle: variant)",
    {.doc = "The rows of batches in batches of other sizes: of `batch_sizes`, one after the other and from the first "
            "again.",
     .cpp = "rebatch_dataset_v2",
     .traits = {Trait::kSelfAllocating},
     .shape = vectors_shape,
     .no_gradient = "elements are made when they are asked for"});

const Op& kShuffleDataset = define_op(
    "ShuffleDataset(input_dataset: variant, buffer_size: int64, seed: int64, seed2: int64; "
    "reshuffle_each_iteration: bool = true, output_types: list(type) >= 1, output_shapes: list(shape) >= 1, "
    "metadata: string = \"\") -> (handle: variant)",
    {.doc = "The elements in random order: of a buffer of `buffer_size` elements a random one is given and replaced "
            "by the next (-2: a buffer of all). The order is TensorFlow's for the two seeds, of which both being 0 "
            "stands for some that nobody knows. `reshuffle_each_iteration`: every pass over this dataset has another "
            "order.",
     .traits = {Trait::kSelfAllocating},
     .shape = dataset_shape,
     .no_gradient = "elements are made when they are asked for"});

const Op& kShuffleDatasetV2 = define_op(
    "ShuffleDatasetV2(input_dataset: variant, buffer_size: int64, seed_generator: resource; output_types: "
    "list(type) >= 1, output_shapes: list(shape) >= 1, metadata: string = \"\") -> (handle: variant)",
    {.doc = "As ShuffleDataset, with seeds of passes from `seed_generator`.",
     .cpp = "shuffle_dataset_v2",
     .traits = {Trait::kSelfAllocating},
     .effects = {effects::reads(2)},
     .shape = dataset_shape,
     .no_gradient = "elements are made when they are asked for"});

const Op& kShuffleDatasetV3 = define_op(
    "ShuffleDatasetV3(input_dataset: variant, buffer_size: int64, seed: int64, seed2: int64, seed_generator: "
    "resource; reshuffle_each_iteration: bool = true, output_types: list(type) >= 1, output_shapes: "
    "list(shape) >= 1, metadata: string = \"\") -> (handle: variant)",
    {.doc = "As ShuffleDatasetV2; where `seed_generator` is none, as ShuffleDataset.",
     .cpp = "shuffle_dataset_v3",
     .traits = {Trait::kSelfAllocating},
     .effects = {effects::reads(4)},
     .shape = dataset_shape,
     .no_gradient = "elements are made when they are asked for"});

const Op& kShuffleAndRepeatDataset = define_op(
    "ShuffleAndRepeatDataset(input_dataset: variant, buffer_size: int64, seed: int64, seed2: int64, count: "
    "int64; output_types: list(type) >= 1, output_shapes: list(shape) >= 1, reshuffle_each_iteration: bool = "
    "true, metadata: string = \"\") -> (handle: variant)",
    {.doc = "`count` passes over the elements (-1: without end), in random order as ShuffleDataset's, each pass "
            "before the next; the buffer is filled across their ends.",
     .traits = {Trait::kSelfAllocating},
     .shape = dataset_shape,
     .no_gradient = "elements are made when they are asked for"});

const Op& kShuffleAndRepeatDatasetV2 = define_op(
    "ShuffleAndRepeatDatasetV2(input_dataset: variant, buffer_size: int64, seed: int64, seed2: int64, count: "
    "int64, seed_generator: resource; reshuffle_each_iteration: bool = true, output_types: list(type) >= 1, "
    "output_shapes: list(shape) >= 1, metadata: string = \"\") -> (handle: variant)",
    {.doc = "As ShuffleAndRepeatDataset, with seeds of passes from `seed_generator`, if it is one.",
     .cpp = "shuffle_and_repeat_dataset_v2",
     .traits = {Trait::kSelfAllocating},
     .effects = {effects::reads(5)},
     .shape = dataset_shape,
     .no_gradient = "elements are made when they are asked for"});

const Op& kDenseToSparseBatchDataset = define_op(
    "DenseToSparseBatchDataset(input_dataset: variant, batch_size: int64, row_shape: int64; output_types: list(type) "
    ">= "
    "1, output_shapes: list(shape) >= 1) -> (handle: variant)",
    {.doc =
         "Batches of elements of one tensor each, as sparse tensors [elements, *row_shape] with an entry for each "
         "value: "
         "variants of the indices, the values and the shape, which DeserializeSparse takes. An element may be smaller "
         "than `row_shape`; where that has -1, the largest of the batch counts.",
     .aliases = {"ExperimentalDenseToSparseBatchDataset"},
     .traits = {Trait::kSelfAllocating},
     .shape = vectors_shape,
     .no_gradient = "elements are made when they are asked for"});

const Op& kComputeBatchSize =
    define_op("ComputeBatchSize(input_dataset: variant) -> (batch_size: int64)",
              {.doc = "Of how many elements each of the dataset's is a batch; -1 where that is not known.",
               .shape = one_scalar,
               .no_gradient = "elements are made when they are asked for"});

}  // namespace panto
