// Profiler: where the time of a program goes, op by op: eager calls, traced functions and sessions alike.
//
//   Profiler profiler("trace.json");             // for chrome://tracing and ui.perfetto.dev, written at the end
//   train(...);
//   profiler.stop();
//   std::cout << profiler.table();               // the ten ops that took most
//
// It hears the thread that made it, and what runs of graphs make other threads do; another thread joins by a
// ProfilerThread. What a run does that is watched itself (RunOptions::trace) only that run tells. Ops run as ever, but
// one after the other where a GPU would be given several at once; a kernel of a GPU ends when it was handed to the
// device. Watching takes about a microsecond for each op, which is in none of the times.
// Thread-safety: to be stopped and destroyed by the thread that made it; the rest may be called by any.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "panto/lib/base/export.h"

namespace panto {

// One execution of an op. Times are nanoseconds since the profiler was made.
struct ProfiledOp {
  std::string name;    // of the node; of an eager call the line that called it, if that is known
  std::string op;      // "MatMul"
  std::string device;  // "/device:CPU:0"
  std::string inputs;  // of an eager call: "float32[2,3], float32[3]"
  std::string outputs;
  int thread = 0;  // 0: the one that made the profiler
  int depth = 0;   // in how many calls of functions it is
  bool eager = false;
  int64_t start = 0, end = 0;
  int64_t self = 0;     // of that time, what was not spent in other ops
  int64_t waiting = 0;  // of `self`: for another device, thread or process (queues, values that are received)
  double bytes = 0;     // that it reads and writes, as far as shapes say
  double flops = 0;     // the same of arithmetic
};

class PANTO_EXPORT Profiler {
 public:
  Profiler();
  // The trace goes to a file, when it stops. Throws InvalidArgument for an empty name.
  explicit Profiler(std::string path);
  ~Profiler();  // stops; what goes wrong with the file then is logged
  Profiler(const Profiler&) = delete;
  Profiler& operator=(const Profiler&) = delete;

  // Hears nothing more, and writes the file. May be called again. Throws as write_file.
  void stop();

  // In the order of their ends. Of those beyond the first million only the number is known: `left_out`.
  std::vector<ProfiledOp> ops() const;
  int64_t left_out() const;
  // Ops by the time that they took themselves, on each device: calls, milliseconds, how fast they computed and moved.
  std::string table(int64_t rows = 10) const;
  std::string chrome_trace() const;

 private:
  friend class ProfilerThread;
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

// While one lives, a profiler hears its thread.
class PANTO_EXPORT ProfilerThread {
 public:
  explicit ProfilerThread(const Profiler& profiler);
  ~ProfilerThread();
  ProfilerThread(const ProfilerThread&) = delete;
  ProfilerThread& operator=(const ProfilerThread&) = delete;

 private:
  struct Scope;
  std::unique_ptr<Scope> scope_;
};

}  // namespace panto
