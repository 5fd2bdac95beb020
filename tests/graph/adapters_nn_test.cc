// What old ops on images, and some others, become computes what TensorFlow's documentation says that they compute.
#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "panto/lib/runtime/session.h"
#include "panto/panto.h"
#include "panto/tests/expect.h"
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

// The numbers are TensorFlow's.
BOOST_AUTO_TEST_CASE(gradient_of_global_normalization) {
  const std::string vectors = placeholder("m", "DT_FLOAT", dims({2})) + placeholder("v", "DT_FLOAT", dims({2})) +
                              placeholder("gamma", "DT_FLOAT", dims({2}));
  const std::string images =
      placeholder("t", "DT_FLOAT", dims({1, 1, 2, 2})) + placeholder("dy", "DT_FLOAT", dims({1, 1, 2, 2}));
  const Feeds feeds{{"t", reshape(tensor({1.f, 2.f, 3.f, 5.f}), {1, 1, 2, 2})},
                    {"dy", reshape(tensor({1.f, -1.f, 2.f, 4.f}), {1, 1, 2, 2})},
                    {"m", tensor({2.f, 3.f})},
                    {"v", tensor({3.f, 8.f})},
                    {"gamma", tensor({2.f, 0.5f})}};
  const std::vector<Floats> plain = {{0.5f, -1 / 3.f, 1, 4 / 3.f}, {-1.5f, -1}, {-0.0625f, -1 / 6.f}, {3, 3}, {0, 0}};
  const std::vector<Floats> scaled = {{1, -1 / 6.f, 2, 2 / 3.f}, {-3, -0.5f}, {-0.125f, -1 / 12.f}, {3, 3}, {0.5f, 3}};
  for (const bool scale : {false, true}) {
    Session session(parse_graph(vectors + images +
                                node("y", "BatchNormWithGlobalNormalizationGrad", {"t", "m", "v", "gamma", "dy"},
                                     kFloatT + attr("variance_epsilon", "f: 1") +
                                         attr("scale_after_normalization", scale ? "b: true" : "b: false"))));
    for (size_t k = 0; k < 5; ++k) {
      const Floats got = session.run("y:" + std::to_string(k), feeds).to_vector<float>();
      const Floats& want = (scale ? scaled : plain)[k];
      BOOST_REQUIRE(got.size() == want.size());
      for (size_t i = 0; i < got.size(); ++i) BOOST_CHECK_SMALL(got[i] - want[i], 1e-6f);
    }
  }
}

