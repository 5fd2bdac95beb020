// Parts of tensors in checkpoints: a variable that is stored in several parts is restored as one tensor.
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
  Shape whole;                   // shape of the complete tensor
  std::vector<int64_t> starts;   // in each dimension
  std::vector<int64_t> lengths;  // -1: the complete dimension
  Shape shape() const;
};

// Parses TensorFlow's text: the dimensions, then for each dimension start and length, "4 2 0,2:-"; "-" is a complete
// dimension. Returns nullopt for empty text: the complete tensor. Throws InvalidArgument for malformed text and for
// parts outside of the tensor.
PANTO_EXPORT std::optional<TensorPart> parse_part(std::string_view text);
PANTO_EXPORT std::string part_text(const TensorPart& part);
// The part's elements of `whole`, which has shape part.whole.
PANTO_EXPORT Tensor cut_out(const Tensor& whole, const TensorPart& part);

struct CheckpointPart {
  std::string name;
  Tensor value;
  std::optional<TensorPart> part = std::nullopt;  // nullopt: the complete tensor
};
// As write_checkpoint. The parts of a tensor need not be complete: merge_checkpoints may add the others. Also throws
// InvalidArgument for a value whose shape is not its part's, for a part that is given twice, and for parts of one name
// that differ in dtype or in the shape of the complete tensor.
PANTO_EXPORT void write_checkpoint_parts(const std::string& prefix, std::span<const CheckpointPart> parts);
PANTO_EXPORT void write_checkpoint_parts(const std::string& prefix, std::initializer_list<CheckpointPart> parts);
// The same in the single file of the first version. Throws Unimplemented for the dtypes that it lacks: unsigned ones of
// more than 16 bits, bfloat16.
PANTO_EXPORT void write_first_version(const std::string& path, std::span<const CheckpointPart> parts);

struct MergeOptions {
  bool delete_old_folders = true;  // remove the folders of `prefixes` if they are empty then
  bool allow_missing = false;      // missing checkpoints are not an error, unless all are missing
};
// Merges several checkpoints into one, which takes over their data files; the checkpoints of `prefixes` are gone then.
// A tensor of which several have parts gets all their parts. Throws as CheckpointReader; InvalidArgument for a complete
// tensor that two have, or without `prefixes`.
PANTO_EXPORT void merge_checkpoints(std::span<const std::string> prefixes, const std::string& destination,
                                    const MergeOptions& options = {});

}  // namespace panto
