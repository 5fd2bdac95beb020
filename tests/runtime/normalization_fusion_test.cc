// The pass "layer_norm": what becomes one op. (That it gives the same bits: tests/device/cpu/nn_test.cc.)
#include <boost/test/unit_test.hpp>

#include "panto/lib/runtime/optimizer.h"
#include "panto/tests/graph/text_graph.h"

namespace panto::test {
namespace {

// What a traced layer normalisation is made of; `epsilon` and `last` are the lines that say how it ends.
std::string layer_norm(const std::string& epsilon, const std::string& last) {
  return R"(
      x = Placeholder(; dtype=float32, shape=[?,4])
      scale = Placeholder(; dtype=float32, shape=[4])
      offset = Placeholder(; dtype=float32, shape=[4])
      axes = Const(; value=int32[1]{-1})
      mean = Mean(x, axes; keep_dims=true)
      centred = Sub(x, mean)
      squares = Square(centred)
      variance = Mean(squares, axes; keep_dims=true)
      epsilon = Const(; )" +
         epsilon + R"()
      raised = AddV2(variance, epsilon)
      factor = Rsqrt(raised)
      normal = Mul(centred, factor)
)" + last;
}

BOOST_AUTO_TEST_SUITE(normalization_fusion)

BOOST_AUTO_TEST_CASE(a_layer_normalisation_is_one_op) {
  const auto fused = [](const std::string& text) {
    int count = 0;
    const Graph graph = optimize(text_graph(text), {}, {}, "layer_norm");
    for (int id : graph.ids()) count += graph.at(id).op().name() == "_FusedLayerNorm" ? 1 : 0;
    return count;
  };
  const std::string epsilon = "value=float32{0.001}";
  const std::string last = "scaled = Mul(normal, scale)\n y = AddV2(scaled, offset)";
  BOOST_TEST(fused(layer_norm(epsilon, last)) == 1);
  // Where rows have one element, or may have, which is then repeated.
  for (const char* other : {"shape=[?,1]", "shape=[?,?]"}) {
    std::string text = layer_norm(epsilon, last);
    const std::string rows = "shape=[?,4]";
    text.replace(text.find(rows), rows.size(), other);
    BOOST_TEST(fused(text) == 0, other);
  }
  BOOST_TEST(fused(layer_norm(epsilon, "scaled = Mul(scale, normal)\n y = AddV2(offset, scaled)")) == 1);
  // Where somebody else reads what lies between, where it is not added to a scalar, and where it is not the last step.
  BOOST_TEST(fused(layer_norm(epsilon, last + "\n other = Neg(centred)")) == 0);
  BOOST_TEST(fused(layer_norm(epsilon, last + "\n other = Neg(normal)")) == 0);
  BOOST_TEST(fused(layer_norm("value=float32[1]{0.001}", last)) == 0);
  BOOST_TEST(fused(layer_norm(epsilon, "scaled = Mul(normal, scale)\n y = Sub(scaled, offset)")) == 0);
  BOOST_TEST(fused(layer_norm(epsilon, "scaled = Mul(normal, x)\n y = AddV2(scaled, offset)")) == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto::test
