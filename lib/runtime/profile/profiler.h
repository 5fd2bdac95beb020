// Profiler: measures where a program spends its time, op by op, in eager calls, traced functions and sessions.
//
//   Profiler profiler("trace.json");             // for chrome://tracing and ui.perfetto.dev, written at the end
//   train(...);
//   profiler.stop();
//   std::cout << profiler.table();               // the ten ops that took most
//
// A profiler records the thread that made it, and the work that graph runs do on other threads; other threads join with
// a ProfilerThread. A run that is traced itself (RunOptions::trace) is recorded by that run only. Ops run as usual, but
// one after the other where a GPU would get several at once. A GPU kernel counts as finished when it was handed to the
// device. Recording takes about a microsecond per op, which is not part of the times.
// Thread-safety: only the thread that made it may stop and destroy it; any thread may call the rest.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "panto/lib/base/export.h"

namespace panto {

// One execution of an op. Times are nanoseconds since the profiler was made.
struct ProfiledOp {
  std::string name;    // the node's; for an eager call the calling line, if known
  std::string op;      // "MatMul"
  std::string device;  // "/device:CPU:0"
  std::string inputs;  // of an eager call: "float32[2,3], float32[3]"
  std::string outputs;
  int thread = 0;  // 0: the one that made the profiler
  int depth = 0;   // how many function calls it is nested in
  bool eager = false;
  int64_t start = 0, end = 0;
  int64_t self = 0;     // the part of that time not spent in nested ops
  int64_t waiting = 0;  // the part of `self` spent waiting for another device, thread or process
  double bytes = 0;     // read and written, as far as shapes tell
  double flops = 0;     // floating-point operations, as far as shapes tell
};

class PANTO_EXPORT Profiler {
 public:
  Profiler();
  // Writes the trace to a file when it stops. Throws InvalidArgument for an empty path.
  explicit Profiler(std::string path);
  ~Profiler();  // stops; errors of the file are logged
  Profiler(const Profiler&) = delete;
  Profiler& operator=(const Profiler&) = delete;

  // Stops recording and writes the file. May be called again. Throws as write_file does.
  void stop();

  // Recorded ops, ordered by end time. After the first million, ops are only counted: see `left_out`.
  std::vector<ProfiledOp> ops() const;
  int64_t left_out() const;
  // A table of ops per device, ordered by self time: calls, milliseconds, arithmetic and memory rates.
  std::string table(int64_t rows = 10) const;
  std::string chrome_trace() const;

 private:
  friend class ProfilerThread;
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

// While an instance lives, the profiler records its thread.
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
