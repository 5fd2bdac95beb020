// The kernel of ImmutableConst, whose elements are the bytes of a file.
#include <algorithm>
#include <cstdint>
#include <string>

#include "panto/device/cpu/kernel.h"
#include "panto/lib/base/checked.h"
#include "panto/lib/base/file.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/io/graph_files.h"
#include "panto/lib/core/tensor/tensor_alloc.h"

namespace panto {
namespace {

void read_numbers(KernelContext& c) {
  const std::string path(c.text("memory_region_name"));
  expect_graph_files_allowed(path);
  const Shape& shape = c.inferred_shape(0);
  const DType type = c.type("dtype");
  const int64_t bytes = checked_mul(shape.numel(), static_cast<int64_t>(dtype_size(type)));
  const RandomAccessFile file(path);
  if (file.size() < static_cast<uint64_t>(bytes)) {  // checked before memory is allocated
    failf(Code::kDataLoss, "file '{}': expected at least {} bytes, got {}", path, bytes, file.size());
  }
  const Tensor numbers = allocate_tensor(c.device(), type, shape);
  auto* to = static_cast<uint8_t*>(numbers.impl()->data);
  if (bytes > 0) file.read(0, to, static_cast<size_t>(bytes));
  if (type == kBool && std::any_of(to, to + bytes, [](uint8_t b) { return b > 1; })) {
    failf(Code::kDataLoss, "file '{}': expected truth values, bytes of 0 and 1, got others", path);
  }
  c.set_out(0, numbers);
}

const CpuKernel file_const("ImmutableConst", dtypes::kBytes, read_numbers);

}  // namespace
}  // namespace panto
