#include "panto/lib/base/object_pool.h"

#include <atomic>
#include <thread>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace panto {
namespace {

struct Counted {
  explicit Counted(int value) : value(value) { ++alive; }
  ~Counted() { --alive; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  int value;
  std::atomic<bool> used = false;
  inline static std::atomic<int> alive = 0;
};

constexpr auto kAny = [](const Counted&) { return true; };

BOOST_AUTO_TEST_SUITE(object_pool)

BOOST_AUTO_TEST_CASE(the_latest_is_taken_first) {
  ObjectPool<Counted> pool;
  BOOST_TEST((pool.take(kAny) == nullptr));
  pool.put(std::make_unique<Counted>(1));
  pool.put(std::make_unique<Counted>(2));
  BOOST_TEST(pool.take(kAny)->value == 2);
  BOOST_TEST(pool.take(kAny)->value == 1);
  BOOST_TEST((pool.take(kAny) == nullptr));
}

BOOST_AUTO_TEST_CASE(one_that_fits_is_found_and_the_others_stay) {
  ObjectPool<Counted> pool;
  for (int i = 1; i <= 3; ++i) pool.put(std::make_unique<Counted>(i));
  BOOST_TEST((pool.take([](const Counted& c) { return c.value == 7; }) == nullptr));
  BOOST_TEST(pool.take([](const Counted& c) { return c.value == 1; })->value == 1);
  BOOST_TEST(pool.take(kAny)->value == 3);
  BOOST_TEST(pool.take(kAny)->value == 2);
}

BOOST_AUTO_TEST_CASE(the_oldest_goes_and_nothing_is_lost) {
  {
    ObjectPool<Counted> pool;
    for (int i = 0; i < 100; ++i) pool.put(std::make_unique<Counted>(i));
    BOOST_TEST(Counted::alive < 10);
    BOOST_TEST(pool.take(kAny)->value == 99);
  }
  BOOST_TEST(Counted::alive == 0);
}

BOOST_AUTO_TEST_CASE(threads_never_share_one) {
  std::atomic<int> shared = 0;
  {
    ObjectPool<Counted> pool;
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&pool, &shared, t] {
        for (int i = 0; i < 20000; ++i) {
          auto mine = pool.take([&](const Counted& c) { return c.value != i % 3; });
          if (mine == nullptr) mine = std::make_unique<Counted>(t);
          if (mine->used.exchange(true)) ++shared;
          mine->used = false;
          pool.put(std::move(mine));
        }
      });
    }
  }
  BOOST_TEST(shared == 0);
  BOOST_TEST(Counted::alive == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
