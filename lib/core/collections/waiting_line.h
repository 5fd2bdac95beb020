// WaitingLine: requests that wait until a shared state allows them to go on. No thread is blocked: each waiting request
// is tried again after every change of the state.
//
//   line.wait([this, &taken] { return take(taken); }, [done](std::exception_ptr error) { ... });   // waits
//   line.change([this] { put(element); });                                                          // lets it go on
//
// The line owns the lock of the shared state: attempts and changes run under it. Thread-safe.
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
  // Whether requests behind one that still waits may go on before it.
  enum class Order : uint8_t { kFirstComeFirstServed, kAnyThatCan };
  // Returns true if the request is done. An exception ends the waiting, too.
  using Attempt = Callable<bool()>;
  // Called once, without the lock, on the thread whose call made it possible. It must not throw.
  using Ended = Callable<void(std::exception_ptr error)>;

  explicit WaitingLine(Order order);
  ~WaitingLine();
  WaitingLine(const WaitingLine&) = delete;
  WaitingLine& operator=(const WaitingLine&) = delete;

  // Returns a number for `forget`.
  uint64_t wait(Attempt attempt, Ended ended);
  // Cancels the request with that number: its attempt is not made again, and its `ended` is not called after this,
  // unless that call has begun already.
  void forget(uint64_t number) noexcept;
  // Runs `change` under the lock, then tries the waiting requests. Rethrows what `change` throws, after trying them.
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
