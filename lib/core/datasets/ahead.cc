#include "panto/lib/core/datasets/ahead.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "panto/lib/base/start_thread.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/datasets/datasets.h"
#include "panto/lib/core/datasets/job_window.h"
#include "panto/lib/core/datasets/simple_dataset.h"
#include "panto/lib/core/step/cancel.h"
#include "panto/lib/core/step/step.h"
#include "panto/lib/core/step/threads.h"

namespace panto::datasets {
namespace {

// Buffer size if the caller leaves it open.
constexpr int64_t kChosenBuffer = 2;

// The context that a pass's threads take over from the thread that began the pass, and the request that stops them.
class Surroundings {
 public:
  // `shares`: number of threads that compute at the same time.
  explicit Surroundings(int64_t shares)
      : step_(current_step()), depth_(pass_depth()), named_(step_.resources != nullptr), resources_(step_.resources) {
    step_.threads = std::max(1, num_threads() / static_cast<int>(shares));
    step_.deadline = Step::kNoDeadline;
    step_.cancellation = std::make_shared<Cancellation>();
    step_.rendezvous = nullptr;  // belongs to a single run
    step_.resources = nullptr;   // may own the iterator that owns this object
  }
  // Runs the work for one element. When it returns, the thread must hold the only remaining references to the owner of
  // this object.
  template <class Body>
  void run(const Body& body) const {
    Step step = step_;
    step.resources = resources_.lock();
    if (named_ && step.resources == nullptr) return;
    const StepScope scope(step);
    const PassDepthScope depth(depth_);
    body();
  }
  // Makes the current work of the threads fail as soon as possible.
  void stop() const { step_.cancellation->request(); }

 private:
  Step step_;
  int depth_;
  bool named_;  // the step had a resource manager of its own
  std::weak_ptr<ResourceManager> resources_;
};

// A pass with a Core that several threads work on. The threads own the Core, too: the work on an element may release
// the last reference to the session, and with it this pass.
template <class Core>
class ThreadedPass {
 public:
  explicit ThreadedPass(std::shared_ptr<Core> core) : core_(std::move(core)) {}
  ThreadedPass(const ThreadedPass&) = delete;
  ThreadedPass& operator=(const ThreadedPass&) = delete;
  ~ThreadedPass() { core_->stop(); }

  // Starts the threads; called with the first element, if not before.
  void begin() {
    if (std::exchange(begun_, true)) return;
    core_->begin();
    for (int64_t i = 0; i < core_->threads(); ++i) {
      threads_.add("dataset", [core = core_] { core->work(); });
    }
  }

  bool next(ElementTensors& element) {
    begin();
    return core_->next(element);
  }

 private:
  std::shared_ptr<Core> core_;
  bool begun_ = false;
  JoinedThreads threads_;
};

template <class Core, class... Arguments>
ElementFunctionOfPass threaded_pass(Arguments&&... arguments) {
  return [pass = std::make_shared<ThreadedPass<Core>>(std::make_shared<Core>(std::forward<Arguments>(arguments)...))](
             ElementTensors& element) { return pass->next(element); };
}

class Prefetch final {
 public:
  Prefetch(DatasetHandle input, int64_t buffer) : input_(std::move(input)), buffer_(static_cast<size_t>(buffer)) {}

  static int64_t threads() { return 1; }
  void begin() { surroundings_.emplace(1); }

  bool next(ElementTensors& element) {
    Made<ElementTensors> made;
    {
      std::unique_lock lock(mutex_);
      wait_for(lock, more_, [this] { return ended_ || !ready_.empty(); });
      if (ready_.empty()) return false;
      made = std::move(ready_.front());
      ready_.pop_front();
      failed_ = failed_ && !made.error;
    }
    room_.notify_one();
    if (made.error) std::rethrow_exception(made.error);
    element = std::move(made.element);
    return true;
  }

  void work() {
    for (bool ended = false; !ended;) {
      {
        std::unique_lock lock(mutex_);
        room_.wait(lock, [this] { return stopped_ || (!failed_ && ready_.size() < buffer_); });
        if (stopped_) return;
      }
      surroundings_->run([&] { ended = !make_one(); });
    }
  }

  void stop() {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    if (surroundings_) surroundings_->stop();
    room_.notify_one();
  }

 private:
  // Returns false at the end.
  bool make_one() {
    Made<ElementTensors> made;
    bool got = true;
    try {
      if (pass_ == nullptr) pass_ = input_->iterate();
      got = pass_->next(made.element);
    } catch (...) {
      made.error = std::current_exception();
    }
    {
      const std::lock_guard lock(mutex_);
      failed_ = made.error != nullptr;
      if (got) ready_.push_back(std::move(made));
      ended_ = !got;
    }
    more_.notify_one();
    return got;
  }

