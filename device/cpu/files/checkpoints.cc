// Kernels that write and read checkpoints.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "panto/device/cpu/kernel.h"
#include "panto/device/op_kernels.h"
#include "panto/lib/base/file.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/call.h"
#include "panto/lib/core/io/graph_files.h"
#include "panto/lib/core/io/matching_paths.h"
#include "panto/lib/graph/checkpoints/checkpoint_file.h"
#include "panto/lib/graph/checkpoints/tensor_part.h"

namespace panto {
namespace {

const std::string& text(const KernelContext& c, int i, int64_t k = 0) { return c.data<std::string>(i)[k]; }

void make_folder_of(const std::string& path) {
  if (const size_t slash = path.rfind('/'); slash != std::string::npos && slash > 0)
    make_folders(path.substr(0, slash));
}

// Names in input 1, parts in input `parts` (-1: none), values from input `first` on.
std::vector<CheckpointPart> given(const KernelContext& c, int parts, int first) {
  std::vector<CheckpointPart> all;
  for (int k = 0; k < c.num_inputs() - first; ++k) {
    all.push_back({text(c, 1, k), c.in(first + k), parts < 0 ? std::nullopt : parse_part(text(c, parts, k))});
  }
  return all;
}

void run_save_v2(KernelContext& c) {
  const std::string& prefix = text(c, 0);
  expect_graph_files_allowed(prefix);
  make_folder_of(prefix);
  write_checkpoint_parts(prefix, given(c, 2, 3));
}

void save_first_version(KernelContext& c, int parts, int first) {
  const std::string& path = text(c, 0);
  expect_graph_files_allowed(path);
  make_folder_of(path);
  write_first_version(path, given(c, parts, first));
}
void run_save(KernelContext& c) { save_first_version(c, -1, 2); }
void run_save_slices(KernelContext& c) { save_first_version(c, 2, 3); }

// A checkpoint, or files of the first version that match a pattern.
class Checkpoints {
 public:
  explicit Checkpoints(const std::string& pattern) : pattern_(pattern) {
    expect_graph_files_allowed(pattern);
    std::vector<std::string> paths;
    if (!checkpoint_exists(pattern)) paths = matching_paths(pattern);
    if (paths.empty()) paths = {pattern};  // opening it reports why it is missing
    for (const std::string& path : paths) readers_.emplace_back(path);
  }

  Tensor read(const std::string& name, const std::string& part_as_text, DType dtype) const {
    const std::optional<TensorPart> part = parse_part(part_as_text);
    for (const CheckpointReader& reader : readers_) {
      const CheckpointVariable* const variable = reader.find(name);
      if (variable == nullptr) continue;
      if (variable->dtype != dtype) {
        invalid("tensor '{}' of checkpoint '{}': expected {}, got {}", name, reader.prefix(), dtype_name(dtype),
                variable->dtype_text);
      }
      return part ? reader.read(name, *part) : reader.read(name);
    }
    failf(Code::kNotFound, "checkpoint '{}': expected a tensor '{}', got none of that name", pattern_, name);
  }

 private:
  const std::string& pattern_;
  std::vector<CheckpointReader> readers_;
};

void run_restore_v2(KernelContext& c) {
  const Checkpoints checkpoints(text(c, 0));
  const auto types = c.types("dtypes");
  for (int k = 0; k < c.num_outputs(); ++k) {
    c.set_out(k, checkpoints.read(text(c, 1, k), text(c, 2, k), types[static_cast<size_t>(k)]));
  }
}

void run_restore(KernelContext& c) { c.set_out(0, Checkpoints(text(c, 0)).read(text(c, 1), "", c.type("dt"))); }
void run_restore_slice(KernelContext& c) {
  c.set_out(0, Checkpoints(text(c, 0)).read(text(c, 1), text(c, 2), c.type("dt")));
}

void run_merge(KernelContext& c) {
  const auto* prefixes = c.data<std::string>(0);
  const std::span<const std::string> all(prefixes, static_cast<size_t>(c.numel(0)));
  for (const std::string& prefix : all) expect_graph_files_allowed(prefix);
  expect_graph_files_allowed(text(c, 1));
  make_folder_of(text(c, 1));
  merge_checkpoints(all, text(c, 1),
                    {.delete_old_folders = c.flag("delete_old_dirs"), .allow_missing = c.flag("allow_missing_files")});
}

using plain = types::Join<types::numbers, TypeList<std::string>>::type;
const CpuKernel save_v2_kernel("SaveV2", run_save_v2);
const CpuKernel save_kernel("Save", run_save);
const CpuKernel save_slices_kernel("SaveSlices", run_save_slices);
const CpuKernel restore_v2_kernel("RestoreV2", run_restore_v2);
const CpuKernel restore_kernel("Restore", plain{}, []<class T>(KernelContext& c) { run_restore(c); });
const CpuKernel restore_slice_kernel("RestoreSlice", plain{}, []<class T>(KernelContext& c) { run_restore_slice(c); });
const CpuKernel merge_kernel("MergeV2Checkpoints", run_merge);

}  // namespace
}  // namespace panto
