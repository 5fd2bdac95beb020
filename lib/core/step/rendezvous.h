// Rendezvous: passes a tensor from a Send to the Recv with the same key, whichever comes first.
//
//   auto meeting = std::make_shared<Rendezvous>();
//   meeting->receive("key", [](Tensor value, std::exception_ptr error) { ... });   // called by who sends
//   meeting->send("key", x);
//
// Values with the same key are received in the order in which they were sent. Thread-safe.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <string>

#include "panto/lib/base/callable.h"
#include "panto/lib/base/export.h"
#include "panto/lib/core/tensor/tensor.h"

namespace panto {

class PANTO_EXPORT Rendezvous {
 public:
  // Gets the value, or an undefined tensor and the error. It must not throw.
  using Receive = Callable<void(Tensor value, std::exception_ptr error)>;

  Rendezvous();
  ~Rendezvous();
  Rendezvous(const Rendezvous&) = delete;
  Rendezvous& operator=(const Rendezvous&) = delete;

  // Calls the first receiver that waits for the key, on this thread; stores the value if none waits. Throws the error
  // of `close` after that was called.
  void send(const std::string& key, Tensor value);
  // Calls `receive` once: on this thread if the value is there, else on the thread that sends it or closes the
  // rendezvous. Returns a number for `forget`.
  uint64_t receive(const std::string& key, Receive receive);
  // Cancels the receiver with that number: it is not called after this, unless a send has begun to call it already.
  void forget(uint64_t waiting) noexcept;
  // Gives `error` to all waiting and later receivers, and drops values that were not received. Only the first call
  // counts.
  void close(std::exception_ptr error);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace panto
