#include "panto/tests/random/interpret.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "panto/autograd/tape.h"
#include "panto/lib/core/call/dispatch.h"
#include "panto/lib/core/tensor/resource.h"
#include "panto/lib/ops/create.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/lib/ops/reductions.h"
#include "panto/tests/ops/array_value.h"
#include "panto/tests/random/program/rng.h"
#include "panto/trace/control/control_flow.h"

namespace panto::random {

// ---- World ------------------------------------------------------------------------------------------------------

World::World(const Program& program) {
  for (const VariableInit& init : program.variables) add(init);
}

void World::add(const VariableInit& init) {
  static int count = 0;
  const std::string name = fmt::format("random_{}", count++);
  const std::pair<std::string, AttrValue> attrs[] = {
      {"dtype", AttrValue(init.value.dtype())},
      {"shape", AttrValue(init.declared)},
      {"shared_name", AttrValue(name)},
  };
  const Tensor handle = dispatch::call("VarHandleOp", {}, attrs)[0];
  variables_.push_back(Variable::from_handle(handle, init.value.dtype(), init.declared, name));
  initial_.push_back(init);
  variables_.back().assign(init.value);
}

void World::truncate(size_t count) {
  variables_.resize(std::min(count, variables_.size()));
  initial_.resize(variables_.size());
}

void World::reset() {
  for (size_t i = 0; i < variables_.size(); ++i) variables_[i].assign(initial_[i].value);
}

std::vector<Tensor> World::variable_values() const {
  std::vector<Tensor> values;
  for (const Variable& v : variables_) values.push_back(v.value());
  return values;
}

// ---- Interpreter ------------------------------------------------------------------------------------------------

namespace {

Tensor copy_of(const Tensor& t) {
  if (!is_plain(t.dtype()) || t.is_meta()) return t;
  return tensor_from_bytes(t.dtype(), t.shape(), t.impl()->data, t.nbytes());
}

}  // namespace

Tensor parts_of(const Tensor& t) {
  const DType part = t.dtype() == DType::kComplex64 ? kFloat32 : kFloat64;
  return tensor_from_bytes(part, Shape({t.numel(), 2}), t.impl()->data, t.nbytes());
}

Tensor with_noise(const Tensor& t, double noise, Rng& rng) {
  if (!dtypes::kDifferentiable.contains(t.dtype()) || t.is_meta()) return t;
  if (dtypes::kComplex.contains(t.dtype())) {
    const Tensor parts = with_noise(parts_of(t), noise, rng);
    return tensor_from_bytes(t.dtype(), t.shape(), parts.impl()->data, t.nbytes());
  }
  std::vector<double> factors;
  for (int64_t i = 0; i < t.numel(); ++i) factors.push_back(1 + (rng.chance(0.5) ? noise : -noise));
  // Not less than a unit of the last place.
  const double least = test::epsilon(t.dtype());
  for (double& f : factors) f = f > 1 ? std::max(f, 1 + least) : std::min(f, 1 - least);
  return cast(mul(cast(t, kFloat64), reshape(tensor(factors), t.shape())), t.dtype());
}

class Interpreter {
 public:
  Interpreter(World& world, const RunOptions& options) : world_(world), options_(options), rng_(options.noise_seed) {}

  std::vector<Tensor> run(const Body& body, std::span<const Tensor> inputs, std::map<int, Tensor>* values, bool top) {
    Frame frame;
    for (size_t i = 0; i < body.inputs.size(); ++i) frame.values[body.inputs[i]] = inputs[i];
    for (size_t i = 0; i < body.statements.size(); ++i) {
      step(body, i, frame, top);
      if (values != nullptr) *values = frame.values;
    }
    std::vector<Tensor> outputs;
    for (const Ref r : body.outputs) outputs.push_back(frame.values.at(r));
    return outputs;
  }

