// Pipelines of elements. What several threads may do with them is tested in tests/threads as well.
#include "panto/nn/data/dataset.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <set>
#include <stdexcept>
#include <thread>

#include "panto/autograd/tape.h"
#include "panto/lib/base/file.h"
#include "panto/lib/core/call/scopes.h"
#include "panto/lib/core/step/threads.h"
#include "panto/lib/core/tensor/tensor_alloc.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/create.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/random/random.h"
#include "panto/nn/layers/layer.h"
#include "panto/tests/expect.h"
#include "panto/tests/folder.h"
#include "panto/tests/near.h"
#include "panto/trace/trace.h"

namespace panto {
namespace {

using Numbers = std::vector<int32_t>;

Dataset numbers(int32_t n) { return Dataset::from_tensors({arange(n)}); }

// The numbers of all elements, one after the other.
Numbers all(const Dataset& dataset) {
  Numbers result;
  for (const Tensor t : dataset) {
    for (const int32_t v : t.to_vector<int32_t>()) result.push_back(v);
  }
  return result;
}

Numbers up_to(int32_t n) { return all(numbers(n)); }

void wait(int milliseconds) { std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds)); }

size_t threads_of_this_process() {
  size_t n = 0;
  for ([[maybe_unused]] const auto& task : std::filesystem::directory_iterator("/proc/self/task")) ++n;
  return n;
}

// The kernel lists a thread for a moment longer than it takes to join it.
void expect_threads(size_t expected) {
  for (int i = 0; i < 1000 && threads_of_this_process() != expected; ++i) wait(1);
  BOOST_TEST(threads_of_this_process() == expected);
}

BOOST_AUTO_TEST_SUITE(nn)
BOOST_AUTO_TEST_SUITE(dataset)

// ---- Elements ------------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(slices_of_tensors) {
  const Tensor x = tensor({{1.f, 2.f}, {3.f, 4.f}, {5.f, 6.f}});
  const Tensor y = tensor({7, 8, 9});
  const Dataset dataset = Dataset::from_tensors({x, y});
  BOOST_TEST(dataset.size().value() == 3);
  BOOST_TEST(dataset.to_string() == "Dataset of 3 elements");
  int i = 0;
  for (auto [a, b] : dataset) {
    expect_near(a, {2}, {1. + 2 * i, 2. + 2 * i});
    expect_near(b, 7 + i);
    a = a * 2.f;  // it is the loop's own
    ++i;
  }
  BOOST_TEST(i == 3);
  BOOST_TEST((x.to_vector<float>() == std::vector<float>{1, 2, 3, 4, 5, 6}));
  for (const auto& [a, b] : dataset) BOOST_TEST(a.shape().to_string() == "[2]");
  for (const Element& e : dataset) {
    BOOST_TEST(e.size() == 2U);
    BOOST_TEST(e.to_string() == "(float32[2], int32[])");
    BOOST_TEST(e[1].rank() == 0);
  }
  for (const auto& [a, b, c] : Dataset::from_tensors({x, y, x}).as<3>()) BOOST_TEST(c.shape().to_string() == "[2]");
  BOOST_TEST((all(Dataset::from_tensors({y})) == Numbers{7, 8, 9}));
}

BOOST_AUTO_TEST_CASE(slices_of_every_size_and_type) {
  // Large slices are views, small ones copies.
  const Tensor large = reshape(arange(4000), {4, 1000});
  int32_t first = 0;
  for (const Tensor t : Dataset::from_tensors({large})) {
    BOOST_TEST((t.to_vector<int32_t>().front() == first && t.to_vector<int32_t>().back() == first + 999));
    first += 1000;
  }
  std::vector<std::string> words;
  for (const Tensor t :
       Dataset::from_tensors({tensor(std::vector<std::string>{"a", "", "long enough for the heap"})})) {
    words.push_back(t.item<std::string>());
  }
  BOOST_TEST((words == std::vector<std::string>{"a", "", "long enough for the heap"}));
  BOOST_TEST(Dataset::from_tensors({zeros({2, 0, 3})}).batch(2).begin()->to_string() == "(float32[2,0,3])");
  for ([[maybe_unused]] const Tensor t : Dataset::from_tensors({zeros({0, 3})})) BOOST_ERROR("an element of nothing");
}

