// Finds values in a checkpoint for variables; all must exist and fit. Internal.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "panto/lib/core/tensor/tensor.h"
#include "panto/lib/graph/checkpoints/checkpoint_file.h"
#include "panto/lib/graph/checkpoints/tensor_part.h"
#include "panto/nn/training/checkpoint.h"

namespace panto {

struct WantedValue {
  std::string name;
  DType dtype;
  PartialShape shape;
  std::optional<TensorPart> part = std::nullopt;  // a part of the tensor of that name; none: all of it
};

// Throws FailedPrecondition inside a trace, whose function would not repeat the action.
void expect_no_trace(std::string_view what);

// The value of that name in any file that load_variables takes; none if the file lacks it. Throws as load_variables.
std::optional<Tensor> value_in_file(const std::string& path, const std::string& name);

// Reads the wanted values, in order, after checking that all fit. Throws InvalidArgument if one is missing, has another
// shape or dtype or is wanted twice as a whole, and as CheckpointReader.
std::vector<Tensor> matching_values(const CheckpointReader& reader, std::span<const WantedValue> wanted);

// load_variables for a checkpoint. Variables may be parts of tensors: `parts` has one entry for each, or none.
void load_checkpoint(const std::string& prefix, const std::vector<NamedVariable>& variables,
                     std::span<const std::optional<TensorPart>> parts);

}  // namespace panto
