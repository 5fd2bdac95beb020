// Kinds of devices: an open set. The host's own, "CPU", and "META", which has no memory, are always there; a back-end
// enters its kind by name, before its kernels, with an object at namespace scope:
//
//   const DeviceKindEntry npu({.name = "NPU", .priority = 50});
//
// Thread-safety: all functions may be called from several threads at once. Kinds are never removed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "panto/lib/base/export.h"

namespace panto {

// The number of a kind in this process. Others than these are given out in the order of their entries.
enum class DeviceKind : uint8_t {
  kCpu = 0,
  kMeta = 1,
  kUnknown = 2,  // of a name that no back-end has entered: there is no device of it and no kernel for it
};
inline constexpr int kMostDeviceKinds = 16;

// What the rest of the library asks of a kind.
struct DeviceKindInfo {
  // As in "/device:NPU:0": letters, digits and '_', the first a letter. It must outlive the process.
  const char* name = "";
  // Work that may run anywhere goes to the kind with the highest priority that has a device that works. A CPU has 0.
  int priority = 0;
  // Of fused elementwise loops, which kinds with a kernel for `_FusedElementwise` have: how many tensors one reads at
  // most, and whether they compute with complex numbers.
  size_t most_fused_inputs = 64;
  bool fuses_complex = true;
};

// Enters a kind. Never throws: a name that is malformed or taken, and one kind too many, are reported by link_ops().
class PANTO_EXPORT DeviceKindEntry {
 public:
  explicit DeviceKindEntry(const DeviceKindInfo& info) noexcept;
};

// kUnknown where no back-end that is here entered the name.
PANTO_EXPORT DeviceKind find_device_kind(std::string_view name) noexcept;
PANTO_EXPORT const DeviceKindInfo& device_kind_info(DeviceKind kind) noexcept;
// "CPU", "GPU" (TensorFlow's word for CUDA devices), "META"; "?" for kUnknown.
PANTO_EXPORT std::string_view device_kind_name(DeviceKind kind) noexcept;
// Those that can have devices and kernels, META not among them: CPU first, then as they were entered.
PANTO_EXPORT std::vector<DeviceKind> device_kinds();

namespace detail {
// What was wrong with entries since the last call. Throws InvalidArgument or AlreadyExists.
void check_device_kinds();
}  // namespace detail

}  // namespace panto
