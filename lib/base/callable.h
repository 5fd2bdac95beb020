// Callable<R(Args...)>: owns anything that can be called so, like std::function, whose header alone costs as much to
// compile as all of this library's do.
//
//   Callable<Tensor(const Tensor&)> activation = [](const Tensor& x) { return relu(x); };
//
// Copies share what they own (std::function copies it). Thread-safety: that of what it owns.
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

#include "panto/lib/base/error.h"

namespace panto {

template <class Signature>
class Callable;

template <class R, class... Args>
class Callable<R(Args...)> {
 public:
  Callable() = default;
  Callable(std::nullptr_t) {}  // NOLINT(google-explicit-constructor): none, as in {.activation = nullptr}
  template <class F>
    requires(!std::is_same_v<F, Callable> && std::is_invocable_r_v<R, F&, Args...>)
  Callable(F f) : target_(std::make_shared<Target<F>>(std::move(f))) {}  // NOLINT(google-explicit-constructor)

  explicit operator bool() const noexcept { return target_ != nullptr; }
  // Throws FailedPrecondition if it owns nothing.
  R operator()(Args... args) const {
    if (target_ == nullptr) fail(Code::kFailedPrecondition, "function: expected one to call, got an empty Callable");
    return target_->call(std::forward<Args>(args)...);
  }

 private:
  struct Base {
    virtual ~Base() = default;
    virtual R call(Args... args) = 0;
  };
  template <class F>
  struct Target final : Base {
    explicit Target(F f) : function(std::move(f)) {}
    R call(Args... args) override { return static_cast<R>(function(std::forward<Args>(args)...)); }
    F function;
  };
  std::shared_ptr<Base> target_;
};

}  // namespace panto
