// A step of a training loop: traced if possible, otherwise run eagerly. Internal.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "panto/lib/core/tensor/tensor.h"
#include "panto/trace/function.h"

namespace panto::loop {

class StepFunction {
 public:
  // `what`: names the step in the warning that it runs eagerly.
  StepFunction(const char* what, TensorFunction step, bool traced);

  // Runs the step. Traces leave the first dimension's size open, and further dimensions once they are found to vary. If
  // the function cannot be traced like that, it is traced for each combination of shapes; if it cannot be traced at
  // all, it runs eagerly from then on, if that succeeds, and a warning says why.
  std::vector<Tensor> operator()(std::span<const Tensor> inputs);
  // Runs the step op by op.
  std::vector<Tensor> run_eagerly(std::span<const Tensor> inputs) const { return step_(inputs); }
  // Why it runs eagerly; empty: it does not.
  const std::string& not_traced() const { return not_traced_; }

 private:
  struct Trace {
    std::vector<TensorSpec> specs;
    Function function;
  };
  const Function* find(std::span<const Tensor> inputs) const;
  const Function* make(std::vector<TensorSpec> specs);

  const char* what_;
  TensorFunction step_;
  bool traced_;
  std::vector<Trace> traces_;
  std::string not_traced_;
};

}  // namespace panto::loop
