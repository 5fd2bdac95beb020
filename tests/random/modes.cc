#include "panto/tests/random/modes.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "panto/autograd/tape.h"
#include "panto/lib/core/step/threads.h"
#include "panto/lib/graph/files/io.h"
#include "panto/lib/ops/ops.h"
#include "panto/lib/runtime/optimizer.h"
#include "panto/lib/runtime/session.h"
#include "panto/tests/random/gradients.h"
#include "panto/tests/random/interpret.h"
#include "panto/tests/random/oracle.h"
#include "panto/trace/graph_scope.h"

namespace panto::random {
namespace {

class Asker {
 public:
  Asker(const Program& program, const std::string& only, const Notify& notify)
      : p_(program), only_(only), notify_(notify) {}

  Answers run() {
    for (size_t k = 0; k <= p_.num_others; ++k) {
      std::vector<Tensor> given;
      for (const Input& in : p_.inputs) {
        given.push_back(placed(k == 0 ? in.value : in.others[k - 1], k == 0 ? in.memory : Input::Memory::kPlain));
      }
      inputs_.push_back(std::move(given));
      notify_("eager");
      World world(p_);
      expected_.push_back(try_everything(p_, inputs_.back(), world));
      answers_.legal += k > 0 && expected_.back().failures.empty() ? 1 : 0;
    }
    WatchedErrors::take();
    if (const Op* op = expected_[0].lenient; op != nullptr) {
      wrong("eager", fmt::format("expected {} to refuse what the op table says is illegal, got outputs", op->name()));
    }
    if (any_op(p_.body, [](const Op& op) { return op.has_effect(Effect::kRandom); })) {
      random_numbers();
      return std::move(answers_);
    }
    eagerly();
    traced();
    saved();
    in_session();
    gradients();
    return std::move(answers_);
  }

 private:
  static constexpr bool kBits = false, kNoise = true;
  static constexpr std::string_view kFed = "session, fed";

  // ---- Judging --------------------------------------------------------------------------------------------------

  bool wanted(const std::string& mode) const { return only_.empty() || only_ == mode; }
  void wrong(const std::string& mode, const std::string& text) { answers_.wrong.push_back({mode, text}); }

  // Whether an error that the eager program does not throw is no fault: some things need to be known while tracing.
  static bool excused(const Error& error, bool loose) {
    const std::string& text = error.message();
    const bool of_gradient = text.starts_with("gradient of ") || text.starts_with("derivative of ");
    if (loose && error.code() == Code::kUnimplemented && of_gradient) return true;
    // Files hold values of variables, not variables; and feeds must fit what is known of a node.
    // So must what a branch or a loop was made for.
    const bool for_a_function = text.starts_with("input ") && text.find(" of function '") != std::string::npos;
    return text.starts_with("freezing: expected only reads") || text.starts_with("feed '") || for_a_function;
  }

