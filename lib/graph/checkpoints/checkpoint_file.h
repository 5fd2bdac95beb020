// TensorFlow's checkpoints: named tensors in files PREFIX.index and PREFIX.data-00000-of-00001, as tf.train.Checkpoint
// and tf.compat.v1.train.Saver write them.
//
//   write_checkpoint("run/model.ckpt-100", {{"dense/kernel", kernel}, {"dense/bias", bias}});
//
//   CheckpointReader reader("run/model.ckpt-100");
//   for (const CheckpointVariable& v : reader.variables()) std::cout << v.name << ' ' << v.shape << '\n';
//   Tensor kernel = reader.read("dense/kernel");          // reads no other values
//
// All dtypes with values, strings included. Variables that were partitioned are read whole. Read, not written, are
// checkpoints of several files of data, of TensorFlow 1's first version (one file PREFIX), compressed by Snappy, and of
// machines with the other order of bytes.
//
// Object-based checkpoints (tf.train.Checkpoint(model=model).write(prefix)) name values by the way to their objects,
// "model/layer-0/kernel/.ATTRIBUTES/VARIABLE_VALUE". Here those are found without that ending too, and by the name of
// the variable ("dense/kernel") where no other has that name.
//
// Whatever the files hold, reading ends in a tensor or an Error that names the file: sizes are compared with shapes,
// with each other and with the files before memory is taken, and every checksum is verified. What is written appears as
// a whole or not at all, also over an older checkpoint of that name, which remains until the new one is on the disk.
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
  DType dtype = DType::kInvalid;  // kInvalid: one that this library lacks (quantized, float8)
  Shape shape;
  std::string dtype_text;  // "float32"; of a dtype that this library lacks TensorFlow's name, "qint8"
  int64_t slices = 0;      // how many parts it is stored in; 0: it is not partitioned
};

class PANTO_EXPORT CheckpointReader {
 public:
  // The prefix, or the name of the .index file. Throws NotFound where neither PREFIX.index nor PREFIX is a file,
  // PermissionDenied; DataLoss for truncated and damaged files; Unimplemented for newer versions.
  explicit CheckpointReader(const std::string& prefix);
  ~CheckpointReader();
  CheckpointReader(CheckpointReader&&) noexcept;
  CheckpointReader& operator=(CheckpointReader&&) noexcept;

  const std::string& prefix() const noexcept;
  // Sorted by name.
  std::span<const CheckpointVariable> variables() const noexcept;
  // By its name; of an object-based checkpoint also as said above. Null if there is none. Throws InvalidArgument for a
  // name that several have.
  const CheckpointVariable* find(std::string_view name) const;
  // True for object-based checkpoints.
  bool has_object_graph() const noexcept;
  // Its value, in host memory. Throws NotFound if there is none of that name, DataLoss for damaged data, Unimplemented
  // for dtypes that this library lacks.
  Tensor read(std::string_view name) const;
  // A part of it (panto/lib/graph/checkpoints/tensor_part.h), of which no more than needed is read where the checkpoint
  // has just that part. Throws InvalidArgument too where the tensor has another shape than part.whole.
  Tensor read(std::string_view name, const TensorPart& part) const;

 private:
  Tensor read(std::string_view name, const TensorPart* part) const;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// All values, sorted by name. Throw as CheckpointReader.
PANTO_EXPORT std::vector<NamedTensor> read_checkpoint(const std::string& prefix);
PANTO_EXPORT std::vector<CheckpointVariable> list_variables(const std::string& prefix);

struct CheckpointOptions {
  // Makes an object-based checkpoint, which tf.train.Checkpoint restores: a name is the way to a variable from the
  // object that is saved, "model/dense/kernel" for tf.train.Checkpoint(model=model) where model.dense.kernel is it.
  bool object_graph = false;
};

// In files PREFIX.data-00000-of-00001 and PREFIX.index. (Over an older checkpoint of that name, ...-of-00002 and an
// empty second one may be the names: then old and new data are there until the new index takes the place of the old. A
// reader that opened the old one before may find its data gone.)
// Throw InvalidArgument for an empty name, one that begins with a zero byte or is given twice; FailedPrecondition for a
// symbolic tensor; Unimplemented for resources and variants; and as write_file.
PANTO_EXPORT void write_checkpoint(const std::string& prefix, std::span<const NamedTensor> tensors,
                                   const CheckpointOptions& options);
PANTO_EXPORT void write_checkpoint(const std::string& prefix, std::span<const NamedTensor> tensors);
PANTO_EXPORT void write_checkpoint(const std::string& prefix, std::initializer_list<NamedTensor> tensors,
                                   const CheckpointOptions& options);
PANTO_EXPORT void write_checkpoint(const std::string& prefix, std::initializer_list<NamedTensor> tensors);

// True where PREFIX.index is a file, or a file PREFIX is a table, as a checkpoint of the first version is. Throws
// PermissionDenied ... where PREFIX is a file that cannot be looked into.
PANTO_EXPORT bool checkpoint_exists(const std::string& prefix);
// Removes the files of one, the index first; not the one file of the first version. Those that are not there are no
// error; throws PermissionDenied ...
PANTO_EXPORT void remove_checkpoint(const std::string& prefix);
// Whether the name of a file is meant to be a checkpoint's: "model.ckpt", "model.ckpt-100", "ckpt-5".
PANTO_EXPORT bool is_checkpoint_name(std::string_view path);
// 100 of "run/model.ckpt-100"; -1 if the name does not end so.
PANTO_EXPORT int64_t checkpoint_step(std::string_view prefix);

}  // namespace panto
