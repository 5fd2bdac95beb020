// Random numbers: the generator against its authors' test vectors, the user's functions against TensorFlow's numbers
// (tests/reference has many more: replay_test.cc), and what must not depend on threads.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <set>
#include <thread>

#include "panto/device/math/random/philox.h"
#include "panto/lib/base/error.h"
#include "panto/lib/core/step/threads.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/lib/ops/random/random.h"

namespace panto {
namespace {

using Floats = std::vector<float>;

void check_words(const philox::Stream& stream, std::vector<uint32_t> expected) {
  const philox::Words got = stream.block(0);
  BOOST_TEST(std::vector<uint32_t>(got.w, got.w + 4) == expected, boost::test_tools::per_element());
}

void check_close(const Tensor& got, const Floats& expected) {
  const Floats values = got.to_vector<float>();
  BOOST_TEST_REQUIRE(values.size() == expected.size());
  for (size_t i = 0; i < values.size(); ++i)
    BOOST_TEST(std::abs(values[i] - expected[i]) <= 1e-6f * std::abs(expected[i]));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(random)

// kat_vectors of Random123 1.14.
BOOST_AUTO_TEST_CASE(philox_known_answers) {
  constexpr uint64_t kOnes = ~uint64_t{0};
  check_words({0, 0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  check_words({kOnes, kOnes, kOnes}, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  check_words({0x299f31d0a4093822, 0x85a308d3243f6a88, 0x0370734413198a2e},
              {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

BOOST_AUTO_TEST_CASE(philox_counter_carries) {
  const philox::Stream stream{5, ~uint64_t{0} - 1, 7};
  BOOST_TEST(stream.advanced(3).low == 1u);
  BOOST_TEST(stream.advanced(3).high == 8u);
  BOOST_TEST(stream.block(3).w[2] == (philox::Stream{5, 1, 8}.block(0).w[2]));
}

// tf.random.stateless_uniform([3], [7, 0], ...) and stateless_normal of TensorFlow 2.21.
BOOST_AUTO_TEST_CASE(seeded_numbers_are_tensorflows) {
  const Floats expected = {0.7470788f, 0.6721802f, 0.05777955f};
  BOOST_TEST(random_uniform({3}, {.seed = 7}).to_vector<float>() == expected, boost::test_tools::per_element());
  BOOST_TEST(random_uniform({3}, {.seed = 7}).to_vector<float>() == expected, boost::test_tools::per_element());
  check_close(random_uniform({3}, {.seed = 7, .min = 2, .max = 5}), {4.2412367f, 4.0165405f, 2.1733387f});
}

// 2 + (1 - 2^-23) rounds up to 3. Of 2^25 draws some are that large.
BOOST_AUTO_TEST_CASE(uniform_numbers_stay_below_the_maximum) {
  struct Case {
    DType type;
    double min, max;
    int64_t count;
  };
  for (const auto& [type, min, max, count] :
       {Case{kFloat32, 2, 3, 1 << 25}, Case{kFloat32, -3, -2, 1 << 20}, Case{kFloat32, 1000, 1001, 1 << 16},
        Case{kFloat32, 1e6, 1e6 + 1, 1 << 16}, Case{kFloat64, 1e15, 1e15 + 1, 1 << 10}}) {
    const Tensor x = cast(random_uniform({count}, {.seed = 3, .dtype = type, .min = min, .max = max}), kFloat64);
    const double low = reduce_min(x).item<double>(), high = reduce_max(x).item<double>();
    BOOST_TEST_CONTEXT(dtype_name(type) << " " << min << " " << max) {
      BOOST_TEST(low >= min);
      BOOST_TEST((high < max));
      BOOST_TEST(high > min + 0.8 * (max - min) - 0.3);  // and comes near
    }
  }
  // Numbers that do not round up are TensorFlow's.
  const Tensor plain = random_uniform({1000}, {.seed = 3});
  BOOST_TEST(
      random_uniform({1000}, {.seed = 3, .min = 2, .max = 3}).to_vector<float>() == add(plain, 2.f).to_vector<float>(),
      boost::test_tools::per_element());
}

// tf.random.Generator.from_seed(7): uniform([5]), normal([3]), uniform([4], 0, 10, tf.int32).
BOOST_AUTO_TEST_CASE(generator_is_tensorflows) {
  set_seed(7);
  check_close(random_uniform({5}), {0.39932835f, 0.7840713f, 0.67880154f, 0.73395896f, 0.5520444f});
  BOOST_TEST(random_generator().value().to_vector<int64_t>() == (std::vector<int64_t>{1287, 0, 0}),
             boost::test_tools::per_element());
  check_close(random_normal({3}), {0.6197005f, 0.0243287f, -1.7435324f});
  static_cast<void>(rng_read_and_skip(random_generator().handle(), 1, 0));  // takes nothing
  set_seed(2055);
  BOOST_TEST(random_uniform({4}, {.dtype = kInt32, .min = 0, .max = 10}).to_vector<int32_t>() ==
                 (std::vector<int32_t>{2, 0, 2, 8}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(generator_goes_on_and_starts_again) {
  set_seed(1);
  const Floats first = random_uniform({4}).to_vector<float>();
  const Floats second = random_uniform({4}).to_vector<float>();
  BOOST_TEST(first != second);
  set_seed(1);
  BOOST_TEST(random_uniform({4}).to_vector<float>() == first);
  BOOST_TEST(random_uniform({4}).to_vector<float>() == second);
}

BOOST_AUTO_TEST_CASE(read_and_skip) {
  const Variable state(tensor({int64_t{1}, int64_t{2}, int64_t{-5}}), "state");
  const Tensor before = rng_read_and_skip(state, 1, 3);
  BOOST_TEST(before.to_vector<int64_t>() == (std::vector<int64_t>{1, 2, -5}), boost::test_tools::per_element());
  BOOST_TEST(state.value().to_vector<int64_t>() == (std::vector<int64_t>{769, 2, -5}),
             boost::test_tools::per_element());
  const Variable wrong(tensor({1.f}), "wrong");
  BOOST_CHECK_THROW(rng_read_and_skip(wrong, 1, 3), Error);
}

BOOST_AUTO_TEST_CASE(numbers_do_not_depend_on_threads) {
  const int threads = num_threads();
  for (const DType type : {kFloat32, kFloat64}) {
    std::vector<std::string> texts;
    for (const int count : {1, 2, 3, 7}) {
      set_num_threads(count);
      const Tensor u = random_uniform({300'001}, {.seed = 3, .dtype = type});
      const Tensor n = random_normal({300'001}, {.seed = 3, .dtype = type});
      texts.push_back(std::string(static_cast<const char*>(u.impl()->data), u.nbytes()) +
                      std::string(static_cast<const char*>(n.impl()->data), n.nbytes()));
    }
    set_num_threads(threads);
    for (const std::string& text : texts) BOOST_TEST((text == texts[0]));
  }
}

// An element depends on its index only.
BOOST_AUTO_TEST_CASE(shorter_is_a_prefix) {
  const Floats all = random_normal({50}, {.seed = 9}).to_vector<float>();
  for (int64_t n = 0; n < 50; ++n) {
    const Floats part = random_normal({n}, {.seed = 9}).to_vector<float>();
    BOOST_TEST(part == Floats(all.begin(), all.begin() + n), boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(moments) {
  const int64_t n = 400'000;
  const auto mean_and_deviation = [n](const std::vector<double>& x) {
    double sum = 0, squares = 0;
    for (double v : x) sum += v, squares += v * v;
    const double mean = sum / static_cast<double>(n);
    return std::pair(mean, std::sqrt(squares / static_cast<double>(n) - mean * mean));
  };
  const auto [m, s] = mean_and_deviation(
      random_normal({n}, {.seed = 1, .dtype = kFloat64, .mean = 3, .stddev = 2}).to_vector<double>());
  BOOST_TEST(std::abs(m - 3) < 0.02);
  BOOST_TEST(std::abs(s - 2) < 0.02);
  const auto [um, us] =
      mean_and_deviation(random_uniform({n}, {.seed = 1, .dtype = kFloat64, .min = -1, .max = 1}).to_vector<double>());
  BOOST_TEST(std::abs(um) < 0.005);
  BOOST_TEST(std::abs(us - 1 / std::sqrt(3.)) < 0.005);
}

// tf.random.stateless_truncated_normal([5], [1, 0]); tf.random.Generator.from_seed(7).truncated_normal([3], 3, 2).
BOOST_AUTO_TEST_CASE(truncated_normal_is_tensorflows) {
  check_close(truncated_normal({5}, {.seed = 1}), {0.1266503f, -0.49301657f, 0.6311907f, -0.78884655f, -0.9098563f});
  set_seed(7);
  check_close(truncated_normal({3}, {.mean = 3, .stddev = 2}), {0.35192084f, 3.5757134f, 1.2484198f});
  const Tensor many = truncated_normal({100'000}, {.seed = 2, .dtype = kFloat64, .mean = 1, .stddev = 3});
  const double farthest = reduce_max(abs(many - 1.0)).item<double>();
  BOOST_TEST(farthest < 6);
  BOOST_TEST(farthest > 5.99);
  BOOST_TEST(dtype_name(truncated_normal({2}, {.dtype = kBFloat16}).dtype()) == "bfloat16");
}

BOOST_AUTO_TEST_CASE(threads_draw_different_numbers) {
  set_seed(5);
  std::vector<Floats> drawn(4);
  std::vector<std::thread> threads;
  for (Floats& mine : drawn) {
    threads.emplace_back([&mine] {
      for (int i = 0; i < 200; ++i) mine.push_back(random_uniform({1}).item<float>());
    });
  }
  for (std::thread& t : threads) t.join();
  std::multiset<float> all;
  for (const Floats& part : drawn) all.insert(part.begin(), part.end());
  set_seed(5);
  std::multiset<float> alone;
  for (int i = 0; i < 800; ++i) alone.insert(random_uniform({1}).item<float>());
  BOOST_TEST((all == alone));
}

BOOST_AUTO_TEST_CASE(bad_arguments) {
  BOOST_CHECK_THROW(random_uniform({3}, {.min = 1, .max = 1}), Error);
  BOOST_CHECK_THROW(random_uniform({-3}), Error);
  BOOST_CHECK_THROW(random_uniform({3}, {.dtype = kString}), Error);
  auto [key, counter] = stateless_random_get_key_counter({1, 2});
  BOOST_CHECK_THROW(stateless_random_uniform({3}, key, counter, 2), Error);
  BOOST_CHECK_THROW(stateless_random_uniform({3}, counter, counter, 1), Error);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace panto
