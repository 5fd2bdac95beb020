// Datasets of tensors and of files, and random ones. A dataset is a value that a variant scalar holds
// (lib/core/datasets/dataset_value.h): it describes elements, which an iterator makes (iterators.cc).
#include "panto/lib/core/call/call.h"
#include "panto/lib/ops/datasets/dataset_shapes.h"
#include "panto/ops/datasets.h"

namespace panto {

using namespace dataset_ops;

const Op& kRangeDataset = define_op(
    "RangeDataset(start: int64, stop: int64, step: int64; output_types: list(type) >= 1, output_shapes: "
    "list(shape) >= 1, metadata: string = \"\", replicate_on_split: bool = false) -> (handle: variant)",
    {.doc = "The numbers start, start + step ... before `stop`, of the one type of `output_types`: int64, int32, "
            "float32 or float64.",
     .traits = {Trait::kSelfAllocating},
     .shape = dataset_shape,
     .no_gradient = "elements are made when they are asked for"});

const Op& kTensorDataset = define_op(
    "TensorDataset(components: Toutput_types; Toutput_types: list(type) >= 1, output_shapes: list(shape) >= "
    "1, metadata: string = \"\") -> (handle: variant)",
    {.doc = "One element: the components.",
     .traits = {Trait::kSelfAllocating},
     .shape = any_shape,
     .no_gradient = "elements are made when they are asked for"});

const Op& kTensorSliceDataset = define_op(
    "TensorSliceDataset(components: Toutput_types; Toutput_types: list(type) >= 1, output_shapes: "
    "list(shape) >= 1, is_files: bool = false, metadata: string = \"\", replicate_on_split: bool = false) -> "
    "(handle: variant)",
    {.doc = "An element for each row of the components, along their first dimensions, which are the same.",
     .traits = {Trait::kSelfAllocating},
     .shape = any_shape,
     .no_gradient = "elements are made when they are asked for"});

const Op& kSparseTensorSliceDataset = define_op(
    "SparseTensorSliceDataset(indices: int64, values: Tvalues, dense_shape: int64; Tvalues: type) -> "
    "(handle: variant)",
    {.doc = "An element for each row of a sparse tensor, along its first dimension: indices, values and shape of the "
            "rest. The indices must be ordered by rows.",
     .traits = {Trait::kSelfAllocating},
     .shape = sparse_slices_shape,
     .no_gradient = "elements are made when they are asked for"});

const Op& kRandomDataset = define_op(
    "RandomDataset(seed: int64, seed2: int64; output_types: list(type) >= 1, output_shapes: list(shape) >= "
    "1, metadata: string = \"\") -> (handle: variant)",
    {.doc = "Random numbers from 0 to 2^32 - 1, without end: those of the Philox stream of the two seeds, as "
            "TensorFlow's. Where both are 0, of seeds that nobody knows. Every pass has the same.",
     .aliases = {"ExperimentalRandomDataset"},
     .traits = {Trait::kSelfAllocating},
     .shape = dataset_shape,
     .no_gradient = "elements are made when they are asked for"});

const Op& kRandomDatasetV2 = define_op(
    "RandomDatasetV2(seed: int64, seed2: int64, seed_generator: resource; rerandomize_each_iteration: bool = "
    "false, output_types: list(type) >= 1, output_shapes: list(shape) >= 1, metadata: string = \"\") -> "
    "(handle: variant)",
    {.doc = "As RandomDataset, with seeds of passes from `seed_generator`; where it is none, passes differ if "
            "`rerandomize_each_iteration`.",
     .cpp = "random_dataset_v2",
     .traits = {Trait::kSelfAllocating},
     .effects = {effects::reads(2)},
     .shape = dataset_shape,
     .no_gradient = "elements are made when they are asked for"});

const Op& kTFRecordDataset = define_op(
    "TFRecordDataset(filenames: string, compression_type: string, buffer_size: int64; metadata: string = "
    "\"\") -> (handle: variant)",
    {.doc = "The records of the files, one after the other: string scalars. `filenames`: a scalar or a vector. "
            "`compression_type`: \"\", \"ZLIB\" or \"GZIP\". `buffer_size` is a hint that nothing is made of.",
     .traits = {Trait::kSelfAllocating},
     .shape = vectors_shape,
     .no_gradient = "elements are made when they are asked for"});

const Op& kTFRecordDatasetV2 = define_op(
    "TFRecordDatasetV2(filenames: string, compression_type: string, buffer_size: int64, byte_offsets: int64; "
    "metadata: string = \"\") -> (handle: variant)",
    {.doc = "As TFRecordDataset, from byte `byte_offsets[i]` of file i on, where a record must begin; of none, where "
            "there are no offsets.",
     .cpp = "tf_record_dataset_v2",
     .traits = {Trait::kSelfAllocating},
     .shape = vectors_shape,
     .no_gradient = "elements are made when they are asked for"});

const Op& kTextLineDataset = define_op(
    "TextLineDataset(filenames: string, compression_type: string, buffer_size: int64; metadata: string = "
    "\"\") -> (handle: variant)",
    {.doc = "The lines of the files, one after the other, without their ends: string scalars. Arguments as "
            "TFRecordDataset's.",
     .traits = {Trait::kSelfAllocating},
     .shape = vectors_shape,
     .no_gradient = "elements are made when they are asked for"});

const Op& kFixedLengthRecordDataset = define_op(
    "FixedLengthRecordDataset(filenames: string, header_bytes: int64, record_bytes: int64, footer_bytes: "
    "int64, buffer_size: int64; metadata: string = \"\") -> (handle: variant)",
    {.doc = "The records of `record_bytes` bytes that are between `header_bytes` and `footer_bytes` of each file: "
            "string scalars. What is there must be whole records.",
     .traits = {Trait::kSelfAllocating},
     .shape = vectors_shape,
     .no_gradient = "elements are made when they are asked for"});

const Op& kFixedLengthRecordDatasetV2 = define_op(
    "FixedLengthRecordDatasetV2(filenames: string, header_bytes: int64, record_bytes: int64, footer_bytes: "
    "int64, buffer_size: int64, compression_type: string; metadata: string = \"\") -> (handle: variant)",
    {.doc = "As FixedLengthRecordDataset, of files that are compressed as TFRecordDataset's.",
     .cpp = "fixed_length_record_dataset_v2",
     .traits = {Trait::kSelfAllocating},
     .shape = vectors_shape,
     .no_gradient = "elements are made when they are asked for"});

const Op& kCSVDataset = define_op(
    "CSVDataset(filenames: string, compression_type: string, buffer_size: int64, header: bool, field_delim: "
    "string, use_quote_delim: bool, na_value: string, select_cols: int64, record_defaults: output_types; "
    "output_types: list(type) >= 1, output_shapes: list(shape) >= 1) -> (handle: variant)",
    {.doc = "The records of CSV files (RFC 4180): a scalar for each field, of the type of its `record_defaults`. A "
            "field that is empty or `na_value` is its default, and InvalidArgument where that has no element. "
            "`header`: the first record of each file is left out. `select_cols`: the columns that are taken, in "
            "ascending order; none: all. `compression_type` as TFRecordDataset's.",
     .aliases = {"ExperimentalCSVDataset"},
     .traits = {Trait::kSelfAllocating},
     .shape = csv_shape,
     .no_gradient = "elements are made when they are asked for"});

const Op& kCSVDatasetV2 = define_op(
    "CSVDatasetV2(filenames: string, compression_type: string, buffer_size: int64, header: bool, "
    "field_delim: string, use_quote_delim: bool, na_value: string, select_cols: int64, record_defaults: "
    "output_types, exclude_cols: int64; output_types: list(type) >= 1, output_shapes: list(shape) >= 1) -> "
    "(handle: variant)",
    {.doc = "As CSVDataset, of all columns but `exclude_cols`.",
     .cpp = "csv_dataset_v2",
     .traits = {Trait::kSelfAllocating},
     .shape = csv_shape,
     .no_gradient = "elements are made when they are asked for"});

const Op& kMatchingFilesDataset = define_op(
    "MatchingFilesDataset(patterns: string) -> (handle: variant)",
    {.doc = "The paths of files that fit a pattern of a shell (*, ?, [...]), in alphabetical order: string scalars. "
            "`patterns`: a scalar or a vector.",
     .aliases = {"ExperimentalMatchingFilesDataset"},
     .traits = {Trait::kSelfAllocating},
     .shape = vectors_shape,
     .no_gradient = "elements are made when they are asked for"});

}  // namespace panto
