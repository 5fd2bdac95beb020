// The pass "fusion" on convolutions: what becomes one op. (That it gives the same bits:
// tests/device/cpu/conv_fused_test.cc.)
#include <boost/test/unit_test.hpp>

#include "panto/lib/ops/ops.h"
#include "panto/lib/runtime/optimizer.h"
#include "panto/tests/graph/text_graph.h"

namespace panto::test {
namespace {

// Images, a filter of three output channels, and vectors for them; `y` is asked for, and `also`.
std::string fused_convolution(const std::string& rest, const char* format = "NHWC", const char* type = "float32",
                              const char* also = nullptr, bool depthwise = false) {
  const bool first = format[1] == 'C';
  const std::string of_type = std::string("; dtype=") + type + ", shape=";
  std::string text = "x = Placeholder(" + of_type + (first ? "[2,5,4,3])" : "[2,4,3,5])") + "\n";
  if (depthwise) text = "x = Placeholder(" + of_type + "[2,4,3,3])\n";
  text += "w = Placeholder(" + of_type + (depthwise ? "[2,2,3,1])\n" : "[2,2,5,3])\n");
  text += "other = Placeholder(" + of_type + (first ? "[2,3,4,3])" : "[2,4,3,3])") + "\n";
  for (const char* name : {"b", "scale", "offset", "mean", "variance"}) {
    text += std::string(name) + " = Placeholder(" + of_type + "[3])\n";
  }
  text += std::string("conv = ") + (depthwise ? kDepthwiseConv2dNative : kConv2D).name() +
          "(x, w; strides=[1, 1, 1, 1], padding=\"SAME\", data_format=\"" + format + "\")\n";
  const Graph graph = text_graph(text + rest);
  std::vector<NodeOutput> fetches = {graph.output("y")};
  if (also != nullptr) fetches.push_back(graph.output(also));
  std::vector<PassRun> runs;
  const Graph optimized = optimize(graph, fetches, {}, "fusion", &runs);
  for (const PassRun& run : runs) BOOST_TEST(run.error == "");
  const Node* node = optimized.find("y") == nullptr ? nullptr : &optimized.at("y");
  if (node == nullptr || &node->op() != &(depthwise ? kFusedDepthwiseConv2dNative : kFusedConv2D)) return "";
  std::string found;
  for (const auto& name : node->attr("fused_ops").as<std::vector<std::string>>()) found += name + " ";
  for (int i = 2; i < node->num_inputs(); ++i) found += optimized.at(node->input(i).node).name() + " ";
  return found;
}

BOOST_AUTO_TEST_SUITE(convolution_fusion)

BOOST_AUTO_TEST_CASE(a_convolution_takes_what_follows) {
  const std::string norm = "n = FusedBatchNormV3(conv, scale, offset, mean, variance; is_training=false)\n";
  const std::string vectors = "scale offset mean variance ";
  BOOST_TEST(fused_convolution("y = BiasAdd(conv, b)") == "BiasAdd b ");
  BOOST_TEST(fused_convolution("y = AddV2(b, conv)") == "BiasAdd b ");
  BOOST_TEST(fused_convolution("s = BiasAdd(conv, b)\n y = Relu(s)") == "BiasAdd Relu b ");
  BOOST_TEST(fused_convolution("y = Tanh(conv)") == "Tanh ");
  BOOST_TEST(fused_convolution("y = AddV2(other, conv)") == "Add other ");
  BOOST_TEST(fused_convolution(norm + "y = Sigmoid(n)") == "FusedBatchNorm Sigmoid " + vectors);
  BOOST_TEST(fused_convolution(norm + "s = AddV2(n, other)\n y = Relu(s)") ==
             "FusedBatchNorm Add Relu " + vectors + "other ");
  BOOST_TEST(fused_convolution("s = BiasAdd(conv, b)\n"
                               "n = FusedBatchNormV3(s, scale, offset, mean, variance; is_training=false)\n"
                               "t = AddV2(n, other)\n y = Relu(t)") ==
             "BiasAdd FusedBatchNorm Add Relu b " + vectors + "other ");
  BOOST_TEST(fused_convolution("y = Relu6(conv)") == "Relu6 ");
  // What is left of a normalisation by constants.
  const std::string scaled = "m = Mul(scale, conv)\n";
  BOOST_TEST(fused_convolution("y = Mul(conv, scale)") == "Mul scale ");
  BOOST_TEST(fused_convolution(scaled + "s = AddV2(m, offset)\n y = Relu6(s)") == "Mul BiasAdd Relu6 scale offset ");
  BOOST_TEST(fused_convolution("s = BiasAdd(conv, b)\n m = Mul(s, scale)\n t = AddV2(m, offset)\n"
                               "u = AddV2(t, other)\n y = Relu(u)") ==
             "BiasAdd Mul BiasAdd Add Relu b scale offset other ");
  BOOST_TEST(fused_convolution(scaled + "s = AddV2(m, other)\n y = Relu(s)") == "Mul Add Relu scale other ");
  // Constants with leading dimensions of 1 are vectors, too.
  const std::string row = "c = Const(; value=float32[1,1,1,3]{1.5, 2, 3})\n";
  BOOST_TEST(fused_convolution(row + "m = Mul(conv, c)\n s = AddV2(c, m)\n y = Relu(s)") ==
             "Mul BiasAdd Relu c_1 c_2 ");
  BOOST_TEST(fused_convolution("c = Const(; value=float32[1,1,1,1]{1.5})\n y = Mul(conv, c)") == "");
  BOOST_TEST(fused_convolution("c = Const(; value=float32[1,3,1]{1, 2, 3})\n y = Mul(conv, c)") == "");
  BOOST_TEST(fused_convolution("c = Placeholder(; dtype=float32, shape=[1,1,1,3])\n y = Mul(conv, c)") == "");
  BOOST_TEST(fused_convolution("y = Mul(conv, conv)") == "");
  BOOST_TEST(fused_convolution("y = Mul(conv, other)") == "");
  BOOST_TEST(fused_convolution("y = Mul(conv, scale)", "NCHW") == "");
  // With channels first.
  const std::string first = ", data_format=\"NCHW\")\n";
  BOOST_TEST(fused_convolution("s = BiasAdd(conv, b; data_format=\"NCHW\")\n y = Relu(s)", "NCHW") ==
             "BiasAdd Relu b ");
  BOOST_TEST(fused_convolution(
                 "n = FusedBatchNormV3(conv, scale, offset, mean, variance; is_training=false" + first + "y = Relu(n)",
                 "NCHW") == "FusedBatchNorm Relu " + vectors);
  // What is added along another dimension, or is normalised along one, is something else.
  BOOST_TEST(fused_convolution("s = BiasAdd(conv, b)\n y = Relu(s)", "NCHW") == "");
  BOOST_TEST(fused_convolution("s = AddV2(conv, b)\n y = Relu(s)", "NCHW") == "");
  BOOST_TEST(fused_convolution(norm + "y = Relu(n)", "NCHW") == "");
  // A bias with a plane for each channel is no vector, and a tensor that is repeated is not one of the result's shape.
  BOOST_TEST(fused_convolution("row = Placeholder(; dtype=float32, shape=[2,1,3,3])\n y = AddV2(conv, row)") == "");
  // Statistics of the batch, other types, and what somebody else reads.
  BOOST_TEST(fused_convolution("n = FusedBatchNormV3(conv, scale, offset, mean, variance)\n y = Relu(n)") == "");
  BOOST_TEST(fused_convolution("y = Relu(conv)", "NHWC", "float64") == "");
  BOOST_TEST(fused_convolution("y = Relu(conv)\n z = Neg(conv)", "NHWC", "float32", "z") == "");
  BOOST_TEST(fused_convolution("y = Relu(conv)", "NHWC", "float32", "conv") == "");
  BOOST_TEST(fused_convolution(norm + "y = Relu(n)\n z = Neg(n)", "NHWC", "float32", "z") == "");
  BOOST_TEST(fused_convolution(norm + "y = Relu(n)\n z = Neg(n:1)", "NHWC", "float32", "z") == "");
  BOOST_TEST(fused_convolution(norm + "y = Relu(n:1)") == "");
  BOOST_TEST(fused_convolution("y = AddV2(conv, conv)") == "");
}

BOOST_AUTO_TEST_CASE(a_depthwise_convolution_does_too) {
  const auto fused_depthwise = [](const std::string& rest, const char* also = nullptr) {
    return fused_convolution(rest, "NHWC", "float32", also, true);
  };
  BOOST_TEST(fused_depthwise("s = BiasAdd(conv, b)\n y = Relu6(s)") == "BiasAdd Relu6 b ");
  BOOST_TEST(fused_depthwise("m = Mul(scale, conv)\n s = AddV2(m, offset)\n y = Relu6(s)") ==
             "Mul BiasAdd Relu6 scale offset ");
  BOOST_TEST(fused_depthwise("n = FusedBatchNormV3(conv, scale, offset, mean, variance; is_training=false)\n"
                             "s = AddV2(n, other)\n y = Relu(s)") ==
             "FusedBatchNorm Add Relu scale offset mean variance other ");
  BOOST_TEST(fused_depthwise("y = Relu(conv)", "conv") == "");
}

BOOST_AUTO_TEST_CASE(what_is_multiplied_by_its_sigmoid) {
  BOOST_TEST(fused_convolution("s = Sigmoid(conv)\n y = Mul(conv, s)") == "Swish ");
  BOOST_TEST(fused_convolution("b1 = BiasAdd(conv, b)\n s = Sigmoid(b1)\n y = Mul(s, b1)") == "BiasAdd Swish b ");
  BOOST_TEST(fused_convolution("s = Sigmoid(conv)\n y = Mul(conv, s)", "NHWC", "float32", "s") == "");
  BOOST_TEST(fused_convolution("s = Sigmoid(conv)\n y = Mul(conv, s)", "NHWC", "float32", "conv") == "");
  BOOST_TEST(fused_convolution("s = Sigmoid(conv)\n y = AddV2(conv, s)") == "");
  BOOST_TEST(fused_convolution("s = Sigmoid(conv)\n y = Mul(other, s)\n z = Neg(conv)", "NHWC", "float32", "z") == "");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto::test
