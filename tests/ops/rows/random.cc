// Samples of random ops. Their numbers are compared with TensorFlow's in replay_test.cc.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "panto/lib/core/call/dispatch.h"
#include "panto/lib/core/call/scopes.h"
#include "panto/lib/core/tensor/variable.h"
#include "panto/lib/ops/ops.h"
#include "panto/tests/ops/reference.h"
#include "panto/tests/ops/saved.h"
#include "panto/tests/ops/table.h"

namespace panto::test {
namespace {

const Array kKey = list({12345}).as(kUint64);
const Array kCounter = list({3, 4}).as(kUint64);
const Array kPhilox = scalar(1);

std::vector<Sample> shapes_of() {
  return {{.in = {list({2, 3}), kKey, kCounter, kPhilox}},
          {.in = {list({}), kKey, kCounter, kPhilox}},
          {.in = {list({37}), kKey, kCounter, kPhilox}},
          {.in = {list({0, 2}), kKey, kCounter, kPhilox}}};
}

std::vector<ErrorSample> stateless_errors() {
  return {{.in = {list({2, -1}), kKey, kCounter, kPhilox}, .text = "shape: expected dimensions of at least 0, got -1"},
          {.in = {list({2}), kKey, list({1}).as(kUint64), kPhilox},
           .text = "length of counter: expected at least 2, got 1"},
          {.in = {list({2}), kKey, kCounter, scalar(7)}, .text = "alg: expected 1 (Philox) or 3 (automatic), got 7"},
          {.in = {list({2}), kKey, kCounter, scalar(2)},
           .code = Code::kUnimplemented,
           .text = "alg: expected 1 (Philox) or 3 (automatic), got 2 (ThreeFry)"}};
}

std::vector<double> numbers(const char* op, DType type, int64_t count, std::vector<Tensor> more = {}) {
  std::vector<Tensor> in = {tensor(std::vector<int64_t>{count}), to_tensor(kKey, kUint64), to_tensor(kCounter, kUint64),
                            tensor(1)};
  in.insert(in.end(), more.begin(), more.end());
  const std::pair<std::string, AttrValue> dtype[] = {{"dtype", AttrValue(type)}};
  return to_array(dispatch::call(op, in, dtype)[0]).values;
}

// Mean and standard deviation, to five standard errors.
void check_moments(const std::vector<double>& values, double mean, double deviation) {
  const auto n = static_cast<double>(values.size());
  double sum = 0, squares = 0;
  for (const double v : values) {
    sum += v;
    squares += (v - mean) * (v - mean);
  }
  BOOST_CHECK_SMALL(sum / n - mean, 5 * deviation / std::sqrt(n));
  BOOST_CHECK_CLOSE(std::sqrt(squares / n), deviation, 5 * 100 / std::sqrt(n));
}

void uniform_range() {
  for (const DType t : {kFloat32, kFloat64}) {
    const std::vector<double> values = numbers("StatelessRandomUniformV2", t, 20000);
    BOOST_TEST(std::ranges::min(values) >= 0);
    BOOST_TEST(std::ranges::max(values) < 1);
    check_moments(values, 0.5, std::sqrt(1. / 12));
  }
}

void normal_moments() {
  for (const DType t : {kFloat32, kFloat64}) check_moments(numbers("StatelessRandomNormalV2", t, 20000), 0, 1);
}

void integer_range() {
  for (const DType t : {kInt32, kInt64}) {
    const std::vector<double> values =
        numbers("StatelessRandomUniformIntV2", t, 20000, {to_tensor(scalar(-3), t), to_tensor(scalar(4), t)});
    BOOST_TEST(std::ranges::min(values) == -3);
    BOOST_TEST(std::ranges::max(values) == 3);
    check_moments(values, 0, 2);
  }
}

// A call for fewer elements gives the same first ones.
void prefixes() {
  for (const char* op : {"StatelessRandomUniformV2", "StatelessRandomNormalV2"}) {
    const std::vector<double> all = numbers(op, kFloat32, 100);
    for (const int64_t n : {1, 3, 4, 5, 17, 64}) {
      const std::vector<double> some = numbers(op, kFloat32, n);
      BOOST_TEST(std::equal(some.begin(), some.end(), all.begin()), op << ", " << n);
    }
  }
}

const Family stateless(
    "random", {
                  {"StatelessRandomGetKeyCounter",
                   {.samples = {{.in = {list({7, 11})}}},
                    .errors = {{.in = {list({7})}, .text = "length of seed: expected 2, got 1"},
                               {.in = {scalar(7)}, .text = "seed: expected a vector, got shape []"}}}},
                  {"StatelessRandomUniformV2",
                   {.samples = shapes_of(),
                    .errors = stateless_errors(),
                    .own = {{"range", uniform_range}, {"prefixes", prefixes}}}},
                  {"StatelessRandomNormalV2",
                   {.samples = shapes_of(), .errors = stateless_errors(), .own = {{"moments", normal_moments}}}},
                  {"StatelessRandomUniformIntV2",
                   {.samples = {{.in = {list({2, 3}), kKey, kCounter, kPhilox, scalar(0), scalar(10)}},
                                {.in = {list({0}), kKey, kCounter, kPhilox, scalar(0), scalar(10)}}},
                    .errors = {{.in = {list({2}), kKey, kCounter, kPhilox, scalar(3), scalar(3)},
                                .text = "minval: expected less than maxval 3, got 3"}},
                    .own = {{"range", integer_range}}}},
              });

void generator_advances() {
  const Tensor generator = to_tensor(variable(list({0, 0, 42})), kInt64);
  const Tensor first = rng_read_and_skip(generator, 1, to_tensor(scalar(10), kUint64));
  const Tensor second = rng_read_and_skip(generator, 1, to_tensor(scalar(10), kUint64));
  BOOST_TEST(difference(list({0, 0, 42}), first, {}) == "");
  BOOST_TEST(difference(first, second) != "");
}

// The state lies in a variable of the session: it goes on from run to run, as the variable of an eager program does.
void generator_saved() {
  const auto build = [] {
    const Variable generator(tensor(std::vector<int64_t>{0, 0, 42}), "generator");
    named("state", rng_read_and_skip(generator.handle(), 1, to_tensor(scalar(10), kUint64)));
    global_variables_initializer();
  };
  const Tensor eager = to_tensor(variable(list({0, 0, 42})), kInt64);
  std::vector<Tensor> expected;
  for (int i = 0; i < 3; ++i) expected.push_back(rng_read_and_skip(eager, 1, to_tensor(scalar(10), kUint64)));
  for (const Graph& graph : saved_and_loaded(build)) {
    Session session(graph);
    session.run("init");
    for (const Tensor& state : expected) BOOST_TEST(difference(state, session.run("state")) == "");
  }
}

const Family stateful(
    "random",
    {
        {"RandomUniform",
         {.samples = {{.in = {list({2, 3})}}, {.in = {list({0})}}, {.in = {list({})}, .attrs = {{"seed", 3}}}},
          .errors = {{.in = {list({-1})}, .text = "shape: expected dimensions of at least 0, got -1"}},
          .random = true}},
        {"RandomStandardNormal",
         {.samples = {{.in = {list({2, 3})}}, {.in = {list({0})}}, {.in = {list({})}, .attrs = {{"seed", 3}}}},
          .errors = {{.in = {list({-1})}, .text = "shape: expected dimensions of at least 0, got -1"}},
          .random = true}},
        {"RngReadAndSkip",
         {.errors = {{.in = {variable(list({0, 0, 1}).as(kInt64)), scalar(7), scalar(1)},
                      .text = "alg: expected 1 (Philox) or 3 (automatic), got 7"},
                     {.in = {variable(list({0, 0}).as(kInt64)), scalar(1), scalar(1)},
                      .text = "resource: expected a generator of 3 numbers, got 2"}},
          .own = {{"advances", generator_advances}, {"saved", generator_saved}}}},
    });

}  // namespace
}  // namespace panto::test
