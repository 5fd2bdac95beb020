// Parts of tensors in checkpoints: how a variable in several parts is one tensor to whoever restores it.
//
//   write_checkpoint_parts("run/model.ckpt-1", {{"table", top, parse_part("4 2 0,2:-")},
//                                               {"table", bottom, parse_part("4 2 2,2:-")}});
//   Tensor rows = CheckpointReader("run/model.ckpt-1").read("table", *parse_part("4 2 1,2:-"));
//
// Thread-safety: plain functions.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/lib/core/tensor/tensor.h"

namespace panto {

struct TensorPart {
  Shape whole;                   // of the tensor that it is a part of
  std::vector<int64_t> starts;   // in each dimension
  std::vector<int64_t> lengths;  // -1: the dimension as a whole
  Shape shape() const;
};

// Of TensorFlow's text: the dimensions, then for each of them its start and length, "4 2 0,2:-"; "-" is a whole one.
// Nullopt for no text: the tensor as a whole. Throws InvalidArgument for other text and parts that are not inside.
PANTO_EXPORT std::optional<TensorPart> parse_part(std::string_view text);
PANTO_EXPORT std::string part_text(const TensorPart& part);
// The elements of `whole`, of shape part.whole.
PANTO_EXPORT Tensor cut_out(const Tensor& whole, const TensorPart& part);

struct CheckpointPart {
  std::string name;
  Tensor value;
  std::optional<TensorPart> part = std::nullopt;  // none: all of the tensor
};
// As write_checkpoint. Parts of one tensor need not be all that there are: merge_checkpoints may bring the others.
// Throws InvalidArgument too for a value of another shape than its part's, a part that is there twice, and parts of one
// name that differ in dtype or in the shape of the whole.
PANTO_EXPORT void write_checkpoint_parts(const std::string& prefix, std::span<const CheckpointPart> parts);
PANTO_EXPORT void write_checkpoint_parts(const std::string& prefix, std::initializer_list<CheckpointPart> parts);
// The same in the one file of the first version. Throws Unimplemented for the dtypes that it lacks: unsigned ones of
// more than 16 bits, bfloat16.
PANTO_EXPORT void write_first_version(const std::string& path, std::span<const CheckpointPart> parts);

struct MergeOptions {
  bool delete_old_folders = true;  // those of `prefixes`, where nothing else is in them
  bool allow_missing = false;      // checkpoints that are not there are no error, unless none is
};
// Makes one checkpoint of several, whose files of data become its own; what `prefixes` named is gone then. A tensor of
// which each has parts has those of all. Throws as CheckpointReader, InvalidArgument for a tensor that two have, or
// without `prefixes`.
PANTO_EXPORT void merge_checkpoints(std::span<const std::string> prefixes, const std::string& destination,
                                    const MergeOptions& options = {});

}  // namespace panto
