// The stages of a Dataset that have threads of their own. A pass owns its threads: they end with it, whether its last
// element was asked for or not.
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>

#include "panto/lib/base/start_thread.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/scopes.h"
#include "panto/lib/core/step/cancel.h"
#include "panto/lib/core/step/step.h"
#include "panto/lib/core/step/threads.h"
#include "panto/lib/core/tensor/device.h"
#include "panto/nn/data/stages/stage.h"
#include "panto/nn/layers/layer.h"

namespace panto::data {
namespace {

// What a thread that makes elements takes over from the one that began the pass.
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

// Waits until `ready`, and throws Cancelled where the thread is asked to stop.
template <class Ready>
void wait_for(std::unique_lock<std::mutex>& lock, std::condition_variable& changed, Ready ready) {
  while (!changed.wait_for(lock, std::chrono::milliseconds(100), ready)) throw_if_cancelled();
}

// An element that is made, or why it was not.
struct Made {
  Element element;
  std::exception_ptr error;
};

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
        window_size_(2 * static_cast<size_t>(threads)) {}
  ~ParallelMapPass() override { stop(); }

  bool next(Element& element) override {
    if (!surroundings_) begin();
    for (;;) {
      fill();
      if (window_.empty()) return false;
      const std::shared_ptr<Job> job = next_job();
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

  // What is read ahead, as it is before the function: that may be names of files where what comes of it is images.
  void save(StateWriter& to) override {
    if (!ordered_) {
      fail(Code::kFailedPrecondition,
           "state: expected stages whose order is the same in every run, got map with .ordered = false");
    }
    for (const std::shared_ptr<Job>& job : window_) {
      if (job->no_input) fail_ahead("map", job->made.error);
    }
    to.stage("map");
    to.number(static_cast<uint64_t>(number_) - window_.size());
    to.number(window_.size());
    for (const std::shared_ptr<Job>& job : window_) to.element(job->input);
    to.flag(ended_);
    input_->save(to);
  }
  void restore(StateReader& from) override {
    from.stage("map");
    number_ = from.count();
    for (int64_t left = from.count(); left > 0; --left) {
      auto job = std::make_shared<Job>();
      job->input = from.element();
      job->number = number_++;
      window_.push_back(job);
      waiting_.push_back(std::move(job));
    }
    ended_ = from.flag();
    input_->restore(from);
  }

 private:
  struct Job {
    int64_t number = 0;
    Element input = {};
    Made made = {};
    bool done = false;
    bool no_input = false;  // reading it failed
  };

  void begin() {
    surroundings_.emplace(count_);
    try {
      for (int i = 0; i < count_; ++i) {
        threads_.add("map", [this] { surroundings_->run([this] { work(); }); });
      }
    } catch (...) {
      stop();
      throw;
    }
  }

  // The one whose turn it is: the first, or the first that is done. Waits for it.
  std::shared_ptr<Job> next_job() {
    auto at = window_.begin();
    {
      std::unique_lock lock(mutex_);
      wait_for(lock, finished_, [&] {
        at = window_.begin();
        if (!ordered_) at = std::ranges::find_if(window_, [](const auto& job) { return job->done; });
        return at != window_.end() && (*at)->done;
      });
    }
    std::shared_ptr<Job> job = std::move(*at);
    window_.erase(at);
    return job;
  }

  // Only the thread that asks for elements reads the input.
  void fill() {
    while (!ended_ && window_.size() < window_size_) {
      auto job = std::make_shared<Job>();
      try {
        ended_ = !input_->next(job->input);
        if (ended_) break;
      } catch (...) {
        // In its turn, behind those before it.
        ended_ = true;
        job->made.error = std::current_exception();
        job->done = job->no_input = true;
      }
      job->number = number_++;
      window_.push_back(job);
      if (job->done) break;
      {
        const std::lock_guard lock(mutex_);
        waiting_.push_back(std::move(job));
      }
      begun_.notify_one();
    }
  }

  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      begun_.wait(lock, [this] { return stopped_ || !waiting_.empty(); });
      if (stopped_) return;
      const std::shared_ptr<Job> job = std::move(waiting_.front());
      waiting_.pop_front();
      lock.unlock();
      Made made;
      try {
        made.element = mapped(function_, job->input, job->number);
      } catch (...) {
        made.error = std::current_exception();
      }
      lock.lock();
      job->made = std::move(made);
      job->done = true;
      finished_.notify_one();
    }
  }

  void stop() {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    begun_.notify_all();
  }

  std::unique_ptr<Source> input_;
  const ElementFunction& function_;
  int count_;
  bool ordered_;
  const BadInputs& bad_;
  std::optional<Surroundings> surroundings_;  // none before the first element
  size_t window_size_;
  std::deque<std::shared_ptr<Job>> window_;  // in their order
  int64_t number_ = 0;
  bool ended_ = false;

  std::mutex mutex_;  // of what follows and of the jobs' results
  std::condition_variable begun_, finished_;
  std::deque<std::shared_ptr<Job>> waiting_;
  bool stopped_ = false;

  JoinedThreads threads_;  // last: they end before the rest does
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
    Made made;
    {
      std::unique_lock lock(mutex_);
      wait_for(lock, more_, [this] { return ended_ || !ready_.empty(); });
      if (ready_.empty()) return false;
      made = std::move(ready_.front());
      ready_.pop_front();
    }
    room_.notify_one();
    if (made.error) std::rethrow_exception(made.error);
    element = std::move(made.element);
    return true;
  }

  // Waits for the element that the thread is at.
  void save(StateWriter& to) override {
    const std::lock_guard input_lock(input_mutex_);
    const std::lock_guard lock(mutex_);
    for (const Made& made : ready_) {
      if (made.error) fail_ahead("prefetch", made.error);
    }
    to.stage("prefetch");
    to.number(ready_.size());
    for (const Made& made : ready_) to.element(made.element);
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
      // Held until the element is among those that are ready: `save` finds each in one place.
      const std::lock_guard input_lock(input_mutex_);
      Made made;
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

  std::mutex input_mutex_;  // of the input; taken before the other one
  std::mutex mutex_;        // of what follows
  std::condition_variable more_, room_;
  std::deque<Made> ready_;
  bool ended_ = false, stopped_ = false;

  JoinedThreads threads_;  // last: they end before the rest does
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
