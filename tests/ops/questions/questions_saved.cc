// Does a node with state or an effect, or one that draws random numbers, do the same after a GraphDef was written and
// read?
#include <fmt/format.h>

#include <algorithm>

#include "panto/lib/core/call/dispatch.h"
#include "panto/lib/core/call/scopes.h"
#include "panto/lib/core/tensor/resource.h"
#include "panto/lib/core/tensor/variable.h"
#include "panto/lib/graph/files/io.h"
#include "panto/lib/runtime/session.h"
#include "panto/tests/ops/questions/questions.h"
#include "panto/trace/graph_scope.h"

namespace panto::test {
namespace {

// A sample as a program of TensorFlow 1: its variables are nodes with initializers, its other inputs are fed.
struct Program {
  Graph graph;
  Feeds feeds;
  Fetches fetches;  // the op's outputs
  Fetches reads;    // the variables, in order
  Operation init;
  std::string node;

  explicit Program(const Bound& b) {
    const GraphScope building(graph);
    std::vector<Variable> variables;
    std::vector<Tensor> inputs;
    for (size_t i = 0; i < b.in.size(); ++i) {
      if (b.given.in[i].is_variable) {
        variables.emplace_back(variable_of(b.in[i]).read(), fmt::format("v{}", i));
        inputs.push_back(variables.back().handle());
      } else {
        const std::string name = fmt::format("x{}", i);
        inputs.push_back(placeholder(b.in[i].dtype(), b.in[i].partial_shape(), name));
        feeds.emplace_back(name, b.in[i]);
      }
    }
    const size_t outputs = b.call(inputs).size();
    node = graph.at(graph.id_limit() - 1).name();
    for (size_t k = 0; k < outputs; ++k) fetches.emplace_back(fmt::format("{}:{}", node, k));
    for (const Variable& v : variables) reads.emplace_back(named(v.name() + "/after", v.value()));
    for (GraphElement& read : reads) read = graph.node(read.tensor()).name();  // as a user of the file has it
    init = global_variables_initializer();
  }
};

// Handles have no values that a file could hold, neither as constants nor as what a variable begins with.
bool fits_a_file(const Bound& b) {
  for (size_t i = 0; i < b.in.size(); ++i) {
    const DType t = b.given.in[i].is_variable ? variable_of(b.in[i]).dtype() : b.in[i].dtype();
    if (t == kResource || t == kVariant) return false;
  }
  return true;
}

// The values that the variables among the inputs begin with.
std::vector<Array> initial(const Bound& b) {
  std::vector<Array> values;
  for (Array a : b.given.in) {
    if (!a.is_variable) continue;
    a.is_variable = false;
    values.push_back(std::move(a));
  }
  return values;
}

void check_run(const Sample& sample, const Bound& b, const Program& program, const Graph& graph,
               const std::string& what) {
  if (&graph.at(program.node).op() != b.op) return complain(b, what + ": the node is of another op");
  Session session(graph);
  session.run(program.init.name());
  compare(initial(b), session.run(program.reads), b, what + ": initialized variable");
  Fetches fetches = program.fetches;
  fetches.emplace_back("^" + program.node);  // runs, where it has no outputs
  std::vector<Tensor> got = session.run(fetches, program.feeds);
  got.pop_back();
  if (got.size() != program.fetches.size()) {
    return complain(b, fmt::format("{}: expected {} outputs, got {}", what, program.fetches.size(), got.size()));
  }
  if (b.row->d.random) {
    const std::vector<Tensor> alike = b.call();
    for (size_t k = 0; k < got.size(); ++k) {
      if (got[k].dtype() == alike[k].dtype() && got[k].shape() == alike[k].shape()) continue;
      complain(b,
               fmt::format("{}: output {} is {}{}", what, k, dtype_name(got[k].dtype()), got[k].shape().to_string()));
    }
  } else if (!got.empty()) {
    compare(b.expected(sample), got, b, what);
  }
  const std::vector<Array> after = b.row->d.after != nullptr ? b.row->d.after(b.given) : initial(b);
  compare(after, session.run(program.reads), b, what + ": variable after the run");
}

}  // namespace

void ask_saved(const Row& row) {
  int asked = 0;
  for_each_bound(row, [&](const Sample& sample, const Bound& b) {
    if (!fits_a_file(b)) return;
    ++asked;
    attempt(b, "saved", [&] {
      const Program program(b);
      const ExportOptions options{.strip_defaults = true, .own_ops = true};
      const std::string bytes = to_graph_def(program.graph, options);
      const Graph from_bytes = parse_graph(bytes);
      if (to_graph_def(from_bytes, options) != bytes) complain(b, "other bytes after a round trip");
      check_run(sample, b, program, from_bytes, "saved and loaded");
      const Graph from_text = parse_graph(to_graph_def_text(program.graph, {.strip_defaults = false, .own_ops = true}));
      check_run(sample, b, program, from_text, "saved as text and loaded");
    });
  });
  if (asked == 0) complain("no sample fits a file");
}

}  // namespace panto::test
