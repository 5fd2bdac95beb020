// NumPy's files: .npy (one array) and .npz (a zip archive of named arrays).
//
//   write_npz("r.npz", {{"x", x}, {"y:0", y}});
//   for (const auto& [name, value] : read_npz("r.npz")) ...
//
// Element types: bool, the integers, float16/32/64 and complex64/128 as NumPy writes them; bfloat16 as '<V2', as NumPy
// with ml_dtypes writes it (NumPy alone reads it as raw bytes). String tensors become arrays of kind S, padded to the
// longest element; arrays of kind U are read as UTF-8. Versions 1.0 to 3.0 are read, in either byte order, in C and
// Fortran order. Other element types (objects, dates, structures) throw Unimplemented.
//
// For any file content, reading returns a tensor or throws an Error that names the file: sizes are compared with the
// bytes of the file before memory is taken. Writing is atomic.
// Thread-safety: plain functions.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/lib/core/tensor/tensor.h"

namespace panto {

using NamedTensor = std::pair<std::string, Tensor>;

// Throw NotFound, PermissionDenied; DataLoss for a truncated or damaged file; InvalidArgument for a file of another
// format; Unimplemented for other element types. The tensor is in host memory.
PANTO_EXPORT Tensor read_npy(const std::string& path);
PANTO_EXPORT Tensor parse_npy(std::string_view bytes);
// In the order of the archive, the names without ".npy".
PANTO_EXPORT std::vector<NamedTensor> read_npz(const std::string& path);

// The bytes are exactly what NumPy writes. Throw FailedPrecondition for a symbolic tensor, Unimplemented for resources
// and variants, InvalidArgument for strings that end with a zero byte (NumPy strips those) and for names given twice.
PANTO_EXPORT void write_npy(const std::string& path, const Tensor& t);
PANTO_EXPORT std::string npy_bytes(const Tensor& t);
PANTO_EXPORT void write_npz(const std::string& path, std::span<const NamedTensor> arrays);
PANTO_EXPORT void write_npz(const std::string& path, std::initializer_list<NamedTensor> arrays);

}  // namespace panto