// Images that are resized and padded before they are convolved, and such of several dimensions of examples or none.
BOOST_AUTO_TEST_CASE(convolutions_of_prepared_images) {
  const auto numbers = [](std::vector<int64_t> shape) {
    int64_t n = 1;
    for (const int64_t d : shape) n *= d;
    return reshape(sin(cast(range(0, static_cast<int32_t>(n), 1), kFloat32)), shape);
  };
  const Tensor x = numbers({2, 3, 4, 2}), f = numbers({2, 2, 2, 3}), pads = tensor({0, 0, 1, 2, 1, 1, 0, 0});
  const std::string given = placeholder("x", "DT_FLOAT", dims({2, 3, 4, 2})) +
                            placeholder("f", "DT_FLOAT", dims({2, 2, 2, 3})) +
                            constant("p", "DT_INT32", dims({4, 2}), "int_val: [0, 0, 1, 2, 1, 1, 0, 0]") +
                            constant("s", "DT_INT32", dims({2}), "int_val: [5, 6]");
  const std::string attrs = kFloatT + attr("padding", "s: 'SAME'") + attr("mode", "s: 'REFLECT'") +
                            attr("strides", "list { i: [1, 2, 1, 1] }");
  Session session(parse_graph(given + node("y", "FusedPadConv2D", {"x", "p", "f"}, attrs) +
                              node("z", "FusedResizeAndPadConv2D", {"x", "s", "p", "f"}, attrs)));
  const Feeds feeds{{"x", x}, {"f", f}};
  const auto convolved = [&](const Tensor& t) {
    return conv2d(mirror_pad(t, reshape(pads, {4, 2}), "REFLECT"), f, {1, 2, 1, 1}, "SAME");
  };
  const auto same = [](const Tensor& a, const Tensor& b) {
    return a.shape() == b.shape() && max(abs(a - b)).item<float>() < 1e-6f;
  };
  BOOST_TEST(same(session.run("y", feeds), convolved(x)));
  BOOST_TEST(same(session.run("z", feeds), convolved(resize_bilinear(x, tensor({5, 6})))));

  struct Case {
    std::vector<int64_t> input, filter;
    std::string attrs;
    Tensor (*expected)(const Tensor&, const Tensor&);
  };
  const std::vector<Case> cases = {
      {{2, 5, 4, 3},
       {2, 2, 3, 4},
       attr("strides", "list { i: [1, 1, 2, 1] }"),
       [](const Tensor& a, const Tensor& b) { return conv2d(a, b, {1, 1, 2, 1}, "VALID"); }},
      {{2, 2, 5, 4, 3},
       {2, 2, 3, 4},
       attr("strides", "list { i: [1, 1, 2, 1] }") + attr("batch_dims", "i: 2"),
       [](const Tensor& a, const Tensor& b) {
         return reshape(conv2d(reshape(a, {4, 5, 4, 3}), b, {1, 1, 2, 1}, "VALID"), {2, 2, 4, 2, 4});
       }},
      {{5, 4, 3},
       {2, 2, 3, 4},
       attr("strides", "list { i: [1, 1, 1, 1] }") + attr("batch_dims", "i: 0") +
           attr("dilations", "list { i: [1, 2, 1, 1] }"),
       [](const Tensor& a, const Tensor& b) {
         return reshape(conv2d(reshape(a, {1, 5, 4, 3}), b, {1, 1, 1, 1}, "VALID", {.dilations = {1, 2, 1, 1}}),
                        {3, 3, 4});
       }},
      {{2, 3, 4, 3, 2},
       {2, 2, 2, 2, 3},
       attr("strides", "list { i: [1, 1, 1, 1, 1] }"),
       [](const Tensor& a, const Tensor& b) { return conv3d(a, b, {1, 1, 1, 1, 1}, "VALID"); }}};
  const auto sizes = [](const std::vector<int64_t>& shape) {
    std::string text;
    for (const int64_t d : shape) text += "dim { size: " + std::to_string(d) + " } ";
    return text;
  };
  for (const Case& c : cases) {
    Session of_any_rank(parse_graph(placeholder("x", "DT_FLOAT", sizes(c.input)) +
                                    placeholder("f", "DT_FLOAT", sizes(c.filter)) +
                                    node("y", "Conv", {"x", "f"}, kFloatT + attr("padding", "s: 'VALID'") + c.attrs)));
    const Tensor a = numbers(c.input), b = numbers(c.filter);
    BOOST_TEST(same(of_any_rank.run("y", {{"x", a}, {"f", b}}), c.expected(a, b)));
  }
  const auto refused = [&](const std::string& input, const std::string& more) {
    Session of_any_rank(parse_graph(
        placeholder("x", "DT_FLOAT", input) + placeholder("f", "DT_FLOAT", dims({2, 2, 3, 4})) +
        node("y", "Conv", {"x", "f"},
             kFloatT + attr("padding", "s: 'VALID'") + attr("strides", "list { i: [1, 1, 1, 1] }") + more)));
    of_any_rank.run("y", {{"x", numbers({1, 5, 5, 3})}, {"f", numbers({2, 2, 3, 4})}});
  };
  expect_error_begins([&] { refused(dims({1, 5, 5, 3}), attr("groups", "i: 3")); },
                      "Unimplemented: groups: expected 1, got 3");
  expect_error_begins([&] { refused(dims({1, 5, 3}), ""); },
                      "InvalidArgument: input: expected 2 or 3 dimensions of space, got 1");
  expect_error_begins([&] { refused(dims({1, 5, 3}), attr("batch_dims", "i: 3")); },
                      "InvalidArgument: batch_dims: expected 0 to 2, got 3");
  expect_error_begins([&] { refused(kUnknownRank, ""); },
                      "Unimplemented: input: expected a known rank, got an unknown one");
}