BOOST_AUTO_TEST_CASE(elements_of_other_sizes) {
  const Dataset three = Dataset::from_tensors({arange(1), arange(1), arange(1)});
  expect_error(
      [&] {
        for (auto [x, y] : three) (void)x;
      },
      "InvalidArgument: element: expected one of 2 tensors, got (int32[], int32[], int32[])");
  expect_error(
      [&] {
        for (const Tensor t : three) (void)t;
      },
      "InvalidArgument: element: expected one of 1 tensors, got (int32[], int32[], int32[])");
  expect_error(
      [&] {
        for (auto [x] : three.as<1>()) (void)x;
      },
      "InvalidArgument: element: expected one of 1 tensors, got (int32[], int32[], int32[])");
  expect_error([&] { (void)(*three.begin())[3]; }, "OutOfRange: element: expected a tensor in [0, 3), got 3");
}

BOOST_AUTO_TEST_CASE(what_cannot_be_sliced) {
  expect_error([] { Dataset::from_tensors({}); },
               "InvalidArgument: from_tensors: expected at least one tensor, got none");
  expect_error([] { Dataset::from_tensors({tensor(1.F)}); },
               "InvalidArgument: from_tensors: expected tensors of rank 1 or more, got a scalar");
  expect_error([] { Dataset::from_tensors({zeros({3, 2}), zeros({4})}); },
               "InvalidArgument: from_tensors: expected the same first dimension, got shapes [3,2] and [4]");
  expect_error([] { Dataset::from_tensors({resource_tensor(nullptr)}); },
               "InvalidArgument: from_tensors: expected numbers, bools or strings, got resource");
  expect_error([] { Dataset::from_tensors({meta_tensor(kFloat32, {2})}); },
               "FailedPrecondition: from_tensors: expected tensors with values, got symbolic float32[2]");
}

BOOST_AUTO_TEST_CASE(rows_of_a_csv_file) {
  const TestFolder folder;
  write_file(folder / "t.csv", "a,b,kind\n1,2,7\n3,4,8\n");
  const Dataset dataset = Dataset::from_csv(folder / "t.csv", {.label = "kind", .label_dtype = kInt32});
  for (auto [x, y] : dataset.batch(2)) {
    expect_near(x, {2, 2}, {1, 2, 3, 4});
    BOOST_TEST((y.to_vector<int32_t>() == Numbers{7, 8}));
  }
  for (const Tensor x : Dataset::from_csv(folder / "t.csv").take(1)) expect_near(x, {3}, {1, 2, 7});
  expect_error_begins([&] { Dataset::from_csv(folder / "t.csv", {.label = "none"}); },
                      "InvalidArgument: csv: expected a column called 'none', got a, b, kind");
}

// ---- map -----------------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(functions_of_map) {
  const Dataset pairs = Dataset::from_tensors({arange(3), arange(3) * 10});
  BOOST_TEST((all(numbers(3).map([](const Tensor& x) { return x + 1; })) == Numbers{1, 2, 3}));
  BOOST_TEST((all(pairs.map([](const Tensor& x, const Tensor& y) { return x + y; })) == Numbers{0, 11, 22}));
  for (auto [x, y] : pairs.map([](Tensor x, Tensor y) { return std::pair(y, x); }).skip(2)) {
    expect_near(x, 20);
    expect_near(y, 2);
  }
  for (auto [x, y, z] : pairs.map([](const Element& e) { return std::array{e[0], e[1], e[0]}; }).as<3>()) {
    BOOST_TEST(z.item<int>() == x.item<int>());
  }
  const Dataset triples = pairs.map([](const Element& e) { return std::vector<Tensor>{e[0], e[1], e[1]}; });
  BOOST_TEST((all(triples.map([](const Tensor& x, const Tensor& y, const Tensor& z) { return x + y + z; })) ==
              Numbers{0, 21, 42}));
  BOOST_TEST((all(numbers(2).map([](auto x) { return x * 3; })) == Numbers{0, 3}));
  BOOST_TEST((all(triples.map([](const Element& e) { return Element{e[2]}; })) == Numbers{0, 10, 20}));
}

