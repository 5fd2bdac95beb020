// The stages of a Dataset that have their own threads. A pass owns its threads: they end with the pass, even if its
// last element was not asked for.
#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <utility>

#include "panto/lib/base/start_thread.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/scopes.h"
#include "panto/lib/core/datasets/job_window.h"
#include "panto/lib/core/step/cancel.h"
#include "panto/lib/core/step/step.h"
#include "panto/lib/core/step/threads.h"
#include "panto/lib/core/tensor/device.h"
#include "panto/nn/data/stages/stage.h"
#include "panto/nn/layers/layer.h"

namespace panto::data {
namespace {

// Settings that a worker thread inherits from the thread that began the pass.
class Surroundings {
 public:
  explicit Surroundings(int shares) : device_(current_device_spec().to_string()), step_(current_step()) {
    step_.threads = std::max(1, num_threads() / shares);
  }

  template <class Body>
  void run(Body&& body) const {
    const StepScope scope(step_);
    std::optional<DeviceScope> on;
    if (!device_.empty()) on.emplace(device_);
    body();
  }

 private:
  std::string device_;
  Step step_;
};

using datasets::Made;

[[noreturn]] void fail_ahead(std::string_view stage, const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const Error& e) {
    failf(Code::kFailedPrecondition,
          "state: expected a pass that can go on, got one where what is read ahead of {} fails: {}", stage,
          whole(e.message()));
  } catch (...) {
    failf(Code::kFailedPrecondition,
          "state: expected a pass that can go on, got one where what is read ahead of {} fails", stage);
  }
}

class ParallelMapPass final : public Source {
 public:
  ParallelMapPass(std::unique_ptr<Source> input, const ElementFunction& function, int threads, bool ordered,
                  const BadInputs& bad)
      : input_(std::move(input)),
        function_(function),
        count_(threads),
        ordered_(ordered),
        bad_(bad),
        window_(2 * static_cast<size_t>(threads), ordered) {}
  ~ParallelMapPass() override { window_.stop(); }

  bool next(Element& element) override {
    if (!surroundings_) begin();
    for (;;) {
      window_.fill([this](Element& input) { return read(input); });
      const auto job = window_.next();
      if (job == nullptr) return false;
      if (!job->made.error) {
        element = std::move(job->made.element);
        return true;
      }
      if (job->no_input) std::rethrow_exception(job->made.error);
      try {
        std::rethrow_exception(job->made.error);
      } catch (const Error& error) {
        if (!bad_.left_out(error)) throw;
      }
      throw_if_cancelled();
    }
  }

  // Saves the elements that were read ahead, before `function` is applied: they may be file names where the results are
  // images.
  void save(StateWriter& to) override {
    if (!ordered_) {
      fail(Code::kFailedPrecondition,
           "state: expected stages whose order is the same in every run, got map with .ordered = false");
    }
    const auto& jobs = window_.jobs();
    for (const auto& job : jobs) {
      if (job->no_input) fail_ahead("map", job->made.error);
    }
    to.stage("map");
    to.number(static_cast<uint64_t>(window_.number()) - jobs.size());
    to.number(jobs.size());
    for (const auto& job : jobs) to.element(job->input);
    to.flag(ended_);
    input_->save(to);
  }
  void restore(StateReader& from) override {
    from.stage("map");
    window_.restore(from.count());
    for (int64_t left = from.count(); left > 0; --left) window_.restore(from.element());
    ended_ = from.flag();
    input_->restore(from);
  }

 private:
  void begin() {
    surroundings_.emplace(count_);
    const auto make = [this](const auto& job) { return mapped(function_, job.input, job.number); };
    const auto around = [](const auto& body) { body(); };
    try {
      for (int i = 0; i < count_; ++i) {
        threads_.add("map", [this, make, around] { surroundings_->run([&] { window_.work(make, around); }); });
      }
    } catch (...) {
      window_.stop();
      throw;
    }
  }

  // Nothing is read after an error.
  bool read(Element& input) {
    if (std::exchange(ended_, true)) return false;
    ended_ = !input_->next(input);
    return !ended_;
  }

  std::unique_ptr<Source> input_;
  const ElementFunction& function_;
  int count_;
  bool ordered_;
  const BadInputs& bad_;
  std::optional<Surroundings> surroundings_;  // none before the first element
  datasets::JobWindow<Element> window_;
  bool ended_ = false;  // the input has ended

