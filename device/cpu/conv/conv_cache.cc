// The cache of convolution plans.
#include <list>
#include <mutex>

#include "panto/device/cpu/conv/conv_plan.h"

namespace panto::cpu {
namespace {

constexpr size_t kCachedPlans = 256;

class PlanCache {
 public:
  std::shared_ptr<const ConvPlan> find(ConvKind kind, const PlannedConvolution& c) {
    {
      const std::lock_guard lock(mutex_);
      for (auto it = plans_.begin(); it != plans_.end(); ++it) {
        if ((*it)->kind() != kind || !((*it)->convolution() == c)) continue;
        plans_.splice(plans_.begin(), plans_, it);
        return plans_.front();
      }
    }
    // Made without holding the lock, since it takes milliseconds. Two threads may make the same plan.
    auto plan = std::make_shared<const ConvPlan>(kind, c);
    const std::lock_guard lock(mutex_);
    ++made_;
    plans_.push_front(plan);
    if (plans_.size() > kCachedPlans) plans_.pop_back();
    return plan;
  }
  int64_t made() {
    const std::lock_guard lock(mutex_);
    return made_;
  }

 private:
  std::mutex mutex_;
  std::list<std::shared_ptr<const ConvPlan>> plans_;  // the most recently used first
  int64_t made_ = 0;
};

PlanCache& plan_cache() {
  static PlanCache& cache = *new PlanCache;  // leaked on purpose: threads may convolve while the process ends
  return cache;
}

}  // namespace

std::shared_ptr<const ConvPlan> cached_conv_plan(ConvKind kind, const PlannedConvolution& c) {
  return plan_cache().find(kind, c);
}
int64_t conv_plans_made() { return plan_cache().made(); }

}  // namespace panto::cpu
