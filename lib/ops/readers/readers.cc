// Readers: read records of files whose names come from a queue.

#include "panto/ops/readers.h"
#include "panto/lib/core/call/call.h"

namespace panto {
namespace {

void one_scalar(ShapeContext& c) {
  c.expect_scalar(0);
  shapes::scalar(c);
}

void reset_shape(ShapeContext& c) { c.expect_scalar(0); }

}  // namespace

const Op& kWholeFileReaderV2 = define_op(
    "WholeFileReaderV2(; container: string = \"\", shared_name: string = \"\") -> (reader_handle: resource)",
    {.doc = "A handle to the reader `shared_name` (or, without one, of the node's name) in `container`, which is made "
            "if there is none. Its records are whole files: the key is the file's name, the value all its bytes.",
     .cpp = "whole_file_reader",
     .traits = {Trait::kSelfAllocating},
     .effects = {effects::allocates(0)},
     .shape = shapes::scalar,
     .no_gradient = "it has no inputs"});

const Op& kTextLineReaderV2 = define_op(
    "TextLineReaderV2(; skip_header_lines: int = 0, container: string = \"\", shared_name: string = \"\") -> "
    "(reader_handle: resource)",
    {.doc = "A reader as WholeFileReaderV2 makes it, whose records are the lines of files, but for the first "
            "`skip_header_lines` of each. A line's key is its file's name, a colon and its number, counted from 1.",
     .cpp = "text_line_reader",
     .traits = {Trait::kSelfAllocating},
     .effects = {effects::allocates(0)},
     .shape = shapes::scalar,
     .no_gradient = "it has no inputs"});

const Op& kFixedLengthRecordReaderV2 = define_op(
    "FixedLengthRecordReaderV2(; header_bytes: int = 0, record_bytes: int, footer_bytes: int = 0, hop_bytes: int = 0, "
    "container: string = \"\", shared_name: string = \"\", encoding: string = \"\") -> (reader_handle: resource)",
    {.doc = "A reader as WholeFileReaderV2 makes it, whose records are `record_bytes` bytes each, the first behind "
            "`header_bytes`, every other `hop_bytes` (0: `record_bytes`) behind the one before, as long as "
            "`footer_bytes` are left behind it. A record's key is its file's name, a colon and its number, counted "
            "from 0. `encoding`: \"ZLIB\" or \"GZIP\" for files that are compressed.",
     .cpp = "fixed_length_record_reader",
     .traits = {Trait::kSelfAllocating},
     .effects = {effects::allocates(0)},
     .shape = shapes::scalar,
     .no_gradient = "it has no inputs"});

const Op& kTFRecordReaderV2 = define_op(
    "TFRecordReaderV2(; container: string = \"\", shared_name: string = \"\", compression_type: string = \"\") -> "
    "(reader_handle: resource)",
    {.doc = "A reader as WholeFileReaderV2 makes it, of TFRecord files (lib/core/io/record_file.h). A record's key is "
            "its file's name, a colon and the place where it begins. `compression_type`: \"ZLIB\" or \"GZIP\" for "
            "files that are compressed.",
     .cpp = "tf_record_reader",
     .traits = {Trait::kSelfAllocating},
     .effects = {effects::allocates(0)},
     .shape = shapes::scalar,
     .no_gradient = "it has no inputs"});

const Op& kIdentityReaderV2 = define_op(
    "IdentityReaderV2(; container: string = \"\", shared_name: string = \"\") -> (reader_handle: resource)",
    {.doc = "A reader as WholeFileReaderV2 makes it that opens nothing: keys and values are what comes out of the "
            "queue.",
     .cpp = "identity_reader",
     .traits = {Trait::kSelfAllocating},
     .effects = {effects::allocates(0)},
     .shape = shapes::scalar,
     .no_gradient = "it has no inputs"});

const Op& kReaderReadV2 = define_op(
    "ReaderReadV2(reader_handle: resource, queue_handle: resource) -> (key: string, value: string)",
    {.doc = "The reader's next record. Where it is done with a file, it takes the next one's name out of the queue, "
            "whose elements are single strings: waits until there is one. OutOfRange if the queue is closed and has "
            "none.",
     .cpp = "reader_read",
     .traits = {Trait::kSelfAllocating},
     .effects = {effects::updates(0), effects::updates(1), effects::external()},
     .shape =
         [](ShapeContext& c) {
           c.expect_scalar(0);
           c.expect_scalar(1);
           c.output(0, Shape{});
           c.output(1, Shape{});
         },
     .no_gradient = "strings have none"});

const Op& kReaderReadUpToV2 = define_op(
    "ReaderReadUpToV2(reader_handle: resource, queue_handle: resource, num_records: int64) -> (keys: string, values: "
    "string)",
    {.doc = "The reader's next records, as ReaderReadV2 reads them: up to `num_records` of one file, and one at least.",
     .cpp = "reader_read_up_to",
     .traits = {Trait::kSelfAllocating},
     .effects = {effects::updates(0), effects::updates(1), effects::external()},
     .shape =
         [](ShapeContext& c) {
           for (int i = 0; i < 3; ++i) c.expect_scalar(i);
           c.output(0, PartialShape{-1});
           c.output(1, PartialShape{-1});
         },
     .no_gradient = "strings have none"});

const Op& kReaderNumRecordsProducedV2 =
    define_op("ReaderNumRecordsProducedV2(reader_handle: resource) -> (records_produced: int64)",
              {.doc = "How many records the reader has given.",
               .cpp = "reader_num_records_produced",
               .effects = {effects::reads(0)},
               .shape = one_scalar,
               .no_gradient = "integers have none"});

const Op& kReaderNumWorkUnitsCompletedV2 =
    define_op("ReaderNumWorkUnitsCompletedV2(reader_handle: resource) -> (units_completed: int64)",
              {.doc = "How many files the reader is done with.",
               .cpp = "reader_num_work_units_completed",
               .effects = {effects::reads(0)},
               .shape = one_scalar,
               .no_gradient = "integers have none"});

const Op& kReaderSerializeStateV2 = define_op(
    "ReaderSerializeStateV2(reader_handle: resource) -> (state: string)",
    {.doc = "How far the reader is, for ReaderRestoreStateV2: TensorFlow's ReaderBaseState. Unimplemented for "
            "readers that may be in the middle of a file.",
     .cpp = "reader_serialize_state",
     .effects = {effects::reads(0)},
     .shape = one_scalar,
     .no_gradient = "strings have none"});

const Op& kReaderRestoreStateV2 = define_op(
    "ReaderRestoreStateV2(reader_handle: resource, state: string) -> ()",
    {.doc = "Makes the reader be where one was whose state was saved. A state that is none leaves it as ReaderResetV2 "
            "does.",
     .cpp = "reader_restore_state",
     .effects = {effects::updates(0)},
     .shape =
         [](ShapeContext& c) {
           c.expect_scalar(0);
           c.expect_scalar(1);
         },
     .no_gradient = "it has no outputs"});

const Op& kReaderResetV2 = define_op(  //
    "ReaderResetV2(reader_handle: resource) -> ()",
    {.doc = "Makes the reader be as it was at first. The rest of a file that it was in is not read.",
     .cpp = "reader_reset",
     .effects = {effects::updates(0)},
     .shape = reset_shape,
     .no_gradient = "it has no outputs"});

const Op& kImmutableConst = define_op(
    "ImmutableConst(; dtype: type, shape: shape, memory_region_name: string) -> (tensor: dtype)",
    {.doc = "The numbers with which the file `memory_region_name` begins, as this machine's memory holds them. "
            "DataLoss where it has fewer.",
     .traits = {Trait::kSelfAllocating},
     .effects = {effects::external()},
     .shape =
         [](ShapeContext& c) {
           if (!c.shape_attr("shape").fully_known()) {
             c.invalid("shape: expected a known one, got " + c.shape_attr("shape").to_string());
           }
           c.output(c.shape_attr("shape"));
         },
     .no_gradient = "it has no inputs",
     .types_reason = "strings, handles and variants are no numbers"});

}  // namespace panto