  Outcome run_tolerantly(const Program& program, std::span<const Tensor> inputs) {
    const Body& body = program.body;
    Outcome outcome;
    Frame frame;
    std::vector<size_t> failed_at;
    std::set<int> lost;
    for (size_t i = 0; i < body.inputs.size(); ++i) frame.values[body.inputs[i]] = inputs[i];
    for (size_t i = 0; i < body.statements.size(); ++i) {
      const Statement& s = body.statements[i];
      const bool blocked = std::ranges::any_of(s.in, [&](Ref r) { return r >= 0 && lost.contains(r); });
      if (!blocked) {
        try {
          step(body, i, frame, true);
          if (s.illegal) outcome.lenient = s.op;
          continue;
        } catch (const Error& error) {
          const bool composite = s.kind == Statement::Kind::kCall || (s.op != nullptr && s.op->body() != nullptr);
          outcome.failures.push_back({error.code(), leaf_of(error), false, composite, op_of(error)});
          failed_at.push_back(i);
        }
      }
      outcome.blocked = outcome.blocked || blocked;
      lost.insert(s.out.begin(), s.out.end());
      // A value that is given instead of computed is there all the same.
      if (options_.replaced >= 0 && lost.erase(options_.replaced) > 0) {
        frame.values[options_.replaced] = options_.replacement;
      }
    }
    if (failed_at.empty()) {
      for (const Ref r : body.outputs) outcome.outputs.push_back(frame.values.at(r));
    } else {
      note_needed(body, failed_at, outcome);
      const bool complete = std::ranges::none_of(body.outputs, [&](Ref r) { return lost.contains(r); });
      for (size_t i = 0; complete && i < body.outputs.size(); ++i) {
        outcome.outputs.push_back(frame.values.at(body.outputs[i]));
      }
    }
    outcome.values = std::move(frame.values);
    return outcome;
  }

 private:
  struct Frame {
    std::map<int, Tensor> values;
    std::map<int, std::unique_ptr<GradientTape>> tapes;
  };

  // Adds the values of `body` that cannot be had without those in `hit`: where only shapes, or gradients, are taken of
  // one, a graph may do without. True where a variable is written.
  static bool spread(const Body& body, size_t from, std::set<int>& hit) {
    bool written = false;
    for (size_t i = from; i < body.statements.size(); ++i) {
      const Statement& s = body.statements[i];
      const auto is_hit = [&](Ref r) { return hit.contains(r); };
      if (s.kind == Statement::Kind::kGradient || !std::ranges::any_of(s.in, is_hit)) continue;
      if (s.kind == Statement::Kind::kOp) {
        // What a composite does not use, it does not need.
        if (s.op->has(Trait::kShapeOnly) || s.op->body() != nullptr) continue;
        const bool by_itself = s.op->has(Trait::kIdentity) && s.in.size() == s.out.size();
        for (size_t k = 0; k < s.out.size(); ++k) {
          if (!by_itself || is_hit(s.in[k])) hit.insert(s.out[k]);
        }
        written = written || writes(s);
      } else if (s.kind == Statement::Kind::kCall) {
        std::set<int> inside;
        for (size_t k = 0; k < s.in.size(); ++k) {
          if (is_hit(s.in[k])) inside.insert(s.body->inputs[k]);
        }
        written = spread(*s.body, 0, inside) || written;
        for (size_t k = 0; k < s.out.size(); ++k) {
          if (inside.contains(s.body->outputs[k])) hit.insert(s.out[k]);
        }
      }
    }
    return written;
  }

  static void note_needed(const Body& body, const std::vector<size_t>& failed, Outcome& outcome) {
    for (size_t f = 0; f < failed.size(); ++f) {
      const Statement& s = body.statements[failed[f]];
      // Of a function only what its outputs need has to run, which is not known here.
      if (s.kind != Statement::Kind::kOp) continue;
      const auto leads_out = [&](std::set<int> hit) {
        return spread(body, failed[f] + 1, hit) ||
               std::ranges::any_of(body.outputs, [&](Ref r) { return hit.contains(r); });
      };
      // What a composite checks of its inputs for one of its outputs, it need not check for another.
      outcome.failures[f].needed = writes(s) || (s.op->body() != nullptr && !s.out.empty()
                                                     ? std::ranges::all_of(s.out, [&](int v) { return leads_out({v}); })
                                                     : leads_out({s.out.begin(), s.out.end()}));
    }
  }

