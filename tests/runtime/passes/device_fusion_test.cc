// Passes make fused ops of nodes that are on a device only where there is a kernel for that device.
#include <algorithm>
#include <boost/test/unit_test.hpp>

#include "panto/lib/core/op/op.h"
#include "panto/lib/runtime/optimizer.h"
#include "panto/tests/graph/text_graph.h"

namespace panto::test {
namespace {

// Each of what the passes fuse, all nodes on this device.
Graph graph_on(const std::string& device) {
  std::string text;
  for (const char* line :
       {"x = Placeholder(; dtype=float32, shape=[4,6])", "w = Placeholder(; dtype=float32, shape=[6,6])",
        "b = Placeholder(; dtype=float32, shape=[6])", "one = Const(; value=int32[1]{-1})", "product = MatMul(x, w)",
        "sum = BiasAdd(product, b)", "y1 = Relu(sum)", "images = Placeholder(; dtype=float32, shape=[2,4,4,3])",
        "filter = Placeholder(; dtype=float32, shape=[2,2,3,6])",
        "conv = Conv2D(images, filter; strides=[1, 1, 1, 1], padding=\"SAME\")", "with = BiasAdd(conv, b)",
        "y2 = Relu(with)", "t = Tanh(x)", "u = Mul(t, x)", "y3 = AddV2(u, b)", "e = Exp(x)", "f = Mul(e, x)",
        "y4 = Sum(f, one)"}) {
    text += std::string(line) + " @/device:" + device + "\n";
  }
  return text_graph(text);
}

std::vector<const Op*> fused_ops(const Graph& graph) {
  std::vector<const Op*> found;
  for (const int id : graph.ids()) {
    const Op& op = graph.at(id).op();
    if (op.name().starts_with("_Fused") && std::ranges::find(found, &op) == found.end()) found.push_back(&op);
  }
  return found;
}

BOOST_AUTO_TEST_SUITE(device_fusion)

BOOST_AUTO_TEST_CASE(fused_ops_have_kernels) {
  const auto on = [](const char* device) { return fused_ops(optimize(graph_on(device))); };
  BOOST_TEST(on("CPU:0").size() == 4);
  for (const Op* op : on("GPU:0")) {
    BOOST_TEST(op->has_kernel(find_device_kind("GPU")), op->name());
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto::test
