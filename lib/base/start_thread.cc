#include "panto/lib/base/start_thread.h"

#include <csignal>
#include <string>
#include <system_error>
#include <utility>

#include "panto/lib/base/text/format.h"

namespace panto {

std::thread start_thread(std::string_view what, Callable<void()> body) {
  sigset_t all, before;
  sigfillset(&all);
  const bool blocked = pthread_sigmask(SIG_BLOCK, &all, &before) == 0;
  std::thread thread;
  std::string fault;
  try {
    thread = std::thread(std::move(body));
  } catch (const std::system_error& error) {
    fault = error.what();
  }
  if (blocked) pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (!fault.empty()) failf(Code::kResourceExhausted, "{}: expected one more thread, got: {}", what, fault);
  return thread;
}

}  // namespace panto