  Tensor value(const Frame& frame, Ref r) const {
    return r >= 0 ? frame.values.at(r) : world_.variables_[static_cast<size_t>(variable_of_ref(r))].handle();
  }

  static bool used_later(const Body& body, size_t after, Ref r) {
    if (std::ranges::find(body.outputs, r) != body.outputs.end()) return true;
    for (size_t i = after + 1; i < body.statements.size(); ++i) {
      if (std::ranges::find(body.statements[i].in, r) != body.statements[i].in.end()) return true;
    }
    return false;
  }

  void step(const Body& body, size_t index, Frame& frame, bool top) {
    const Statement& s = body.statements[index];
    std::vector<Tensor> got;
    switch (s.kind) {
      case Statement::Kind::kOp: got = call_op(body, index, frame); break;
      case Statement::Kind::kConstant: got = {constant(s)}; break;
      case Statement::Kind::kCall: got = call_function(s, frame); break;
      case Statement::Kind::kTape: {
        auto tape =
            std::make_unique<GradientTape>(GradientTape::Options{.persistent = s.persistent, .unconnected_zero = true});
        for (const Ref r : s.in) {
          if (r >= 0) tape->watch(value(frame, r));
        }
        frame.tapes[s.tape] = std::move(tape);
        break;
      }
      case Statement::Kind::kGradient: {
        std::vector<GradSource> sources;
        for (size_t i = 1; i < s.in.size(); ++i) {
          const Ref r = s.in[i];
          if (r >= 0) {
            sources.emplace_back(value(frame, r));
          } else {
            sources.emplace_back(world_.variables_[static_cast<size_t>(variable_of_ref(r))]);
          }
        }
        const auto tape = frame.tapes.find(s.tape);
        if (tape == frame.tapes.end()) fail(Code::kFailedPrecondition, "random program: the tape did not open");
        got = tape->second->gradient(value(frame, s.in[0]), std::span<const GradSource>(sources));
        break;
      }
      case Statement::Kind::kEndTape: frame.tapes.erase(s.tape); break;
    }
    for (size_t k = 0; k < s.out.size(); ++k) {
      const bool replaced = top && s.out[k] == options_.replaced && options_.replacement.defined();
      frame.values[s.out[k]] = replaced ? options_.replacement : std::move(got[k]);
      if (top && options_.watch) options_.watch(s.out[k], frame.values[s.out[k]]);
    }
  }

  std::vector<Tensor> call_op(const Body& body, size_t index, Frame& frame) {
    const Statement& s = body.statements[index];
    std::vector<AttrSlot> slots(s.op->signature().attrs.size());
    for (const auto& [name, v] : s.attrs) {
      const int at = s.op->signature().find_attr(name);
      if (at >= 0) slots[static_cast<size_t>(at)] = borrow(v);
    }
    std::vector<const Tensor*> pointers;
    uint64_t donated = 0;
    for (size_t i = 0; i < s.in.size(); ++i) {
      const Ref r = s.in[i];
      if (r < 0) {
        pointers.push_back(&world_.variables_[static_cast<size_t>(variable_of_ref(r))].handle());
        continue;
      }
      pointers.push_back(&frame.values.at(r));
      if (options_.moved && i < 64 && std::ranges::count(s.in, r) == 1 && !used_later(body, index, r)) {
        donated |= uint64_t{1} << i;
      }
    }
    const bool moves = s.op->has(Trait::kDataMovement) || s.op->has(Trait::kIdentity);
    // What is read twice is read a little differently: what would cancel to the bit does not.
    std::vector<Tensor> noisy(s.in.size());
    for (size_t i = 0; options_.noise_everywhere && !moves && i < s.in.size(); ++i) {
      if (s.in[i] < 0 || !dtypes::kDifferentiable.contains(pointers[i]->dtype())) continue;
      noisy[i] = with_noise(*pointers[i], options_.noise, rng_);
      pointers[i] = &noisy[i];
    }
    dispatch::Outputs outputs = dispatch::call(*s.op, pointers, slots, {.donated = donated});
    if (donated != 0) {
      for (size_t i = 0; i < s.in.size(); ++i) {
        if (i < 64 && ((donated >> i) & 1) != 0) frame.values.erase(s.in[i]);
      }
    }
    std::vector<Tensor> got(outputs.begin(), outputs.end());
    if (options_.noise > 0 && (s.op->has(Trait::kContraction) || (options_.noise_everywhere && !moves))) {
      for (Tensor& t : got) t = with_noise(t, options_.noise, rng_);
    }
    return got;
  }

