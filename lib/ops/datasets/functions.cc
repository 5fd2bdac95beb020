// Datasets that call functions with their elements. `other_arguments` are passed to the function after the element.
#include "panto/lib/core/call/call.h"
#include "panto/lib/ops/datasets/dataset_shapes.h"
#include "panto/ops/datasets.h"

namespace panto {

using namespace dataset_ops;

const Op& kMapDataset = define_op(
    "MapDataset(input_dataset: variant, other_arguments: Targuments; f: func, Targuments: list(type) >= 0, "
    "output_types: list(type) >= 1, output_shapes: list(shape) >= 1, use_inter_op_parallelism: bool = true, "
    "preserve_cardinality: bool = false, force_synchronous: bool = false, metadata: string = \"\") -> "
    "(handle: variant)",
    {.doc = "What `f` gives of each element. Where it fails with OutOfRange, the elements end.",
     .aliases = {"ExperimentalMapDataset"},
     .traits = {Trait::kSelfAllocating},
     .shape = captures_shape,
     .no_gradient = "elements are made when they are asked for"});

const Op& kParallelMapDataset = define_op(
    "ParallelMapDataset(input_dataset: variant, other_arguments: Targuments, num_parallel_calls: int32; f: "
    "func, Targuments: list(type) >= 0, output_types: list(type) >= 1, output_shapes: list(shape) >= 1, "
    "use_inter_op_parallelism: bool = true, sloppy: bool = false, preserve_cardinality: bool = false, "
    "metadata: string = \"\") -> (handle: variant)",
    {.doc = "As MapDataset, with `num_parallel_calls` elements made at a time by threads of the pass (-1: as many as "
            "there "
            "are threads; 128 at most), in order unless the attributes ask for any.",
     .traits = {Trait::kSelfAllocating},
     .shape = captures_shape,
     .no_gradient = "elements are made when they are asked for"});

const Op& kParallelMapDatasetV2 = define_op(
    "ParallelMapDatasetV2(input_dataset: variant, other_arguments: Targuments, num_parallel_calls: int64; f: "
    "func, Targuments: list(type) >= 0, output_types: list(type) >= 1, output_shapes: list(shape) >= 1, "
    "use_inter_op_parallelism: bool = true, deterministic: string = \"default\", preserve_cardinality: bool "
    "= false, use_unbounded_threadpool: bool = false, metadata: string = \"\") -> (handle: variant)",
    {.doc = "As MapDataset, with `num_parallel_calls` elements made at a time by threads of the pass (-1: as many as "
            "there "
            "are threads; 128 at most), in order unless the attributes ask for any.",
     .cpp = "parallel_map_dataset_v2",
     .traits = {Trait::kSelfAllocating},
     .shape = captures_shape,
     .no_gradient = "elements are made when they are asked for"});

const Op& kMapAndBatchDataset = define_op(
    "MapAndBatchDataset(input_dataset: variant, other_arguments: Targuments, batch_size: int64, "
    "num_parallel_calls: int64, drop_remainder: bool; f: func, Targuments: list(type) >= 0, output_types: "
    "list(type) >= 1, output_shapes: list(shape) >= 1, preserve_cardinality: bool = false, metadata: string "
    "= \"\") -> (handle: variant)",
    {.doc = "What `f` gives of each element, in batches as BatchDatasetV2 makes them.",
     .aliases = {"ExperimentalMapAndBatchDataset"},
     .traits = {Trait::kSelfAllocating},
     .shape = captures_shape,
     .no_gradient = "elements are made when they are asked for"});

const Op& kFilterDataset = define_op(
    "FilterDataset(input_dataset: variant, other_arguments: Targuments; predicate: func, Targuments: "
    "list(type) >= 0, output_types: list(type) >= 1, output_shapes: list(shape) >= 1, metadata: string = "
    "\"\") -> (handle: variant)",
    {.doc = "The elements for which `predicate` gives true.",
     .traits = {Trait::kSelfAllocating},
     .shape = captures_shape,
     .no_gradient = "elements are made when they are asked for"});

const Op& kParallelFilterDataset = define_op(
    "ParallelFilterDataset(input_dataset: variant, other_arguments: Targuments, num_parallel_calls: int64; "
    "predicate: func, deterministic: string = \"default\", Targuments: list(type) >= 0, output_types: "
    "list(type) >= 1, output_shapes: list(shape) >= 1, metadata: string = \"\") -> (handle: variant)",
    {.doc = "As FilterDataset.",
     .traits = {Trait::kSelfAllocating},
     .shape = captures_shape,
     .no_gradient = "elements are made when they are asked for"});

const Op& kTakeWhileDataset = define_op(
    "TakeWhileDataset(input_dataset: variant, other_arguments: Targuments; predicate: func, Targuments: "
    "list(type) >= 0, output_types: list(type) >= 1, output_shapes: list(shape) >= 1, metadata: string = "
    "\"\") -> (handle: variant)",
    {.doc = "The elements up to the first one for which `predicate` gives false.",
     .aliases = {"ExperimentalTakeWhileDataset"},
     .traits = {Trait::kSelfAllocating},
     .shape = captures_shape,
     .no_gradient = "elements are made when they are asked for"});

const Op& kFlatMapDataset = define_op(
    "FlatMapDataset(input_dataset: variant, other_arguments: Targuments; f: func, Targuments: list(type) >= "
    "0, output_types: list(type) >= 1, output_shapes: list(shape) >= 1, metadata: string = \"\") -> (handle: "
    "variant)",
    {.doc = "The elements of the dataset that `f` gives of each element, one after the other.",
     .traits = {Trait::kSelfAllocating},
     .shape = captures_shape,
     .no_gradient = "elements are made when they are asked for"});

const Op& kInterleaveDataset = define_op(
    "InterleaveDataset(input_dataset: variant, other_arguments: Targuments, cycle_length: int64, "
    "block_length: int64; f: func, Targuments: list(type) >= 0, output_types: list(type) >= 1, "
    "output_shapes: list(shape) >= 1, metadata: string = \"\") -> (handle: variant)",
    {.doc = "The elements of the datasets that `f` gives of elements: `block_length` of each in turn, of "
            "`cycle_length` datasets at a time (-1: as many as there are threads). Where one is at its end, the next "
            "takes its place.",
     .traits = {Trait::kSelfAllocating},
     .shape = captures_shape,
     .no_gradient = "elements are made when they are asked for"});

const Op& kParallelInterleaveDataset = define_op(
    "ParallelInterleaveDataset(input_dataset: variant, other_arguments: Targuments, cycle_length: int64, "
    "block_length: int64, sloppy: bool, buffer_output_elements: int64, prefetch_input_elements: int64; f: "
    "func, Targuments: list(type) >= 0, output_types: list(type) >= 1, output_shapes: list(shape) >= 1, "
    "metadata: string = \"\") -> (handle: variant)",
    {.doc =
         "As InterleaveDataset, in its order, whether `sloppy` or not. Each of the datasets is read by a thread, which "
         "keeps up to `buffer_output_elements` elements ready.",
     .aliases = {"ExperimentalParallelInterleaveDataset"},
     .traits = {Trait::kSelfAllocating},
     .shape = captures_shape,
     .no_gradient = "elements are made when they are asked for"});

const Op& kLegacyParallelInterleaveDatasetV2 = define_op(
    "LegacyParallelInterleaveDatasetV2(input_dataset: variant, other_arguments: Targuments, cycle_length: "
    "int64, block_length: int64, buffer_output_elements: int64, prefetch_input_elements: int64; f: func, "
    "deterministic: string = \"default\", Targuments: list(type) >= 0, output_types: list(type) >= 1, "
    "output_shapes: list(shape) >= 1, metadata: string = \"\") -> (handle: variant)",
    {.doc = "As InterleaveDataset, in its order in every case. Each of the datasets is read by a thread, which keeps "
            "up to "
            "`buffer_output_elements` elements ready.",
     .cpp = "legacy_parallel_interleave_dataset_v2",
     .traits = {Trait::kSelfAllocating},
     .shape = captures_shape,
     .no_gradient = "elements are made when they are asked for"});

const Op& kParallelInterleaveDatasetV2 = define_op(
    "ParallelInterleaveDatasetV2(input_dataset: variant, other_arguments: Targuments, cycle_length: int64, "
    "block_length: int64, num_parallel_calls: int64; f: func, Targuments: list(type) >= 0, output_types: "
    "list(type) >= 1, output_shapes: list(shape) >= 1, sloppy: bool = false, metadata: string = \"\") -> "
    "(handle: variant)",
    {.doc =
         "As InterleaveDataset, in its order in every case. The first `num_parallel_calls` datasets of a cycle (-1: as "
         "many as there are threads) are each read by a thread.",
     .cpp = "parallel_interleave_dataset_v2",
     .traits = {Trait::kSelfAllocating},
     .shape = captures_shape,
     .no_gradient = "elements are made when they are asked for"});

const Op& kParallelInterleaveDatasetV3 = define_op(
    "ParallelInterleaveDatasetV3(input_dataset: variant, other_arguments: Targuments, cycle_length: int64, "
    "block_length: int64, num_parallel_calls: int64; f: func, deterministic: string = \"default\", "
    "Targuments: list(type) >= 0, output_types: list(type) >= 1, output_shapes: list(shape) >= 1, metadata: "
    "string = \"\") -> (handle: variant)",
    {.doc =
         "As InterleaveDataset, in its order in every case. The first `num_parallel_calls` datasets of a cycle (-1: as "
         "many as there are threads) are each read by a thread.",
     .cpp = "parallel_interleave_dataset_v3",
     .traits = {Trait::kSelfAllocating},
     .shape = captures_shape,
     .no_gradient = "elements are made when they are asked for"});

const Op& kParallelInterleaveDatasetV4 = define_op(
    "ParallelInterleaveDatasetV4(input_dataset: variant, other_arguments: Targuments, cycle_length: int64, "
    "block_length: int64, buffer_output_elements: int64, prefetch_input_elements: int64, num_parallel_calls: "
    "int64; f: func, deterministic: string = \"default\", Targuments: list(type) >= 0, output_types: "
    "list(type) >= 1, output_shapes: list(shape) >= 1, metadata: string = \"\") -> (handle: variant)",
    {.doc =
         "As InterleaveDataset, in its order in every case. The first `num_parallel_calls` datasets of a cycle (-1: as "
         "many as there are threads) are each read by a thread.",
     .cpp = "parallel_interleave_dataset_v4",
     .traits = {Trait::kSelfAllocating},
     .shape = captures_shape,
     .no_gradient = "elements are made when they are asked for"});

const Op& kScanDataset = define_op(
    "ScanDataset(input_dataset: variant, initial_state: Tstate, other_arguments: Targuments; f: func, "
    "Tstate: list(type) >= 1, Targuments: list(type) >= 0, output_types: list(type) >= 1, output_shapes: "
    "list(shape) >= 1, preserve_cardinality: bool = false, use_default_device: bool = true, metadata: string "
    "= \"\") -> (handle: variant)",
    {.doc = "`f` gives the next state, then an element, of the state, which begins with `initial_state`, and an "
            "element.",
     .aliases = {"ExperimentalScanDataset"},
     .traits = {Trait::kSelfAllocating},
     .shape = captures_shape,
     .no_gradient = "elements are made when they are asked for"});

const Op& kGeneratorDataset = define_op(
    "GeneratorDataset(init_func_other_args: Tinit_func_args, next_func_other_args: Tnext_func_args, "
    "finalize_func_other_args: Tfinalize_func_args; init_func: func, next_func: func, finalize_func: func, "
    "Tinit_func_args: list(type) >= 0, Tnext_func_args: list(type) >= 0, Tfinalize_func_args: list(type) >= "
    "0, output_types: list(type) >= 1, output_shapes: list(shape) >= 1, metadata: string = \"\") -> (handle: "
    "variant)",
    {.doc = "What `next_func` gives of the state that `init_func` gave, again and again, until it fails with "
            "OutOfRange. `finalize_func` gets the state at the end.",
     .traits = {Trait::kSelfAllocating},
     .shape = any_shape,
     .no_gradient = "elements are made when they are asked for"});

const Op& kGroupByWindowDataset = define_op(
    "GroupByWindowDataset(input_dataset: variant, key_func_other_arguments: Tkey_func_other_arguments, "
    "reduce_func_other_arguments: Treduce_func_other_arguments, window_size_func_other_arguments: "
    "Twindow_size_func_other_arguments; key_func: func, reduce_func: func, window_size_func: func, "
    "Tkey_func_other_arguments: list(type) >= 0, Treduce_func_other_arguments: list(type) >= 0, "
    "Twindow_size_func_other_arguments: list(type) >= 0, output_types: list(type) >= 1, output_shapes: "
    "list(shape) >= 1, metadata: string = \"\") -> (handle: variant)",
    {.doc = "Elements of one key, an int64 that `key_func` gives, as many as `window_size_func` gives of the key, "
            "are a dataset of which `reduce_func`, with the key, makes another, whose elements come next. Groups "
            "that are smaller come at the end, ordered by their keys.",
     .aliases = {"ExperimentalGroupByWindowDataset"},
     .traits = {Trait::kSelfAllocating},
     .shape = captures_shape,
     .no_gradient = "elements are made when they are asked for"});

const Op& kGroupByReducerDataset = define_op(
    "GroupByReducerDataset(input_dataset: variant, key_func_other_arguments: Tkey_func_other_arguments, "
    "init_func_other_arguments: Tinit_func_other_arguments, reduce_func_other_arguments: "
    "Treduce_func_other_arguments, finalize_func_other_arguments: Tfinalize_func_other_arguments; key_func: "
    "func, init_func: func, reduce_func: func, finalize_func: func, Tkey_func_other_arguments: list(type) >= "
    "0, Tinit_func_other_arguments: list(type) >= 0, Treduce_func_other_arguments: list(type) >= 0, "
    "Tfinalize_func_other_arguments: list(type) >= 0, output_types: list(type) >= 1, output_shapes: "
    "list(shape) >= 1) -> (handle: variant)",
    {.doc = "For each key, an int64 that `key_func` gives, in ascending order: what `finalize_func` makes of the "
            "state that `init_func` made of the key and `reduce_func` of the state and each element of that key.",
     .aliases = {"ExperimentalGroupByReducerDataset"},
     .traits = {Trait::kSelfAllocating},
     .shape = captures_shape,
     .no_gradient = "elements are made when they are asked for"});

const Op& kParseExampleDataset = define_op(
    "ParseExampleDataset(input_dataset: variant, num_parallel_calls: int64, dense_defaults: Tdense; sparse_keys: "
    "list(string) >= 0, dense_keys: list(string) >= 0, sparse_types: list(type) >= 0, Tdense: list(type) >= 0, "
    "dense_shapes: list(shape) >= 0, output_types: list(type) >= 1, output_shapes: list(shape) >= 1, sloppy: bool = "
    "false, ragged_keys: "
    "list(string) >= 0 = [], ragged_value_types: list(type) >= 0 = [], ragged_split_types: list(type) >= 0 = []) -> "
    "(handle: variant)",
    {.doc = "The features of batches of records, which are the elements, as ParseExampleV2 parses them; the "
            "components are in the order of their keys. Sparse ones are variants, which DeserializeSparse takes, "
            "ragged ones those that RaggedTensorFromVariant does. `num_parallel_calls` batches at a time, by threads "
            "of the pass.",
     .aliases = {"ExperimentalParseExampleDataset"},
     .traits = {Trait::kSelfAllocating},
     .shape = captures_shape,
     .no_gradient = "elements are made when they are asked for"});

const Op& kParseExampleDatasetV2 = define_op(
    "ParseExampleDatasetV2(input_dataset: variant, num_parallel_calls: int64, dense_defaults: Tdense; sparse_keys: "
    "list(string) >= 0, dense_keys: list(string) >= 0, sparse_types: list(type) >= 0, Tdense: list(type) >= 0, "
    "dense_shapes: list(shape) >= 0, output_types: list(type) >= 1, output_shapes: list(shape) >= 1, deterministic: "
    "string = \"default\", ragged_keys: "
    "list(string) >= 0 = [], ragged_value_types: list(type) >= 0 = [], ragged_split_types: list(type) >= 0 = []) -> "
    "(handle: variant)",
    {.doc = "The features of batches of records, which are the elements, as ParseExampleV2 parses them; the "
            "components are in the order of their keys. Sparse ones are variants, which DeserializeSparse takes, "
            "ragged ones those that RaggedTensorFromVariant does. `num_parallel_calls` batches at a time, by threads "
            "of the pass.",
     .cpp = "parse_example_dataset_v2",
     .traits = {Trait::kSelfAllocating},
     .shape = captures_shape,
     .no_gradient = "elements are made when they are asked for"});

}  // namespace panto
