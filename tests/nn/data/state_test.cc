// Positions of passes: what follows a restored state is what would have followed.
#include <optional>
#include <random>

#include "panto/lib/core/io/crc32c.h"
#include "panto/lib/core/tensor/tensor_alloc.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/create.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/random/random.h"
#include "panto/nn/data/dataset.h"
#include "panto/tests/expect.h"
#include "panto/tests/folder.h"

namespace panto {
namespace {

using Make = Dataset (*)();

Dataset numbers(int32_t n) { return Dataset::from_tensors({arange(n)}); }
Tensor plus_one(const Tensor& x) { return x + 1; }

Tensor but_sevens(const Tensor& x) {
  if (x.item<int>() % 7 == 0) fail(Code::kDataLoss, "seven");
  return x;
}
Dataset that_many(const Tensor& x) { return numbers(x.item<int>()).shuffle(4, 9); }
Tensor ones_of(const Tensor& x) { return ones({x.item<int>() % 11 + 1}); }

// What a pass has from its iterator on, as text.
std::vector<std::string> rest(Dataset::Iterator at) {
  std::vector<std::string> texts;
  for (; at != Dataset::end(); ++at) {
    texts.emplace_back();
    for (const Tensor& t : *at) texts.back() += t.to_string() + ' ';
  }
  return texts;
}

// Leaves pass number `pass` at each of its elements, and goes on in a dataset that is made anew.
void expect_restorable(const char* name, Make make) {
  BOOST_TEST_CONTEXT(name) {
    const Dataset whole = make();
    for (int pass = 0; pass < 2; ++pass) {
      const std::vector<std::string> all = rest(whole.begin());
      for (size_t left_at = 0; left_at < all.size(); left_at += 1 + all.size() / 7) {
        const Dataset first = make();
        for (int i = 0; i < pass; ++i) (void)rest(first.begin());
        auto at = first.begin();
        for (size_t i = 0; i < left_at; ++i) ++at;
        const std::string state = at.state();
        const Dataset second = make();
        second.restore(state);
        BOOST_TEST((second.state() == state));
        std::vector<std::string> expected = rest(std::move(at));
        expected.erase(expected.begin());
        BOOST_TEST((expected == std::vector<std::string>(all.begin() + static_cast<long>(left_at) + 1, all.end())));
        BOOST_TEST((rest(second.begin()) == expected));
        BOOST_TEST((rest(second.begin()) == rest(first.begin())));  // the next pass, too
      }
    }
  }
}

BOOST_AUTO_TEST_SUITE(nn)
BOOST_AUTO_TEST_SUITE(dataset_state)

const std::pair<const char*, Make> kPipelines[] = {
    {"from_tensors", [] { return Dataset::from_tensors({arange(5), zeros({5, 0}), arange(5.f)}); }},
    {"map", [] { return numbers(6).map(plus_one); }},
    {"map with threads", [] { return numbers(20).map(plus_one, {.threads = 3}); }},
    {"shuffle", [] { return numbers(12).shuffle(5, 3); }},
    {"shuffle of all", [] { return numbers(6).map(plus_one).shuffle(100, 3); }},
    {"batch", [] { return numbers(11).batch(3); }},
    {"batch without the rest", [] { return numbers(11).batch(3, {.drop_remainder = true}); }},
    {"repeat", [] { return numbers(4).shuffle(4, 1).repeat(3).batch(5); }},
    {"parts", [] { return numbers(10).skip(2).take(6).skip(1); }},
    {"prefetch", [] { return numbers(14).shuffle(3, 8).batch(2).prefetch(3); }},
    {"range", [] { return Dataset::range(3, 12, 4); }},
    {"generator",
     [] {
       return Dataset::from_generator(
           [] { return [i = 0]() mutable { return i < 6 ? std::optional(i++) : std::nullopt; }; });
     }},
    {"a range of C++", [] { return Dataset::from_range(std::vector<std::string>{"a", "b", "c"}).repeat(2); }},
    {"filter", [] { return numbers(20).filter([](const Tensor& x) { return x.item<int>() % 3 == 0; }); }},
    {"bad elements left out",
     [] { return numbers(20).map(but_sevens, {.skip_bad = true, .on_bad = [](const Error&) {}}); }},
    {"bad elements left out by threads",
     [] { return numbers(20).map(but_sevens, {.threads = 2, .skip_bad = true, .on_bad = [](const Error&) {}}); }},
    {"enumerate", [] { return numbers(5).shuffle(5, 1).enumerate(-2); }},
    {"shard", [] { return numbers(11).shard(3, 1).map(plus_one).shard(2, 0); }},
    {"concatenate", [] { return numbers(3).concatenate(numbers(4).shuffle(4, 2)).shuffle(3, 1); }},
    {"zip", [] { return Dataset::zip({numbers(5), numbers(9).shuffle(9, 4).map(plus_one), numbers(7)}); }},
    {"zip of what has numbers", [] { return Dataset::zip({numbers(5), Dataset::range(9).skip(1)}).shuffle(3, 2); }},
    {"flat_map", [] { return numbers(5).flat_map(that_many).batch(2); }},
    {"interleave", [] { return numbers(7).shuffle(7, 3).interleave(that_many, {.cycle = 3, .block = 2}); }},
    {"padded_batch", [] { return numbers(7).map(ones_of).padded_batch(3); }},
    {"bucket_by_length", [] { return numbers(17).shuffle(17, 3).map(ones_of).bucket_by_length({4, 9}, {2, 3, 2}); }},
    {"window", [] { return numbers(12).window(3, {.shift = 2, .stride = 2}); }},
    {"windows apart", [] { return numbers(20).window(2, {.shift = 5, .drop_remainder = true}); }},
    {"unbatch", [] { return numbers(9).batch(4).unbatch().shuffle(2, 1); }},
    {"cache", [] { return numbers(9).shuffle(9, 2).map(plus_one).cache().shuffle(2, 1).batch(2); }},
    {"cache of threads", [] { return numbers(9).map(plus_one, {.threads = 2}).prefetch(2).cache().repeat(2); }},
    {"no new order", [] { return numbers(9).shuffle(4, {.seed = 2, .reshuffle_each_pass = false}); }},
    {"all of them",
     [] {
       return numbers(30)
           .shuffle(10, 2)
           .map(plus_one, {.threads = 2})
           .repeat(2)
           .prefetch(4)
           .map(plus_one, {.threads = 2})
           .batch(7)
           .prefetch(1);
     }},
    {"strings",
     [] {
       return Dataset::from_tensors({tensor(std::vector<std::string>{"a", "", std::string(300, 'b'), "c"})})
           .map([](const Tensor& x) { return x; })
           .shuffle(3, 1)
           .prefetch(2);
     }},
};

BOOST_AUTO_TEST_CASE(what_follows_is_what_would_have_followed) {
  for (const auto& [name, make] : kPipelines) expect_restorable(name, make);
}

// A program may go on with another number of threads, or with none.
BOOST_AUTO_TEST_CASE(other_numbers_of_threads) {
  const auto make = [](int threads) { return numbers(20).map(plus_one, {.threads = threads}); };
  for (const int before : {1, 2, 5}) {
    for (const int after : {1, 3}) {
      const Dataset first = make(before), second = make(after);
      auto at = first.begin();
      for (int i = 0; i < 6; ++i) ++at;
      second.restore(at.state());
      ++at;
      const auto left = rest(std::move(at));
      BOOST_TEST(left.size() == 13U);
      auto again = second.begin();
      (void)again.state();
      BOOST_TEST((rest(std::move(again)) == left));
    }
  }
}

// In another process there is nothing in memory: what was kept is made again, what is in a file is not.
BOOST_AUTO_TEST_CASE(caches) {
  const TestFolder folder;
  int made = 0;
  const auto make = [&](const std::string& file) {
    const Dataset each = numbers(9).shuffle(9).map([&](const Tensor& x) { return ++made, x; });
    return file.empty() ? each.cache() : each.cache(file);
  };
  for (const std::string& file : {std::string(), folder / "cache"}) {
    const Dataset first = make(file);
    const auto all = rest(first.begin());
    auto at = first.begin();
    for (int i = 0; i < 4; ++i) ++at;
    const Dataset second = make(file);
    second.restore(at.state());
    made = 0;
    BOOST_TEST((rest(second.begin()) == std::vector<std::string>(all.begin() + 5, all.end())));
    BOOST_TEST(made == (file.empty() ? 9 : 0));
    BOOST_TEST((rest(second.begin()) == all));
    BOOST_TEST(made == (file.empty() ? 9 : 0));
  }
}

BOOST_AUTO_TEST_CASE(between_passes) {
  const Dataset first = numbers(8).shuffle(8, 5), second = numbers(8).shuffle(8, 5);
  BOOST_TEST((first.state() == second.state()));
  auto at = first.begin();
  while (at != Dataset::end()) ++at;
  second.restore(at.state());
  BOOST_TEST((first.state() == at.state()));
  BOOST_TEST((rest(second.begin()) == rest(first.begin())));
  // A loop that was left: the next one is another pass.
  for ([[maybe_unused]] const Tensor x : first) break;
  second.restore(first.state());
  BOOST_TEST((rest(second.begin()) == rest(first.begin())));
  // A state may be restored in the middle of a pass, and again.
  const std::string state = first.state();
  const auto expected = rest(first.begin());
  for ([[maybe_unused]] const Tensor x : first) {
    first.restore(state);
    break;
  }
  first.restore(state);
  BOOST_TEST((rest(first.begin()) == expected));
}

// What nobody chose is restored: the program that goes on draws other seeds.
BOOST_AUTO_TEST_CASE(seeds_that_were_drawn) {
  set_seed(1);
  const Dataset first = numbers(20).shuffle(20);
  auto at = first.begin();
  for (int i = 0; i < 5; ++i) ++at;
  set_seed(2);
  const Dataset second = numbers(20).shuffle(20);
  second.restore(at.state());
  auto expected = rest(std::move(at));
  expected.erase(expected.begin());
  BOOST_TEST((rest(second.begin()) == expected));
  BOOST_TEST((rest(second.begin()) == rest(first.begin())));
}

BOOST_AUTO_TEST_CASE(what_cannot_be_restored) {
  const Dataset a = numbers(6).shuffle(3, 1).batch(2);
  const std::string state = a.begin().state();
  const auto refused = [&](const Dataset& other) { return [&state, other] { other.restore(state); }; };
  expect_error(refused(numbers(6).shuffle(3, 1)),
               "InvalidArgument: state: expected one of a pipeline with 'shuffle' here, got one with 'batch'");
  expect_error(refused(numbers(6).shuffle(3, 1).batch(4)),
               "InvalidArgument: state: expected the size of batches 4, got 2");
  expect_error(refused(numbers(6).shuffle(4, 1).batch(2)), "InvalidArgument: state: expected the buffer 4, got 3");
  expect_error(refused(numbers(6).shuffle(3, 2).batch(2)), "InvalidArgument: state: expected the seed 2, got 1");
  expect_error(refused(numbers(7).shuffle(3, 1).batch(2)),
               "InvalidArgument: state: expected the number of elements 7, got 6");
  const std::string part = numbers(6).take(3).repeat(2).begin().state();
  expect_error([&] { numbers(6).take(4).repeat(2).restore(part); },
               "InvalidArgument: state: expected the number of elements to take 4, got 3");
  expect_error([&] { numbers(6).take(3).repeat().restore(part); },
               "InvalidArgument: state: expected the repetition without end, got of 2 times");
  expect_error([&] { a.restore("x"); }, "DataLoss: state: expected the state of a dataset, got 1 other bytes");
  for (size_t i = 0; i < state.size(); ++i) {
    std::string damaged = state;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x41);
    expect_error_begins([&] { a.restore(damaged); }, "DataLoss: state: expected ");
    expect_error_begins([&] { a.restore(state.substr(0, i)); }, "DataLoss: state: expected ");
  }
  // Orders that nobody knows beforehand.
  const Dataset any = numbers(6).map(plus_one, {.threads = 2, .ordered = false}).batch(2);
  expect_error(
      [&] { (void)any.begin().state(); },
      "FailedPrecondition: state: expected stages whose order is the same in every run, got map with .ordered = "
      "false");
  // A pass that failed has no position.
  const Dataset failing = numbers(4).map([](const Tensor& x) {
    if (x.item<int>() == 2) fail(Code::kDataLoss, "bad");
    return x;
  });
  auto at = failing.begin();
  ++at;
  BOOST_TEST(!at.state().empty());
  BOOST_CHECK_THROW(++at, Error);
  expect_error([&] { (void)at.state(); },
               "FailedPrecondition: state: expected a pass that can go on, got one that failed");
  const Dataset handles = numbers(4).map([](const Tensor&) { return resource_tensor(nullptr); }).shuffle(2, 1);
  const auto held = handles.begin();
  expect_error([&] { (void)held.state(); },
               "Unimplemented: state: expected elements of numbers, bools or strings ahead of the loop, got resource");
}

// Whatever bytes with a right checksum say, there is an Error or a pass.
BOOST_AUTO_TEST_CASE(damage) {
  std::mt19937 random(7);
  for (const auto& [name, make] : kPipelines) {
    BOOST_TEST_CONTEXT(name) {
      auto at = make().begin();
      ++at;
      const std::string state = at.state();
      const size_t head = std::string_view("panto.data.1").size();
      const size_t end = state.size() - sizeof(uint32_t);
      for (int i = 0; i < 60; ++i) {
        std::string damaged = state.substr(0, i % 9 == 0 ? head + random() % (end - head) : end);
        for (size_t n = random() % 3; n > 0 && damaged.size() > head; --n) {
          damaged[head + random() % (damaged.size() - head)] = static_cast<char>(i % 2 == 0 ? random() % 4 : random());
        }
        const uint32_t checksum = masked_crc32c(damaged);
        damaged.append(reinterpret_cast<const char*>(&checksum), sizeof(checksum));
        try {
          const Dataset dataset = make();
          dataset.restore(damaged);
          int most = 50;
          for ([[maybe_unused]] const Element& e : dataset) {
            if (--most == 0) break;
          }
          (void)dataset.state();
        } catch (const Error& error) {
          BOOST_TEST((error.code() == Code::kDataLoss || error.code() == Code::kInvalidArgument ||
                      error.code() == Code::kNotFound || error.code() == Code::kResourceExhausted ||
                      error.code() == Code::kOutOfRange));
        }
      }
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
