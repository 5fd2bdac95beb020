#include "panto/apps/repl/process.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

namespace panto::repl {

bool run_program(const std::vector<std::string>& command) {
  std::vector<char*> arguments;
  for (const std::string& a : command) arguments.push_back(const_cast<char*>(a.c_str()));
  arguments.push_back(nullptr);
  pid_t child = 0;
  int status = ::posix_spawnp(&child, arguments[0], nullptr, nullptr, arguments.data(), environ);
  if (status != 0) return false;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status == 0;
}

}  // namespace panto::repl
