// Times the first runs of a plan, step by step, for the CostModel that places later graphs. Internal.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <vector>

#include "panto/lib/runtime/placement/cost_model.h"
#include "panto/lib/runtime/plan/plan.h"

namespace panto {

// One measured run. The thread that runs a part times its steps.
class MeasuredRun {
 public:
  explicit MeasuredRun(const Plan& plan) : begin_(now()) {
    for (const PartPlan& part : plan.parts) seconds_.emplace_back(part.steps.size(), 0.0);
  }
  template <class Work>
  void time(const PartPlan& plan, size_t part, size_t step, const Work& work) {
    const double begin = now();
    work();
    // Include the asynchronous work of the device.
    Device* device = plan.steps[step].device;
    if (device != nullptr && device->stream() != nullptr) device->synchronize();
    seconds_[part][step] = now() - begin;
  }
  double seconds() const { return now() - begin_; }
  double seconds_of(size_t part, size_t step) const { return seconds_[part][step]; }

 private:
  static double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  }
  double begin_;
  std::vector<std::vector<double>> seconds_;  // by part and step
};

// Thread-safe.
class Measurements {
 public:
  // `plan` must outlive the object.
  Measurements(const Plan& plan, std::shared_ptr<CostModel> costs) : plan_(plan), costs_(std::move(costs)) {}
  // Returns null once enough runs were measured.
  std::unique_ptr<MeasuredRun> begin();
  void end(std::unique_ptr<MeasuredRun> run);
  // The shortest run so far; 0: none.
  double shortest() const noexcept { return shortest_.load(std::memory_order_relaxed); }

 private:
  const Plan& plan_;
  const std::shared_ptr<CostModel> costs_;
  std::atomic<int> begun_ = 0;
  std::atomic<double> shortest_ = 0;
  std::mutex mutex_;
};

}  // namespace panto