  Tensor constant(const Statement& s) {
    if (options_.const_nodes) {
      const std::pair<std::string, AttrValue> attrs[] = {{"value", AttrValue(s.value)},
                                                         {"dtype", AttrValue(s.value.dtype())}};
      return dispatch::call("Const", {}, attrs)[0];
    }
    if (s.origin == Statement::Origin::kCaptured) {
      Tensor& kept = world_.captured_[s.out[0]];
      if (!kept.defined()) kept = copy_of(s.value);
      return kept;
    }
    Tensor made = copy_of(s.value);
    if (s.origin == Statement::Origin::kLiteral) made.impl()->literal = true;
    return made;
  }

  std::vector<Tensor> call_function(const Statement& s, Frame& frame) {
    std::vector<Tensor> args;
    for (const Ref r : s.in) args.push_back(value(frame, r));
    if (s.form == Statement::Form::kCond || s.form == Statement::Form::kLoop) {
      std::vector<Tensor> outputs = s.form == Statement::Form::kCond ? choose(s, args) : go_round(s, args);
      for (Tensor& t : outputs) {
        if (dtypes::kFloating.contains(t.dtype())) t = identity(t);
      }
      return outputs;
    }
    if (!options_.functions) {
      if (s.form == Statement::Form::kSpecs) check_specs(s, args);
      std::vector<Tensor> outputs =
          s.form == Statement::Form::kRecursive ? recurse(s, args) : run(*s.body, args, nullptr, false);
      // Outputs of a call do not depend on each other: none is a step on the way to another one.
      for (Tensor& t : outputs) {
        if (dtypes::kFloating.contains(t.dtype())) t = identity(t);
      }
      return outputs;
    }
    Function& f = world_.functions_[s.out[0]];
    if (!f.defined()) {
      // It may be called when this interpreter is gone.
      TensorFunction body = [&world = world_, &s, options = options_](std::span<const Tensor> in) {
        RunOptions own = options;
        own.replaced = -1;
        own.const_nodes = false;
        Interpreter inner(world, own);
        return s.form == Statement::Form::kRecursive ? inner.recurse(s, in) : inner.run(*s.body, in, nullptr, false);
      };
      if (s.form == Statement::Form::kSpecs) {
        std::vector<TensorSpec> specs;
        for (size_t i = 0; i < args.size(); ++i) specs.emplace_back(args[i].dtype(), s.specs[i]);
        f = make_traced(std::move(body), std::move(specs), std::source_location::current());
      } else {
        f = make_polymorphic(std::move(body), std::source_location::current());
      }
    }
    const Function keep = f;
    return keep.call(args);
  }

  // The body, called by a conditional or a loop.
  std::vector<Tensor> call_inside(const Statement& s, std::span<const Tensor> args) {
    RunOptions own = options_;
    own.replaced = -1;
    own.const_nodes = false;
    Interpreter inner(world_, own);
    return inner.run(*s.body, args, nullptr, false);
  }

  static Tensor largest(const Tensor& t) { return max(t); }

  std::vector<Tensor> choose(const Statement& s, const std::vector<Tensor>& args) {
    const auto then = [&] { return call_inside(s, args); };
    const auto otherwise = [&] {
      std::vector<Tensor> others = args;
      others[0] = zeros_like(args[0]);
      return call_inside(s, others);
    };
    if (options_.both_branches) {
      then();
      otherwise();
    }
    return cond(greater(largest(args[0]), zeros({}, args[0].dtype())), then, otherwise);
  }

