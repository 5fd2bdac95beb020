// Traced functions give what the function gives, and take structures of tensors.
#include <array>
#include <boost/test/unit_test.hpp>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "panto/autograd/tape.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/lib/ops/reductions.h"
#include "panto/tests/expect.h"
#include "panto/trace/graph_scope.h"
#include "panto/trace/trace.h"

namespace panto::test {
namespace {

using Named = std::map<std::string, Tensor>;

struct Batch {
  Tensor images, labels;
};
struct Nested {
  Batch batch;
  std::vector<Tensor> more;
  std::array<Tensor, 2> two;
};

float number(const Tensor& t) { return t.item<float>(); }
Tensor scalar(float x) { return tensor(x); }

BOOST_AUTO_TEST_SUITE(structures)

BOOST_AUTO_TEST_CASE(results_keep_their_type) {
  const Tensor x = tensor({1.f, 2.f, 3.f});
  const auto pair = trace([](const Tensor& t) { return std::pair(sum(t), max(t)); });
  static_assert(std::is_same_v<decltype(pair(x)), std::pair<Tensor, Tensor>>);
  const auto [total, largest] = pair(x);
  BOOST_TEST(number(total) == 6);
  BOOST_TEST(number(largest) == 3);
  const auto tuple = trace([](const Tensor& t) { return std::tuple(sum(t), t + 1.f, max(t)); });
  const auto [a, b, c] = tuple(x);
  BOOST_TEST(number(b[2]) == 4);
  const auto array = trace([](const Tensor& t) { return std::array{sum(t), max(t)}; }, {TensorSpec(kFloat32, {-1})});
  BOOST_TEST(number(array(x)[1]) == 3);
  const auto plain = trace([](const Tensor& t) { return Batch{t + 1.f, t * 2.f}; });
  BOOST_TEST(number(plain(x).labels[2]) == 6);
  const auto list = trace([](const Tensor& t) { return std::vector{t, t + 1.f, t + 2.f}; });
  BOOST_TEST(list(x).size() == 3U);
  const auto named = trace([](const Tensor& t) { return Named{{"mean", mean(t)}, {"sum", sum(t)}}; });
  BOOST_TEST(number(named(x).at("mean")) == 2);
  BOOST_TEST(number(named(x).at("sum")) == 6);
  const auto deep = trace([](const Tensor& t) {
    return std::pair(Nested{{t, t + 1.f}, {t + 2.f, t + 3.f, t + 4.f}, {t + 5.f, t + 6.f}}, Named{{"last", t + 7.f}});
  });
  const auto [nested, last] = deep(x);
  BOOST_TEST(nested.more.size() == 3U);
  BOOST_TEST(number(nested.batch.labels[0]) == 2);
  BOOST_TEST(number(nested.more[2][0]) == 5);
  BOOST_TEST(number(nested.two[1][0]) == 7);
  BOOST_TEST(number(last.at("last")[0]) == 8);
}

BOOST_AUTO_TEST_CASE(they_are_functions) {
  Function f = trace([](const Tensor& t) { return std::pair(sum(t), max(t)); }, {TensorSpec(kFloat32, {-1}, "t")});
  BOOST_TEST(f.outputs().size() == 2U);
  const Tensor x = tensor({1.f, 5.f});
  BOOST_TEST(f.call({&x, 1}).size() == 2U);
  const auto [total, largest] = f.call<2>(x);
  BOOST_TEST(number(total) == 6);
  expect_error_begins([&] { f.call<3>(x); }, "FailedPrecondition: function: expected 3 outputs, got one with 2");
  const Function again = function_of(f.frozen_graph());
  BOOST_TEST(number(again.call<2>(x)[1]) == 5);
  // Of one tensor it is a Function and no more.
  static_assert(std::is_same_v<decltype(trace([](const Tensor& t) { return t; })), Function>);
}

BOOST_AUTO_TEST_CASE(structures_of_other_lengths_and_keys_are_other_traces) {
  int calls = 0;
  const auto f = trace([&](const Tensor& t) {
    ++calls;
    std::vector<std::pair<Tensor, Tensor>> list;
    for (int64_t i = 0; i < t.dim(0); ++i) list.emplace_back(t[i], t[i] + 1.f);
    return list;
  });
  BOOST_TEST(f(tensor({1.f, 2.f})).size() == 2U);
  BOOST_TEST(f(tensor({1.f, 2.f, 3.f})).size() == 3U);
  BOOST_TEST(number(f(tensor({1.f, 2.f}))[1].second) == 3);
  BOOST_TEST(calls == 2);
}

BOOST_AUTO_TEST_CASE(arguments_may_be_structures) {
  const auto loss = trace([](const Batch& b) { return sum(b.images * b.labels); });
  BOOST_TEST(number(loss({tensor({1.f, 2.f}), tensor({3.f, 4.f})})) == 11);
  const auto with_specs =
      trace([](const std::pair<Tensor, Tensor>& p, const Tensor& t) { return p.first - p.second * t; },
            {TensorSpec(kFloat32, {}), TensorSpec(kFloat32, {}), TensorSpec(kFloat32, {})});
  BOOST_TEST(number(with_specs({scalar(10), scalar(2)}, scalar(3))) == 4);
  int traces = 0;
  const auto by_name = trace([&](const Named& parameters, const Tensor& x) {
    ++traces;
    Tensor y = x;
    for (const auto& [name, value] : parameters) y = name.starts_with("scale") ? y * value : y + value;
    return std::pair(y, Named{{"y", y}});
  });
  BOOST_TEST(number(by_name({{"scale", scalar(3)}}, scalar(2)).first) == 6);
  BOOST_TEST(number(by_name({{"shift", scalar(3)}}, scalar(2)).second.at("y")) == 5);
  BOOST_TEST(number(by_name({{"scale", scalar(5)}}, scalar(2)).first) == 10);
  BOOST_TEST(number(by_name({{"shift", scalar(3)}, {"scale", scalar(2)}}, scalar(2)).first) == 7);
  BOOST_TEST(traces == 3);
  const auto total = trace([](const std::vector<Tensor>& list) {
    Tensor t = list[0];
    for (size_t i = 1; i < list.size(); ++i) t = t + list[i];
    return t;
  });
  BOOST_TEST(number(total({scalar(1), scalar(2), scalar(4)})) == 7);
  BOOST_TEST(number(total({scalar(1), scalar(2)})) == 3);
}

BOOST_AUTO_TEST_CASE(any_number_of_arguments) {
  const auto f = trace([](const Tensor& a, const Tensor& b, const Tensor& c, const Tensor& d, const Tensor& e,
                          const Tensor& g, const Tensor& h, const Tensor& i, const Tensor& j,
                          const Tensor& k) { return a + b + c + d + e + g + h + i + j * k; });
  const Tensor one = scalar(1);
  BOOST_TEST(number(f(one, one, one, one, one, one, one, one, scalar(3), scalar(4))) == 20);
  const auto two = trace([](const Tensor& a, const Tensor& b, const Tensor& c, const Tensor& d, const Tensor& e) {
    return std::pair(a + b + c, d * e);
  });
  BOOST_TEST(number(two(one, one, Variable(one), scalar(3), scalar(4)).second) == 12);
}

BOOST_AUTO_TEST_CASE(gradients_and_outer_traces) {
  const auto inner = trace([](const Batch& b) { return Batch{b.images * b.images, b.labels * 2.f}; });
  const Tensor x = scalar(3);
  GradientTape tape;
  tape.watch(x);
  const Batch made = inner({x, x});
  const Tensor dx = tape.gradient(made.images + made.labels, x);
  BOOST_TEST(number(dx) == 8);
  const auto outer = trace([&](const Tensor& t) {
    const Batch b = inner({t, t});
    return b.images + b.labels;
  });
  BOOST_TEST(number(outer(x)) == 15);
}

BOOST_AUTO_TEST_CASE(errors_name_the_call) {
  const auto f = trace([](const Tensor& t) { return std::pair(t, t + tensor({1.f, 2.f})); });
  const std::string text = error_text([&] { f(tensor({1.f, 2.f, 3.f})); });
  BOOST_TEST(text.find("structures_test.cc") != std::string::npos);
  expect_error_begins([&] { f(2.f); }, "InvalidArgument: argument 0: expected a tensor or variable, got a C++ value");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto::test
