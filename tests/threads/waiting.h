// A call on a thread of its own, and what it came to: "fine", or the error.
#pragma once

#include <chrono>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "panto/lib/base/error.h"

namespace panto {

class Waiting {
 public:
  template <class Body>
  explicit Waiting(Body body)
      : thread_([this, body] {
          std::string text = "fine";
          try {
            body();
          } catch (const Error& error) {
            text = error.what();
          }
          const std::lock_guard lock(mutex_);
          result_ = text;
        }) {}
  ~Waiting() {
    if (thread_.joinable()) thread_.join();
  }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;
  bool done() const {
    const std::lock_guard lock(mutex_);
    return result_.has_value();
  }
  // Time for it to do what it should not.
  bool waits() const {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return !done();
  }
  std::string join() {
    thread_.join();
    return *result_;
  }

 private:
  mutable std::mutex mutex_;
  std::optional<std::string> result_;
  std::thread thread_;
};

}  // namespace panto
