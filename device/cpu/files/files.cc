// Kernels that read and write files and look for them.
#include <algorithm>
#include <string>
#include <vector>

#include "panto/device/cpu/kernel.h"
#include "panto/lib/base/file.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/call.h"
#include "panto/lib/core/io/graph_files.h"
#include "panto/lib/core/io/matching_paths.h"

namespace panto {
namespace {

void run_read(KernelContext& c) {
  const std::string& path = *c.data<std::string>(0);
  expect_graph_files_allowed(path);
  const RandomAccessFile file(path);  // which a pipe, that one could wait for, is not
  if (file.size() > kMaxFileBytes) {
    failf(Code::kResourceExhausted, "file '{}': expected at most {} bytes, got {}", path, kMaxFileBytes, file.size());
  }
  std::string bytes(file.size(), '\0');
  file.read(0, bytes.data(), bytes.size());
  *c.out_data<std::string>(0) = std::move(bytes);
}

void run_write(KernelContext& c) {
  const std::string& path = *c.data<std::string>(0);
  expect_graph_files_allowed(path);
  if (const size_t slash = path.rfind('/'); slash != std::string::npos && slash > 0)
    make_folders(path.substr(0, slash));
  write_file(path, *c.data<std::string>(1));
}

void run_matching(KernelContext& c) {
  const auto* patterns = c.data<std::string>(0);
  std::vector<std::string> all;
  for (int64_t i = 0; i < c.numel(0); ++i) {
    expect_graph_files_allowed(patterns[i]);
    std::vector<std::string> paths = matching_paths(patterns[i]);
    all.insert(all.end(), std::make_move_iterator(paths.begin()), std::make_move_iterator(paths.end()));
  }
  std::ranges::sort(all);
  const Shape shape{all.size()};
  c.set_out(0, tensor_from_strings(shape, std::move(all)));
}

void run_sharded_name(KernelContext& c) {
  *c.out_data<std::string>(0) =
      fmt::format("{}-{:05d}-of-{:05d}", *c.data<std::string>(0), *c.data<int32_t>(1), *c.data<int32_t>(2));
}
void run_sharded_spec(KernelContext& c) {
  const std::string any_digits(5, '?');
  *c.out_data<std::string>(0) =
      fmt::format("{}-{}-of-{:05d}", *c.data<std::string>(0), any_digits, *c.data<int32_t>(1));
}

const CpuKernel read_kernel("ReadFile", run_read);
const CpuKernel write_kernel("WriteFile", run_write);
const CpuKernel matching_kernel("MatchingFiles", run_matching);
const CpuKernel sharded_name_kernel("ShardedFilename", run_sharded_name);
const CpuKernel sharded_spec_kernel("ShardedFilespec", run_sharded_spec);

}  // namespace
}  // namespace panto
