// The command `panto` and its subcommands. The only file that includes CLI11, which takes long to compile. Exit status:
// 0; 1 with one line `error: <Code>: <message>` on standard error; 2 for wrong usage.
#include <CLI/CLI.hpp>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <memory>
#include <new>
#include <string>

#include "panto/apps/commands.h"
#include "panto/apps/repl/repl.h"
#include "panto/lib/base/error.h"
#include "panto/lib/base/file.h"
#include "panto/lib/base/text/quote.h"
#include "panto/lib/base/version.h"

namespace {

using namespace panto::apps;

int exit_status = 0;

void add_libraries(CLI::App* command, std::vector<std::string>& libraries) {
  command->add_option("--library", libraries, "FILE.so: ops of your own; repeatable")->allow_extra_args(false);
}

void add_passes(CLI::App* command, std::string& passes, std::vector<std::string>& libraries) {
  command->add_option("--optimize", passes, "off, or passes by name to run or (-NAME) to leave out; default: all");
  command->add_option("--pass-library", libraries, "FILE.so: passes of your own; repeatable")->allow_extra_args(false);
}

void add_run_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("run", "Run a graph and print or save what it computes");
  auto options = std::make_shared<RunOptions>();
  command->add_option("MODEL", options->model, "a GraphDef, .pb or .pbtxt")->required();
  command->add_option("--feed", options->feeds, "NAME=FILE.npy: the value of x:0 or x; repeatable")
      ->allow_extra_args(false);
  command->add_option("--feeds", options->feeds_file, "FILE.npz or FILE.safetensors: several values, by name");
  command
      ->add_option("--fetch", options->fetches,
                   "NAME: what to compute; repeatable. Default, without --target: all outputs that nobody consumes")
      ->allow_extra_args(false);
  command->add_option("--target", options->targets, "NODE: run it for its effect; repeatable")->allow_extra_args(false);
  command->add_option("--signature", options->signature, "S: of a SavedModel (not implemented)");
  command->add_option("--out", options->out,
                      "FILE.npz or FILE.safetensors: write results there, by the names as typed, instead of printing");
  add_passes(command, options->passes, options->pass_libraries);
  command->add_option(
      "--profile", options->profile,
      "FILE.json: write when each node ran, for chrome://tracing and ui.perfetto.dev, and print the ten "
      "ops that took most");
  add_libraries(command, options->libraries);
  command->add_option("--devices", options->devices, "cpu:N: have N CPU devices");
  command->add_flag("--no-files", options->no_files,
                    "refuse to open files that the graph names (readers, tables): for graphs of strangers");
  auto* by_cost = command->add_flag("--by-cost", options->by_cost,
                                    "place nodes where a simulation ends soonest; says what it predicts and takes");
  command->add_option("--costs", options->costs, "FILE.json: what earlier runs measured; this one is added")
      ->needs(by_cost);
  command->add_flag("--log-device-placement", options->log_device_placement,
                    "a line for each node on standard error: where it runs");
  command->callback([options] { run(*options); });
}

void add_show_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("show", "Show what a graph holds");
  auto options = std::make_shared<ShowOptions>();
  command->add_option("MODEL", options->model, "a GraphDef, .pb or .pbtxt")->required();
  auto* nodes = command->add_flag("--nodes", options->nodes, "every node on a line");
  command->add_flag("--dot", options->dot, "for Graphviz")->excludes(nodes);
  command->add_flag("--functions", options->functions, "the functions that nodes call, with their nodes")
      ->excludes(nodes);
  auto* svg = command->add_option(
      "--svg", options->svg, "FILE.svg: a picture, in which name scopes and functions are one box where they must");
  svg->excludes(nodes);
  auto* placement =
      command->add_option("--placement", options->placement, "FILE.svg: a picture of where nodes run, by colour")
          ->excludes(nodes)
          ->excludes(svg);
  command->add_option("--boxes", options->boxes, "in a picture, at most; default 150")->check(CLI::Range(1, 5000));
  command->add_option("--devices", options->devices, "cpu:N: have N CPU devices")->needs(placement);
  auto* by_cost = command->add_flag("--by-cost", options->by_cost, "where a simulation ends soonest")->needs(placement);
  command->add_option("--costs", options->costs, "FILE.json: what runs measured")->needs(by_cost);
  add_libraries(command, options->libraries);
  command->callback([options] { show(*options); });
}

