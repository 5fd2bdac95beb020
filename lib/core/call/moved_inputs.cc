#include "panto/lib/core/call/moved_inputs.h"

#include <array>
#include <cstring>
#include <map>
#include <mutex>
#include <tuple>

namespace panto::dispatch {
namespace {

// A copy of a literal number on `device`. Copies are cached, because most literals are used again and again, and a copy
// to a GPU takes longer than many kernels.
Tensor literal_on(Device& device, const Tensor& literal) {
  using Key = std::tuple<Device*, DType, std::array<std::byte, 16>>;
  struct Known {
    std::mutex mutex;
    std::map<Key, Tensor> tensors;
    std::map<Key, Tensor> captured;  // read by captured work, which has their addresses, so they are never freed
  };
  constexpr size_t kMost = 1024;
  static auto* known = new Known;  // leaked on purpose, like the devices
  Key key{&device, literal.dtype(), {}};
  std::memcpy(std::get<2>(key).data(), literal.impl()->data, literal.nbytes());
  const std::lock_guard lock(known->mutex);
  if (const auto found = known->captured.find(key); found != known->captured.end()) {
    return view_tensor(found->second, literal.shape());
  }
  if (const auto found = known->tensors.find(key); found != known->tensors.end()) {
    const Tensor t = found->second;
    if (device.capturing()) known->captured.insert(known->tensors.extract(found));
    return view_tensor(t, literal.shape());
  }
  if (known->tensors.size() >= kMost) known->tensors.clear();
  const Tensor made = copy_to_device(literal, device);
  known->tensors.emplace(key, made);
  return view_tensor(made, literal.shape());
}

Tensor moved_to(Device& device, const Tensor& t) {
  const bool number = t.impl()->literal && t.numel() == 1 && is_plain(t.dtype()) && !device.host_memory();
  return number ? literal_on(device, t) : copy_to_device(t, device);
}

}  // namespace

MovedInputs::MovedInputs(Call& call) : call_(call), original_(call.inputs), copies_(call.inputs.size()) {
  const Signature& s = call.op->signature();
  const CallView view(call);
  for (size_t a = 0; a < s.inputs.size(); ++a) {
    const auto [first, last] = view.list(static_cast<int>(a));
    for (auto i = static_cast<size_t>(first); i < static_cast<size_t>(last); ++i) {
      const Tensor& t = *original_[i];
      const bool host = s.inputs[a].host || !is_plain(t.dtype());
      const bool there = host ? t.device().host_memory() : &t.device() == call.device;
      copies_[i] = there ? t : moved_to(host ? cpu_device() : *call.device, t);
    }
  }
  for (const Tensor& t : copies_) pointers_.push_back(&t);
  call_.inputs = pointers_;
}

}  // namespace panto::dispatch
