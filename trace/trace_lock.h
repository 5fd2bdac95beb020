// TraceLock: a recursive lock by which one thread at a time traces a function. Internal.
#pragma once

#include <thread>

namespace panto {

// The lock of one function. It cannot deadlock: if threads wait for one another in a cycle, one of them goes ahead
// without the lock. The threads that hold what it wants are blocked meanwhile, so still only one thread at a time runs
// the user's code.
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
