// Callable<R(Args...)>: owns a function object that can be called with Args and returns R, as std::function does. The
// header of std::function alone takes as long to compile as all headers of this library.
//
//   Callable<Tensor(const Tensor&)> activation = [](const Tensor& x) { return relu(x); };
//
// Copies share the function object (std::function copies it). As thread-safe as the function object.
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
  // Not std::make_shared<F>: instantiating it for each F takes as long to compile as the code that calls F.
  template <class F>
  static void destroy(void* target) {
    delete static_cast<F*>(target);
  }

  std::shared_ptr<void> target_;
  R (*call_)(void* target, Args... args) = nullptr;
};

}  // namespace panto
