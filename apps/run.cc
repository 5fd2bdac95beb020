// panto run MODEL: feeds, runs, prints or saves.
#include <fmt/core.h>

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "panto/apps/commands.h"
#include "panto/lib/base/file.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/io/graph_files.h"
#include "panto/lib/core/io/npy.h"
#include "panto/lib/core/io/tensor_files.h"
#include "panto/lib/core/op/library.h"
#include "panto/lib/core/tensor/device.h"
#include "panto/lib/graph/files/io.h"
#include "panto/lib/graph/functions/endpoints.h"
#include "panto/lib/runtime/optimizer.h"
#include "panto/lib/runtime/placement/cost_model.h"
#include "panto/lib/runtime/profile/profiler.h"
#include "panto/lib/runtime/session.h"

namespace panto::apps {
namespace {

Feeds read_feeds(const RunOptions& options) {
  Feeds feeds;
  for (const std::string& text : options.feeds) {
    // Node names hold no '='; file names may.
    const size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
      invalid("--feed: expected NAME=FILE.npy, got '{}'", text);
    }
    feeds.emplace_back(text.substr(0, equals), read_npy(text.substr(equals + 1)));
  }
  if (!options.feeds_file.empty()) {
    for (auto& [name, value] : read_tensors(options.feeds_file)) feeds.emplace_back(name, std::move(value));
  }
  return feeds;
}

// Adds default fetches and targets: a saved function's outputs and effects; for another graph, outputs without a
// consumer and effects on which no node has a control edge.
void add_defaults(const Graph& graph, std::vector<std::string>& fetches, std::vector<std::string>& targets) {
  const Endpoints endpoints = endpoints_of(graph);
  for (NodeOutput o : endpoints.outputs) fetches.push_back(fmt::format("{}:{}", graph.at(o.node).name(), o.index));
  for (int id : endpoints.effects) targets.push_back(graph.at(id).name());
}

}  // namespace

void set_devices(const std::string& text) {
  const std::string prefix = "cpu:";
  size_t used = 0;
  int count = 0;
  try {
    if (text.starts_with(prefix)) count = std::stoi(text.substr(prefix.size()), &used);
  } catch (const std::exception&) {
    used = 0;
  }
  if (used == 0 || used + prefix.size() != text.size()) invalid("--devices: expected cpu:N, got '{}'", text);
  set_cpu_device_count(count);
}

void run(const RunOptions& options) {
  if (options.no_files) allow_graph_files(false);
  if (!options.devices.empty()) set_devices(options.devices);
  for (const std::string& library : options.libraries) load_library(library);
  for (const std::string& library : options.pass_libraries) load_pass_library(library);
  if (is_folder(options.model)) {
    failf(Code::kUnimplemented, "{}: expected a .pb or .pbtxt file, got a folder (SavedModel)", options.model);
  }
  if (!options.signature.empty()) {
    failf(Code::kUnimplemented,
          "--signature: expected none (a GraphDef has no signatures; SavedModel folders have), got '{}'",
          options.signature);
  }
  Graph graph = read_graph(options.model);
  std::vector<std::string> fetches = options.fetches;
  std::vector<std::string> targets = options.targets;
  if (fetches.empty() && targets.empty()) add_defaults(graph, fetches, targets);
  const Feeds feeds = read_feeds(options);
  Fetches wanted;
  for (const std::string& name : fetches) {
    graph.output(name);  // throws unless it names a value rather than a node
    wanted.emplace_back(name);
  }
  Session session(std::move(graph), {.passes = options.passes,
                                     .log_device_placement = options.log_device_placement,
                                     .placement = options.by_cost ? "by_cost" : ""});
  if (!options.costs.empty() && std::filesystem::exists(options.costs)) session.costs().load(options.costs);
  for (const std::string& target : targets) wanted.emplace_back("^" + target);
  std::optional<Profiler> profiler;
  if (!options.profile.empty()) profiler.emplace(options.profile);
  const std::vector<Tensor> results = session.run(wanted, feeds);
  if (profiler) {
    profiler->stop();
    fmt::print(stderr, "{}", profiler->table());
  }
  if (options.by_cost) fmt::print(stderr, "{}\n", placement_report(session.plan_stats()));
  if (!options.costs.empty()) session.costs().save(options.costs);
  std::vector<NamedTensor> named;
  for (size_t i = 0; i < fetches.size(); ++i) {
    if (!results[i].defined()) invalid("--fetch: expected an output, got node '{}' (--target runs it)", fetches[i]);
    named.emplace_back(fetches[i], results[i].cpu());
  }
  if (!options.out.empty()) {
    write_tensors(options.out, named);
    return;
  }
  for (const auto& [name, value] : named) fmt::print("{}:\n{}\n", name, value.to_string());
}

}  // namespace panto::apps
