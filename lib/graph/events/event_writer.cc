#include "panto/lib/graph/events/event_writer.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <set>
#include <string_view>
#include <thread>
#include <utility>

#include "panto/lib/base/clock.h"
#include "panto/lib/base/file.h"
#include "panto/lib/base/log.h"
#include "panto/lib/base/start_thread.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/io/record_file.h"
#include "panto/lib/graph/events/event_file.h"

namespace panto {
namespace {

constexpr std::string_view kFileVersion = "brain.Event:2";

// "events.out.tfevents.SECONDS.HOST.PROCESS.NUMBER": unique for each writer, and sorted by time.
std::string file_name(const std::string& suffix) {
  static std::atomic<unsigned> counter{0};
  std::array<char, 256> host{};
  if (gethostname(host.data(), host.size() - 1) != 0 || host[0] == '\0') host = {'h', 'o', 's', 't'};
  for (char& c : host) {
    if (c == '/') c = '_';
  }
  return fmt::format("events.out.tfevents.{:010d}.{}.{}.{}{}", static_cast<int64_t>(machine_time()), host.data(),
                     getpid(), counter.fetch_add(1), suffix);
}

std::string made_folder(const std::string& folder) {
  if (folder.empty()) invalid("summary writer: expected a folder, got none");
  make_folders(folder);
  return folder;
}

}  // namespace

struct EventWriter::Impl {
  Impl(const std::string& folder, EventWriterOptions with)
      : options(checked(std::move(with))),
        path(made_folder(folder) + "/" + file_name(options.filename_suffix)),
        file(path) {
    SummaryEvent first;
    first.wall_time = now();
    first.file_version = kFileVersion;
    std::string record;
    append_record(event_bytes(first), record);
    file.append(record);
    open_writers().add(this);
    try {
      worker = start_thread("summary writer", [this] { work(); });
    } catch (...) {
      open_writers().remove(this);
      throw;
    }
  }

  ~Impl() {
    open_writers().remove(this);
    try {
      close();
    } catch (const std::exception& error) {
      log_warn(fmt::format("summary writer: not all is written: {}", error.what()));
    }
  }

  static EventWriterOptions checked(EventWriterOptions options) {
    if (options.max_queue < 1) invalid("summary writer: expected max_queue >= 1, got {}", options.max_queue);
    if (!(options.flush_seconds > 0) || !(options.flush_seconds <= kLongestWait)) {
      invalid("summary writer: expected flush_seconds > 0 and at most {}, got {}", kLongestWait, options.flush_seconds);
    }
    if (options.filename_suffix.find('/') != std::string::npos) {
      invalid("summary writer: expected a suffix without slashes, got '{}'", options.filename_suffix);
    }
    return options;
  }

  double now() const { return options.clock ? options.clock() : machine_time(); }

  // A forked process has a copy of the writer, but not its thread: it would wait forever.
  bool made_here() const { return process == getpid(); }
  void expect_made_here() const {
    if (!made_here()) {
      fail(Code::kFailedPrecondition, "summary writer: expected the process that made it, got a fork of it");
    }
  }

  void add(std::string_view bytes) {
    expect_made_here();
    const std::lock_guard lock(mutex);
    if (closed) fail(Code::kFailedPrecondition, "summary writer: expected an open one, got one that was closed");
    rethrow();
    append_record(bytes, pending);
    if (++waiting == 1) oldest = std::chrono::steady_clock::now();
    if (waiting == 1 || waiting >= options.max_queue) changed.notify_all();
  }

  void flush() {
    expect_made_here();
    std::unique_lock lock(mutex);
    const uint64_t wanted = ++flushes_asked;
    changed.notify_all();
    changed.wait(lock, [&] { return flushes_done >= wanted || ended; });
    rethrow();
  }

