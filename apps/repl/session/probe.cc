#include "panto/apps/repl/session/probe.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iostream>

#include "panto/lib/base/file.h"

namespace panto::repl {
namespace {

// The original standard output and standard error while they are collected or silenced; else -1.
volatile sig_atomic_t output_before = -1, errors_before = -1;

class MemoryFile {
 public:
  explicit MemoryFile(const char* name) : file_(::memfd_create(name, MFD_CLOEXEC)) {
    if (file_ < 0) fail_file(errno, "make", name);
  }
  ~MemoryFile() { ::close(file_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  int file() const { return file_; }

  std::string contents() const {
    std::string text;
    char buffer[4096];
    off_t at = 0;
    constexpr size_t kEnough = size_t{1} << 20;  // a compiler can say a lot
    while (text.size() < kEnough) {
      const ssize_t n = ::pread(file_, buffer, sizeof buffer, at);
      if (n <= 0) break;
      text.append(buffer, static_cast<size_t>(n));
      at += n;
    }
    return text;
  }

 private:
  int file_;
};

// Some inputs make a compiler run forever or use up all memory.
void limit_this_process() {
  constexpr rlim_t kSeconds = 30;
  constexpr rlim_t kMoreMemory = rlim_t{2} << 30;
  rlimit time{kSeconds, kSeconds};
  ::setrlimit(RLIMIT_CPU, &time);
  const int64_t now = process_memory().total;
  if (now == 0) return;
  const rlim_t bytes = static_cast<rlim_t>(now) + kMoreMemory;
  rlimit memory{bytes, bytes};
  ::setrlimit(RLIMIT_AS, &memory);
}

}  // namespace

void flush_output() {
  std::cout.flush();
  std::fflush(stdout);
  std::fflush(stderr);
}

ProcessMemory process_memory() {
  std::ifstream in("/proc/self/statm");
  int64_t total = 0, resident = 0;  // pages
  in >> total >> resident;
  const int64_t page = ::sysconf(_SC_PAGESIZE);
  return {total * page, resident * page};
}

Probe probe(const std::function<bool()>& body) {
  const MemoryFile messages("messages");
  flush_output();
  const pid_t child = ::fork();
  if (child < 0) fail_file(errno, "start", "a process that tries the input");
  if (child == 0) {
    for (int s : {SIGINT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT}) ::signal(s, SIG_DFL);
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::dup2(messages.file(), 2);
    const int nowhere = ::open("/dev/null", O_RDWR);
    ::dup2(nowhere, 0);
    ::dup2(nowhere, 1);
    limit_this_process();
    bool fine = false;
    try {
      fine = body();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "error: %s\n", error.what());
    } catch (...) {
      std::fprintf(stderr, "error: an exception of an unknown type\n");
    }
    ::_exit(fine ? 0 : 1);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  Probe result;
  result.messages = messages.contents();
  if (WIFSIGNALED(status)) {
    result.outcome = WTERMSIG(status) == SIGINT ? Probe::Outcome::kInterrupted : Probe::Outcome::kCrashed;
  } else if (WEXITSTATUS(status) != 0) {
    result.outcome = Probe::Outcome::kRejected;
  }
  return result;
}

Probe collect(const std::function<bool()>& body) {
  const MemoryFile messages("messages");
  flush_output();
  const int before = ::fcntl(2, F_DUPFD_CLOEXEC, 3);
  struct Restore {
    int file;
    sig_atomic_t outer;
    ~Restore() {
      std::fflush(stderr);
      ::dup2(file, 2);
      errors_before = outer;
      ::close(file);
    }
  };
  Probe result;
  {
    const Restore restore{before, errors_before};
    if (errors_before < 0) errors_before = before;
    ::dup2(messages.file(), 2);
    result.outcome = body() ? Probe::Outcome::kFine : Probe::Outcome::kRejected;
  }
  result.messages = messages.contents();
  return result;
}

void give_back_output() {
  if (output_before >= 0) ::dup2(output_before, 1);
  if (errors_before >= 0) ::dup2(errors_before, 2);
}

Silence::Silence() {
  flush_output();
  output_ = ::fcntl(1, F_DUPFD_CLOEXEC, 3);
  errors_ = ::fcntl(2, F_DUPFD_CLOEXEC, 3);
  const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  ::dup2(nowhere, 1);
  ::dup2(nowhere, 2);
  ::close(nowhere);
  output_before = output_;
  errors_before = errors_;
}

Silence::~Silence() {
  flush_output();
  output_before = -1;
  errors_before = -1;
  ::dup2(output_, 1);
  ::dup2(errors_, 2);
  ::close(output_);
  ::close(errors_);
}

}  // namespace panto::repl
