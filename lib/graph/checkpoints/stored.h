// The common interface of both versions of checkpoints: tensors by name. Internal (protobuf).
#pragma once

#include <google/protobuf/message.h>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "panto/lib/core/tensor/tensor.h"
#include "panto/lib/graph/checkpoints/checkpoint_file.h"
#include "panto/lib/graph/checkpoints/tensor_part.h"
#include "panto/lib/graph/proto/tensor_shape.pb.h"
#include "panto/lib/graph/proto/versions.pb.h"

namespace panto {

// Format version in the index of a bundle, which is TensorFlow's word for a checkpoint of the second version.
inline constexpr int kBundleVersion = 1;

class StoredTensors {
 public:
  virtual ~StoredTensors() = default;
  // Sorted by name.
  std::span<const CheckpointVariable> variables() const { return variables_; }
  // The value of variables()[i], whose dtype this library has.
  virtual Tensor read(size_t i) const = 0;
  // The value of a part, if the checkpoint stores exactly that part; otherwise nullopt.
  virtual std::optional<Tensor> read_part(size_t, const TensorPart&) const { return std::nullopt; }

 protected:
  std::vector<CheckpointVariable> variables_;
};

// Opens the files PREFIX.index and PREFIX.data-...
std::unique_ptr<StoredTensors> open_bundle(const std::string& prefix);
// Opens a file of the first version.
std::unique_ptr<StoredTensors> open_first_version(const std::string& path);

// The parts to write: checked, in host memory, sorted by name.
std::vector<CheckpointPart> sorted_parts(std::span<const CheckpointPart> parts);

// "PREFIX.index", "PREFIX.data-00000-of-00001".
std::string index_path(const std::string& prefix);
std::string data_path(const std::string& prefix, int64_t shard, int64_t count);
// Number of data files according to the index; 0 if the index cannot be read.
int64_t count_shards(const std::string& prefix);

// Helpers for reading protocol buffers from tables. Throw DataLoss, naming `what` was expected, and Unimplemented.
void parse_message(std::string_view bytes, std::string_view what, google::protobuf::Message& message);
CheckpointVariable described(std::string_view name, int dtype, const graphdef::TensorShapeProto& shape);
void expect_version(const graphdef::VersionDef& version, int newest);

}  // namespace panto
