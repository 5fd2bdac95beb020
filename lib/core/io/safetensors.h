// .safetensors: named tensors in one file, as Hugging Face and PyTorch exchange them
// (https://github.com/huggingface/safetensors#format: the header's length in 8 bytes, a header in JSON, the elements).
//
//   write_safetensors("model.safetensors", {{"kernel", kernel}, {"bias", bias}});
//   for (const auto& [name, value] : read_safetensors("model.safetensors")) ...
//
// Element types: BOOL, I8 to I64, U8 to U64, F16, BF16, F32, F64 and C64, which are ours of the same width. The format
// has others (F8_E4M3 and the like) that this library lacks, and neither strings nor complex128.
//
// Whatever a file holds, reading it ends in tensors or an Error that names the file: offsets are compared with shapes,
// with each other and with the file's size before memory is taken. Parts of the file that belong to no tensor, or to
// two, are errors. What is written appears whole or not at all.
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

// Texts that go with the tensors: {{"format", "pt"}}, which transformers asks for.
using Metadata = std::vector<std::pair<std::string, std::string>>;

struct SafetensorsOptions {
  Metadata metadata = {};  // the header's "__metadata__"
};

// In the order of the header; the tensors are in host memory. Throw NotFound, PermissionDenied; DataLoss for a
// truncated or damaged file; InvalidArgument for what is no such file; Unimplemented for other element types.
PANTO_EXPORT std::vector<NamedTensor> read_safetensors(const std::string& path);
PANTO_EXPORT std::vector<NamedTensor> parse_safetensors(std::string_view bytes);
// The metadata of a file, whose elements are not read. Throws as read_safetensors.
PANTO_EXPORT Metadata read_safetensors_metadata(const std::string& path);

// In the file the elements of wide types come first, so that all are aligned; otherwise the order is the given one.
// Throw FailedPrecondition for a symbolic tensor, Unimplemented for element types that the format lacks,
// InvalidArgument for names given twice, names that are not UTF-8 and the name "__metadata__".
PANTO_EXPORT void write_safetensors(const std::string& path, std::span<const NamedTensor> tensors,
                                    const SafetensorsOptions& options);
PANTO_EXPORT void write_safetensors(const std::string& path, std::initializer_list<NamedTensor> tensors,
                                    const SafetensorsOptions& options);
PANTO_EXPORT std::string safetensors_bytes(std::span<const NamedTensor> tensors, const SafetensorsOptions& options);
// Without options. (No defaults above: they take whoever includes this longer to compile.)
PANTO_EXPORT void write_safetensors(const std::string& path, std::span<const NamedTensor> tensors);
PANTO_EXPORT void write_safetensors(const std::string& path, std::initializer_list<NamedTensor> tensors);
PANTO_EXPORT std::string safetensors_bytes(std::span<const NamedTensor> tensors);

}  // namespace panto
