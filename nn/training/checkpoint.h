// Values of variables in files: of a model, an optimizer, or any others.
//
//   model.save("best.safetensors");               // Layer's own functions
//   model.load("best.safetensors");
//   save_variables("adam.npz", adam.slots());
//   save_variables("run.npz", {{"step", step}, {"temperature", t}});
//
// Names in files are the same in every process: what a variable was called before the process made its name unique
// ("dense/kernel" also where it is "dense/kernel_1" to a graph). Where a model has several of one name, the later ones
// get numbers by their position: "dense/kernel", "dense/bias", "dense_1/kernel", "dense_1/bias". A variable that occurs
// several times is there once.
//
// Files are .npz or .safetensors, by their names' ends (panto/lib/core/io/tensor_files.h), or TensorFlow's checkpoints
// where the name is one of those, "run/model.ckpt" or "run/model.ckpt-100"
// (panto/lib/graph/checkpoints/checkpoint_file.h); loaded is any checkpoint that is there. Files are written whole or
// not at all, and loaded whole or not at all: everything is compared before a variable changes. Thread-safety: as that
// of the variables; each is read and assigned by itself, while others may be in use.
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

// Throws FailedPrecondition for a default-constructed or symbolic variable (one made in a GraphScope).
PANTO_EXPORT std::vector<NamedVariable> named_variables(const std::vector<Variable>& variables);
// Of several lists, in each of which numbers begin anew: the second BatchNorm's "batch_norm_1/scale" in the first and
// its "batch_norm_1/running_mean" in the second.
PANTO_EXPORT std::vector<NamedVariable> named_variables(std::span<const std::vector<Variable>> lists);

// Their values now, which later assignments do not change. Throws FailedPrecondition inside a trace and for a
// variable without a value.
PANTO_EXPORT std::vector<NamedTensor> variable_values(const std::vector<NamedVariable>& variables);

// Throw InvalidArgument for a path that ends otherwise and for names given twice, FailedPrecondition inside a trace
// (which would not do it again) and for a variable without a value, and as write_npz, write_safetensors and
// write_checkpoint.
PANTO_EXPORT void save_variables(const std::string& path, const std::vector<NamedVariable>& variables);
PANTO_EXPORT void save_variables(const std::string& path, const std::vector<Variable>& variables);
// Throw InvalidArgument, and change nothing, where the file lacks one of the variables, has a value that is none of
// theirs, or one of another shape or dtype; FailedPrecondition inside a trace; and as read_npz, read_safetensors and
// CheckpointReader. A checkpoint may have values of others too, an optimizer's beside a model's: those are left alone.
PANTO_EXPORT void load_variables(const std::string& path, const std::vector<NamedVariable>& variables);
PANTO_EXPORT void load_variables(const std::string& path, const std::vector<Variable>& variables);

}  // namespace panto
