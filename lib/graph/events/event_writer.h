// Writes an event file in a folder, on a thread of its own. SummaryWriter (panto/nn/summaries/summary_writer.h) and the
// ops of lib/ops/summaries use it. Internal.
//
// A writer belongs to the process that made it: after a fork, its functions throw FailedPrecondition in the child, and
// destroying it there does nothing. Thread-safety: may be used by several threads at once.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "panto/lib/base/callable.h"

namespace panto {

struct EventWriterOptions {
  int64_t max_queue = 10;              // waiting events at which the thread is told to write
  double flush_seconds = 120;          // longest wait of an event
  std::string filename_suffix = "";    // of the file
  Callable<double()> clock = nullptr;  // seconds since 1970, for events; null: the machine's time
};

class EventWriter {
 public:
  // Creates the folder if it is missing. Throws InvalidArgument for options out of range, and as write_file.
  EventWriter(const std::string& folder, EventWriterOptions options);
  ~EventWriter();  // closes
  EventWriter(const EventWriter&) = delete;
  EventWriter& operator=(const EventWriter&) = delete;

  double now() const;
  // Adds a serialized Event (event_bytes). Throws FailedPrecondition on a closed writer, and the error of an earlier
  // write.
  void add(std::string_view event);
  // Returns when all events added before are on disk.
  void flush();
  // Flushes and ends the file. May be called again.
  void close();
  const std::string& path() const noexcept;  // of the file

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace panto