  // Runs `body`, which gives outputs, and compares them with what is expected of call `call`. `world`: whose variables
  // are compared too. `loose`: shapes were unknown while tracing.
  template <class F>
  void judge(const std::string& mode, const std::string& which, const Outcome& expected, std::span<const Tensor> inputs,
             World* world, bool noise, bool loose, F body) {
    // A program that is illegal by itself has one thing to say.
    const bool again = !which.empty() && !expected_[0].failures.empty();
    if (again || !judgeable(expected)) {
      ++answers_.skipped;
      return;
    }
    ++answers_.asked;
    const bool must_fail = std::ranges::any_of(expected.failures, &Failure::needed);
    std::string text;
    try {
      const std::vector<Tensor> got = body();
      if (must_fail) {
        text = "expected the error '" + to_text(expected.failures[0]) + "', got outputs";
      } else if (expected.outputs.empty() && !expected.failures.empty()) {
        text = {};
      } else {
        // A gradient may add a zero where its shapes are unknown: -0 + 0 is 0.
        text = difference_in_bits(expected.outputs, got, !has_kind(p_.body, Statement::Kind::kGradient));
        if (!text.empty() && noise && got.size() == expected.outputs.size() && has_contraction()) {
          text = difference_beyond_noise(p_, inputs, expected.outputs, got);
        }
        if (text.empty() && world != nullptr && expected.failures.empty()) {
          text = difference_in_bits(expected.variables, world->variable_values());
          if (!text.empty() && noise && has_contraction()) text = {};
          if (!text.empty()) text = "variables: " + text;
        }
      }
    } catch (const Unanswerable&) {
      ++answers_.skipped;
    } catch (const Error& error) {
      const Failure failure{.code = error.code(), .leaf = leaf_of(error), .op = op_of(error)};
      // Said before everything is known: numbers are missing, and of two faults in a call the other one may be seen. So
      // it is wherever some shapes are known earlier than others.
      const bool early = failure.leaf.find('?') != std::string::npos;
      const bool known = std::ranges::any_of(expected.failures, [&](const Failure& f) {
        return f.code == failure.code &&
               (f.leaf == failure.leaf || ((early || loose || !which.empty()) && !f.op.empty() && f.op == failure.op) ||
                without_numbers(f.leaf) == without_numbers(failure.leaf) || f.composite);
      });
      // What depends on what failed may be illegal too, and be found first by who looks at all shapes at once.
      const bool other = expected.blocked && (!which.empty() || mode == kFed);
      if (!known && (other || excused(error, loose))) {
        ++answers_.skipped;
      } else if (!known) {
        text = expected.failures.empty()
                   ? fmt::format("unexpected error: {}", error.what())
                   : fmt::format("expected the error '{}', got '{}'", to_text(expected.failures[0]), to_text(failure));
      }
    } catch (const std::exception& error) {
      text = fmt::format("an exception that is no panto::Error: {}", error.what());
    }
    const std::string log = WatchedErrors::take();
    // An illegal graph may make a pass give up: the run says what is wrong with it.
    const size_t at = log.find("was undone");
    if (at != std::string::npos && text.empty() && expected.failures.empty()) {
      const size_t begin = log.rfind("pass '", at);
      text = "a pass was undone: " + log.substr(begin, log.find('\n', at) - begin);
    }
    if (!text.empty()) wrong(mode, which.empty() ? text : which + ": " + text);
  }

  bool has_contraction() const {
    return any_op(p_.body, [](const Op& op) { return op.has(Trait::kContraction) || op.body() != nullptr; }) ||
           has_kind(p_.body, Statement::Kind::kGradient);
  }

  static std::string call_name(size_t k) { return k == 0 ? "" : fmt::format("call with others_{}", k - 1); }

  // ---- Eagerly --------------------------------------------------------------------------------------------------

  void eagerly() {
    const auto run = [&](const std::string& mode, const RunOptions& options) {
      if (!wanted(mode)) return;
      notify_(mode);
      for (size_t k = 0; k <= p_.num_others; ++k) {
        World world(p_);
        judge(mode, call_name(k), expected_[k], inputs_[k], &world, kBits, false,
              [&] { return interpret(p_.body, inputs_[k], world, options); });
      }
    };
    run("moved", {.moved = true});
    if (has_kind(p_.body, Statement::Kind::kCall)) run("functions", {.functions = true});
    if (wanted("taped")) {
      notify_("taped");
      World world(p_);
      judge("taped", "", expected_[0], inputs_[0], &world, kBits, false, [&] {
        GradientTape tape({.persistent = p_.seed % 2 == 0});
        for (const Tensor& t : inputs_[0]) {
          if (dtypes::kDifferentiable.contains(t.dtype())) tape.watch(t);
        }
        return interpret(p_.body, inputs_[0], world, {.moved = true, .functions = p_.seed % 3 == 0});
      });
    }
    if (wanted("threads")) {
      notify_("threads");
      World world(p_);
      judge("threads", "", expected_[0], inputs_[0], &world, kBits, false, [&] {
        const int before = num_threads();
        set_num_threads(3);
        std::vector<Tensor> got;
        try {
          got = interpret(p_.body, inputs_[0], world, {});
        } catch (...) {
          set_num_threads(before);
          throw;
        }
        set_num_threads(before);
        return got;
      });
    }
  }

  // ---- Traced ---------------------------------------------------------------------------------------------------