void add_diff_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("diff", "What differs between two graphs; status 1 if something does");
  auto options = std::make_shared<DiffOptions>();
  command->add_option("BEFORE", options->before, "a GraphDef, .pb or .pbtxt")->required();
  command->add_option("AFTER", options->after, "another")->required();
  add_libraries(command, options->libraries);
  command->callback([options] { exit_status = diff(*options) ? 1 : 0; });
}

void add_optimize_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("optimize", "Write what the optimizer makes of a graph; show what that saves");
  auto options = std::make_shared<OptimizeOptions>();
  command->add_option("MODEL", options->model, "a GraphDef, .pb or .pbtxt")->required();
  command->add_option("OUT", options->out, "FILE.pb or FILE.pbtxt: what is written")->required();
  add_passes(command, options->passes, options->pass_libraries);
  command->add_flag("--own-ops", options->own_ops,
                    "run the passes that make ops which only Pantograph has, too, and write those");
  command->add_flag("--raise-loops", options->raise_loops,
                    "make While and If of TensorFlow 1's loops and conditionals, where that can be");
  command
      ->add_option("--fetch", options->fetches,
                   "NAME: a value that can be fetched of what is written; repeatable. Default, without --target: "
                   "all outputs that nobody consumes")
      ->allow_extra_args(false);
  command->add_option("--target", options->targets, "NODE: that can be run for its effect; repeatable")
      ->allow_extra_args(false);
  command
      ->add_option("--shape", options->shapes,
                   "NAME=DIMS: count with a shape that a Placeholder does not declare, as x=32,784; repeatable. It is "
                   "not written")
      ->allow_extra_args(false);
  command
      ->add_option("--memory-limit", options->memory_limit,
                   "BYTES: compute values again rather than keep more at a time; an error where that cannot be")
      ->check(CLI::NonNegativeNumber);
  add_libraries(command, options->libraries);
  command->callback([options] { optimize_file(*options); });
}

void add_ops_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("ops", "List the ops, or tell all about one");
  auto options = std::make_shared<OpsOptions>();
  auto* name = command->add_option("NAME", options->name, "of an op");
  auto* text = command->add_flag("--pbtxt", options->text, "as TensorFlow lists ops: an OpList as text");
  command->add_flag("--json", options->json, "the same as JSON")->excludes(text);
  command->add_option("--compare", options->compare, "FILE: such a list, of another library; says what differs")
      ->excludes(name);
  add_libraries(command, options->libraries);
  command->callback([options] { ops(*options); });
}

void add_inspect_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("inspect", "List what a file of tensors, records or events holds");
  auto options = std::make_shared<InspectOptions>();
  command
      ->add_option("FILE", options->file,
                   "a checkpoint (its prefix, .index or folder), a SavedModel's folder, .safetensors, .npz, .npy, a "
                   "TFRecord file, an event file or a folder of them")
      ->required();
  command->add_option("--name", options->names, "NAME: only what is called so; repeatable")->allow_extra_args(false);
  command->add_flag("--values", options->values, "print the values too");
  command->callback([options] { inspect(*options); });
}

void add_report_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("report", "Write what event files hold as one HTML page");
  auto options = std::make_shared<ReportOptions>();
  command->add_option("RUN", options->folder, "an event file, or a folder with such in it or below")->required();
  command->add_option("--out", options->out, "FILE.html; default report.html");
  command->add_option("--title", options->title, "of the page; default: the folder's name");
  command->add_option("--profile", options->profile, "FILE.json: what a Profiler or `panto run --profile` wrote");
  command->callback([options] { report(*options); });
}

