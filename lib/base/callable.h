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
    requires(!std::is_same_v<F, Callable>) &&
                (!std::is_same_v<F, std::nullptr_t>) && std::is_invocable_r_v<R, F&, Args...>
  Callable(F f)  // NOLINT(google-explicit-constructor)
      : target_(static_cast<void*>(new F(std::move(f))), static_cast<void (*)(void*)>(destroy<F>)),
        call_([](void* target, Args... args) -> R {
          return static_cast<R>((*static_cast<F*>(target))(std::forward<Args>(args)...));
        }) {}

  explicit operator bool() const noexcept { return target_ != nullptr; }
  // Throws FailedPrecondition if it owns nothing.
  R operator()(Args... args) const {
    if (target_ == nullptr) fail(Code::kFailedPrecondition, "function: expected one to call, got an empty Callable");
    return call_(target_.get(), std::forward<Args>(args)...);
  }

 private:
  // Not by std::make_shared<F>, of which every F is as much to compile as what calls it.
  template <class F>
  static void destroy(void* target) {
    delete static_cast<F*>(target);
  }

  std::shared_ptr<void> target_;
  R (*call_)(void* target, Args... args) = nullptr;
};

}  // namespace panto
