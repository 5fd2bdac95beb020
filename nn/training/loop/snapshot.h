// The values of variables before a step, to restore them. Internal.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "panto/lib/core/tensor/tensor.h"
#include "panto/lib/core/tensor/variable.h"

namespace panto::loop {

class Snapshot {
 public:
  // Keeps the values (not copies: a later assignment to a variable copies on write).
  void take(const std::vector<Variable>& variables);
  void restore() const;
  bool taken() const { return !values_.empty(); }
  void drop() { values_.clear(); }

 private:
  std::vector<std::pair<Variable, Tensor>> values_;
};

// While one lives, finds the op on this thread that first gives a number that is not finite from finite inputs.
class FiniteWatch {
 public:
  FiniteWatch();
  ~FiniteWatch();
  FiniteWatch(const FiniteWatch&) = delete;
  FiniteWatch& operator=(const FiniteWatch&) = delete;
  // "Log(float32[32,10]): -inf at train.cc:12"; empty: no op did.
  const std::string& found() const;

 private:
  class Ears;
  std::unique_ptr<Ears> ears_;
};
// The first element that is not finite; none if there is none, or the tensor is not floating.
std::optional<double> not_finite(const Tensor& t);

}  // namespace panto::loop
