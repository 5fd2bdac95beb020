// Who may trace a function: one thread at a time, which may come back to the function while it is inside (a recursion).
// Internal.
#pragma once

#include <thread>

namespace panto {

// Of one function. Threads that wait for each other, each inside a function that another one wants, do not wait for
// ever: one of them goes ahead. Those that hold what it wants stand still until it is done, so that even then one
// thread at a time runs the user's code.
class TraceLock {
 public:
  TraceLock() = default;
  TraceLock(const TraceLock&) = delete;
  TraceLock& operator=(const TraceLock&) = delete;

  void lock();
  void unlock();

 private:
  struct Waiting;
  struct Process;
  static Process& process();
  bool waits_for_this_thread(const Process& process) const;

  // Guarded by the process's mutex.
  std::thread::id owner_;
  int depth_ = 0;  // how often the owner has locked it
};

}  // namespace panto
