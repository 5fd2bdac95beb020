// What passes share whose elements several threads make: the elements that were read and are not given yet, in their
// order, of which each thread takes the next that nobody has. Internal.
//
// One thread, which asks for elements, calls fill, next, jobs, restore and end; the others are in `work`.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <utility>

#include "panto/lib/core/step/cancel.h"

namespace panto::datasets {

// Waits until `ready`; throws where the thread's step is stopped, for which it looks so often.
template <class Ready>
void wait_for(std::unique_lock<std::mutex>& lock, std::condition_variable& changed, Ready ready) {
  using namespace std::chrono_literals;
  while (!changed.wait_for(lock, 20ms, ready)) throw_if_cancelled();
}

// An element that is made, or why it was not.
template <class Element>
struct Made {
  Element element = {};
  std::exception_ptr error = {};
};

template <class Element>
class JobWindow {
 public:
  struct Job {
    int64_t number = 0;  // among all that were read
    Element input = {};
    Made<Element> made = {};
    bool no_input = false;  // made.error is the input's
    bool done = false;      // of the window
  };
  using JobPtr = std::shared_ptr<Job>;

  // Of up to `most` jobs. `ordered`: they are given in the order of their numbers, else as they get ready.
  JobWindow(size_t most, bool ordered) : most_(most), ordered_(ordered) {}
  JobWindow(const JobWindow&) = delete;
  JobWindow& operator=(const JobWindow&) = delete;

  // Reads until the window is full, or read(element) returns false; it is not called again then. What it throws comes
  // in its turn, behind the elements before it; nothing is read behind it until then.
  template <class Read>
  void fill(const Read& read) {
    if (!jobs_.empty() && jobs_.back()->no_input) return;
    while (!ended_ && jobs_.size() < most_) {
      auto job = std::make_shared<Job>();
      try {
        ended_ = !read(job->input);
        if (ended_) return;
      } catch (...) {
        job->made.error = std::current_exception();
        job->done = job->no_input = true;
      }
      const bool failed = job->no_input;
      add(std::move(job));
      if (failed) return;
    }
  }

  // Takes the one whose turn it is out of the window, and waits for it: the first, or the first that is done. Null
  // where the window is empty. Throws where the caller's step is stopped; the job stays then.
  JobPtr next() {
    if (jobs_.empty()) return nullptr;
    auto at = jobs_.begin();
    {
      std::unique_lock lock(mutex_);
      wait_for(lock, finished_, [&] {
        at = jobs_.begin();
        if (!ordered_) at = std::ranges::find_if(jobs_, [](const JobPtr& job) { return job->done; });
        return at != jobs_.end() && (*at)->done;
      });
    }
    JobPtr job = std::move(*at);
    jobs_.erase(at);
    return job;
  }

  // Those that are not given yet, of which only number, input and no_input may be looked at, and the input's error.
  const std::deque<JobPtr>& jobs() const { return jobs_; }
  // The number of the next that is read.
  int64_t number() const { return number_; }

  // Of a window that has none yet: goes on with number `first`, and with an element that was read before.
  void restore(int64_t first) { number_ = first; }
  void restore(Element input) {
    auto job = std::make_shared<Job>();
    job->input = std::move(input);
    add(std::move(job));
  }
  // Nothing more is read or given.
  void end() {
    ended_ = true;
    jobs_.clear();
  }

  // A thread's part, until `stop`: make(job) for the input of one job after the other. `around` calls what it is given,
  // or does not, where nobody waits for what would be made.
  template <class Make, class Around>
  void work(const Make& make, const Around& around) {
    for (;;) {
      JobPtr job;
      {
        std::unique_lock lock(mutex_);
        begun_.wait(lock, [this] { return stopped_ || !waiting_.empty(); });
        if (stopped_) return;
        job = std::move(waiting_.front());
        waiting_.pop_front();
      }
      around([&] {
        Made<Element> made;
        try {
          made.element = make(std::as_const(*job));
        } catch (...) {
          made.error = std::current_exception();
        }
        {
          const std::lock_guard lock(mutex_);
          job->made = std::move(made);
          job->done = true;
        }
        finished_.notify_one();
      });
    }
  }

  void stop() {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    begun_.notify_all();
  }

 private:
  void add(JobPtr job) {
    job->number = number_++;
    jobs_.push_back(job);
    if (job->no_input) return;
    {
      const std::lock_guard lock(mutex_);
      waiting_.push_back(std::move(job));
    }
    begun_.notify_one();
  }

  size_t most_;
  bool ordered_;
  std::deque<JobPtr> jobs_;  // in their order
  int64_t number_ = 0;
  bool ended_ = false;

  std::mutex mutex_;  // of what follows and of what jobs became
  std::condition_variable begun_, finished_;
  std::deque<JobPtr> waiting_;
  bool stopped_ = false;
};

}  // namespace panto::datasets