  JoinedThreads threads_;  // last, so that they end before other members are destroyed
};

class ParallelMap final : public Stage {
 public:
  ParallelMap(StagePtr input, ElementFunction function, const MapOptions& options)
      : input_(std::move(input)),
        function_(std::move(function)),
        threads_(options.threads),
        ordered_(options.ordered),
        bad_("map", options.skip_bad, options.on_bad) {}
  std::unique_ptr<Source> start(uint64_t pass) const override {
    return std::make_unique<ParallelMapPass>(input_->start(pass), function_, threads_, ordered_, bad_);
  }
  int64_t size() const override { return bad_.skip() && input_->size() != kEndless ? kUnknown : input_->size(); }

 private:
  StagePtr input_;
  ElementFunction function_;
  int threads_;
  bool ordered_;
  BadInputs bad_;
};

class PrefetchPass final : public Source {
 public:
  PrefetchPass(std::unique_ptr<Source> input, size_t count) : input_(std::move(input)), count_(count) {}
  ~PrefetchPass() override {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    room_.notify_one();
  }

  bool next(Element& element) override {
    if (!surroundings_) {
      surroundings_.emplace(1);
      threads_.add("prefetch", [this] { surroundings_->run([this] { work(); }); });
    }
    Made<Element> made;
    {
      std::unique_lock lock(mutex_);
      datasets::wait_for(lock, more_, [this] { return ended_ || !ready_.empty(); });
      if (ready_.empty()) return false;
      made = std::move(ready_.front());
      ready_.pop_front();
    }
    room_.notify_one();
    if (made.error) std::rethrow_exception(made.error);
    element = std::move(made.element);
    return true;
  }

  // Waits until the thread has finished its current element.
  void save(StateWriter& to) override {
    const std::lock_guard input_lock(input_mutex_);
    const std::lock_guard lock(mutex_);
    for (const Made<Element>& made : ready_) {
      if (made.error) fail_ahead("prefetch", made.error);
    }
    to.stage("prefetch");
    to.number(ready_.size());
    for (const Made<Element>& made : ready_) to.element(made.element);
    to.flag(ended_);
    input_->save(to);
  }
  void restore(StateReader& from) override {
    from.stage("prefetch");
    for (int64_t left = from.count(); left > 0; --left) ready_.push_back({from.element(), nullptr});
    ended_ = from.flag();
    input_->restore(from);
  }

 private:
  void work() {
    for (bool ended = false; !ended;) {
      {
        std::unique_lock lock(mutex_);
        room_.wait(lock, [this] { return stopped_ || ended_ || ready_.size() < count_; });
        if (stopped_ || ended_) return;
      }
      // Held until the element is in `ready_`, so that `save` finds each element in exactly one place.
      const std::lock_guard input_lock(input_mutex_);
      Made<Element> made;
      bool got = true;
      try {
        got = input_->next(made.element);
      } catch (...) {
        made.error = std::current_exception();
      }
      ended = !got || made.error;
      {
        const std::lock_guard lock(mutex_);
        if (got) ready_.push_back(std::move(made));
        ended_ = ended;
      }
      more_.notify_one();
    }
  }

  std::unique_ptr<Source> input_;
  std::optional<Surroundings> surroundings_;  // none before the first element
  size_t count_;

  std::mutex input_mutex_;  // guards the input; locked before `mutex_`
  std::mutex mutex_;        // guards the members below
  std::condition_variable more_, room_;
  std::deque<Made<Element>> ready_;
  bool ended_ = false, stopped_ = false;

  JoinedThreads threads_;  // last, so that they end before other members are destroyed
};

class Prefetch final : public Stage {
 public:
  Prefetch(StagePtr input, int64_t count) : input_(std::move(input)), count_(static_cast<size_t>(count)) {}
  std::unique_ptr<Source> start(uint64_t pass) const override {
    return std::make_unique<PrefetchPass>(input_->start(pass), count_);
  }
  int64_t size() const override { return input_->size(); }

 private:
  StagePtr input_;
  size_t count_;
};

}  // namespace

StagePtr parallel_map(StagePtr input, ElementFunction function, const MapOptions& options) {
  return std::make_shared<ParallelMap>(std::move(input), std::move(function), options);
}

StagePtr prefetch(StagePtr input, int64_t count) { return std::make_shared<Prefetch>(std::move(input), count); }

}  // namespace panto::data