  std::vector<TensorSpec> specs(bool known) const {
    std::vector<TensorSpec> result;
    for (const Input& in : p_.inputs) {
      result.emplace_back(in.value.dtype(), known ? in.value.partial_shape() : in.spec);
    }
    return result;
  }
  // Moved or not, nested functions as such or in place: both, by the program's number.
  RunOptions run_options() const { return {.moved = p_.seed % 2 == 0, .functions = p_.seed % 3 != 0}; }

  Function trace_in(World& world, bool known) const {
    return make_traced(
        [this, &world](std::span<const Tensor> in) { return interpret(p_.body, in, world, run_options()); },
        specs(known), std::source_location::current());
  }

  bool fits(size_t k, bool known) const {
    for (size_t i = 0; i < p_.inputs.size(); ++i) {
      const PartialShape& spec = known ? p_.inputs[i].value.partial_shape() : p_.inputs[i].spec;
      if (!inputs_[k][i].partial_shape().compatible_with(spec)) return false;
    }
    return true;
  }

  // Inputs of shapes that were ruled out must be refused, whatever is done with them.
  template <class F>
  void judge_refused(const std::string& mode, size_t k, F body) {
    ++answers_.asked;
    try {
      body();
      wrong(mode, fmt::format("{}: expected InvalidArgument, got outputs", call_name(k)));
    } catch (const Error& error) {
      if (error.code() != Code::kInvalidArgument) {
        wrong(mode, fmt::format("{}: expected InvalidArgument, got {}", call_name(k), error.what()));
      }
    }
    WatchedErrors::take();
  }

  // One function, called several times.
  template <class Make>
  void judge_function(const std::string& mode, const std::string& passes, bool known, bool any_shapes, bool noise,
                      Make make) {
    if (!wanted(mode)) return;
    notify_(mode);
    World world(p_);
    Function f;
    for (size_t k = 0; k <= p_.num_others; ++k) {
      if (!any_shapes && !fits(k, known)) {
        if (f.defined()) judge_refused(mode, k, [&] { f.call(inputs_[k]); });
        continue;
      }
      for (int again = 0; again < (k == 0 ? 2 : 1); ++again) {
        world.reset();
        judge(mode, call_name(k), expected_[k], inputs_[k], &world, noise, !known, [&] {
          if (!f.defined()) {
            f = make(world);
            f.set_optimizer(passes);
            world.reset();
          }
          return f.call(inputs_[k]);
        });
      }
    }
  }

  void traced() {
    for (const bool known : {true, false}) {
      const std::string mode = known ? "traced" : "traced, unknown dimensions";
      const auto make = [&, known](World& world) { return trace_in(world, known); };
      judge_function(mode, "", known, false, kNoise, make);
      judge_function(mode + ", passes off", "off", known, false, kBits, make);
      judge_function(mode + ", all but matmul", "-matmul", known, false, kBits, make);
      judge_function(mode + ", some passes", p_.passes, known, false, kNoise, make);
    }
    judge_function("polymorphic", "", false, true, kNoise, [&](World& world) {
      return make_polymorphic(
          [this, &world](std::span<const Tensor> in) { return interpret(p_.body, in, world, run_options()); },
          std::source_location::current());
    });
    if (wanted("trace_with")) {
      notify_("trace_with");
      for (const bool moved : {true, false}) {
        World world(p_);
        judge("trace_with", moved ? "temporaries" : "", expected_[0], inputs_[0], &world, kNoise, false, [&] {
          const Function f = make_traced_with(
              [&](std::span<const Tensor> in) {
                return interpret(p_.body, in, world, {.moved = moved, .functions = p_.seed % 3 != 0});
              },
              inputs_[0], std::source_location::current());
          world.reset();
          return f.call(inputs_[0]);
        });
      }
    }
  }

  // ---- Saved ----------------------------------------------------------------------------------------------------

  // The loaded function's inputs are found by name: what the outputs do not need is not in the file.
  std::vector<Tensor> call_loaded(const Function& f, std::span<const Tensor> inputs) const {
    std::vector<Tensor> given;
    for (const TensorSpec& spec : f.inputs()) {
      if (!spec.name.starts_with("arg_")) {
        fail(Code::kInternal, "random program: the loaded function has the input " + spec.name);
      }
      given.push_back(inputs[static_cast<size_t>(std::stoi(spec.name.substr(4)))]);
    }
    return f.call(given);
  }