  void close() {
    expect_made_here();
    {
      const std::lock_guard lock(mutex);
      closed = true;
      changed.notify_all();
    }
    {
      const std::lock_guard lock(joining);
      if (worker.joinable()) worker.join();
    }
    const std::lock_guard lock(mutex);
    rethrow();
  }

  // Precondition: locked.
  void rethrow() {
    if (fault != nullptr) std::rethrow_exception(std::exchange(fault, nullptr));
  }

  // The main function of the writer's thread.
  void work() noexcept {
    std::unique_lock lock(mutex);
    while (!closed || waiting > 0 || flushes_asked > flushes_done) {
      const auto due = [this] { return closed || flushes_asked > flushes_done || waiting >= options.max_queue; };
      if (waiting > 0) {
        const auto until = oldest + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                                        std::chrono::duration<double>(options.flush_seconds));
        changed.wait_until(lock, until, due);
      } else {
        changed.wait(lock, [&] { return due() || waiting > 0; });
        if (!due()) continue;  // the first event came: its deadline starts
      }
      const uint64_t asked = flushes_asked;
      const bool to_disk = asked > flushes_done;
      std::string bytes = std::exchange(pending, {});
      waiting = 0;
      lock.unlock();
      std::exception_ptr error;
      try {
        file.append(bytes);
        if (to_disk) file.sync();
      } catch (...) {
        error = std::current_exception();
      }
      lock.lock();
      if (error != nullptr) fault = error;
      flushes_done = asked;
      changed.notify_all();
    }
    try {
      file.sync();  // writes that other processes can see may not be on disk yet
    } catch (...) {
      fault = std::current_exception();
    }
    ended = true;
    changed.notify_all();
  }

  // The open writers, to flush them when the process ends by `exit`, which destroys no objects on the stack.
  class OpenWriters {
   public:
    void add(Impl* writer) {
      const std::lock_guard lock(mutex_);
      if (!registered_) registered_ = std::atexit([] { open_writers().flush_all(); }) == 0;
      writers_.insert(writer);
    }
    void remove(Impl* writer) {
      const std::lock_guard lock(mutex_);
      writers_.erase(writer);
    }
    void flush_all() {
      const std::lock_guard lock(mutex_);
      for (Impl* writer : writers_) {
        if (!writer->made_here()) continue;
        try {
          writer->flush();
        } catch (const std::exception& error) {
          log_warn(fmt::format("summary writer: not all is written: {}", error.what()));
        }
      }
    }

   private:
    std::mutex mutex_;
    bool registered_ = false;
    std::set<Impl*> writers_;
  };
  static OpenWriters& open_writers() {
    static auto* const writers = new OpenWriters;  // never destroyed: used at the very end
    return *writers;
  }

  static constexpr double kLongestWait = 1e6;
  EventWriterOptions options;
  std::string path;
  GrowingFile file;  // used by the thread only, once it runs
  const pid_t process = getpid();
  std::mutex joining;
  std::thread worker;

  std::mutex mutex;  // guards the members below
  std::condition_variable changed;
  std::string pending;  // records
  int64_t waiting = 0;  // number of records
  std::chrono::steady_clock::time_point oldest;
  uint64_t flushes_asked = 0, flushes_done = 0;
  bool closed = false, ended = false;
  std::exception_ptr fault;  // an error of the thread, thrown by the next call
};

EventWriter::EventWriter(const std::string& folder, EventWriterOptions options)
    : impl_(std::make_unique<Impl>(folder, std::move(options))) {}
EventWriter::~EventWriter() {
  if (impl_->made_here()) return;
  [[maybe_unused]] const Impl* const left = impl_.release();  // its memory is freed with the process
}

double EventWriter::now() const { return impl_->now(); }
void EventWriter::add(std::string_view event) { impl_->add(event); }
void EventWriter::flush() { impl_->flush(); }
void EventWriter::close() { impl_->close(); }
const std::string& EventWriter::path() const noexcept { return impl_->path; }

}  // namespace panto
