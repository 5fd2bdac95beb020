// Values of a checkpoint for variables, all of which must be there and fit. Internal.
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
  std::optional<TensorPart> part = std::nullopt;  // of the tensor of that name; none: all of it
};

// Throws FailedPrecondition inside a trace, whose function would not do it again.
void expect_no_trace(std::string_view what);

// The value of that name in a file of any kind that load_variables takes; none where it has none. Throws as that.
std::optional<Tensor> value_in_file(const std::string& path, const std::string& name);

// In the order of what is wanted. None is read before it is known that all fit. Throws InvalidArgument for one that is
// not there, has another shape or dtype or is wanted twice as a whole, and as CheckpointReader.
std::vector<Tensor> matching_values(const CheckpointReader& reader, std::span<const WantedValue> wanted);

// load_variables of a checkpoint, in which variables may be parts of tensors: one of `parts` for each, or none.
void load_checkpoint(const std::string& prefix, const std::vector<NamedVariable>& variables,
                     std::span<const std::optional<TensorPart>> parts);

}  // namespace panto