BOOST_AUTO_TEST_CASE(order_stays_with_threads) {
  for (const int threads : {2, 3, 8}) {
    std::atomic<int> running{0}, most{0};
    const Dataset slow = numbers(60).map(
        [&](const Tensor& x) {
          const int now = ++running;
          for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
          }
          wait(x.item<int>() % 3);
          --running;
          return x + 1;
        },
        {.threads = threads});
    Numbers expected = up_to(61);
    expected.erase(expected.begin());
    BOOST_TEST((all(slow) == expected));
    BOOST_TEST(most > 1);
    BOOST_TEST(most <= threads);
  }
}

BOOST_AUTO_TEST_CASE(what_a_function_throws_arrives) {
  for (const int threads : {1, 4}) {
    const auto failing = [threads](auto error) {
      return numbers(20).map(
          [error](const Tensor& x) {
            if (x.item<int>() == 7) throw error;
            return x;
          },
          {.threads = threads});
    };
    int seen = 0;
    expect_error(
        [&] {
          for ([[maybe_unused]] const Tensor x : failing(Error(Code::kDataLoss, "bad element"))) ++seen;
        },
        "DataLoss: bad element [in map, element 7]");
    BOOST_TEST(seen == 7);
    BOOST_CHECK_THROW(all(failing(std::runtime_error("mine"))), std::runtime_error);
    BOOST_CHECK_THROW(all(failing(3)), int);
    // The pass is over; the next one is not.
    auto at = failing(3).begin();
    for (int i = 0; i < 6; ++i) ++at;
    BOOST_CHECK_THROW(++at, int);
    BOOST_TEST((at == Dataset::end()));
    expect_error([&] { ++at; }, "OutOfRange: dataset: expected an iterator before the end, got one at the end");
    // In its turn also behind further stages.
    BOOST_CHECK_THROW(all(failing(3).prefetch(4)), int);
    BOOST_CHECK_THROW(all(failing(3).map([](const Tensor& x) { return x; }, {.threads = 3})), int);
    BOOST_CHECK_THROW(all(failing(3).batch(20)), int);
    BOOST_TEST((all(failing(3).take(7)) == up_to(7)));
  }
}

BOOST_AUTO_TEST_CASE(what_map_may_not_give) {
  for (const int threads : {1, 2}) {
    const auto first = [&](const Element& made) {
      return [=] { (void)numbers(2).map([made](const Tensor&) { return made; }, {.threads = threads}).begin(); };
    };
    expect_error(first(Element()),
                 "InvalidArgument: map: expected a function that returns tensors, got none [in map, element 0]");
    expect_error(first(Element{Tensor()}),
                 "InvalidArgument: map: expected tensors with values, got an undefined one [in map, element 0]");
    expect_error(first(Element{meta_tensor(kFloat32, {2})}),
                 "InvalidArgument: map: expected tensors with values, got a symbolic one [in map, element 0]");
  }
  const auto same = [](const Tensor& x) { return x; };
  for (const int threads : {0, -1, 1025}) {
    expect_error([&] { numbers(1).map(same, {.threads = threads}); },
                 "InvalidArgument: map: expected 1 to 1024 threads, got " + std::to_string(threads));
  }
  expect_error([] { numbers(1).map_elements(nullptr); }, "InvalidArgument: map: expected a function, got an empty one");
  expect_error([&] { all(Dataset::from_tensors({arange(1), arange(1)}).map(same)); },
               "InvalidArgument: element: expected one of 1 tensors, got (int32[], int32[]) [in map, element 0]");
}

