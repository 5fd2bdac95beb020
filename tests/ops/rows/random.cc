// Samples of random ops. Their numbers are compared with TensorFlow's in replay_test.cc.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "panto/lib/core/call/dispatch.h"
#include "panto/lib/core/call/scopes.h"
#include "panto/lib/core/tensor/variable.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/tests/ops/reference.h"
#include "panto/tests/ops/saved.h"
#include "panto/tests/ops/table.h"

namespace panto::test::random_rows {
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

// ---- Further forms ------------------------------------------------------------------------------------------------

const Array kSeed = list({7, 11});

std::vector<Sample> seeded_shapes() {
  return {{.in = {list({2, 3}), kSeed}}, {.in = {list({}), kSeed}}, {.in = {list({0, 2}), kSeed}}};
}
const std::vector<ErrorSample> kSeedErrors = {
    {.in = {list({2}), list({7})}, .text = "length of seed: expected 2, got 1"},
    {.in = {list({-1}), kSeed}, .text = "shape: expected dimensions of at least 0, got -1"}};

// What an op gives of a seed is what the one that takes key and counter gives of these.
void seeds_are_keys() {
  const Tensor seed = tensor(std::vector<int64_t>{7, 11}), dims = tensor(std::vector<int32_t>{17});
  const auto [key, counter] = stateless_random_get_key_counter(seed);
  BOOST_TEST(
      difference(stateless_random_uniform(dims, key, counter, 1), stateless_random_uniform_by_seed(dims, seed)) == "");
  BOOST_TEST(difference(stateless_random_normal(dims, key, counter, 1), stateless_random_normal_by_seed(dims, seed)) ==
             "");
  BOOST_TEST(difference(stateless_truncated_normal(dims, key, counter, 1),
                        stateless_truncated_normal_by_seed(dims, seed)) == "");
  BOOST_TEST(difference(stateless_random_uniform_int(dims, key, counter, 1, -3, 9),
                        stateless_random_uniform_int_by_seed(dims, seed, -3, 9)) == "");
  BOOST_TEST(difference(stateless_random_uniform_full_int(dims, key, counter, 1, {.dtype = kInt32}),
                        stateless_random_uniform_full_int_by_seed(dims, seed, {.dtype = kInt32})) == "");
}

void truncated_range() {
  for (const DType t : {kFloat32, kFloat64}) {
    const std::vector<double> values = numbers("StatelessTruncatedNormalV2", t, 20000);
    BOOST_TEST(std::ranges::max(values) < 2);
    BOOST_TEST(std::ranges::min(values) > -2);
    check_moments(values, 0, 0.8796);
  }
}

// A draw moves the generator on by what its elements need, and gives what the stateless op gives of its state.
void generator_draws() {
  const Tensor generator = to_tensor(variable(list({256, 0, 42})), kInt64);
  const Tensor dims = tensor(std::vector<int64_t>{3}), philox = tensor(int64_t{1});
  const Tensor key = to_tensor(list({42}), kUint64), counter = to_tensor(list({256, 0}), kUint64);
  BOOST_TEST(difference(stateless_random_uniform(dims, key, counter, 1), generator_uniform(generator, philox, dims)) ==
             "");
  BOOST_TEST(difference(list({1024, 0, 42}), read_variable_op(generator, kInt64), {}) == "");
  rng_skip(generator, philox, tensor(int64_t{2}));
  BOOST_TEST(difference(list({1536, 0, 42}), read_variable_op(generator, kInt64), {}) == "");
}

// A node draws from the variable that it is given, in order.
template <class Draw>
void draw_saved(const Draw& draw) {
  const auto build = [&] {
    const Variable generator(tensor(std::vector<int64_t>{0, 0, 42}), "generator");
    named("drawn", draw(generator.handle()));
    global_variables_initializer();
  };
  const Tensor eager = to_tensor(variable(list({0, 0, 42})), kInt64);
  const Tensor first = draw(eager), second = draw(eager);
  for (const Graph& graph : saved_and_loaded(build)) {
    Session session(graph);
    session.run("init");
    BOOST_TEST(difference(first, session.run("drawn")) == "");
    BOOST_TEST(difference(second, session.run("drawn")) == "");
  }
}
const Tensor& one64() {
  static const auto* one = new Tensor(tensor(int64_t{1}));
  return *one;
}
void uniform_saved() {
  draw_saved([](const Tensor& g) { return generator_uniform(g, one64(), {5}); });
}
void normal_saved() {
  draw_saved([](const Tensor& g) { return generator_normal(g, one64(), {5}); });
}
// With a generator that says its algorithm first; the numbers are those of one that does not.
void tagged_saved() {
  const Tensor plain = to_tensor(variable(list({0, 0, 42})), kInt64);
  const std::vector<Tensor> expected = {generator_normal(plain, one64(), {5}), generator_normal(plain, one64(), {5})};
  const auto build = [] {
    const Variable generator(tensor(std::vector<int64_t>{1, 0, 0, 42}), "generator");
    named("drawn", generator_normal_v1(generator.handle(), {5}));
    global_variables_initializer();
  };
  for (const Graph& graph : saved_and_loaded(build)) {
    Session session(graph);
    session.run("init");
    for (const Tensor& numbers : expected) BOOST_TEST(difference(numbers, session.run("drawn")) == "");
  }
}
void truncated_saved() {
  draw_saved([](const Tensor& g) { return generator_truncated_normal(g, one64(), {5}); });
}
void int_saved() {
  draw_saved(
      [](const Tensor& g) { return generator_uniform_int(g, one64(), {5}, tensor(int64_t{0}), tensor(int64_t{100})); });
}
void full_int_saved() {
  draw_saved([](const Tensor& g) { return generator_uniform_full_int(g, one64(), {5}); });
}
void skip_saved() {
  const auto build = [] {
    const Variable generator(tensor(std::vector<int64_t>{0, 0, 42}), "generator");
    const CollectEffects effects;
    rng_skip(generator.handle(), 1, 3);
    group(effects.operations(), "skip");
    named("state", read_variable_op(generator.handle(), kInt64));
    global_variables_initializer();
  };
  for (const Graph& graph : saved_and_loaded(build)) {
    Session session(graph);
    session.run("init");
    session.run("skip");
    BOOST_TEST(difference(list({768, 0, 42}), session.run("state"), {}) == "");
  }
}

void shuffled() {
  const Tensor x = tensor(std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  const Tensor once = random_shuffle(x, {.seed = 3});
  BOOST_TEST(difference(once, random_shuffle(x, {.seed = 3})) == "");
  BOOST_TEST(difference(once, x) != "");
  std::vector<int64_t> values = once.to_vector<int64_t>();
  std::ranges::sort(values);
  BOOST_TEST(values == x.to_vector<int64_t>(), boost::test_tools::per_element());
  // Rows stay together.
  const Tensor rows = random_shuffle(reshape(range(0, 20, 1), {10, 2}), {.seed = 3});
  for (int64_t i = 0; i < 10; ++i) {
    BOOST_TEST(rows.to_vector<int32_t>()[static_cast<size_t>(2 * i)] ==
               2 * once.to_vector<int64_t>()[static_cast<size_t>(i)]);
  }
}

// How often each class comes up, to five standard errors.
void class_frequencies() {
  const Tensor logits = log(tensor({{0.5f, 0.25f, 0.25f, 0.f}, {3.f, 0.f, 0.f, 1.f}}));
  const int64_t n = 20000;
  const Tensor drawn = stateless_categorical(logits, static_cast<int>(n), tensor({7, 11}));
  const std::vector<int64_t> values = drawn.to_vector<int64_t>();
  const double expected[2][4] = {{0.5, 0.25, 0.25, 0}, {0.75, 0, 0, 0.25}};
  for (size_t r = 0; r < 2; ++r) {
    for (int64_t k = 0; k < 4; ++k) {
      const auto* row = values.data() + static_cast<int64_t>(r) * n;
      const double p = expected[r][k],
                   share = static_cast<double>(std::count(row, row + n, k)) / static_cast<double>(n);
      BOOST_CHECK_SMALL(share - p, 5 * std::sqrt(p * (1 - p) / static_cast<double>(n)) + 1e-12);
    }
  }
}

void stateless_shuffled() {
  const Tensor key = to_tensor(kKey, kUint64), counter = to_tensor(kCounter, kUint64);
  const auto order = [&](const Tensor& x) { return stateless_shuffle(x, key, counter, 1); };
  const Tensor x = range(0, 10, 1), once = order(x);
  BOOST_TEST(difference(once, order(x)) == "");
  BOOST_TEST(difference(once, x) != "");
  std::vector<int32_t> values = once.to_vector<int32_t>();
  std::ranges::sort(values);
  BOOST_TEST(values == x.to_vector<int32_t>(), boost::test_tools::per_element());
  // Rows in the same order.
  BOOST_TEST(difference(slice(order(reshape(range(0, 20, 1), {10, 2})), {0, 0}, {10, 1}), reshape(2 * once, {10, 1})) ==
             "");
}

// The key and counter that a seed stands for.
void gamma_by_a_seed() {
  const Tensor seed = tensor(std::vector<int64_t>{5, 6}), alpha = tensor({0.5f, 4.f});
  const auto start = stateless_random_get_key_counter(seed);
  BOOST_TEST(difference(stateless_random_gamma({7, 2}, seed, alpha),
                        stateless_random_gamma_v3({7, 2}, start.key, start.counter, 1, alpha)) == "");
}

void gamma_moments() {
  for (const double alpha : {0.5, 1., 4.}) {
    const Tensor drawn = stateless_random_gamma({20000}, tensor({7, 11}), tensor(alpha));
    check_moments(to_array(drawn).values, alpha, std::sqrt(alpha));
  }
}

void poisson_moments() {
  for (const double rate : {0.5, 9., 50.}) {
    const Tensor drawn = stateless_random_poisson({20000}, tensor({7, 11}), tensor(rate), kInt64);
    check_moments(to_array(drawn).values, rate, std::sqrt(rate));
  }
}

const std::vector<Sample> kStatefulShapes = {
    {.in = {list({2, 3})}}, {.in = {list({0})}}, {.in = {list({})}, .attrs = {{"seed", 3}}}};
const Array kLogits = array({2, 3}, {0, 1, 2, 2, 1, 0});

const Family further(
    "random",
    {
        {"StatelessRandomGetAlg",
         {.samples = {{.in = {}}}, .reference = [](const Given&) { return std::vector<Array>{scalar(1)}; }}},
        {"StatelessRandomGetKeyCounterAlg",
         {.samples = {{.in = {kSeed}}},
          .errors = {{.in = {list({7})}, .text = "length of seed: expected 2, got 1"}},
          .types = dtypes::kIndex}},
        {"StatelessRandomUniform",
         {.samples = seeded_shapes(), .errors = kSeedErrors, .own = {{"keys", seeds_are_keys}}, .gradient = false}},
        {"StatelessRandomNormal", {.samples = seeded_shapes(), .errors = kSeedErrors, .gradient = false}},
        {"StatelessTruncatedNormal", {.samples = seeded_shapes(), .errors = kSeedErrors, .gradient = false}},
        {"StatelessRandomUniformFullInt",
         {.samples = seeded_shapes(), .errors = kSeedErrors, .types = {kInt32, kInt64, kUint32, kUint64}}},
        {"StatelessRandomUniformInt",
         {.samples = {{.in = {list({2, 3}), kSeed, scalar(0), scalar(10)}}},
          .errors = {{.in = {list({2}), list({7}), scalar(0), scalar(10)},
                      .text = "length of seed: expected 2, got 1"}},
          .types = dtypes::kIndex}},
        {"StatelessTruncatedNormalV2",
         {.samples = shapes_of(), .errors = stateless_errors(), .own = {{"range", truncated_range}}}},
        {"StatelessRandomUniformFullIntV2", {.samples = shapes_of(), .errors = stateless_errors()}},
        {"TruncatedNormal", {.samples = kStatefulShapes, .random = true}},
        {"RandomUniformInt",
         {.samples = {{.in = {list({2, 3}), scalar(0), scalar(10)}}, {.in = {list({0}), scalar(0), scalar(10)}}},
          .errors = {{.in = {list({2}), scalar(3), scalar(3)}, .text = "minval: expected less than maxval 3, got 3"}},
          .random = true}},
        {"RngSkip",
         {.errors = {{.in = {variable(list({0, 0, 1}).as(kInt64)), scalar(7), scalar(1)},
                      .text = "alg: expected 1 (Philox) or 3 (automatic), got 7"}},
          .own = {{"draws", generator_draws}, {"saved", skip_saved}}}},
        {"StatefulUniform", {.own = {{"saved", uniform_saved}}}},
        {"StatefulStandardNormal",
         {.errors = {{.in = {variable(list({7, 0, 0, 1}).as(kInt64)), list({2})},
                      .text = "alg: expected 1 (Philox) or 3 (automatic), got 7"},
                     {.in = {variable(list({0, 0, 1}).as(kInt64)), list({2})},
                      .text = "resource: expected a generator of 4 numbers, got 3"}},
          .own = {{"saved", tagged_saved}}}},
        {"StatefulStandardNormalV2", {.own = {{"saved", normal_saved}}}},
        {"StatefulTruncatedNormal", {.own = {{"saved", truncated_saved}}}},
        {"StatefulUniformInt", {.own = {{"saved", int_saved}}}},
        {"StatefulUniformFullInt", {.own = {{"saved", full_int_saved}}}},
        {"RandomShuffle",
         {.samples = {{.in = {draw({3, 2})}}, {.in = {draw({5})}}, {.in = {draw({})}}, {.in = {draw({0, 2})}}},
          .own = {{"order", shuffled}},
          .random = true}},
        {"Multinomial",
         {.samples = {{.in = {kLogits, scalar(4)}}, {.in = {kLogits, scalar(0)}}},
          .errors = {{.in = {kLogits, scalar(-1)}, .text = "num_samples: expected at least 0, got -1"},
                     {.in = {list({1}), scalar(1)}, .text = "logits: expected a matrix, got shape [1]"},
                     {.in = {array({2, 0}, {}), scalar(1)},
                      .text = "logits: expected at least one column, got shape [2,0]"}},
          .random = true}},
        {"StatelessMultinomial",
         {.samples = {{.in = {kLogits, scalar(4), kSeed}}, {.in = {array({0, 3}, {}), scalar(2), kSeed}}},
          .own = {{"frequencies", class_frequencies}}}},
        {"RandomGamma",
         {.samples = {{.in = {list({4}), list({0.5, 1, 3})}}, {.in = {list({}), scalar(2)}}}, .random = true}},
        {"StatelessRandomGammaV2",
         {.samples = {{.in = {list({4, 3}), kSeed, list({0.5, 1, 3})}}, {.in = {list({0, 2}), kSeed, scalar(2)}}},
          .errors = {{.in = {list({4}), kSeed, list({1, 2})},
                      .text = "shape: expected one that ends with [2], that of alpha, got [4]"}},
          .own = {{"moments", gamma_moments}},
          .gradient = false}},  // samples are not continuous in alpha: RandomGammaGrad
        {"StatelessRandomGammaV3",
         {.samples = {{.in = {list({4, 3}), kKey, kCounter, scalar(1), list({0.5, 1, 3})}},
                      {.in = {list({0, 2}), kKey, kCounter, scalar(3), scalar(2)}}},
          .errors = {{.in = {list({4}), kKey, kCounter, scalar(1), list({1, 2})},
                      .text = "shape: expected one that ends with [2], that of alpha, got [4]"},
                     {.in = {list({4}), kKey, list({1}), scalar(1), list({1, 2})},
                      .text = "length of counter: expected at least 2, got 1"}},
          .own = {{"by_a_seed", gamma_by_a_seed}},
          .gradient = false}},
        {"StatelessShuffle",
         {.samples = {{.in = {draw({3, 2}), kKey, kCounter, scalar(1)}},
                      {.in = {draw({5}), kKey, kCounter, scalar(3)}},
                      {.in = {draw({}), kKey, kCounter, scalar(1)}},
                      {.in = {draw({0, 2}), kKey, kCounter, scalar(1)}}},
          .errors = {{.in = {draw({3}), kKey, kCounter, scalar(7)},
                      .text = "alg: expected 1 (Philox) or 3 (automatic), got 7"},
                     {.in = {draw({3}), list({}), kCounter, scalar(1)}, .text = "length of key: expected 0, got 1"}},
          .own = {{"order", stateless_shuffled}}}},
        {"RandomPoissonV2",
         {.samples = {{.in = {list({4}), list({0.5, 1, 30})}}, {.in = {list({}), scalar(2)}}}, .random = true}},
        {"StatelessRandomPoisson",
         {.samples = {{.in = {list({4, 3}), kSeed, list({0.5, 1, 30})}}, {.in = {list({0, 2}), kSeed, scalar(2)}}},
          .own = {{"moments", poisson_moments}}}},
    });

}  // namespace
}  // namespace panto::test::random_rows
