// The stages of a Dataset that have threads of their own. A pass owns its threads: they end with it, whether its last
// element was asked for or not.
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "panto/lib/base/start_thread.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/scopes.h"
#include "panto/lib/core/step/cancel.h"
#include "panto/lib/core/step/step.h"
#include "panto/lib/core/step/threads.h"
#include "panto/lib/core/tensor/device.h"
#include "panto/nn/data/stage.h"
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

// Threads that run one body each; ended and joined by whoever destroys them.
class Threads {
 public:
  Threads() = default;
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;
  ~Threads() {
    for (std::thread& t : threads_) t.join();
  }
  // Throws ResourceExhausted where there is none to be had.
  void add(std::string_view stage, std::function<void()> body) {
    threads_.push_back(start_thread(stage, std::move(body)));
  }

 private:
  std::vector<std::thread> threads_;
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

class ParallelMapPass final : public Source {
 public:
  ParallelMapPass(std::unique_ptr<Source> input, const ElementFunction& function, int threads)
      : input_(std::move(input)),
        function_(function),
        surroundings_(threads),
        window_size_(2 * static_cast<size_t>(threads)) {
    try {
      for (int i = 0; i < threads; ++i) {
        threads_.add("map", [this] { surroundings_.run([this] { work(); }); });
      }
    } catch (...) {
      stop();
      throw;
    }
  }
  ~ParallelMapPass() override { stop(); }

  bool next(Element& element) override {
    fill();
    if (window_.empty()) return false;
    const std::shared_ptr<Job> job = window_.front();
    {
      std::unique_lock lock(mutex_);
      wait_for(lock, finished_, [&] { return job->done; });
    }
    window_.pop_front();
    if (job->made.error) std::rethrow_exception(job->made.error);
    element = std::move(job->made.element);
    return true;
  }

 private:
  struct Job {
    int64_t number = 0;
    Element input = {};
    Made made = {};
    bool done = false;
  };

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
        job->done = true;
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
  Surroundings surroundings_;
  size_t window_size_;
  std::deque<std::shared_ptr<Job>> window_;  // in their order
  int64_t number_ = 0;
  bool ended_ = false;

  std::mutex mutex_;  // of what follows and of the jobs' results
  std::condition_variable begun_, finished_;
  std::deque<std::shared_ptr<Job>> waiting_;
  bool stopped_ = false;

  Threads threads_;  // last: they end before the rest does
};

class ParallelMap final : public Stage {
 public:
  ParallelMap(StagePtr input, ElementFunction function, int threads)
      : input_(std::move(input)), function_(std::move(function)), threads_(threads) {}
  std::unique_ptr<Source> start(uint64_t pass) const override {
    return std::make_unique<ParallelMapPass>(input_->start(pass), function_, threads_);
  }
  std::optional<int64_t> size() const override { return input_->size(); }

 private:
  StagePtr input_;
  ElementFunction function_;
  int threads_;
};

class PrefetchPass final : public Source {
 public:
  PrefetchPass(std::unique_ptr<Source> input, size_t count)
      : input_(std::move(input)), surroundings_(1), count_(count) {
    threads_.add("prefetch", [this] { surroundings_.run([this] { work(); }); });
  }
  ~PrefetchPass() override {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    room_.notify_one();
  }

  bool next(Element& element) override {
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

 private:
  void work() {
    for (bool ended = false; !ended;) {
      {
        std::unique_lock lock(mutex_);
        room_.wait(lock, [this] { return stopped_ || ready_.size() < count_; });
        if (stopped_) return;
      }
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
  Surroundings surroundings_;
  size_t count_;

  std::mutex mutex_;  // of what follows
  std::condition_variable more_, room_;
  std::deque<Made> ready_;
  bool ended_ = false, stopped_ = false;

  Threads threads_;  // last: they end before the rest does
};

class Prefetch final : public Stage {
 public:
  Prefetch(StagePtr input, int64_t count) : input_(std::move(input)), count_(static_cast<size_t>(count)) {}
  std::unique_ptr<Source> start(uint64_t pass) const override {
    return std::make_unique<PrefetchPass>(input_->start(pass), count_);
  }
  std::optional<int64_t> size() const override { return input_->size(); }

 private:
  StagePtr input_;
  size_t count_;
};

}  // namespace

StagePtr parallel_map(StagePtr input, ElementFunction function, int threads) {
  return std::make_shared<ParallelMap>(std::move(input), std::move(function), threads);
}

StagePtr prefetch(StagePtr input, int64_t count) { return std::make_shared<Prefetch>(std::move(input), count); }

}  // namespace panto::data