  // What `panto optimize` writes.
  static Graph optimized_for_all(const Graph& graph) {
    std::vector<PassRun> runs;
    Graph optimized = optimize_with_functions(graph, {}, {}, portable_passes(""), &runs);
    const auto failed = std::ranges::find_if(runs, [](const PassRun& run) { return !run.error.empty(); });
    if (failed != runs.end()) fail(Code::kInternal, "random program: " + failed->name + ": " + failed->error);
    return optimized;
  }

  void saved() {
    if (has_effects(p_.body)) return;
    for (const std::string mode : {"saved", "saved as text", "optimized and saved"}) {
      if (!wanted(mode)) continue;
      notify_(mode);
      const bool text = mode == "saved as text";
      const bool known = (p_.seed % 2 == 0) == text;
      World world(p_);
      std::optional<Function> loaded;
      for (size_t k = 0; k <= p_.num_others; ++k) {
        if (!fits(k, known)) continue;
        judge(mode, call_name(k), expected_[k], inputs_[k], nullptr, kNoise, !known, [&] {
          if (!loaded) {
            Graph graph = trace_in(world, known).frozen_graph();
            if (mode == "optimized and saved") graph = optimized_for_all(graph);
            loaded = function_of(parse_graph(text ? to_graph_def_text(graph, {.own_ops = true})
                                                  : to_graph_def(graph, {.own_ops = true})));
          }
          return call_loaded(*loaded, inputs_[k]);
        });
      }
    }
  }

  // ---- Session --------------------------------------------------------------------------------------------------

  void in_session() {
    if (has_effects(p_.body)) return;
    const bool known = p_.seed % 4 == 0;
    for (const std::string& mode : {std::string("session"), std::string(kFed)}) {
      if (!wanted(mode)) continue;
      const bool feeds_value = mode == kFed;
      if (feeds_value && p_.fed < 0) continue;
      notify_(mode);
      World world(p_);
      Graph graph;
      std::vector<Tensor> placeholders, fetched;
      std::map<int, Tensor> values;
      std::optional<Session> session;
      for (size_t k = 0; k <= p_.num_others; ++k) {
        const auto feeds_of = [&](size_t call) {
          Feeds feeds;
          for (size_t i = 0; i < placeholders.size(); ++i) feeds.emplace_back(placeholders[i], inputs_[call][i]);
          if (feeds_value) feeds.emplace_back(values.at(p_.fed), p_.fed_value);
          return feeds;
        };
        if (!fits(k, known)) {
          if (session) judge_refused(mode, k, [&] { session->run(fetched[0], feeds_of(k)); });
          continue;
        }
        Outcome expected = expected_[k];
        if (feeds_value) {
          World own(p_);
          expected = try_everything(p_, inputs_[k], own, {.replaced = p_.fed, .replacement = p_.fed_value});
          // Whether a value of another shape may be fed is for the session to say.
          if (!expected.failures.empty() && k > 0) continue;
          // The graph is made of the value that is not fed, and is refused if that is illegal.
          for (Failure f : expected_[k].failures) {
            f.needed = false;
            expected.failures.push_back(std::move(f));
          }
        }
        judge(mode, call_name(k), expected, inputs_[k], nullptr, feeds_value ? kBits : kNoise, !known, [&] {
          if (!session) {
            {
              const GraphScope scope(graph);
              for (size_t i = 0; i < p_.inputs.size(); ++i) {
                placeholders.push_back(placeholder(p_.inputs[i].value.dtype(), specs(known)[i].shape));
              }
              fetched = interpret(p_.body, placeholders, world, {.const_nodes = true}, &values);
            }
            // A tensor that stands for several values would be fed for all of them.
            if (feeds_value) check_alone(values, p_.fed);
            session.emplace(graph, SessionOptions{.passes = feeds_value && p_.seed % 3 == 0 ? "off"
                                                            : feeds_value                   ? "-matmul"
                                                                                            : ""});
          }
          Fetches fetches;
          for (const Tensor& t : fetched) fetches.emplace_back(t);
          // One of them twice.
          fetches.emplace_back(fetched[0]);
          std::vector<Tensor> got = session->run(fetches, feeds_of(k));
          const std::string twice = difference_in_bits(std::span(got).subspan(0, 1), std::span(got).last(1));
          if (!twice.empty()) fail(Code::kInternal, "random program: fetched twice: " + twice);
          got.pop_back();
          return got;
        });
      }
    }
  }

