// What TensorFlow wrote runs here with TensorFlow's results: as it is, optimized, and after we wrote it ourselves.
#include "panto/tests/runtime/reference_graphs.h"

#include <boost/test/unit_test.hpp>

#include "panto/lib/base/error.h"
#include "panto/lib/graph/files/io.h"
#include "panto/lib/runtime/session.h"
#include "panto/tests/runtime/function_graphs.h"

namespace panto::test {
namespace {

void replay(const ReferenceGraph& reference, const Graph& graph, const std::string& passes) {
  BOOST_REQUIRE(!reference.runs.empty());
  Session session(graph, {.passes = passes});
  for (size_t i = 0; i < reference.runs.size(); ++i) {
    const ReferenceRun& run = reference.runs[i];
    BOOST_TEST_CONTEXT(reference.name << ", run " << i << ", passes '" << passes << "'") {
      Feeds feeds;
      for (const auto& [name, value] : run.feeds) feeds.emplace_back(name, value);
      Fetches fetches(run.fetches.begin(), run.fetches.end());
      for (const std::string& target : run.targets) fetches.emplace_back("^" + target);
      std::vector<Tensor> got;
      try {
        got = session.run(fetches, feeds);
      } catch (const Error& error) {
        BOOST_ERROR(error.what());
        return;
      }
      BOOST_REQUIRE_EQUAL(got.size(), run.expected.size() + run.targets.size());
      for (size_t k = 0; k < run.expected.size(); ++k) {
        BOOST_TEST(graph_difference(got[k], run.expected[k]) == "",
                   run.fetches[k] << ": " << graph_difference(got[k], run.expected[k]));
      }
    }
  }
}

BOOST_AUTO_TEST_SUITE(reference_graphs_suite)

BOOST_AUTO_TEST_CASE(run_as_in_tensorflow) {
  BOOST_REQUIRE(reference_graphs().size() >= 17u);
  for (const ReferenceGraph& reference : reference_graphs()) {
    const Graph graph = read_graph(reference.path);
    for (const char* passes : {"", "off", "-fusion", "constant_folding", "cse"}) replay(reference, graph, passes);
  }
}

BOOST_AUTO_TEST_CASE(survive_a_round_trip) {
  for (const ReferenceGraph& reference : reference_graphs()) {
    const Graph graph = read_graph(reference.path);
    const std::string binary = to_graph_def(graph);
    const Graph again = parse_graph(binary);
    BOOST_TEST(again.to_string() == graph.to_string());
    BOOST_TEST(to_graph_def(again) == binary);
    const Graph from_text = parse_graph(to_graph_def_text(graph));
    BOOST_TEST(from_text.to_string() == graph.to_string());
    const Graph verbose = parse_graph(to_graph_def(graph, {.strip_defaults = false}));
    BOOST_TEST(verbose.to_string() == graph.to_string());
    replay(reference, from_text, "");
  }
}

BOOST_AUTO_TEST_CASE(functions_run_and_survive_a_round_trip) {
  for (const FunctionGraph& with : function_graphs()) {
    const Graph graph = parse_graph(with.text);
    for (const Graph& read : {graph, parse_graph(to_graph_def(graph)), parse_graph(to_graph_def_text(graph))}) {
      for (const char* passes : {"", "off", "constant_folding", "cse"}) replay(with.reference, read, passes);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto::test