  std::vector<Tensor> go_round(const Statement& s, std::vector<Tensor> args) {
    const DType type = args[0].dtype();
    auto [n, x] = while_loop([](const Tensor& i, const Tensor& x) { return logical_and(i < 3, all(equal(x, x))); },
                             [&](const Tensor& i, const Tensor& x) {
                               std::vector<Tensor> in = args;
                               in[0] = x;
                               const Tensor first = call_inside(s, in)[0];
                               const Tensor more = first.dtype() == type ? largest(first) : ones({}, type);
                               return std::tuple(i + 1, add(x, more));
                             },
                             std::tuple(tensor(0), args[0]));
    args[0] = x;
    return call_inside(s, args);
  }

  static void check_specs(const Statement& s, const std::vector<Tensor>& args) {
    for (size_t i = 0; i < args.size(); ++i) {
      if (args[i].partial_shape().compatible_with(s.specs[i])) continue;
      fail(Code::kInvalidArgument,
           fmt::format("argument 'arg_{}': expected {}{}, got {}{}", i, dtype_name(args[i].dtype()),
                       s.specs[i].to_string(), dtype_name(args[i].dtype()), args[i].partial_shape().to_string()));
    }
  }

  // The body, plus what the same function gives for fewer dimensions.
  std::vector<Tensor> recurse(const Statement& s, std::span<const Tensor> args) {
    std::vector<Tensor> outputs = run(*s.body, args, nullptr, false);
    if (!args[0].partial_shape().known_rank()) throw Unanswerable();
    if (args[0].partial_shape().rank() == 0) return outputs;
    std::vector<Tensor> fewer(args.begin(), args.end());
    fewer[0] = sum(fewer[0], {0});
    const std::vector<Tensor> inner =
        options_.functions ? world_.functions_.at(s.out[0]).call(fewer) : recurse(s, fewer);
    for (size_t k = 0; k < outputs.size(); ++k) {
      if (dtypes::kNumeric.contains(outputs[k].dtype())) outputs[k] = add(outputs[k], sum(inner[k]));
    }
    return outputs;
  }

  World& world_;
  const RunOptions& options_;
  Rng rng_;
};

void check_alone(const std::map<int, Tensor>& values, int v) {
  for (const auto& [other, t] : values) {
    if (other != v && t.impl() == values.at(v).impl()) throw Unanswerable();
  }
}

std::string leaf_of(const Error& error) {
  const std::string& text = error.message();
  size_t end = text.size();
  for (const char* context : {" [in ", " [node '", " [at ", " [while ", " [variable "})
    end = std::min(end, text.find(context));
  std::string leaf = text.substr(0, end);
  for (size_t at = leaf.find("random_"); at != std::string::npos; at = leaf.find("random_", at + 1)) {
    at += 7;
    size_t digits = 0;
    while (at + digits < leaf.size() && leaf[at + digits] >= '0' && leaf[at + digits] <= '9') ++digits;
    leaf.replace(at, digits, "#");
  }
  return leaf;
}

std::string op_of(const Error& error) {
  const std::string& text = error.message();
  const size_t begin = text.find(" [in ");
  return begin == std::string::npos ? "" : text.substr(begin + 5, text.find_first_of("(]", begin) - begin - 5);
}

std::string without_numbers(const std::string& leaf) {
  std::string result;
  for (const char c : leaf) {
    const bool number = (c >= '0' && c <= '9') || c == '?' || c == '-';
    if (!number) {
      result += c;
    } else if (result.empty() || result.back() != '#') {
      result += '#';
    }
  }
  return result;
}

std::string to_text(const Failure& failure) { return fmt::format("{}: {}", code_name(failure.code), failure.leaf); }

std::vector<Tensor> interpret(const Body& body, std::span<const Tensor> inputs, World& world, const RunOptions& options,
                              std::map<int, Tensor>* values) {
  return Interpreter(world, options).run(body, inputs, values, true);
}

Outcome try_everything(const Program& program, std::span<const Tensor> inputs, World& world,
                       const RunOptions& options) {
  Outcome outcome = Interpreter(world, options).run_tolerantly(program, inputs);
  outcome.variables = world.variable_values();
  return outcome;
}

}  // namespace panto::random
