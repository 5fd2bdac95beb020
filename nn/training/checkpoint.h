// Saves and loads the values of variables: of a model, an optimizer, or any others.
//
//   model.save("best.safetensors");               // Layer's own functions
//   model.load("best.safetensors");
//   save_variables("adam.npz", adam.slots());
//   save_variables("run.npz", {{"step", step}, {"temperature", t}});
//
// Names in files are the same in every process: the name that a variable was given, before the process made it unique
// ("dense/kernel" also for the variable that a graph calls "dense/kernel_1"). If several have the same name, later ones
// get numbers by position: "dense/kernel", "dense/bias", "dense_1/kernel", "dense_1/bias". A variable that occurs
// several times is stored once.
//
// The path's end chooses the format: .npz or .safetensors (panto/lib/core/io/tensor_files.h), or TensorFlow's
// checkpoints for names such as "run/model.ckpt" or "run/model.ckpt-100"
// (panto/lib/graph/checkpoints/checkpoint_file.h); any existing checkpoint can be loaded. Files are written whole or
// not at all, and loaded whole or not at all: everything is checked before a variable changes. Thread-safety: as that
// of the variables; each is read and assigned separately, while others may be in use.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/lib/core/io/npy.h"
#include "panto/lib/core/tensor/variable.h"

namespace panto {

using NamedVariable = std::pair<std::string, Variable>;

// Names variables for files. Throws FailedPrecondition for a default-constructed or symbolic variable (one made in a
// GraphScope).
PANTO_EXPORT std::vector<NamedVariable> named_variables(const std::vector<Variable>& variables);
// Names several lists; numbers begin anew in each list: the second BatchNorm's "batch_norm_1/scale" in the first and
// its "batch_norm_1/running_mean" in the second.
PANTO_EXPORT std::vector<NamedVariable> named_variables(std::span<const std::vector<Variable>> lists);

// The current values; later assignments do not change the result. Throws FailedPrecondition inside a trace and for a
// variable without a value.
PANTO_EXPORT std::vector<NamedTensor> variable_values(const std::vector<NamedVariable>& variables);

// Throw InvalidArgument for another path's end and for duplicate names, FailedPrecondition inside a trace (whose
// function would not repeat the save) and for a variable without a value, and as write_npz, write_safetensors and
// write_checkpoint.
PANTO_EXPORT void save_variables(const std::string& path, const std::vector<NamedVariable>& variables);
PANTO_EXPORT void save_variables(const std::string& path, const std::vector<Variable>& variables);
// Throw InvalidArgument, and change nothing, if the file lacks one of the variables, has a value for none of them, or
// one of another shape or dtype; FailedPrecondition inside a trace; and as read_npz, read_safetensors and
// CheckpointReader. A checkpoint may also have other values, such as an optimizer's beside a model's: those are
// ignored.
PANTO_EXPORT void load_variables(const std::string& path, const std::vector<NamedVariable>& variables);
PANTO_EXPORT void load_variables(const std::string& path, const std::vector<Variable>& variables);

}  // namespace panto
