#include "panto/lib/core/io/tensor_files.h"

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/io/safetensors.h"

namespace panto {
namespace {

bool is_npz(const std::string& path) {
  if (path.ends_with(".npz")) return true;
  if (!path.ends_with(".safetensors")) invalid("file: expected a name *.npz or *.safetensors, got '{}'", path);
  return false;
}

}  // namespace

std::vector<NamedTensor> read_tensors(const std::string& path) {
  return is_npz(path) ? read_npz(path) : read_safetensors(path);
}

void write_tensors(const std::string& path, std::span<const NamedTensor> tensors) {
  is_npz(path) ? write_npz(path, tensors) : write_safetensors(path, tensors);
}

}  // namespace panto
