// Tries inputs in a child process. After an error a compiler may reject every later input that uses the same templates,
// or crash; in a child this does no harm.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace panto::repl {

struct Probe {
  enum class Outcome { kFine, kRejected, kCrashed, kInterrupted };
  Outcome outcome = Outcome::kFine;
  std::string messages;  // its standard error
};

// Runs `body` in a forked copy of this process. The copy has one thread: `body` may compile, but must not touch OpenMP
// or CUDA. Ctrl-C ends the copy. Throws panto::Error if no process can be started.
Probe probe(const std::function<bool()>& body);
// Runs `body` in this process and collects its standard error.
Probe collect(const std::function<bool()>& body);

// Undoes what collect and Silence did to standard output and standard error. For signal handlers.
void give_back_output();

// Flushes standard output and standard error.
void flush_output();

struct ProcessMemory {
  int64_t total = 0, resident = 0;  // bytes of address space and of memory; 0 if unknown
};
ProcessMemory process_memory();

// Discards this process's standard output and standard error during its lifetime.
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