// What holds where the loop is, holds where elements are made.
BOOST_AUTO_TEST_CASE(surroundings) {
  for (const int threads : {1, 2}) {
    for (const bool ahead : {false, true}) {
      Dataset dataset = numbers(4).map(
          [](const Tensor& x) { return Element{x, tensor(in_training()), tensor(current_device_spec().to_string())}; },
          {.threads = threads});
      if (ahead) dataset = dataset.prefetch(2);
      const TrainingScope training;
      const DeviceScope device("/device:CPU:0");
      for (const auto& [x, trains, where] : dataset.as<3>()) {
        BOOST_TEST(trains.item<bool>());
        BOOST_TEST(where.item<std::string>() == current_device_spec().to_string());
      }
    }
  }
  // And threads share what the loop may use.
  const ThreadShare share(4);
  BOOST_TEST(
      (all(numbers(3).map([](const Tensor&) { return tensor(num_threads()); }, {.threads = 2})) == Numbers{2, 2, 2}));
  BOOST_TEST(
      (all(numbers(2).map([](const Tensor&) { return tensor(num_threads()); }, {.threads = 16})) == Numbers{1, 1}));
}

BOOST_AUTO_TEST_CASE(nobody_hears_a_pipeline) {
  const Variable v(tensor(3.F), "v");
  const Dataset dataset =
      Dataset::from_tensors({tensor({1.F, 2.F})}).map([&](const Tensor& x) { return x * v.value(); });
  GradientTape tape;
  Tensor total = tensor(0.F);
  for (const Tensor x : dataset) total = total + x * v;
  BOOST_TEST(tape.gradient(total, v).item<float>() == 9);  // of x v, with x = 3, 6 that are constants
  const Function traced = trace(
      [&](const Tensor& a) {
        Tensor sum = a;
        for (const Tensor x : dataset) sum = sum + x;
        return sum;
      },
      {TensorSpec(kFloat32, {}, "a")});
  expect_near(traced(tensor(1.F)), 10);
}

// ---- shuffle -------------------------------------------------------------------------------------------------------

// Drawn with SplitMix64 by an implementation in Python: pass n with the seed that is number n of the user's seed.
BOOST_AUTO_TEST_CASE(a_seed_is_an_order) {
  const Dataset shuffled = numbers(10).shuffle(10, 42);
  BOOST_TEST((all(shuffled) == Numbers{8, 3, 2, 1, 5, 9, 0, 7, 6, 4}));
  BOOST_TEST((all(shuffled) == Numbers{6, 0, 4, 9, 2, 8, 1, 3, 7, 5}));
  BOOST_TEST((all(numbers(10).shuffle(3, 7)) == Numbers{0, 3, 1, 4, 5, 6, 8, 7, 2, 9}));
  BOOST_TEST((all(numbers(4).shuffle(4, 5).repeat(2)) == Numbers{1, 3, 2, 0, 0, 3, 1, 2}));
}

BOOST_AUTO_TEST_CASE(orders_of_passes) {
  // The same with and without threads, and where a pass was left early.
  const Dataset plain = numbers(100).shuffle(50, 9);
  const Dataset ahead = numbers(100).shuffle(50, 9).prefetch(7);
  for (int i = 0; i < 3; ++i) {
    BOOST_TEST((all(plain.batch(7)) == all(ahead.batch(7))));
    (void)plain.begin();
    (void)ahead.begin();
  }
  BOOST_TEST((all(plain) == all(ahead)));
  Numbers sorted = all(plain);
  BOOST_TEST((sorted != up_to(100)));
  std::ranges::sort(sorted);
  BOOST_TEST((sorted == up_to(100)));
  // Pairs stay together.
  for (auto [x, y] : Dataset::from_tensors({arange(50), arange(50) * 3}).shuffle(50, 1)) {
    BOOST_TEST(y.item<int>() == 3 * x.item<int>());
  }
}

BOOST_AUTO_TEST_CASE(a_buffer_bounds_how_far_elements_move) {
  BOOST_TEST((all(numbers(20).shuffle(1, 3)) == up_to(20)));
  const Numbers order = all(numbers(200).shuffle(5, 3));
  for (size_t i = 0; i < order.size(); ++i) BOOST_TEST(order[i] <= static_cast<int>(i) + 4);
  BOOST_TEST(all(numbers(20).shuffle(INT64_MAX, 3)).size() == 20U);
}

BOOST_AUTO_TEST_CASE(seeds_of_the_process) {
  const auto order = [](int64_t seed) {
    set_seed(seed);
    return all(numbers(30).shuffle(30));
  };
  BOOST_TEST((order(1) == order(1)));
  BOOST_TEST((order(1) != order(2)));
  BOOST_TEST((all(numbers(30).shuffle(30)) != all(numbers(30).shuffle(30))));
}

