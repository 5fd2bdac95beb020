// Rendezvous: where a Send leaves a tensor for the Recv that names the same key, whichever of them comes first.
//
//   auto meeting = std::make_shared<Rendezvous>();
//   meeting->receive("key", [](Tensor value, std::exception_ptr error) { ... });   // called by who sends
//   meeting->send("key", x);
//
// Values of one key are received in the order in which they were sent. Thread-safe.
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
  // Is given the value, or, where there is none, an undefined tensor and the error. It must not throw.
  using Receive = Callable<void(Tensor value, std::exception_ptr error)>;

  Rendezvous();
  ~Rendezvous();
  Rendezvous(const Rendezvous&) = delete;
  Rendezvous& operator=(const Rendezvous&) = delete;

  // Calls, on this thread, the first that waits for the key; keeps the value where nobody does. Throws the error of
  // `close` once that was called.
  void send(const std::string& key, Tensor value);
  // `receive` is called once: on this thread where the value is there, else on the thread that sends it or closes. For
  // `forget`.
  uint64_t receive(const std::string& key, Receive receive);
  // Nobody waits by that number any more: it is not called after this, except by a send that has begun.
  void forget(uint64_t waiting) noexcept;
  // Who waits, and who comes later, is given `error`; values that nobody received are dropped. Only the first counts.
  void close(std::exception_ptr error);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace panto
