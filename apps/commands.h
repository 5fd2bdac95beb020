// The subcommands of `panto`. Each throws panto::Error on failure. Results go to standard output, everything else to
// standard error.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "panto/apps/programs/settings.h"

namespace panto::apps {

// Takes "cpu:N": sets the number of CPU devices to N. Throws InvalidArgument for anything else.
void set_devices(const std::string& text);

struct RunOptions {
  std::string model;
  std::vector<std::string> feeds;  // NAME=FILE.npy
  std::string feeds_file;          // .npz
  std::vector<std::string> fetches, targets, libraries, pass_libraries;
  std::string signature, out, passes, devices;
  bool no_files = false;
  bool by_cost = false;
  bool log_device_placement = false;
  std::string costs;    // a file that CostModel reads, if it exists, and writes
  std::string profile;  // .json
};
void run(const RunOptions& options);

struct ShowOptions {
  std::string model;
  bool nodes = false;
  bool dot = false;
  bool functions = false;
  std::string svg;        // the picture's file
  std::string placement;  // FILE.svg: a picture of where nodes run
  int boxes = 150;        // most boxes in a picture
  std::string devices, costs;
  bool by_cost = false;
  std::vector<std::string> libraries;
};
void show(const ShowOptions& options);

struct DiffOptions {
  std::string before, after;
  std::vector<std::string> libraries;
};
// Returns true if the graphs differ.
bool diff(const DiffOptions& options);

struct OptimizeOptions {
  std::string model, out;
  std::string passes;
  bool own_ops = false;
  bool raise_loops = false;
  int64_t memory_limit = -1;  // bytes; -1: none
  std::vector<std::string> fetches, targets, libraries, pass_libraries;
  std::vector<std::string> shapes;  // NAME=DIMS
};
void optimize_file(const OptimizeOptions& options);

struct OpsOptions {
  std::string name;
  bool text = false, json = false;  // print ops as TensorFlow's OpList
  std::string compare;              // a file with such a list
  std::vector<std::string> libraries;
};
void ops(const OpsOptions& options);

struct InspectOptions {
  std::string file;
  std::vector<std::string> names;  // names to show; empty: all
  bool values = false;
};
void inspect(const InspectOptions& options);

struct ReportOptions {
  std::string folder;
  std::string out = "report.html";
  std::string title;
  std::string profile;  // a trace in Chrome's format
};
void report(const ReportOptions& options);

void list_devices();

struct DemoOptions {
  std::string data;
  std::string out = ".";
  int eager_epochs = 8;
  int traced_epochs = 8;
};
void demo(const DemoOptions& options);

struct TrainOptions {
  std::string name;   // a program's name (apps/programs)
  bool list = false;  // lists all programs instead
  RunSettings run;
};
void train(const TrainOptions& options);

}  // namespace panto::apps
