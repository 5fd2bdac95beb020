// Ops on whole files and file names. A process that runs untrusted graphs can forbid them (lib/core/io/graph_files.h).
#include "panto/lib/core/call/call.h"
#include "panto/lib/ops/batching.h"

namespace panto {
namespace {

void scalars(ShapeContext& c) {
  for (int i = 0; i < c.num_inputs(); ++i) c.expect_scalar(i);
  for (int k = 0; k < c.num_outputs(); ++k) c.output(k, Shape{});
}

constexpr const char* kStrings = "strings are not differentiable";

}  // namespace

const Op& kReadFile = define_op("ReadFile(filename: string) -> (contents: string)",
                                {.doc = "All bytes of a file, which has at most 2 GiB. (In C++ `read_file` does it "
                                        "without an op.)",
                                 .cpp = "read_file_op",
                                 .effects = {effects::external()},
                                 .shape = scalars,
                                 .no_gradient = kStrings,
                                 .batch = batching::loop});

const Op& kWriteFile =
    define_op("WriteFile(filename: string, contents: string) -> ()",
              {.doc = "Makes a file hold these bytes, and the folders that it is in, where they are not there. Whoever "
                      "reads it sees the old bytes or the new ones. (In C++ `write_file` does it without an op.)",
               .cpp = "write_file_op",
               .effects = {effects::external()},
               .shape = scalars,
               .no_gradient = kStrings,
               .batch = batching::loop});

const Op& kMatchingFiles = define_op(
    "MatchingFiles(pattern: string) -> (filenames: string)",
    {.doc =
         "The names of files and folders that are there and match a pattern, or one of several, sorted: * stands for "
         "any characters but /, ? for one, [a-c] for one of these.",
     .traits = {Trait::kSelfAllocating},
     .effects = {effects::external()},
     .shape =
         [](ShapeContext& c) {
           if (c.rank(0) > 1) c.expect_rank(0, 1);
           c.output(0, PartialShape{kUnknownDim});
         },
     .no_gradient = kStrings,
     .batch = batching::loop});

const Op& kShardedFilename =
    define_op("ShardedFilename(basename: string, shard: int32, num_shards: int32) -> (filename: string)",
              {.doc = "The name of one of several files that are one together: basename-00001-of-00003.",
               .shape = scalars,
               .no_gradient = kStrings,
               .batch = batching::loop});

const Op& kShardedFilespec =
    define_op("ShardedFilespec(basename: string, num_shards: int32) -> (filename: string)",
              {.doc = "A pattern that the names of ShardedFilename match: with question marks for the shard.",
               .shape = scalars,
               .no_gradient = kStrings,
               .batch = batching::loop});

}  // namespace panto
