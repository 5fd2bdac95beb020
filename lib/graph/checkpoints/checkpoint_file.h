// TensorFlow's checkpoints: named tensors in files PREFIX.index and PREFIX.data-00000-of-00001, as tf.train.Checkpoint
// and tf.compat.v1.train.Saver write them.
//
//   write_checkpoint("run/model.ckpt-100", {{"dense/kernel", kernel}, {"dense/bias", bias}});
//
//   CheckpointReader reader("run/model.ckpt-100");
//   for (const CheckpointVariable& v : reader.variables()) std::cout << v.name << ' ' << v.shape << '\n';
//   Tensor kernel = reader.read("dense/kernel");          // reads no other values
//
// Supports all dtypes with values, strings included. Partitioned variables are read as one tensor. Some checkpoints are
// read but never written: those with several data files, those of TensorFlow 1's first version (one file PREFIX), those
// compressed by Snappy, and those of machines with the other byte order.
//
// Object-based checkpoints (tf.train.Checkpoint(model=model).write(prefix)) name a value by the path to its object,
// "model/layer-0/kernel/.ATTRIBUTES/VARIABLE_VALUE". Here it is also found without that suffix, and by the name of the
// variable ("dense/kernel") if that is unique.
//
// For any file content, reading returns a tensor or throws an Error that names the file: sizes are compared with
// shapes, with each other and with the files before memory is taken, and every checksum is verified. Writing is atomic,
// also over an older checkpoint of the same name, which stays until the new one is on disk.
// Thread-safety: plain functions; a CheckpointReader may be used by several threads at once.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/lib/core/io/npy.h"
#include "panto/lib/core/tensor/tensor.h"

namespace panto {

struct TensorPart;

struct CheckpointVariable {
  std::string name;
  DType dtype = DType::kInvalid;  // kInvalid: a dtype that this library lacks (quantized, float8)
  Shape shape;
  std::string dtype_text;  // "float32"; for a dtype that this library lacks TensorFlow's name, "qint8"
  int64_t slices = 0;      // number of parts that it is stored in; 0: not partitioned
};

class PANTO_EXPORT CheckpointReader {
 public:
  // `prefix`: the prefix, or the name of the .index file. Throws NotFound if neither PREFIX.index nor PREFIX is a file,
  // PermissionDenied; DataLoss for truncated and damaged files; Unimplemented for newer versions.
  explicit CheckpointReader(const std::string& prefix);
  ~CheckpointReader();
  CheckpointReader(CheckpointReader&&) noexcept;
  CheckpointReader& operator=(CheckpointReader&&) noexcept;

  const std::string& prefix() const noexcept;
  // Sorted by name.
  std::span<const CheckpointVariable> variables() const noexcept;
  // Finds a variable by its name, or in an object-based checkpoint by the other names described above. Null if there is
  // none. Throws InvalidArgument for a name that several variables have.
  const CheckpointVariable* find(std::string_view name) const;
  // True for object-based checkpoints.
  bool has_object_graph() const noexcept;
  // The variable's value, in host memory. Throws NotFound if there is no variable of that name, DataLoss for damaged
  // data, Unimplemented for dtypes that this library lacks.
  Tensor read(std::string_view name) const;
  // A part of the value (panto/lib/graph/checkpoints/tensor_part.h). If the checkpoint stores exactly that part, only
  // that part is read. Also throws InvalidArgument if the tensor's shape is not part.whole.
  Tensor read(std::string_view name, const TensorPart& part) const;

 private:
  Tensor read(std::string_view name, const TensorPart* part) const;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// All values or variables, sorted by name. Throw as CheckpointReader.
PANTO_EXPORT std::vector<NamedTensor> read_checkpoint(const std::string& prefix);
PANTO_EXPORT std::vector<CheckpointVariable> list_variables(const std::string& prefix);

struct CheckpointOptions {
  // Makes an object-based checkpoint, which tf.train.Checkpoint restores. A name is then the path from the saved object
  // to the variable: "model/dense/kernel" for model.dense.kernel of tf.train.Checkpoint(model=model).
  bool object_graph = false;
};

// Writes the files PREFIX.data-00000-of-00001 and PREFIX.index. (Over an older checkpoint of the same name the data
// file may be ...-of-00002, with an empty second one: old and new data then exist side by side until the new index
// replaces the old one. A reader that opened the old index before may find its data gone.)
// Throw InvalidArgument for a name that is empty, begins with a zero byte or is given twice; FailedPrecondition for a
// symbolic tensor; Unimplemented for resources and variants; and as write_file.
PANTO_EXPORT void write_checkpoint(const std::string& prefix, std::span<const NamedTensor> tensors,
                                   const CheckpointOptions& options);
PANTO_EXPORT void write_checkpoint(const std::string& prefix, std::span<const NamedTensor> tensors);
PANTO_EXPORT void write_checkpoint(const std::string& prefix, std::initializer_list<NamedTensor> tensors,
                                   const CheckpointOptions& options);
PANTO_EXPORT void write_checkpoint(const std::string& prefix, std::initializer_list<NamedTensor> tensors);

// True if PREFIX.index is a file, or if PREFIX is a file in the table format (a checkpoint of the first version).
// Throws PermissionDenied ... if PREFIX is a file that cannot be read.
PANTO_EXPORT bool checkpoint_exists(const std::string& prefix);
// Removes the files of a checkpoint, the index first; does not remove the single file of the first version. Missing
// files are not an error. Throws PermissionDenied ...
PANTO_EXPORT void remove_checkpoint(const std::string& prefix);
// True if the file name looks like a checkpoint's: "model.ckpt", "model.ckpt-100", "ckpt-5".
PANTO_EXPORT bool is_checkpoint_name(std::string_view path);
// The step number at the end of the name: 100 for "run/model.ckpt-100"; -1 if there is none.
PANTO_EXPORT int64_t checkpoint_step(std::string_view prefix);

}  // namespace panto
