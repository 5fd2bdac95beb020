// WaitingLine: who waits until something that others change is as it should be. Nothing here blocks a thread: what is
// waited for is tried again after each change, and done when it can be.
//
//   line.wait([this, &taken] { return take(taken); }, [done](std::exception_ptr error) { ... });   // waits
//   line.change([this] { put(element); });                                                          // lets it go on
//
// The line has the lock of what changes: attempts and changes run under it. Thread-safe.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <utility>

#include "panto/lib/base/callable.h"
#include "panto/lib/base/export.h"

namespace panto {

class PANTO_EXPORT WaitingLine {
 public:
  // Whether those behind one that still waits may go on before it.
  enum class Order : uint8_t { kFirstComeFirstServed, kAnyThatCan };
  // Whether it was done; what it throws ends its waiting, too.
  using Attempt = Callable<bool()>;
  // Called once, without the lock, by the thread whose call made it possible. It must not throw.
  using Ended = Callable<void(std::exception_ptr error)>;

  explicit WaitingLine(Order order);
  ~WaitingLine();
  WaitingLine(const WaitingLine&) = delete;
  WaitingLine& operator=(const WaitingLine&) = delete;

  // A number for `forget`.
  uint64_t wait(Attempt attempt, Ended ended);
  // Nobody waits by that number any more: its attempt is not made again after this, nor its `ended` called, except by a
  // call that has begun.
  void forget(uint64_t number) noexcept;
  // What `change` throws is thrown again; then whoever can go on still does.
  void change(const Callable<void()>& change);
  // Calls `look`, which changes nothing, under the lock.
  template <class Look>
  auto look(const Look& look) const {
    const Locked locked(*this);
    return look();
  }

 private:
  class PANTO_EXPORT Locked {
   public:
    explicit Locked(const WaitingLine& line);
    ~Locked();
    Locked(const Locked&) = delete;
    Locked& operator=(const Locked&) = delete;

   private:
    const WaitingLine& line_;
  };
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace panto