// Each of 3 elements is first about equally often: 3000 draws, within 5 standard deviations.
BOOST_AUTO_TEST_CASE(orders_are_equally_likely) {
  const Dataset shuffled = numbers(3).shuffle(3, 11);
  std::map<Numbers, int> count;
  for (int i = 0; i < 3000; ++i) ++count[all(shuffled)];
  BOOST_TEST(count.size() == 6U);
  for (const auto& [order, times] : count) BOOST_TEST(std::abs(times - 500) < 5 * 20.4);
}

// ---- batch, repeat, take, skip -------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(batches) {
  const Dataset five = Dataset::from_tensors({reshape(arange(10), {5, 2}), arange(5)});
  std::string shapes;
  for (auto [x, y] : five.batch(2)) shapes += x.shape().to_string() + y.shape().to_string();
  BOOST_TEST(shapes == "[2,2][2][2,2][2][1,2][1]");
  shapes.clear();
  for (auto [x, y] : five.batch(2, {.drop_remainder = true})) shapes += x.shape().to_string();
  BOOST_TEST(shapes == "[2,2][2,2]");
  expect_near(five.skip(1).batch(3).begin()->get<0>(), {3, 2}, {2, 3, 4, 5, 6, 7});
  BOOST_TEST((all(numbers(8).batch(2).batch(2)) == up_to(8)));
  const Dataset words = Dataset::from_tensors({tensor(std::vector<std::string>{"a", "b", "c"})}).batch(2);
  BOOST_TEST((words.begin()->operator Tensor().to_vector<std::string>() == std::vector<std::string>{"a", "b"}));
  BOOST_TEST(numbers(3).batch(INT64_MAX).begin()->to_string() == "(int32[3])");
  for (const int64_t size : {0, -3}) {
    expect_error([&] { numbers(3).batch(size); },
                 "InvalidArgument: batch: expected a positive size, got " + std::to_string(size));
  }
}

BOOST_AUTO_TEST_CASE(elements_that_do_not_stack) {
  const auto stacked = [](auto function) { return [=] { (void)numbers(3).map(function).batch(2).begin(); }; };
  expect_error(stacked([](const Tensor& x) { return Element{x, zeros({x.item<int>() + 1})}; }),
               "InvalidArgument: batch: expected float32[1] as of the first element, got float32[2] [in tensor 1]");
  expect_error(stacked([](const Tensor& x) { return x.item<int>() == 0 ? x : cast(x, kInt64); }),
               "InvalidArgument: batch: expected int32[] as of the first element, got int64[] [in tensor 0]");
  expect_error(stacked([](const Tensor& x) { return std::vector<Tensor>(static_cast<size_t>(2 - x.item<int>()), x); }),
               "InvalidArgument: batch: expected elements of 2 tensors as the first one, got 1");
  expect_error(stacked([](const Tensor&) { return resource_tensor(nullptr); }),
               "InvalidArgument: batch: expected numbers, bools or strings, got resource [in tensor 0]");
}

BOOST_AUTO_TEST_CASE(repetitions_and_parts) {
  BOOST_TEST((all(numbers(3).repeat(2)) == Numbers{0, 1, 2, 0, 1, 2}));
  BOOST_TEST(all(numbers(3).repeat(0)).empty());
  BOOST_TEST((all(numbers(2).repeat().take(5)) == Numbers{0, 1, 0, 1, 0}));
  BOOST_TEST(all(numbers(0).repeat()).empty());
  BOOST_TEST((all(numbers(5).take(2)) == Numbers{0, 1}));
  BOOST_TEST((all(numbers(5).skip(3)) == Numbers{3, 4}));
  BOOST_TEST((all(numbers(5).skip(1).take(2)) == Numbers{1, 2}));
  BOOST_TEST(all(numbers(5).skip(9)).empty());
  BOOST_TEST((all(numbers(5).take(9)) == up_to(5)));
  BOOST_TEST(all(numbers(5).take(0)).empty());
  expect_error([] { numbers(1).repeat(-1); },
               "InvalidArgument: repeat: expected a number of times of at least 0, got -1");
  expect_error([] { numbers(1).take(-1); }, "InvalidArgument: take: expected a count of at least 0, got -1");
  expect_error([] { numbers(1).skip(-1); }, "InvalidArgument: skip: expected a count of at least 0, got -1");
  expect_error([] { numbers(1).shuffle(0, 1); }, "InvalidArgument: shuffle: expected a positive buffer, got 0");
}

