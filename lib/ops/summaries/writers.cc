// Summary writers: event files to which a graph's steps write.
#include "panto/lib/core/call/call.h"
#include "panto/ops/summaries.h"

namespace panto {
namespace {

constexpr const char* kNothing = "it has no outputs";

// All inputs except `values` must be scalars.
void scalars_but(ShapeContext& c, int values) {
  for (int i = 0; i < c.num_inputs(); ++i) {
    if (i != values) c.expect_scalar(i);
  }
}
void all_scalars(ShapeContext& c) { scalars_but(c, -1); }
void third_is_any(ShapeContext& c) { scalars_but(c, 2); }
void fourth_is_any(ShapeContext& c) { scalars_but(c, 3); }

}  // namespace

const Op& kSummaryWriter = define_op(
    "SummaryWriter(; shared_name: string = \"\", container: string = \"\") -> (writer: resource)",
    {.doc = "A handle to the writer `shared_name` (or, without one, of the node's name) in `container`, which is made "
            "if there is none, and writes nothing until CreateSummaryFileWriter says where.",
     .cpp = "summary_writer_resource",
     .traits = {Trait::kSelfAllocating},
     .effects = {effects::allocates(0)},
     .shape = shapes::scalar,
     .no_gradient = "it has no inputs"});

const Op& kCreateSummaryFileWriter = define_op(
    "CreateSummaryFileWriter(writer: resource, logdir: string, max_queue: int32, flush_millis: int32,"
    " filename_suffix: string) -> ()",
    {.doc = "Makes the writer write an event file in `logdir`. What waits is written once there are more than "
            "`max_queue` values, or after `flush_millis`. A writer that writes already goes on.",
     .effects = {effects::updates(0), effects::external()},
     .shape = all_scalars,
     .no_gradient = kNothing});

const Op& kFlushSummaryWriter = define_op(  //
    "FlushSummaryWriter(writer: resource) -> ()",
    {.doc = "What was written before is on the disk. Nothing, if the writer has no file.",
     .effects = {effects::updates(0), effects::external()},
     .shape = all_scalars,
     .no_gradient = kNothing});

const Op& kCloseSummaryWriter = define_op(  //
    "CloseSummaryWriter(writer: resource) -> ()",
    {.doc = "FlushSummaryWriter, and the end of the file. CreateSummaryFileWriter may give the writer another one.",
     .effects = {effects::updates(0), effects::external()},
     .shape = all_scalars,
     .no_gradient = kNothing});

const Op& kWriteSummary = define_op(
    "WriteSummary(writer: resource, step: int64, tensor: T, tag: string, summary_metadata: string; T: type) -> ()",
    {.doc = "Writes a tensor under a tag, with these bytes of a SummaryMetadata, which say who shows it. As all that "
            "write: FailedPrecondition if the writer has no file.",
     .effects = {effects::updates(0), effects::external()},
     .shape = third_is_any,
     .no_gradient = kNothing});

const Op& kWriteScalarSummary =
    define_op("WriteScalarSummary(writer: resource, step: int64, tag: string, value: T; T: real) -> ()",
              {.doc = "Writes a number under a tag.",
               .effects = {effects::updates(0), effects::external()},
               .shape = all_scalars,
               .no_gradient = kNothing});

const Op& kWriteHistogramSummary = define_op(
    "WriteHistogramSummary(writer: resource, step: int64, tag: string, values: T; T: real|bool = float32) -> ()",
    {.doc = "Writes what HistogramSummary makes.",
     .effects = {effects::updates(0), effects::external()},
     .shape = fourth_is_any,
     .no_gradient = kNothing});

const Op& kWriteImageSummary = define_op(
    "WriteImageSummary(writer: resource, step: int64, tag: string, tensor: T, bad_color: uint8; max_images: int >= 1 = "
    "3, T: uint8|float16|float32|float64 = float32) -> ()",
    {.doc = "Writes what ImageSummary makes.",
     .effects = {effects::updates(0), effects::external()},
     .shape =
         [](ShapeContext& c) {
           for (const int i : {0, 1, 2}) c.expect_scalar(i);
           c.expect_rank(3, 4);
           c.expect_rank(4, 1);
         },
     .no_gradient = kNothing});

const Op& kWriteAudioSummary = define_op(
    "WriteAudioSummary(writer: resource, step: int64, tag: string, tensor: float32, sample_rate: float32;"
    " max_outputs: int >= 1 = 3) -> ()",
    {.doc = "Writes what AudioSummaryV2 makes.",
     .effects = {effects::updates(0), effects::external()},
     .shape = fourth_is_any,
     .no_gradient = kNothing});

const Op& kWriteRawProtoSummary = define_op("WriteRawProtoSummary(writer: resource, step: int64, tensor: string) -> ()",
                                            {.doc = "Writes the values of the Summaries whose bytes these are.",
                                             .effects = {effects::updates(0), effects::external()},
                                             .shape = third_is_any,
                                             .no_gradient = kNothing});

const Op& kWriteGraphSummary = define_op("WriteGraphSummary(writer: resource, step: int64, tensor: string) -> ()",
                                         {.doc = "Writes the bytes of a GraphDef, for TensorBoard's picture of it.",
                                          .effects = {effects::updates(0), effects::external()},
                                          .shape = all_scalars,
                                          .no_gradient = kNothing});

const Op& kImportEvent = define_op(  //
    "ImportEvent(writer: resource, event: string) -> ()",
    {.doc = "Writes the Event whose bytes these are, with its own time and step.",
     .effects = {effects::updates(0), effects::external()},
     .shape = all_scalars,
     .no_gradient = kNothing});

}  // namespace panto