  // ---- Random numbers -------------------------------------------------------------------------------------------

  using Calls = std::vector<std::vector<Tensor>>;

  // What three calls give must be the same however they are made: nodes go on drawing from call to call.
  void random_numbers() {
    if (has_effects(p_.body) || !expected_[0].failures.empty()) return;
    World world(p_);
    Calls reference;
    try {
      const Function f = trace_in(world, true);
      f.set_optimizer("off");
      for (int i = 0; i < 3; ++i) reference.push_back(f.call(inputs_[0]));
    } catch (const Error&) {
      return;  // what is drawn may not be legal
    } catch (const Unanswerable&) {
      return;
    }
    compare_calls("random, passes", reference, world, [&](const Function& f, int i) {
      f.set_optimizer(i == 0 ? "-matmul" : i == 1 ? "off" : "-matmul,-elementwise");
      return f.call(inputs_[0]);
    });
    size_t other = 0;
    for (size_t k = 1; k <= p_.num_others; ++k) {
      if (fits(k, false) && expected_[k].failures.empty()) other = k;
    }
    compare_calls("random, shapes", reference, world, [&](const Function& f, int i) {
      f.set_optimizer("off");
      if (i != 1) return f.call(inputs_[0]);
      f.call(inputs_[other]);
      return reference[1];
    });
    if (uses_variables(p_.body)) return;
    std::optional<Function> loaded;
    compare_calls("random, saved", reference, world, [&](const Function& f, int) {
      if (!loaded) loaded = function_of(parse_graph(to_graph_def(f.frozen_graph(), {.own_ops = true})));
      loaded->set_optimizer("off");
      return call_loaded(*loaded, inputs_[0]);
    });
  }

  template <class Call>
  void compare_calls(const std::string& mode, const Calls& reference, World& world, Call call) {
    if (!wanted(mode)) return;
    notify_(mode);
    ++answers_.asked;
    try {
      const Function f = trace_in(world, mode != "random, shapes");
      for (int i = 0; i < 3; ++i) {
        const std::string text = difference_in_bits(reference[static_cast<size_t>(i)], call(f, i));
        if (!text.empty()) return wrong(mode, fmt::format("call {}: {}", i, text));
      }
    } catch (const Unanswerable&) {
      ++answers_.skipped;
    } catch (const Error& error) {
      if (!excused(error, true)) wrong(mode, fmt::format("unexpected error: {}", error.what()));
    }
  }

  // ---- Gradients ------------------------------------------------------------------------------------------------

  void gradients() {
    if (!expected_[0].failures.empty()) return;
    for (const GradientMode& mode : gradient_modes()) {
      if (!wanted(mode.name) || !mode.applies(p_)) continue;
      notify_(mode.name);
      ++answers_.asked;
      std::string text;
      try {
        text = mode.compare(p_, inputs_[0]);
      } catch (const Unanswerable&) {
        ++answers_.skipped;
      } catch (const Error& error) {
        if (!excused(error, true)) text = fmt::format("unexpected error: {}", error.what());
      }
      const std::string log = WatchedErrors::take();
      if (text.empty() && log.find("was undone") != std::string::npos) text = "a pass was undone: " + log;
      if (!text.empty()) wrong(mode.name, text);
    }
  }

  const Program& p_;
  const std::string& only_;
  const Notify& notify_;
  std::vector<std::vector<Tensor>> inputs_;  // by call
  std::vector<Outcome> expected_;
  Answers answers_;
};

}  // namespace

Answers ask(const Program& program, const std::string& only, const Notify& notify) {
  return Asker(program, only, notify).run();
}

}  // namespace panto::random
