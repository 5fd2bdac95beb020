// What old ops on images become computes what TensorFlow's documentation says that they compute.
#include <boost/test/unit_test.hpp>

#include "panto/lib/runtime/session.h"
#include "panto/panto.h"
#include "panto/tests/graph/function_text.h"
#include "panto/tests/graph/graph_def_text.h"

namespace panto::test {
namespace {

using Floats = std::vector<float>;

BOOST_AUTO_TEST_SUITE(adapters_suite)

// Gradients that take the tensor itself where ours take its shape.
BOOST_AUTO_TEST_CASE(convolutions_by_tensors) {
  const std::string attrs = kFloatT + attr("padding", "s: 'VALID'");
  const std::string flat = attrs + attr("strides", "list { i: [1, 1, 1, 1] }");
  const std::string deep = attrs + attr("strides", "list { i: [1, 1, 1, 1, 1] }");
  const std::string images = placeholder("x", "DT_FLOAT", dims({1, 1, 3, 1})) +
                             placeholder("f", "DT_FLOAT", dims({1, 2, 1, 1})) +
                             placeholder("dy", "DT_FLOAT", dims({1, 1, 2, 1}));
  const std::string volumes = placeholder("x", "DT_FLOAT", dims({1, 1, 1, 3, 1})) +
                              placeholder("f", "DT_FLOAT", dims({1, 1, 2, 1, 1})) +
                              placeholder("dy", "DT_FLOAT", dims({1, 1, 1, 2, 1}));
  const auto feeds = [](bool volume) {
    const auto shaped = [&](const Floats& values, bool filter) {
      std::vector<int64_t> shape(volume ? 5 : 4, 1);
      shape[shape.size() - (filter ? 3 : 2)] = static_cast<int64_t>(values.size());
      return reshape(tensor(values), shape);
    };
    return Feeds{{"x", shaped({1, 2, 4}, false)}, {"f", shaped({3, 5}, true)}, {"dy", shaped({10, 100}, false)}};
  };
  for (const bool volume : {false, true}) {
    const std::string op = volume ? "Conv3DBackprop" : "Conv2DBackprop", version = volume ? "" : "V2";
    Session session(parse_graph((volume ? volumes : images) +
                                node("dx", op + "Input" + version, {"x", "f", "dy"}, volume ? deep : flat) +
                                node("df", op + "Filter" + version, {"x", "f", "dy"}, volume ? deep : flat)));
    BOOST_TEST(session.run("dx", feeds(volume)).to_vector<float>() == (Floats{30, 350, 500}));
    BOOST_TEST(session.run("df", feeds(volume)).to_vector<float>() == (Floats{210, 420}));
  }
}

BOOST_AUTO_TEST_CASE(suppression) {
  const std::string inputs = placeholder("boxes", "DT_FLOAT", dims({3, 4})) +
                             placeholder("scores", "DT_FLOAT", dims({3})) + placeholder("n", "DT_INT32", dims({})) +
                             placeholder("most", "DT_FLOAT", dims({}));
  const Feeds feeds{{"boxes", reshape(tensor({0.f, 0.f, 1.f, 1.f, 0.f, 0.f, 1.f, 1.5f, 0.f, 5.f, 1.f, 6.f}), {3, 4})},
                    {"scores", tensor({-1.f, -2.f, -3.f})},
                    {"n", tensor(3)},
                    {"most", tensor(0.75f)}};
  Session session(parse_graph(inputs + node("y", "NonMaxSuppression", {"boxes", "scores", "n"}, "") +
                              node("z", "NonMaxSuppressionV2", {"boxes", "scores", "n", "most"}, kFloatT)));
  BOOST_TEST(session.run("y", feeds).to_vector<int32_t>() == (std::vector<int32_t>{0, 2}));
  BOOST_TEST(session.run("z", feeds).to_vector<int32_t>() == (std::vector<int32_t>{0, 1, 2}));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto::test
