// Trying an input in a child process. A compiler that met an error in one input may refuse every later one that uses
// the same templates, and may crash; the child takes that with it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace panto::repl {

struct Probe {
  enum class Outcome { kFine, kRejected, kCrashed, kInterrupted };
  Outcome outcome = Outcome::kFine;
  std::string messages;  // what it wrote to standard error
};

// Runs `body` in a copy of this process, which then ends. The copy has one thread: `body` may compile, but must not
// touch OpenMP or CUDA. Ctrl-C ends the copy. Throws panto::Error where no process can be had.
Probe probe(const std::function<bool()>& body);
// The same in this process: what `body` writes to standard error is collected.
Probe collect(const std::function<bool()>& body);

// Undoes what collect and Silence did to standard output and standard error. For signal handlers.
void give_back_output();

// Writes out what waits in the buffers of standard output and standard error.
void flush_output();

struct ProcessMemory {
  int64_t total = 0, resident = 0;  // bytes of addresses, and of memory; 0 where the system does not say
};
ProcessMemory process_memory();

// While it lives, what this process writes to standard output and standard error is lost.
class Silence {
 public:
  Silence();
  ~Silence();
  Silence(const Silence&) = delete;
  Silence& operator=(const Silence&) = delete;

 private:
  int output_, errors_;
};

}  // namespace panto::repl
