// Running a program's body: on tensors (eagerly), or on symbolic ones while a function is traced.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "panto/lib/base/error.h"
#include "panto/lib/core/tensor/variable.h"
#include "panto/tests/random/program/program.h"
#include "panto/tests/random/program/rng.h"
#include "panto/trace/function.h"

namespace panto::random {

// What a program finds outside of itself: variables, captured tensors, functions that were traced before. One for each
// mode, so that modes do not see each other's.
class World {
 public:
  World() = default;  // without variables
  explicit World(const Program& program);
  void add(const VariableInit& init);
  // Forgets variables from number `count` on.
  void truncate(size_t count);
  // Variables hold their initial values again.
  void reset();
  const std::vector<Variable>& variables() const { return variables_; }
  std::vector<Tensor> variable_values() const;

 private:
  friend class Interpreter;
  std::vector<VariableInit> initial_;
  std::vector<Variable> variables_;
  std::map<int, Tensor> captured_;     // by value number
  std::map<int, Function> functions_;  // by the number of the call's first output
};

// An answer that does not exist: ranks that a recursion must know and does not. The mode is skipped.
struct Unanswerable {};
// Throws Unanswerable where another value is the same tensor as number `v`.
void check_alone(const std::map<int, Tensor>& values, int v);

struct RunOptions {
  bool moved = false;          // values are given away where they are used last
  bool functions = false;      // nested functions are Functions; otherwise their bodies are run in place
  bool both_branches = false;  // a conditional calls the branch that is not taken too, as a trace does
  bool const_nodes = false;    // constants by op Const: a GraphScope gives them a node of their own
  int replaced = -1;           // this value is `replacement` instead of what is computed
  Tensor replacement = {};
  std::function<void(int value, const Tensor& t)> watch = nullptr;  // is told each value of the top body
  double noise = 0;               // relative, on what contractions give: how much rounding there may matter
  bool noise_everywhere = false;  // on what all ops read and give
  uint64_t noise_seed = 0;
};

// With elements that are larger or smaller by the factor 1 + `noise` or by a unit of the last place, if that is more.
// Parts of complex ones change apart; integers and what else there is stay as they are.
Tensor with_noise(const Tensor& t, double noise, Rng& rng);
// The real and imaginary parts of complex numbers as floating ones, of shape [elements, 2].
Tensor parts_of(const Tensor& complex);

// What a failing statement threw.
struct Failure {
  Code code = Code::kInternal;
  std::string leaf;        // the message up to its contexts
  bool needed = false;     // an output or an effect depends on it
  bool composite = false;  // its op has a body, or it is a call: in a graph the ops inside speak
  std::string op = {};     // that threw
  bool operator==(const Failure&) const = default;
};
// Without the numbers that variables got in this world.
std::string leaf_of(const Error& error);
// The op that threw, as the first context says.
std::string op_of(const Error& error);
// Without what is not known everywhere: numbers and question marks.
std::string without_numbers(const std::string& leaf);
std::string to_text(const Failure& failure);

// What one run gives.
struct Outcome {
  std::vector<Tensor> outputs;
  std::vector<Tensor> variables;  // afterwards
  std::vector<Failure> failures;  // more than one only by `try_everything`
  const Op* lenient = nullptr;    // of a statement that must be refused, and was not
  bool blocked = false;           // something that depends on what failed was not tried
  std::map<int, Tensor> values;
};

// Runs it; an Error leaves.
std::vector<Tensor> interpret(const Body& body, std::span<const Tensor> inputs, World& world,
                              const RunOptions& options = {}, std::map<int, Tensor>* values = nullptr);
// The reference. Goes on after an error with what does not depend on the statement that failed.
Outcome try_everything(const Program& program, std::span<const Tensor> inputs, World& world,
                       const RunOptions& options = {});

}  // namespace panto::random
