// Threads of the library's own.
#pragma once

#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "panto/lib/base/callable.h"
#include "panto/lib/base/export.h"

namespace panto {

// A thread that runs `body`, which must not throw. Signals are left to the program's threads: a prompt's Ctrl-C is
// meant for the thread that waits. Throws ResourceExhausted, naming `what` needs it, where there is none to be had.
PANTO_EXPORT std::thread start_thread(std::string_view what, Callable<void()> body);

// Threads that whoever destroys this waits for: what they look at must have asked them to end. One of them may destroy
// it, and is let go of then: what it looks at must be its own.
class JoinedThreads {
 public:
  JoinedThreads() = default;
  JoinedThreads(const JoinedThreads&) = delete;
  JoinedThreads& operator=(const JoinedThreads&) = delete;
  ~JoinedThreads() {
    for (std::thread& t : threads_) t.get_id() == std::this_thread::get_id() ? t.detach() : t.join();
  }
  // Throws as start_thread.
  void add(std::string_view what, Callable<void()> body) { threads_.push_back(start_thread(what, std::move(body))); }

 private:
  std::vector<std::thread> threads_;
};

}  // namespace panto