void add_demo_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("demo", "Train on handwritten digits, trace, save, load and compare");
  auto options = std::make_shared<DemoOptions>();
  command->add_option("--data", options->data, "the folder with the four MNIST files");
  command->add_option("--out", options->out, "the folder for predict.pb; default: this one");
  command->add_option("--epochs", options->eager_epochs, "to train eagerly; default 8")->check(CLI::Range(1, 1000));
  command->add_option("--traced-epochs", options->traced_epochs, "to train the graph; default 8")
      ->check(CLI::Range(1, 1000));
  command->callback([options] { demo(*options); });
}

void add_train_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("train", "Run one of the programs that come with Pantograph");
  auto options = std::make_shared<TrainOptions>();
  auto* name = command->add_option("NAME", options->name, "of a program");
  auto* list = command->add_flag("--list", options->list, "name the programs, with a line each")->excludes(name);
  RunSettings& run = options->run;
  command->add_flag("--quick", run.quick, "take seconds: fewer steps, less data");
  command->add_option("--steps", run.steps, "N: take so many steps")->check(CLI::PositiveNumber);
  command->add_option("--seed", run.seed, "of all that is drawn; default 1")->check(CLI::NonNegativeNumber);
  command->add_option("--data", run.data, "what it learns from instead: a folder or a file, as the program has it");
  command->add_option("--save", run.save, "FILE.npz or FILE.safetensors: write what was learned");
  command->add_option("--start", run.start, "FILE.npz: first values of variables by name, and the order of examples");
  command->add_option("--losses", run.losses, "FILE.npy: write the loss of each step");
  command->add_option("--picture", run.picture, "FILE.png: what a program draws");
  command->add_option("--graph", run.graph, "FILE.pb: write what was learned as a graph with its variables in it");
  command->callback([options, name, list] {
    if (name->count() + list->count() == 0) throw CLI::RequiredError("NAME or --list");
    train(*options);
  });
}

void add_repl_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("repl", "Type C++, see values");
  auto options = std::make_shared<panto::repl::CommandOptions>();
  command->add_option("SCRIPT", options->script, "a file to run instead of what is typed");
  auto* code = command->add_option("-c", options->command, "CODE: run it and end");
  command->add_flag("--keep-going", options->keep_going, "go on after an error (without a terminal)");
  command->add_option("--engine", options->engine, "cling or clang; default: the first that is there");
  // Used by a session to restart itself.
  command->add_option("--resume", options->resume)->group("");
  command->add_option("--reason", options->reason)->group("");
  command->callback([options, code] {
    options->has_command = code->count() > 0;
    exit_status = panto::repl::run_command(*options);
  });
}

int report(std::string_view code, const std::string& message) {
  std::fflush(stdout);
  std::fprintf(stderr, "error: %.*s: %s\n", static_cast<int>(code.size()), code.data(),
               panto::escaped(message).c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGXFSZ, SIG_IGN);  // output beyond `ulimit -f` then is an error, like a full disk
  CLI::App app("Tensor programs from C++: run, look at and check TensorFlow-compatible graphs.", "panto");
  app.require_subcommand(1);
  app.set_version_flag("--version", std::string("panto ") + PANTO_VERSION);
  add_run_command(app);
  add_show_command(app);
  add_diff_command(app);
  add_optimize_command(app);
  add_ops_command(app);
  add_inspect_command(app);
  add_report_command(app);
  app.add_subcommand("devices", "List the devices")->callback(list_devices);
  add_demo_command(app);
  add_train_command(app);
  add_repl_command(app);
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
  } catch (const std::filesystem::filesystem_error& error) {
    return report(panto::code_name(panto::code_of_errno(error.code().value())), error.what());
  } catch (const std::exception& error) {
    return report("Internal", error.what());
  }
  if (std::fflush(stdout) != 0 || !std::cout.flush())
    return report("Unavailable", "standard output: cannot be written");
  return exit_status;
}
