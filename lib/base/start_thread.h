// Threads that the library starts for itself.
#pragma once

#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "panto/lib/base/callable.h"
#include "panto/lib/base/export.h"

namespace panto {

// Starts a thread that runs `body`, which must not throw. All signals are blocked in it, so that the program's threads
// get them: a prompt's Ctrl-C is meant for the thread that waits. Throws ResourceExhausted, beginning with `what`, if
// no thread can be started.
PANTO_EXPORT std::thread start_thread(std::string_view what, Callable<void()> body);

// Threads that the destructor joins. The owner must have asked them to end before. If one of these threads runs the
// destructor itself, it is detached, and must afterwards use only objects that it owns.
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