BOOST_AUTO_TEST_CASE(sizes) {
  BOOST_TEST(numbers(10).batch(3).size().value() == 4);
  BOOST_TEST(numbers(10).batch(3, {.drop_remainder = true}).size().value() == 3);
  BOOST_TEST(numbers(10).repeat(3).shuffle(2, 1).prefetch(1).size().value() == 30);
  BOOST_TEST(numbers(10).map([](const Tensor& x) { return x; }, {.threads = 2}).skip(4).size().value() == 6);
  BOOST_TEST(numbers(10).take(4).skip(9).size().value() == 0);
  BOOST_TEST(!numbers(10).repeat().size().has_value());
  BOOST_TEST(!numbers(10).repeat().skip(1).batch(2).size().has_value());
  BOOST_TEST(numbers(10).repeat().take(7).size().value() == 7);
  BOOST_TEST(numbers(0).repeat().size().value() == 0);
  BOOST_TEST(numbers(10).repeat(INT64_MAX).size().value() == INT64_MAX);
  BOOST_TEST(numbers(1).to_string() == "Dataset of 1 element");
  BOOST_TEST(numbers(1).repeat().to_string() == "Dataset without end");
}

// ---- Passes and their threads --------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(passes_are_independent) {
  const Dataset dataset = numbers(4).map([](const Tensor& x) { return x; }, {.threads = 2}).prefetch(2);
  std::string text;
  for (const Tensor a : dataset) {
    for (const Tensor b : dataset) text += a.to_string() + b.to_string() + ' ';
  }
  BOOST_TEST(text == "00 01 02 03 10 11 12 13 20 21 22 23 30 31 32 33 ");
}

BOOST_AUTO_TEST_CASE(elements_are_made_ahead) {
  std::atomic<int> made{0};
  const Dataset dataset = numbers(100).map([&](const Tensor& x) { return ++made, x; }).prefetch(3);
  auto at = dataset.begin();
  for (int i = 0; i < 2000 && made < 4; ++i) wait(1);
  wait(20);
  BOOST_TEST(made == 4);  // the one that the loop has, and three that wait
  ++at;
  for (int i = 0; i < 2000 && made < 5; ++i) wait(1);
  BOOST_TEST(made == 5);
  expect_error([] { numbers(1).prefetch(0); }, "InvalidArgument: prefetch: expected a positive count, got 0");
}

BOOST_AUTO_TEST_CASE(threads_end_with_their_pass) {
  const size_t before = threads_of_this_process();
  const Dataset endless = numbers(10)
                              .repeat()
                              .map([](const Tensor& x) { return wait(1), x; }, {.threads = 4})
                              .prefetch(2)
                              .map([](const Tensor& x) { return x; }, {.threads = 2})
                              .prefetch(5);
  for (const int elements : {0, 1, 30}) {
    int seen = 0;
    for ([[maybe_unused]] const Tensor x : endless) {
      if (seen == 0) expect_threads(before + 8);
      if (++seen > elements) break;
    }
    expect_threads(before);
  }
  // An exception of the loop's own.
  BOOST_CHECK_THROW(for ([[maybe_unused]] const Tensor x : endless) throw std::runtime_error("the loop's"),
                    std::runtime_error);
  expect_threads(before);
  // A dataset may go before its pass does.
  auto at = numbers(3).map([](const Tensor& x) { return x + 1; }, {.threads = 2}).prefetch(1).begin();
  Numbers rest;
  for (; at != Dataset::end(); ++at) rest.push_back((*at)[0].item<int>());
  BOOST_TEST((rest == Numbers{1, 2, 3}));
  expect_threads(before);
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
