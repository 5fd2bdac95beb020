// The subcommands of `panto`. Each function adds one to the application; its callback does the work and throws
// panto::Error. Results go to standard output, everything else to standard error.
#pragma once

#include <CLI/CLI.hpp>

namespace panto::apps {

void add_run_command(CLI::App& app);
void add_show_command(CLI::App& app);
void add_ops_command(CLI::App& app);
void add_devices_command(CLI::App& app);
void add_demo_command(CLI::App& app);

}  // namespace panto::apps
