// .safetensors: named tensors in one file, as Hugging Face and PyTorch exchange them
// (https://github.com/huggingface/safetensors#format: the header's length in 8 bytes, a header in JSON, the elements).
//
//   write_safetensors("model.safetensors", {{"kernel", kernel}, {"bias", bias}});
//   for (const auto& [name, value] : read_safetensors("model.safetensors")) ...
//
// Element types: BOOL, I8 to I64, U8 to U64, F16, BF16, F32, F64 and C64, which map to this library's types of the same
// width. Other types of the format (F8_E4M3 and the like) are missing in this library; strings and complex128 are
// missing in the format.
//
// For any file content, reading returns tensors or throws an Error that names the file: offsets are compared with
// shapes, with each other and with the file's size before memory is taken. Parts of the file that belong to no tensor,
// or to two, are errors. Writing is atomic.
// Thread-safety: plain functions.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/lib/core/io/npy.h"
#include "panto/lib/core/tensor/tensor.h"

namespace panto {

// Texts stored beside the tensors: {{"format", "pt"}}, which transformers requires.
using Metadata = std::vector<std::pair<std::string, std::string>>;

struct SafetensorsOptions {
  Metadata metadata = {};  // the header's "__metadata__"
};

// In the order of the header; the tensors are in host memory. Throw NotFound, PermissionDenied; DataLoss for a
// truncated or damaged file; InvalidArgument for a file of another format; Unimplemented for other element types.
PANTO_EXPORT std::vector<NamedTensor> read_safetensors(const std::string& path);
PANTO_EXPORT std::vector<NamedTensor> parse_safetensors(std::string_view bytes);
// Reads only the metadata, not the elements. Throws as read_safetensors.
PANTO_EXPORT Metadata read_safetensors_metadata(const std::string& path);

// The file has tensors of wide types first, so that all elements are aligned; otherwise it keeps the given order. Throw
// FailedPrecondition for a symbolic tensor, Unimplemented for element types that the format lacks, InvalidArgument for
// names given twice, names that are not UTF-8 and the name "__metadata__".
PANTO_EXPORT void write_safetensors(const std::string& path, std::span<const NamedTensor> tensors,
                                    const SafetensorsOptions& options);
PANTO_EXPORT void write_safetensors(const std::string& path, std::initializer_list<NamedTensor> tensors,
                                    const SafetensorsOptions& options);
PANTO_EXPORT std::string safetensors_bytes(std::span<const NamedTensor> tensors, const SafetensorsOptions& options);
// Without options. (Not default arguments, which would take longer to compile for everyone who includes this.)
PANTO_EXPORT void write_safetensors(const std::string& path, std::span<const NamedTensor> tensors);
PANTO_EXPORT void write_safetensors(const std::string& path, std::initializer_list<NamedTensor> tensors);
PANTO_EXPORT std::string safetensors_bytes(std::span<const NamedTensor> tensors);

}  // namespace panto
