// What an op refuses eagerly it refuses in a saved graph, too, also where nothing but the shape of a result is asked
// for.
#include <boost/test/unit_test.hpp>
#include <string>
#include <utility>
#include <vector>

#include "panto/lib/core/call/dispatch.h"
#include "panto/lib/graph/files/io.h"
#include "panto/panto.h"
#include "panto/tests/expect.h"
#include "panto/tests/folder.h"

namespace panto {
namespace {

struct Case {
  const char* op;
  std::vector<Tensor> inputs;
  std::vector<std::pair<std::string, AttrValue>> attrs;
  std::vector<size_t> fed;  // the others are constants
};

std::vector<Case> cases() {
  const Tensor indices = tensor<int64_t>({{0, 0}, {1, 9}}), negative = tensor<int64_t>({{-1, 0}, {1, 0}});
  const Tensor values = tensor({1.f, 2.f}), whole = tensor<int64_t>({1, 2}), dims = tensor<int64_t>({2, 3});
  const Tensor other = tensor<int64_t>({{0, 0}, {1, 1}});
  const std::pair<std::string, AttrValue> kept{"keep_dims", AttrValue(true)};
  return {
      {"SparseSplit", {tensor(int64_t{1}), indices, values, dims}, {{"num_split", AttrValue(int64_t{3})}}, {1, 2}},
      {"SparseSplit", {tensor(int64_t{0}), negative, values, dims}, {{"num_split", AttrValue(int64_t{2})}}, {1}},
      {"SparseReduceSumSparse", {indices, values, dims, tensor<int32_t>({0})}, {}, {0, 1}},
      {"SparseReduceSumSparse", {negative, values, dims, tensor<int32_t>({1})}, {kept}, {0}},
      {"SparseToSparseSetOperation",
       {indices, whole, dims, other, whole, dims},
       {{"set_operation", AttrValue(std::string("union"))}},
       {0, 1}},
      {"DenseToSparseSetOperation",
       {tensor<int64_t>({{1, 2}, {3, 4}}), negative, whole, dims},
       {{"set_operation", AttrValue(std::string("a-b"))}},
       {1}},
      {"RaggedTensorToSparse", {tensor<int64_t>({0, 5, 2}), values}, {}, {0}},
      {"RaggedTensorToSparse", {tensor<int64_t>({1, 2, 2}), values}, {}, {0, 1}},
  };
}

BOOST_AUTO_TEST_SUITE(refusals)

BOOST_AUTO_TEST_CASE(saved_graphs_refuse_elements_as_calls_do) {
  const TestFolder folder;
  for (const Case& c : cases()) {
    BOOST_TEST_CONTEXT(c.op) {
      std::string expected = error_text([&] { (void)dispatch::call(c.op, c.inputs, c.attrs); });
      BOOST_REQUIRE(expected != "nothing was thrown");
      expected = expected.substr(0, expected.find(" ["));  // without where it was called
      Graph graph;
      std::vector<std::string> fetches;
      Feeds feeds;
      {
        const GraphScope building(graph);
        std::vector<Tensor> inputs = c.inputs;
        for (const size_t i : c.fed) {
          const std::string name = "fed" + std::to_string(i);
          inputs[i] = placeholder(c.inputs[i].dtype(), PartialShape(c.inputs[i].shape()), name);
          feeds.emplace_back(name + ":0", c.inputs[i]);
        }
        const auto outputs = dispatch::call(c.op, inputs, c.attrs);
        for (size_t k = 0; k < outputs.size(); ++k) {
          fetches.push_back("value" + std::to_string(k));
          named(fetches.back(), identity(outputs[k]));
        }
      }
      write_graph(graph, folder / "g.pb");
      for (const char* passes : {"", "off"}) {
        Session session(read_graph(folder / "g.pb"), {.passes = passes});
        for (const std::string& fetch : fetches) {
          BOOST_TEST_CONTEXT(fetch << " with passes '" << passes << "'") {
            expect_error_begins([&] { (void)session.run(fetch + ":0", feeds); }, expected);
          }
        }
      }
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
