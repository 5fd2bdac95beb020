// Writes an event file of its own in a folder, by a thread: what SummaryWriter (panto/nn/summaries/summary_writer.h)
// and the ops of lib/ops/summaries write by. Internal.
//
// A writer is of the process that made it: in a fork of it all throw FailedPrecondition, and destroying it does
// nothing. Thread-safety: may be used by several threads at once.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "panto/lib/base/callable.h"

namespace panto {

struct EventWriterOptions {
  int64_t max_queue = 10;              // events that wait to be written, before the thread is told
  double flush_seconds = 120;          // how long they wait at most
  std::string filename_suffix = "";    // of the file
  Callable<double()> clock = nullptr;  // seconds since 1970, of events; none: the machine's
};

class EventWriter {
 public:
  // Makes the folder where it is not there. Throws InvalidArgument for options out of range, and as write_file.
  EventWriter(const std::string& folder, EventWriterOptions options);
  ~EventWriter();  // closes
  EventWriter(const EventWriter&) = delete;
  EventWriter& operator=(const EventWriter&) = delete;

  double now() const;
  // The bytes of an Event (event_bytes). Throws FailedPrecondition on a closed writer, and what writing before this
  // call threw.
  void add(std::string_view event);
  // What was given before is on the disk.
  void flush();
  // The same, and the end. May be called again.
  void close();
  const std::string& path() const noexcept;  // of the file

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace panto
