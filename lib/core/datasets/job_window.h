// The window of elements that were read and not yet returned, for passes whose elements are made by several threads.
// Each thread takes the next job that no other thread has. Internal.
//
// One thread, the caller of the pass, uses fill, next, jobs, restore and end; the worker threads are in `work`.
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

// Waits until `ready`. Checks every 20 ms whether the thread's step is stopped, and throws then.
template <class Ready>
void wait_for(std::unique_lock<std::mutex>& lock, std::condition_variable& changed, Ready ready) {
  using namespace std::chrono_literals;
  while (!changed.wait_for(lock, 20ms, ready)) throw_if_cancelled();
}

// An element that was made, or the error instead.
template <class Element>
struct Made {
  Element element = {};
  std::exception_ptr error = {};
};

template <class Element>
class JobWindow {
 public:
  struct Job {
    int64_t number = 0;  // counts all elements that were read
    Element input = {};
    Made<Element> made = {};
    bool no_input = false;  // reading the input failed; made.error is that error
    bool done = false;      // guarded by the window's mutex
  };
  using JobPtr = std::shared_ptr<Job>;

  // `most`: limit of jobs in the window. `ordered`: jobs are returned by number; otherwise as they get ready.
  JobWindow(size_t most, bool ordered) : most_(most), ordered_(ordered) {}
  JobWindow(const JobWindow&) = delete;
  JobWindow& operator=(const JobWindow&) = delete;

  // Reads until the window is full or read(element) returns false; after that it is not called again. If it throws, the
  // error takes the place of an element, behind the elements before it; nothing is read behind it until it was
  // returned.
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

  // Removes the job whose turn it is from the window, after waiting for it: the first job, or if unordered the first
  // that is done. Returns null if the window is empty. Throws if the caller's step is stopped; the job then stays.
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

  // The jobs that were not returned yet. Only number, input and no_input may be read, and the error of the input.
  const std::deque<JobPtr>& jobs() const { return jobs_; }
  // The number that the next job will get.
  int64_t number() const { return number_; }

  // For an empty window: continues with number `first`, and with an element that was read before.
  void restore(int64_t first) { number_ = first; }
  void restore(Element input) {
    auto job = std::make_shared<Job>();
    job->input = std::move(input);
    add(std::move(job));
  }
  // Drops all jobs; nothing more is read or returned.
  void end() {
    ended_ = true;
    jobs_.clear();
  }

  // A worker thread's loop, until `stop`: calls make(job) for one job after the other. `around` gets a function that
  // does this, and calls it unless the result is no longer wanted.
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

  std::mutex mutex_;  // guards the members below and the results in jobs
  std::condition_variable begun_, finished_;
  std::deque<JobPtr> waiting_;
  bool stopped_ = false;
};

}  // namespace panto::datasets
