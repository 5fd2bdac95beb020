// Does an op in a graph compute what it computes eagerly? Traced, optimized, differentiated, saved and loaded.
#include <fmt/format.h>

#include <algorithm>

#include "panto/autograd/tape.h"
#include "panto/lib/graph/files/io.h"
#include "panto/tests/ops/questions/questions.h"
#include "panto/trace/trace.h"

namespace panto::test {
namespace {

// A sample as a traced function of some of its inputs; the others are captured.
struct Traced {
  const Bound& bound;
  std::vector<size_t> arguments;  // positions of the inputs that are the function's
  std::vector<TensorSpec> specs;
  bool shapes_known;
  std::string what;

  std::vector<Tensor> values() const {
    std::vector<Tensor> result;
    for (const size_t i : arguments) result.push_back(bound.in[i]);
    return result;
  }
  TensorFunction body() const {
    return [this](std::span<const Tensor> given) {
      std::vector<Tensor> inputs = bound.in;
      for (size_t k = 0; k < arguments.size(); ++k) inputs[arguments[k]] = given[k];
      return bound.call(inputs);
    };
  }
  Function trace() const { return make_traced(body(), specs, std::source_location::current()); }
};

bool is_data(const Tensor& t) { return t.dtype() != kResource && t.dtype() != kVariant; }

// A graph may hold data, variables and lists; the other handles of the samples stand for nothing that runs could be
// given.
bool fits_a_graph(const Bound& b) {
  for (size_t i = 0; i < b.in.size(); ++i) {
    if (!is_data(b.in[i]) && !b.given.in[i].is_variable && !b.given.in[i].is_list) return false;
  }
  return true;
}

// Twice: only values that are computed with are arguments, their shapes known, while the others are literals, as they
// mostly are in programs; and everything is an argument, nothing known.
std::vector<Traced> both_ways(const Sample& sample, const Bound& b) {
  const std::vector<int> args = argument_of_inputs(*b.op, b.in.size(), sample.attrs);
  Traced known{b, {}, {}, true, "traced with known shapes"};
  Traced unknown{b, {}, {}, false, "traced with unknown shapes"};
  for (size_t i = 0; i < b.in.size(); ++i) {
    if (!is_data(b.in[i])) continue;
    unknown.arguments.push_back(i);
    unknown.specs.emplace_back(b.in[i].dtype(), PartialShape());
    if (args[i] >= 0 && b.op->signature().inputs[static_cast<size_t>(args[i])].host) {
      b.in[i].impl()->literal = true;
      continue;
    }
    known.arguments.push_back(i);
    known.specs.emplace_back(b.in[i].dtype(), b.in[i].partial_shape());
  }
  return {known, unknown};
}

// Every sample in its first type, and the first sample in every type.
void for_each_traced(const Row& row, const std::function<void(const Bound&, const Traced&)>& f) {
  const std::vector<DType> types = types_of(row);
  for_each_bound(row, [&](const Sample& sample, const Bound& b) {
    if ((&sample != row.d.samples.data() && b.type != types[0]) || !fits_a_graph(b)) return;
    for (const Traced& traced : both_ways(sample, b)) {
      attempt(b, traced.what, [&] { f(b, traced); });
    }
  });
}

}  // namespace

void ask_traced(const Row& row) {
  for_each_traced(row, [&](const Bound& b, const Traced& traced) {
    const std::vector<Tensor> eager = b.call();
    const std::vector<Tensor> values = traced.values();
    const Function f = traced.trace();
    f.set_optimizer("off");
    compare(eager, f.call(values), b, traced.what);
    compare(eager, f.call(values), b, traced.what + ", second call");
    const Function with_values = make_traced_with(traced.body(), values, std::source_location::current());
    compare(eager, with_values.call(values), b, traced.what + ", with values");
  });
}

void ask_optimized(const Row& row) {
  for_each_traced(row, [&](const Bound& b, const Traced& traced) {
    compare(b.call(), traced.trace().call(traced.values()), b, traced.what + " and optimized");
    // All inputs constant: folded.
    const Function constant = make_traced(
        [&b](std::span<const Tensor>) {
          std::vector<Tensor> inputs;
          for (const Tensor& t : b.in) {
            inputs.push_back(t);
            t.impl()->literal = is_data(t);
          }
          return b.call(inputs);
        },
        {}, std::source_location::current());
    compare(b.call(), constant.call({}), b, "folded");
  });
}

void ask_round_trip(const Row& row) {
  for_each_traced(row, [&](const Bound& b, const Traced& traced) {
    if (!std::ranges::all_of(b.in, is_data)) return;
    const Graph graph = traced.trace().frozen_graph();
    const std::string bytes = to_graph_def(graph, {.strip_defaults = true, .own_ops = true});
    const Graph again = parse_graph(bytes);
    if (to_graph_def(again, {.strip_defaults = true, .own_ops = true}) != bytes)
      complain(b, "other bytes after a round trip");
    compare(b.call(), function_of(again).call(traced.values()), b, traced.what + ", saved and loaded");
    const Graph from_text = parse_graph(to_graph_def_text(graph, {.strip_defaults = false, .own_ops = true}));
    compare(b.call(), function_of(from_text).call(traced.values()), b, traced.what + ", saved as text and loaded");
  });
}

namespace {

// Some gradients need to know ranks while they are traced, and say so.
bool lacks_rank(const Error& error) {
  return error.code() == Code::kUnimplemented && error.message().starts_with("gradient of ") &&
         error.message().find("unknown one") != std::string::npos;
}

}  // namespace

void ask_traced_gradient(const Row& row) {
  for_each_traced(row, [&](const Bound& b, const Traced& traced) {
    if (b.type != kFloat32 && b.type != kFloat64) return;
    const Function f = traced.trace();
    f.set_optimizer("off");
    std::vector<Tensor> eager_outputs, traced_outputs;
    const std::vector<Tensor> expected = gradients_of(b, eager_outputs);
    std::vector<Tensor> got;
    try {
      got = gradients_of(b, traced_outputs, [&](std::span<const Tensor>) { return f.call(traced.values()); });
    } catch (const Error& error) {
      if (!traced.shapes_known && lacks_rank(error)) return;
      throw;
    }
    compare(eager_outputs, traced_outputs, b, traced.what + ", under a tape");
    for (size_t i = 0; i < b.in.size(); ++i) {
      if (got[i].defined() != expected[i].defined()) {
        complain(b,
                 fmt::format("{}: gradient of input {} is {}", traced.what, i, got[i].defined() ? "there" : "absent"));
      } else if (got[i].defined()) {
        check_same(difference(to_array(expected[i]), got[i], {.units = std::max(8.0, row.d.units / 16), .floor = 1}), b,
                   fmt::format("{}: gradient of input {}", traced.what, i));
      }
    }
  });
}

}  // namespace panto::test
