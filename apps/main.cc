// The command: `panto run|show|ops|devices|demo`.
// Exit status: 0; 1 with one line `error: <Code>: <message>` on standard error; 2 for wrong usage.
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <new>
#include <string>

#include "panto/apps/commands.h"
#include "panto/lib/base/error.h"

namespace {

int report(std::string_view code, std::string message) {
  // One line, whatever a name in a file contained.
  std::ranges::replace_if(message, [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
  std::fflush(stdout);
  std::fprintf(stderr, "error: %.*s: %s\n", static_cast<int>(code.size()), code.data(), message.c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Tensor programs from C++: run, look at and check TensorFlow-compatible graphs.", "panto");
  app.require_subcommand(1);
  app.set_version_flag("--version", std::string("panto ") + PANTO_VERSION);
  panto::apps::add_run_command(app);
  panto::apps::add_show_command(app);
  panto::apps::add_ops_command(app);
  panto::apps::add_devices_command(app);
  panto::apps::add_demo_command(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    std::cerr << error.what() << "\n\n" << app.help();
    return 2;
  } catch (const panto::Error& error) {
    return report(panto::code_name(error.code()), error.message());
  } catch (const std::bad_alloc&) {
    return report("ResourceExhausted", "memory: expected enough for the run, got none");
  } catch (const std::exception& error) {
    return report("Internal", error.what());
  }
  if (std::fflush(stdout) != 0 || !std::cout.flush())
    return report("Unavailable", "standard output: cannot be written");
  return 0;
}
