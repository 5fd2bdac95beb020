// A random program as plain data: what it is given, what it does and what it gives back.
//
// Values have numbers that are used once in a program, nested functions included. An input of a statement is the number
// of a value, or, below 0, the handle of a variable (`variable_ref`). A program can be run (interpret.h), asked for the
// same answer in many modes (modes.h), made smaller (shrink.h) and printed as C++ (`to_cpp`).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "panto/lib/core/op/attr.h"
#include "panto/lib/core/op/op.h"
#include "panto/lib/core/tensor/tensor.h"

namespace panto::random {

using Ref = int;
inline constexpr Ref variable_ref(int variable) { return -1 - variable; }
inline constexpr int variable_of_ref(Ref ref) { return -1 - ref; }

struct Body;

struct Statement {
  enum class Kind : uint8_t {
    kOp,        // out = op(in; attrs)
    kConstant,  // out = value
    kCall,      // out = a function with `body` of `in`
    kTape,      // opens tape number `tape`, which watches `in`
    kGradient,  // out = gradients by tape `tape` of in[0] with respect to the other inputs
    kEndTape,   // ends tape `tape`
  };
  // Where a constant comes from.
  enum class Origin : uint8_t { kLiteral, kMade, kCaptured };
  // How a nested function is traced.
  enum class Form : uint8_t {
    kSpecs,        // with `specs`
    kPolymorphic,  // at the first call with new shapes
    kRecursive,    // the same, and calls itself with its first argument summed over the first dimension
    kCond,         // not at all: a conditional calls `body`, in one branch with zeros for the first argument
    kLoop,         // not at all: a loop adds the largest element of the first output to the first argument, then `body`
  };

  Kind kind = Kind::kOp;
  std::vector<Ref> in;
  std::vector<int> out;
  // kOp
  const Op* op = nullptr;
  DType type = DType::kInvalid;  // the primary one, for the count of what was tried
  std::vector<std::pair<std::string, AttrValue>> attrs;
  bool illegal = false;  // it must be refused
  // kConstant
  Tensor value;
  Origin origin = Origin::kLiteral;
  // kCall
  std::shared_ptr<const Body> body;
  Form form = Form::kPolymorphic;
  std::vector<PartialShape> specs;
  // kTape, kGradient, kEndTape
  int tape = 0;
  bool persistent = false;
};

struct Body {
  std::vector<int> inputs;
  std::vector<Statement> statements;
  std::vector<Ref> outputs;
};

// What a program is given.
struct Input {
  enum class Memory : uint8_t { kPlain, kView, kAdopted };
  Tensor value;
  Memory memory = Memory::kPlain;
  PartialShape spec;                // what a trace with unknown dimensions knows of it
  std::vector<Tensor> others = {};  // what it is in further calls
};

// `t` as it lies in memory.
Tensor placed(const Tensor& t, Input::Memory memory);

struct VariableInit {
  Tensor value;
  PartialShape declared;
};

struct Program {
  uint64_t seed = 0;
  Body body;
  std::vector<Input> inputs;  // by position in body.inputs
  std::vector<VariableInit> variables;
  int next_value = 0;
  int next_tape = 0;
  size_t num_others = 0;  // how many further calls
  // A value that a session is given instead of computing it.
  int fed = -1;
  Tensor fed_value;
  std::string passes;  // one way to choose passes, beside all and none

  size_t num_statements() const;
};

// ---- Looking at bodies ------------------------------------------------------------------------------------------

bool writes(const Statement& s);  // a variable
bool has_effects(const Body& body);
bool uses_variables(const Body& body);
bool has_kind(const Body& body, Statement::Kind kind);
bool has_form(const Body& body, Statement::Form form);
// Some op for which `f` holds.
template <class F>
bool any_op(const Body& body, F f) {
  for (const Statement& s : body.statements) {
    if (s.kind == Statement::Kind::kOp && f(*s.op)) return true;
    if (s.body != nullptr && any_op(*s.body, f)) return true;
  }
  return false;
}
// Without statements that nothing needs, and with what they needed gone as well. Removes inputs and variables that
// nothing uses too if `interface`.
void drop_unused(Program& program, bool interface);
// Statements by index that read, directly or not, a value in `lost`; those are gone and outputs that were made of them.
void drop_values(Body& body, std::vector<int> lost);

// ---- Text -------------------------------------------------------------------------------------------------------

// A tensor as a C++ expression that makes it.
std::string cpp_tensor(const Tensor& t);
// All of it, to be pasted into a test: inputs, variables and a lambda `body`.
std::string to_cpp(const Program& program);

}  // namespace panto::random
