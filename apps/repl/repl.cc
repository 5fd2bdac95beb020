#include "panto/apps/repl/repl.h"

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <iostream>

#include "panto/apps/repl/engines.h"
#include "panto/apps/repl/guard.h"
#include "panto/apps/repl/session.h"
#include "panto/lib/base/file.h"

namespace panto::repl {
namespace {

// Values to standard output, the rest to standard error.
class PlainListener final : public Listener {
 public:
  void value(const std::string& text) override { say(stdout, text); }
  void error(const std::string& text) override { say(stderr, text); }
  void note(const std::string& text) override { say(stderr, text); }

 private:
  static void say(FILE* file, const std::string& text) {
    std::cout.flush();
    std::fflush(stdout);
    std::fprintf(file, "%s\n", text.c_str());
    std::fflush(file);
  }
};

std::string new_folder() {
  std::string name = (std::filesystem::temp_directory_path() / "panto-repl-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) fail_file(errno, "make", name);
  return name;
}

}  // namespace

int run_command(const CommandOptions& options) {
  const std::string folder = new_folder();
  Engine& engine = start_engine(options.engine);
  PlainListener listener;
  Session session(engine, listener, folder + "/log");
  install_guard({});
  bool fine = true;
  if (options.has_command) {
    fine = session.feed(options.command, {"command", 1}, options.keep_going);
  } else if (!options.script.empty()) {
    fine = session.feed(read_file(options.script), {options.script, 1}, options.keep_going);
  } else {
    fine = session.feed(read_file("/dev/stdin"), {"input", 1}, options.keep_going);
  }
  std::filesystem::remove_all(folder);
  // Not by `return`: destructors of what a session made would run in no order that anybody knows.
  std::cout.flush();
  std::fflush(nullptr);
  ::_exit(fine ? 0 : 1);
}

}  // namespace panto::repl
