#include "panto/lib/core/tensor/device_kind.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <optional>
#include <utility>

#include "panto/lib/base/error.h"
#include "panto/lib/base/text/format.h"

namespace panto {
namespace {

struct Kinds {
  std::mutex mutex;
  std::array<DeviceKindInfo, kMostDeviceKinds> infos = {DeviceKindInfo{.name = "CPU"}, DeviceKindInfo{.name = "META"},
                                                        DeviceKindInfo{.name = "?"}};
  std::atomic<int> count = 3;  // entries before it do not change
  std::optional<Error> fault;  // the first one
  std::atomic<bool> faulty = false;
};

Kinds& kinds() {
  static auto* shared = new Kinds;  // leaked on purpose: static initializers of any library use it
  return *shared;
}

bool is_kind_name(std::string_view name) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto other = [](char c) { return (c >= '0' && c <= '9') || c == '_'; };
  return !name.empty() && letter(name[0]) && std::ranges::all_of(name, [&](char c) { return letter(c) || other(c); });
}

void enter(Kinds& all, const DeviceKindInfo& info) {  // precondition: locked
  const int count = all.count.load(std::memory_order_relaxed);
  if (!is_kind_name(info.name)) {
    invalid("device kind: expected a name of letters, digits and '_', got '{}'", info.name);
  }
  if (find_device_kind(info.name) != DeviceKind::kUnknown) {
    failf(Code::kAlreadyExists, "device kind: expected a new name, got {} a second time", info.name);
  }
  if (count == kMostDeviceKinds) {
    failf(Code::kResourceExhausted, "device kinds: expected at most {}, got another, {}", kMostDeviceKinds, info.name);
  }
  all.infos[static_cast<size_t>(count)] = info;
  all.count.store(count + 1, std::memory_order_release);
}

}  // namespace

DeviceKindEntry::DeviceKindEntry(const DeviceKindInfo& info) noexcept {
  Kinds& all = kinds();
  const std::lock_guard lock(all.mutex);
  try {
    enter(all, info);
  } catch (const Error& error) {
    if (!all.fault) all.fault = error;
    all.faulty.store(true, std::memory_order_release);
  }
}

void detail::check_device_kinds() {
  Kinds& all = kinds();
  if (!all.faulty.load(std::memory_order_acquire)) return;
  const std::lock_guard lock(all.mutex);
  all.faulty.store(false, std::memory_order_release);
  if (all.fault) throw Error(*std::exchange(all.fault, std::nullopt));
}

DeviceKind find_device_kind(std::string_view name) noexcept {
  const Kinds& all = kinds();
  const int count = all.count.load(std::memory_order_acquire);
  for (int k = 0; k < count; ++k) {
    if (name == all.infos[static_cast<size_t>(k)].name) return static_cast<DeviceKind>(k);
  }
  return DeviceKind::kUnknown;
}

const DeviceKindInfo& device_kind_info(DeviceKind kind) noexcept { return kinds().infos[static_cast<size_t>(kind)]; }

std::string_view device_kind_name(DeviceKind kind) noexcept { return device_kind_info(kind).name; }

std::vector<DeviceKind> device_kinds() {
  std::vector<DeviceKind> result = {DeviceKind::kCpu};
  const int count = kinds().count.load(std::memory_order_acquire);
  for (int k = static_cast<int>(DeviceKind::kUnknown) + 1; k < count; ++k) {
    result.push_back(static_cast<DeviceKind>(k));
  }
  return result;
}

}  // namespace panto