  DatasetHandle input_;
  size_t buffer_;
  std::optional<Surroundings> surroundings_;
  std::unique_ptr<ElementIterator> pass_;  // used by the worker thread only

  std::mutex mutex_;  // guards the members below
  std::condition_variable more_, room_;
  std::deque<Made<ElementTensors>> ready_;
  bool ended_ = false, stopped_ = false;
  bool failed_ = false;  // the last element of ready_ is an error
};

class ParallelMap final {
 public:
  ParallelMap(DatasetHandle input, ElementMap f, const ParallelMapOptions& options)
      : input_(std::move(input)),
        pass_(input_->iterate()),
        f_(std::move(f)),
        options_(options),
        window_(static_cast<size_t>(options.calls), options.ordered) {}

  int64_t threads() const { return options_.calls; }
  void begin() { surroundings_.emplace(options_.calls); }

  bool next(ElementTensors& element) {
    window_.fill([this](ElementTensors& input) { return pass_->next(input); });
    const auto job = window_.next();
    if (job == nullptr) return false;
    if (!job->made.error) {
      element = std::move(job->made.element);
      return true;
    }
    try {
      std::rethrow_exception(job->made.error);
    } catch (const Error& error) {
      // A function may end the dataset by OutOfRange, unless the cardinality must be preserved.
      if (job->no_input || error.code() != Code::kOutOfRange) throw;
      if (options_.preserve_cardinality) {
        failf(Code::kInvalidArgument, "function: expected an element, got OutOfRange: {}", error.what());
      }
    }
    window_.end();
    return false;
  }

  void work() {
    window_.work([this](const auto& job) { return f_(job.input); },
                 [this](const auto& body) { surroundings_->run(body); });
  }

  void stop() {
    window_.stop();
    if (surroundings_) surroundings_->stop();
  }

 private:
  DatasetHandle input_;
  std::unique_ptr<ElementIterator> pass_;  // used by the caller's thread only
  ElementMap f_;
  ParallelMapOptions options_;
  std::optional<Surroundings> surroundings_;
  JobWindow<ElementTensors> window_;
};

}  // namespace

DatasetHandle prefetch_dataset(DatasetHandle input, int64_t buffer, ElementSpec spec) {
  if (buffer < -1) invalid("buffer_size: expected at least 0, or -1, got {}", buffer);
  if (buffer == 0) return same_dataset("PrefetchDataset", std::move(input), std::move(spec));
  const int64_t cardinality = input->cardinality();
  const int64_t count = buffer < 0 ? kChosenBuffer : buffer;
  return simple_dataset("PrefetchDataset", std::move(spec), {std::move(input)},
                        {.cardinality = cardinality,
                         .batch = SimpleDataset::kAsInputs,
                         .begin = [count](const DatasetValue& self) -> ElementFunctionOfPass {
                           return threaded_pass<Prefetch>(self.inputs()[0], count);
                         }});
}

DatasetHandle prefetch_at_once_dataset(DatasetHandle input, int64_t buffer, ElementSpec spec) {
  return simple_dataset(
      "PrefetchDataset", std::move(spec), {std::move(input)},
      {.begin = [buffer](const DatasetValue& self) -> ElementFunctionOfPass {
        auto pass = std::make_shared<ThreadedPass<Prefetch>>(std::make_shared<Prefetch>(self.inputs()[0], buffer));
        pass->begin();
        return [pass = std::move(pass)](ElementTensors& element) { return pass->next(element); };
      }});
}

DatasetHandle parallel_map_dataset(std::string name, DatasetHandle input, ElementMap f,
                                   const ParallelMapOptions& options, ElementSpec spec) {
  if (options.calls < 1 && options.calls != -1) {
    invalid("num_parallel_calls: expected at least 1, or -1, got {}", options.calls);
  }
  ParallelMapOptions chosen = options;
  chosen.calls = std::min(options.calls == -1 ? std::max(1, num_threads()) : options.calls, kMostThreads);
  const int64_t cardinality = options.preserve_cardinality ? input->cardinality() : DatasetValue::kUnknown;
  const int64_t batch = options.keeps_batches ? SimpleDataset::kAsInputs : SimpleDataset::kNoBatch;
  return simple_dataset(std::move(name), std::move(spec), {std::move(input)},
                        {.cardinality = cardinality,
                         .batch = batch,
                         .deterministic = options.ordered,
                         .begin = [f = std::move(f), chosen](const DatasetValue& self) -> ElementFunctionOfPass {
                           return threaded_pass<ParallelMap>(self.inputs()[0], f, chosen);
                         }});
}

}  // namespace panto::datasets
