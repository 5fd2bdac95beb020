// Ops that write and read TensorFlow's checkpoints (lib/graph/checkpoints), as in graphs of its Savers.
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/call.h"
#include "panto/lib/ops/batching.h"

namespace panto {
namespace {

// Inputs 1 and, if `parts`, 2 are vectors with one string per tensor; the tensors follow.
void save_shape(ShapeContext& c, bool parts) {
  c.expect_scalar(0);
  const auto [first, last] = c.list(parts ? 3 : 2);
  for (int i = 1; i < first; ++i)
    c.expect_equal(last - first, c.vector(i), i == 1 ? "number of names" : "number of parts");
}

// The shape of a restored tensor is not known.
void restore_shape(ShapeContext& c, int scalars) {
  for (int i = 0; i < scalars; ++i) c.expect_scalar(i);
  c.output(0, {});
}

constexpr const char* kNoGradient = "what comes from files does not depend on anything";
constexpr const char* kNoOutputs = "it has no outputs";

}  // namespace

const Op& kSaveV2 = define_op(
    "SaveV2(prefix: string, tensor_names: string, shape_and_slices: string, tensors: dtypes; dtypes: list(type) >= 1) "
    "-> ()",
    {.doc =
         "Writes tensors to a checkpoint, the files `prefix`.index and `prefix`.data-00000-of-00001, in folders that "
         "are made where they are not there. A string of `shape_and_slices` that is not empty says that a tensor is "
         "a part of a larger one: \"4 2 0,2:-\" is rows 0 and 1 of one of shape [4, 2]. Several parts then have one "
         "name.",
     .cpp = "save_v2",
     .effects = {effects::external()},
     .shape = [](ShapeContext& c) { save_shape(c, true); },
     .no_gradient = kNoOutputs,
     .batch = batching::loop});

const Op& kSave =
    define_op("Save(filename: string, tensor_names: string, data: T; T: list(type) >= 1) -> ()",
              {.doc = "SaveV2 of whole tensors in TensorFlow 1's first version of checkpoints, which is one file.",
               .cpp = "save_v1",
               .effects = {effects::external()},
               .shape = [](ShapeContext& c) { save_shape(c, false); },
               .no_gradient = kNoOutputs,
               .batch = batching::loop});

const Op& kSaveSlices = define_op(
    "SaveSlices(filename: string, tensor_names: string, shapes_and_slices: string, data: T; T: list(type) >= 1) -> ()",
    {.doc = "SaveV2 in TensorFlow 1's first version of checkpoints, which is one file.",
     .cpp = "save_slices_v1",
     .effects = {effects::external()},
     .shape = [](ShapeContext& c) { save_shape(c, true); },
     .no_gradient = kNoOutputs,
     .batch = batching::loop});

const Op& kRestoreV2 = define_op(
    "RestoreV2(prefix: string, tensor_names: string, shape_and_slices: string; dtypes: list(type) >= 1) -> (tensors: "
    "dtypes)",
    {.doc =
         "Tensors of a checkpoint by their names, or parts of them, as SaveV2 names those. A checkpoint of the first "
         "version will do, and a pattern that matches the names of several such files. One that has another type "
         "is an error.",
     .cpp = "restore_v2",
     .traits = {Trait::kSelfAllocating},
     .effects = {effects::external()},
     .shape =
         [](ShapeContext& c) {
           c.expect_scalar(0);
           for (int i = 1; i < 3; ++i)
             c.expect_equal(c.num_outputs(), c.vector(i), i == 1 ? "number of names" : "number of parts");
           for (int k = 0; k < c.num_outputs(); ++k) c.output(k, {});
         },
     .no_gradient = kNoGradient,
     .batch = batching::loop});

const Op& kRestore =
    define_op("Restore(file_pattern: string, tensor_name: string; dt: type, preferred_shard: int = -1) -> (tensor: dt)",
              {.doc = "RestoreV2 of one whole tensor.",
               .cpp = "restore_v1",
               .traits = {Trait::kSelfAllocating},
               .effects = {effects::external()},
               .shape = [](ShapeContext& c) { restore_shape(c, 2); },
               .no_gradient = kNoGradient,
               .types_reason = "handles and variants have no values to read",
               .batch = batching::loop});

const Op& kRestoreSlice = define_op(
    "RestoreSlice(file_pattern: string, tensor_name: string, shape_and_slice: string; dt: type, preferred_shard: int = "
    "-1) -> (tensor: dt)",
    {.doc = "RestoreV2 of one tensor or a part of it.",
     .cpp = "restore_slice_v1",
     .traits = {Trait::kSelfAllocating},
     .effects = {effects::external()},
     .shape = [](ShapeContext& c) { restore_shape(c, 3); },
     .no_gradient = kNoGradient,
     .types_reason = "handles and variants have no values to read",
     .batch = batching::loop});

const Op& kMergeV2Checkpoints = define_op(
    "MergeV2Checkpoints(checkpoint_prefixes: string, destination_prefix: string; delete_old_dirs: bool = true, "
    "allow_missing_files: bool = false) -> ()",
    {.doc = "Makes one checkpoint of several, whose files become its own. `delete_old_dirs`: folders that are empty "
            "then are removed. `allow_missing_files`: only one of those named must be there.",
     .cpp = "merge_v2_checkpoints",
     .effects = {effects::external()},
     .shape =
         [](ShapeContext& c) {
           c.vector(0);
           c.expect_scalar(1);
         },
     .no_gradient = kNoOutputs,
     .batch = batching::loop});

}  // namespace panto
