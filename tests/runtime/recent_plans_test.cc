// Which plans of a graph are kept.
#include "panto/lib/runtime/plan/recent_plans.h"

#include <boost/test/unit_test.hpp>
#include <memory>
#include <vector>

namespace panto {
namespace {

// A plan that only says what it keeps.
class SomePlan final : public Executable {
 public:
  explicit SomePlan(int64_t bytes) { stats_.packed_bytes = bytes; }
  bool accepts(std::span<const Tensor* const>) const noexcept override { return true; }
  void check(std::span<const Tensor* const>) const override {}
  bool needs_state() const noexcept override { return true; }
  bool run_without_state(const Step&, std::span<const Tensor* const>, std::span<Tensor>) const override {
    return false;
  }
  std::unique_ptr<RunState> new_state() const override { return nullptr; }
  void run(RunState&, const Step&, std::span<const Tensor* const>, std::span<Tensor>) const override {}
  const PlanStats& stats() const override { return stats_; }
  const Graph& optimized() const override { return graph_; }

 private:
  PlanStats stats_;
  Graph graph_;
};

struct Entry {
  int number;
  std::shared_ptr<const Executable> executable;
};

struct Plans {
  RecentPlans<std::shared_ptr<Entry>> recent;
  void add(int number, int64_t bytes) {
    recent.add(std::make_shared<Entry>(Entry{number, std::make_shared<SomePlan>(bytes)}));
  }
  bool has(int number) {
    return recent.find([=](const std::shared_ptr<Entry>& e) { return e->number == number; }) != nullptr;
  }
};

BOOST_AUTO_TEST_SUITE(recent_plans)

BOOST_AUTO_TEST_CASE(the_plan_used_longest_ago_goes_first) {
  Plans plans;
  for (int i = 0; i < 16; ++i) plans.add(i, 0);
  BOOST_TEST(plans.has(0));  // and is the latest now
  plans.add(16, 0);
  BOOST_TEST(plans.recent.size() == 16u);
  BOOST_TEST(plans.has(0));
  BOOST_TEST(!plans.has(1));
  BOOST_TEST(plans.has(2));
}

BOOST_AUTO_TEST_CASE(plans_that_keep_much_are_fewer) {
  Plans plans;
  for (int i = 0; i < 300; ++i) plans.add(i, kMostPlanBytes / 4);
  BOOST_TEST(plans.recent.size() == 4u);
  for (int i = 296; i < 300; ++i) BOOST_TEST(plans.has(i));
  // One that is too large alone is kept, or every call would make it anew.
  plans.add(300, 2 * kMostPlanBytes);
  BOOST_TEST(plans.recent.size() == 1u);
  BOOST_TEST(plans.has(300));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