// The numbers are TensorFlow's.
BOOST_AUTO_TEST_CASE(ranges_in_attributes) {
  const std::string x = placeholder("x", "DT_FLOAT", dims({4}));
  const auto quantized = [&](const std::string& attrs) {
    Session session(
        parse_graph(x + node("y", "QuantizeAndDequantize", {"x"}, kFloatT + attr("num_bits", "i: 3") + attrs)));
    return session.run("y", {{"x", tensor({-1.5f, 0.3f, 0.9f, 2.f})}}).to_vector<float>();
  };
  const Floats given =
      quantized(attr("range_given", "b: true") + attr("input_min", "f: -1") + attr("input_max", "f: 1"));
  const Floats found = quantized(attr("signed_input", "b: false"));
  const Floats want_given = {-4 / 3.f, 1 / 3.f, 1, 1}, want_found = {-10 / 7.f, 2 / 7.f, 6 / 7.f, 2};
  for (size_t i = 0; i < 4; ++i) {
    BOOST_CHECK_SMALL(given[i] - want_given[i], 1e-6f);
    BOOST_CHECK_SMALL(found[i] - want_found[i], 1e-6f);
  }
  Session contrast(
      parse_graph(placeholder("i", "DT_UINT8", dims({1, 2, 2, 1})) + constant("f", "DT_FLOAT", "", "float_val: 2") +
                  constant("low", "DT_FLOAT", "", "float_val: 0") + constant("high", "DT_FLOAT", "", "float_val: 255") +
                  node("y", "AdjustContrast", {"i", "f", "low", "high"}, type_attr("T", "DT_UINT8"))));
  const Tensor image = reshape(tensor(std::vector<uint8_t>{0, 100, 200, 50}), {1, 2, 2, 1});
  BOOST_TEST(contrast.run("y", {{"i", image}}).to_vector<float>() == (Floats{0, 112.5f, 255, 12.5f}));
}

// All elements of an array at once, names that shards have, and transforms of older names. Numbers are TensorFlow's.
BOOST_AUTO_TEST_CASE(packed_arrays_and_names) {
  const std::string array =
      constant("n", "DT_INT32", "", "int_val: 3") + node("a", "TensorArray", {"n"}, type_attr("dtype", "DT_FLOAT")) +
      constant("flow", "DT_FLOAT", "", "float_val: 0") + placeholder("x", "DT_FLOAT", dims({3, 2}));
  Session session(parse_graph(array + node("in", "TensorArrayUnpack", {"a", "x", "flow"}, kFloatT) +
                              node("y", "TensorArrayPack", {"a", "in"}, type_attr("dtype", "DT_FLOAT"))));
  BOOST_TEST(session.run("y", {{"x", reshape(tensor({1.f, 2.f, 3.f, 4.f, 5.f, 6.f}), {3, 2})}}).to_string() ==
             "[[1. 2.]\n [3. 4.]\n [5. 6.]]");

  Session names(parse_graph(constant("b", "DT_STRING", "", "string_val: '/a/b'") +
                            constant("n", "DT_INT32", "", "int_val: 12") +
                            node("y", "ShardedFilespec", {"b", "n"}, "")));
  BOOST_TEST(names.run("y").to_string() == "b'/a/b-?\?\?\?\?-of-00012'");

  Session poisson(parse_graph(constant("s", "DT_INT32", dims({1}), "int_val: 3") +
                              constant("r", "DT_FLOAT", dims({2}), "float_val: 2 float_val: 20") +
                              node("y", "RandomPoisson", {"s", "r"},
                                   type_attr("S", "DT_INT32") + type_attr("dtype", "DT_FLOAT") + attr("seed", "i: 1") +
                                       attr("seed2", "i: 2"))));
  BOOST_TEST(poisson.run("y").to_vector<float>() == (Floats{1, 17, 2, 16, 3, 22}));

  Session transforms(parse_graph(placeholder("x", "DT_COMPLEX64", dims({2})) + node("y", "BatchFFT", {"x"}, "") +
                                 node("z", "BatchIFFT", {"y"}, "")));
  const Tensor x = cast(tensor({1.f, 3.f}), kComplex64);
  BOOST_TEST(real(transforms.run("y", {{"x", x}})).to_vector<float>() == (Floats{4, -2}));
  BOOST_TEST(real(transforms.run("z", {{"x", x}})).to_vector<float>() == (Floats{1, 3}));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto::test
