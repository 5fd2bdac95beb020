// The pass "padding": which convolutions pad what they read, and that they give the same.
#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "panto/lib/ops/ops.h"
#include "panto/lib/runtime/optimizer.h"
#include "panto/lib/runtime/session.h"
#include "panto/tests/device/support.h"
#include "panto/tests/graph/text_graph.h"

namespace panto::test {
namespace {

constexpr const char* kImages = "x = Placeholder(; dtype=float32, shape=[2,4,5,2])\n";
constexpr const char* kPaddings = "p = Const(; value=int32[4,2]{0, 0, 1, 2, 0, 3, 0, 0})\n";
constexpr const char* kFilter = "w = Const(; value=float32[2,3,2,1]{1, -2, 3, 0.5, -1, 2, 4, 1, 0, -3, 2, 1})\n";

// The convolution that makes `y` of a graph that is optimized: what it reads, how it pads.
std::string padded(const Graph& graph, const char* also = nullptr) {
  std::vector<NodeOutput> fetches = {graph.output("y")};
  if (also != nullptr) fetches.push_back(graph.output(also));
  std::vector<PassRun> runs;
  const Graph optimized = optimize(graph, fetches, {}, "padding", &runs);
  for (const PassRun& run : runs) BOOST_TEST(run.error == "");
  const Node& node = optimized.at("y");
  std::string found = optimized.at(node.input(0).node).name() + " " + node.attr("padding").as<std::string>();
  for (const int64_t n : node.attr("explicit_paddings").as<std::vector<int64_t>>()) found += " " + std::to_string(n);
  return found;
}

std::string padded(const std::string& rest, const char* also = nullptr, const std::string& start = "") {
  const std::string before = start.empty() ? std::string(kImages) + kPaddings + kFilter : start;
  return padded(text_graph(before + rest), also);
}

BOOST_AUTO_TEST_SUITE(conv_padding)

BOOST_AUTO_TEST_CASE(convolutions_by_constants_pad) {
  const std::string pad = "z = Pad(x, p)\n";
  BOOST_TEST(padded(pad + R"(y = Conv2D(z, w; strides=[1,2,1,1], padding="VALID"))") == "x EXPLICIT 0 0 1 2 0 3 0 0");
  BOOST_TEST(padded(pad + R"(y = DepthwiseConv2dNative(z, w; strides=[1,1,1,1], padding="VALID"))") ==
             "x EXPLICIT 0 0 1 2 0 3 0 0");
  BOOST_TEST(
      padded(pad + R"(y = Conv2D(z, w; strides=[1,1,1,1], padding="EXPLICIT", explicit_paddings=[0,0,1,0,0,1,0,0]))") ==
      "x EXPLICIT 0 0 2 2 0 4 0 0");
  const std::string first =
      "x = Placeholder(; dtype=float32, shape=[2,2,4,5])\n"
      "p = Const(; value=int32[4,2]{0, 0, 0, 0, 1, 2, 0, 3})\n";
  BOOST_TEST(padded(pad + R"(y = Conv2D(z, w; strides=[1,1,1,1], padding="VALID", data_format="NCHW"))", nullptr,
                    first + kFilter) == "x EXPLICIT 0 0 0 0 1 2 0 3");
}

BOOST_AUTO_TEST_CASE(others_do_not) {
  const std::string conv = R"(y = Conv2D(z, w; strides=[1,1,1,1], padding="VALID"))";
  const std::string pad = "z = Pad(x, p)\n";
  BOOST_TEST(padded(pad + conv, "z") == "z VALID");
  BOOST_TEST(padded(pad + R"(y = Conv2D(z, w; strides=[1,1,1,1], padding="SAME"))") == "z SAME");
  // Infinity times zero is NaN, which a convolution that pads does not see; so may be what a filter that is fed has.
  const std::string images = std::string(kImages) + kPaddings;
  BOOST_TEST(padded(pad + conv, nullptr, images + "w = Const(; value=float32[1,1,2,1]{1, inf})\n") == "z VALID");
  BOOST_TEST(padded(pad + conv, nullptr, images + "w = Placeholder(; dtype=float32, shape=[1,1,2,1])\n") == "z VALID");
  // Other dimensions, and sizes that nothing says.
  const std::string channels = std::string(kImages) +
                               "p = Const(; value=int32[4,2]{0, 0, 0, 0, 0, 0, 1, 1})\n"
                               "w = Const(; value=float32[1,1,4,1]{1, 2, 3, 4})\n";
  BOOST_TEST(padded(pad + conv, nullptr, channels) == "z VALID");
  BOOST_TEST(padded(pad + conv, nullptr,
                    std::string(kImages) + "p = Placeholder(; dtype=int32, shape=[4,2])\n" + kFilter) == "z VALID");
}

BOOST_AUTO_TEST_CASE(the_numbers_are_the_same) {
  for (const char* op : {"Conv2D", "DepthwiseConv2dNative"}) {
    const Graph graph = text_graph(std::string(kImages) + kPaddings + kFilter + "z = Pad(x, p)\ny = " + op +
                                   "(z, w; strides=[1,2,2,1], padding=\"VALID\")");
    const Tensor x = round(random_tensor<float>({2, 4, 5, 2}) * 8.f);  // sums of integers are exact
    std::vector<Tensor> results;
    for (const char* passes : {"off", "padding", ""}) {
      Session session(graph, {.passes = passes});
      results.push_back(session.run("y", {{"x", x}}));
    }
    BOOST_TEST(same_bits(results[0], results[1]));
    BOOST_TEST(same_bits(results[0], results[2]));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto::test
