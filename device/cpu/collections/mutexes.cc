// Mutexes, by which parts of graphs exclude each other.

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "panto/device/cpu/collections/declared.h"
#include "panto/device/cpu/kernel.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/collections/handle.h"
#include "panto/lib/core/collections/variant.h"

namespace panto {
namespace {

class Mutex final : public Resource {
 public:
  using Resource::Resource;
  std::string_view kind() const noexcept override { return "Mutex"; }
  WaitingLine& line() { return line_; }
  // Call under the line's lock. Returns whether the mutex was free.
  bool take() { return !std::exchange(held_, true); }
  void give_back() {
    line_.change([this] { held_ = false; });
  }

 private:
  WaitingLine line_{WaitingLine::Order::kFirstComeFirstServed};
  bool held_ = false;
};

// A lock of the mutex. It is held until give_back(), or until the last copy is destroyed.
class MutexLockValue final : public VariantValue {
 public:
  explicit MutexLockValue(std::shared_ptr<Mutex> mutex) : hold_(std::make_shared<Hold>(std::move(mutex))) {}
  std::string_view kind() const noexcept override { return "MutexLock"; }
  std::string to_string() const override { return "lock of a mutex"; }
  // Returns false if the lock was given back before.
  bool give_back() const { return hold_->give_back(); }

 private:
  struct Hold {
    explicit Hold(std::shared_ptr<Mutex> of) : mutex(std::move(of)) {}
    ~Hold() { give_back(); }
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;
    bool give_back() {
      if (!held.exchange(false)) return false;
      mutex->give_back();
      return true;
    }
    std::shared_ptr<Mutex> mutex;
    std::atomic<bool> held{true};
  };
  std::shared_ptr<Hold> hold_;
};

void run_mutex(KernelContext& c) {
  Tensor out = declared_resource(c, [](const std::string& container, const std::string& name) {
    return std::make_shared<Mutex>(container, name);
  });
  resource_as<Mutex>(out, "mutex");
  c.set_out(0, std::move(out));
}

void start_lock(const std::shared_ptr<AsyncContext>& c, Done done) {
  const auto mutex = resource_as<Mutex>(c->in(0), "mutex");
  wait_in_line(c, done, mutex, [c, mutex] {
    if (!mutex->take()) return false;
    const Tensor out = allocate_tensor(cpu_device(), kVariant, Shape{});
    mutable_data<Variant>(out)->value = std::make_shared<MutexLockValue>(mutex);
    c->set_out(0, out);
    return true;
  });
}

void run_consume(KernelContext& c) {
  const Variant& variant = *c.data<Variant>(0);
  const auto* lock = dynamic_cast<const MutexLockValue*>(variant.value.get());
  if (lock == nullptr) {
    invalid("mutex_lock: expected a lock of a mutex, got {}",
            variant.value == nullptr ? "nothing" : variant.value->to_string());
  }
  if (!lock->give_back()) {
    fail(Code::kFailedPrecondition, "mutex_lock: expected one that is held, got one that was given back");
  }
}

const CpuKernel mutex_kernel("MutexV2", run_mutex);
const CpuKernel lock_kernel("MutexLock", Kernel{.start = start_lock});
const CpuKernel consume_kernel("ConsumeMutexLock", run_consume);

}  // namespace
}  // namespace panto
