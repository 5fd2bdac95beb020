// Kinds of devices: an open set. The host's own, "CPU", and "META", which has no memory, are always there. A back-end
// registers its kind by name, before its kernels, with an object at namespace scope:
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

// The number of a kind in this process. Registered kinds get the numbers after these, in order of registration.
enum class DeviceKind : uint8_t {
  kCpu = 0,
  kMeta = 1,
  kUnknown = 2,  // of a name that no back-end has registered: it has no devices and no kernels
};
inline constexpr int kMostDeviceKinds = 16;

// Properties of a kind that the rest of the library uses.
struct DeviceKindInfo {
  // As in "/device:NPU:0": letters, digits and '_', beginning with a letter. Must outlive the process.
  const char* name = "";
  // Work without a placement goes to the kind with the highest priority that has a working device. A CPU has 0.
  int priority = 0;
  // Limits for fused elementwise loops, for kinds with a kernel for `_FusedElementwise`: the most tensors that one loop
  // reads, and whether it computes with complex numbers.
  size_t most_fused_inputs = 64;
  bool fuses_complex = true;
};

// Registers a kind. Never throws: link_ops() reports a malformed or taken name and a kind too many.
class PANTO_EXPORT DeviceKindEntry {
 public:
  explicit DeviceKindEntry(const DeviceKindInfo& info) noexcept;
};

// kUnknown if no loaded back-end registered the name.
PANTO_EXPORT DeviceKind find_device_kind(std::string_view name) noexcept;
PANTO_EXPORT const DeviceKindInfo& device_kind_info(DeviceKind kind) noexcept;
// "CPU", "GPU" (TensorFlow's word for CUDA devices), "META"; "?" for kUnknown.
PANTO_EXPORT std::string_view device_kind_name(DeviceKind kind) noexcept;
// All kinds except META: CPU first, then in order of registration.
PANTO_EXPORT std::vector<DeviceKind> device_kinds();

namespace detail {
// Throws InvalidArgument or AlreadyExists for faulty registrations since the last call.
void check_device_kinds();
}  // namespace detail

}  // namespace panto
