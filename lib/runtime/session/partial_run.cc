#include "panto/lib/runtime/session/partial_run.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "panto/lib/base/text/format.h"
#include "panto/lib/graph/flow/flow.h"

namespace panto {

namespace {

constexpr size_t kMaxStages = 64;  // stages remembered per setup
constexpr size_t kMaxSetups = 64;

// Nodes that may be evaluated in every stage: constants and handles.
bool is_source(const Node& node) {
  return node.num_inputs() == 0 && node.control_inputs().empty() &&
         (node.is(OpKind::kVariableHandle) || !node.op().has_effects()) && !node.is(OpKind::kPlaceholder);
}

template <class T, class U>
int position_of(const std::vector<T>& list, const U& wanted) {
  const auto found = std::ranges::find(list, wanted);
  return found == list.end() ? -1 : static_cast<int>(found - list.begin());
}

std::string names_of(const Graph& graph, const std::vector<NodeOutput>& outputs) {
  std::string text;
  for (const NodeOutput output : outputs)
    text += fmt::format("{}'{}'", text.empty() ? "" : ", ", graph.output_name(output));
  return text;
}

}  // namespace

// ---- Setup ---------------------------------------------------------------------------------------------------------

PartialSetup::PartialSetup(std::shared_ptr<const CallPlans> of) : call(std::move(of)) {
  const Graph& graph = *call->graph;
  const auto limit = static_cast<size_t>(graph.id_limit());
  needed.resize(limit);
  loop_of.assign(limit, -1);
  std::vector<int> to_visit = call->target_nodes;
  for (const NodeOutput output : call->fetch_outputs) {
    if (feed(output) < 0) to_visit.push_back(output.node);
  }
  while (!to_visit.empty()) {
    const int id = to_visit.back();
    to_visit.pop_back();
    if (std::exchange(needed[static_cast<size_t>(id)], uint8_t{1}) != 0) continue;
    const Node& node = graph.at(id);
    for (const NodeOutput input : node.inputs()) {
      if (feed(input) < 0) to_visit.push_back(input.node);
    }
    to_visit.insert(to_visit.end(), node.control_inputs().begin(), node.control_inputs().end());
  }
  if (!graph.has_control_flow()) return;
  const Frames frames(graph);
  std::map<int, int> loop_of_frame;
  for (const int id : graph.ids()) {
    int frame = std::max(frames.of(id), frames.behind(graph.at(id)));
    if (needed[static_cast<size_t>(id)] == 0 || frame == 0) continue;
    while (frames.frame(frame).parent != 0) frame = frames.frame(frame).parent;
    const auto [loop, fresh] = loop_of_frame.emplace(frame, static_cast<int>(loops.size()));
    if (fresh) loops.emplace_back();
    loop_of[static_cast<size_t>(id)] = loop->second;
    loops[static_cast<size_t>(loop->second)].push_back(id);
  }
}

int PartialSetup::feed(NodeOutput output) const { return position_of(call->feed_outputs, output); }

// ---- One run -------------------------------------------------------------------------------------------------------

PartialRun::PartialRun(std::shared_ptr<PartialSetup> of)
    : setup(std::move(of)),
      fed(setup->call->feed_outputs.size()),
      fetched(setup->call->fetch_outputs.size()),
      ran(setup->needed.size()) {}

bool PartialRun::all_done() const {
  const auto done = [](uint8_t x) { return x != 0; };
  return std::ranges::all_of(fed, done) && std::ranges::all_of(fetched, done);
}

bool PartialRun::reach(int root, Stage& stage, std::vector<NodeOutput>& missing) const {
  const Graph& graph = *setup->call->graph;
  std::vector<int> to_visit = {root};
  while (!to_visit.empty()) {
    const int id = to_visit.back();
    to_visit.pop_back();
    const auto at = static_cast<size_t>(id);
    if (ran[at] != 0 || std::exchange(stage.contains[at], uint8_t{1}) != 0) continue;
    stage.nodes.push_back(id);
    const Node& node = graph.at(id);
    for (const NodeOutput input : node.inputs()) {
      if (setup->feed(input) < 0) {
        to_visit.push_back(input.node);
      } else if (!has(input) && position_of(missing, input) < 0) {
        missing.push_back(input);
      }
    }
    to_visit.insert(to_visit.end(), node.control_inputs().begin(), node.control_inputs().end());
    const int loop = setup->loop_of[at];
    if (loop < 0) continue;
    const std::vector<int>& inside = setup->loops[static_cast<size_t>(loop)];
    to_visit.insert(to_visit.end(), inside.begin(), inside.end());
  }
  return missing.empty();
}

namespace {

// Makes the stage a graph whose feeds and fetches are the values that go from stage to stage.
std::shared_ptr<CallPlans> plans_of(const PartialSetup& setup, const Stage& stage, size_t max_plans) {
  const Graph& graph = *setup.call->graph;
  const auto inside = [&](int id) { return stage.contains[static_cast<size_t>(id)] != 0; };
  auto cut = std::make_shared<Graph>(graph);
  std::vector<NodeOutput> inputs, outputs;
  for (const int id : stage.nodes) {
    const Node& node = graph.at(id);
    for (const NodeOutput input : node.inputs()) {
      const bool given = setup.feed(input) >= 0 || !inside(input.node);
      if (given && position_of(inputs, input) < 0) inputs.push_back(input);
    }
    for (const int before : node.control_inputs()) {
      if (!inside(before)) cut->remove_control_input(id, before);
    }
    if (is_source(node)) continue;
    for (const NodeUse& use : node.consumers()) {
      const NodeOutput output{id, use.output};
      if (use.slot == NodeUse::kControl || inside(use.node) || setup.needed[static_cast<size_t>(use.node)] == 0)
        continue;
      if (setup.feed(output) < 0 && position_of(outputs, output) < 0) outputs.push_back(output);
    }
  }
  for (const NodeOutput output : setup.call->fetch_outputs) {
    if (inside(output.node) && setup.feed(output) < 0 && position_of(outputs, output) < 0) outputs.push_back(output);
  }
  auto plans = std::make_shared<CallPlans>(std::move(cut), max_plans);
  plans->feed_outputs = std::move(inputs);
  plans->fetch_outputs = std::move(outputs);
  std::ranges::copy_if(setup.call->target_nodes, std::back_inserter(plans->target_nodes), inside);
  return plans;
}

}  // namespace

// ---- The session's part --------------------------------------------------------------------------------------------

std::string Session::Impl::partial_run_setup(const Fetches& fetches, std::span<const GraphElement> feeds) {
  expect_open();
  std::shared_ptr<const Graph> graph;
  {
    const std::lock_guard lock(mutex_);
    follow();
    graph = graph_;  // not raised, as parts name their fetches and feeds in this graph
  }
  std::shared_ptr<CallPlans> call = resolve(std::move(graph), fetches, feeds);
  if (call->fetches.empty()) invalid("partial_run_setup: expected something to fetch or run, got nothing");
  std::string key;
  for (const NodeOutput output : call->feed_outputs) key += call->graph->output_name(output) + ",";
  key += "->";
  for (const NodeOutput output : call->fetch_outputs) key += call->graph->output_name(output) + ",";
  key += "/";
  for (const int target : call->target_nodes) key += call->graph->at(target).name() + ",";

  const std::lock_guard lock(mutex_);
  std::shared_ptr<PartialSetup>& setup = partial_setups_[key];
  if (setup == nullptr || setup->call->graph != call->graph) setup = std::make_shared<PartialSetup>(std::move(call));
  auto run = std::make_shared<PartialRun>(setup);
  if (partial_setups_.size() > kMaxSetups) partial_setups_.clear();
  const std::string handle = fmt::format("{};{}", key, next_partial_run_++);
  partial_runs_.emplace(handle, std::move(run));
  return handle;
}

std::vector<Tensor> Session::Impl::partial_run(const std::string& handle, const Fetches& fetches, const Feeds& feeds) {
  expect_open();
  std::shared_ptr<PartialRun> found;
  {
    const std::lock_guard lock(mutex_);
    const auto known = partial_runs_.find(handle);
    if (known != partial_runs_.end()) found = known->second;
  }
  if (found == nullptr) invalid("partial_run: expected a handle of partial_run_setup that is not used up, got another");
  PartialRun& run = *found;
  const std::lock_guard lock(run.mutex);
  if (run.ended) invalid("partial_run: expected a handle of partial_run_setup that is not used up, got another");
  PartialSetup& setup = *run.setup;
  const Graph& graph = *setup.call->graph;
  std::vector<GraphElement> elements;
  SmallVector<const FeedValue*, 8> given;
  for (const auto& [element, value] : feeds) {
    elements.push_back(element);
    given.push_back(&value);
  }
  const std::shared_ptr<CallPlans> asked = resolve(setup.call->graph, fetches, elements);

  // Check everything before anything runs.
  const FedTensors fed(*asked, {given.data(), given.size()});
  std::vector<int> feed_positions, fetch_positions;
  for (size_t i = 0; i < elements.size(); ++i) {
    const NodeOutput output = asked->feed_outputs[i];
    const int position = setup.feed(output);
    if (position < 0) {
      invalid("feed '{}': expected one that partial_run_setup was told, got another", graph.output_name(output));
    }
    if (run.fed[static_cast<size_t>(position)] != 0) {
      invalid("feed '{}': expected to be fed once, got it again", graph.output_name(output));
    }
    check_feed(graph, output, *fed.tensors()[i]);
    feed_positions.push_back(position);
  }
  for (const NodeOutput output : asked->fetch_outputs) {
    const int position = position_of(setup.call->fetch_outputs, output);
    if (position < 0) {
      invalid("fetch '{}': expected one that partial_run_setup was told, got another", graph.output_name(output));
    }
    if (run.fetched[static_cast<size_t>(position)] != 0) {
      invalid("fetch '{}': expected to be fetched once, got it again", graph.output_name(output));
    }
    fetch_positions.push_back(position);
  }
  for (const int target : asked->target_nodes) {
    if (position_of(setup.call->target_nodes, target) >= 0) continue;
    invalid("fetch '{}': expected one that partial_run_setup was told, got another", graph.at(target).name());
  }
  std::vector<NodeOutput> added;
  for (size_t i = 0; i < elements.size(); ++i) {
    run.values.emplace(asked->feed_outputs[i], *fed.tensors()[i]);
    added.push_back(asked->feed_outputs[i]);
  }
  Stage stage;
  stage.contains.resize(run.ran.size());
  std::vector<NodeOutput> missing;
  for (const NodeOutput output : asked->fetch_outputs) {
    if (run.has(output)) continue;
    if (setup.feed(output) >= 0) {
      missing.push_back(output);
    } else {
      run.reach(output.node, stage, missing);
    }
  }
  for (const int target : asked->target_nodes) run.reach(target, stage, missing);
  if (!missing.empty()) {
    for (const NodeOutput output : added) run.values.erase(output);
    invalid("partial_run: expected feeds for all that is fetched, got none yet for {}", names_of(graph, missing));
  }
  // Targets run as soon as all their feeds are there.
  for (const int target : setup.call->target_nodes) {
    Stage with = stage;
    if (run.reach(target, with, missing)) stage = std::move(with);
    missing.clear();
  }
  const auto end = [&] {
    run.ended = true;
    const std::lock_guard session(mutex_);
    partial_runs_.erase(handle);
  };
  try {
    for (const int position : feed_positions) run.fed[static_cast<size_t>(position)] = 1;
    if (!stage.nodes.empty()) {
      std::ranges::sort(stage.nodes);
      std::shared_ptr<CallPlans> plans;
      {
        const std::lock_guard of_setup(setup.mutex);
        if (setup.stages.size() >= kMaxStages && !setup.stages.contains(stage.nodes)) setup.stages.clear();
        std::shared_ptr<CallPlans>& known = setup.stages[stage.nodes];
        if (known == nullptr) known = plans_of(setup, stage, static_cast<size_t>(options_.max_plans));
        plans = known;
      }
      std::vector<const Tensor*> inputs;
      for (const NodeOutput input : plans->feed_outputs) inputs.push_back(&run.values.at(input));
      const std::shared_ptr<Plan> plan = find_plan(*plans, inputs);
      plan->executable->check(inputs);
      std::vector<Tensor> made(plans->fetch_outputs.size());
      execute(*plan, inputs, made, {}, nullptr);
      for (size_t i = 0; i < made.size(); ++i) run.values.emplace(plans->fetch_outputs[i], made[i]);
      for (const int id : stage.nodes) run.ran[static_cast<size_t>(id)] = is_source(graph.at(id)) ? 0 : 1;
    }
    std::vector<Tensor> outputs;
    for (const NodeOutput output : asked->fetch_outputs) outputs.push_back(run.values.at(output));
    for (const int position : fetch_positions) run.fetched[static_cast<size_t>(position)] = 1;
    const bool done = run.all_done();
    std::vector<Tensor> values(asked->fetches.size());
    asked->give_values(outputs, values);
    if (done) end();
    return values;
  } catch (...) {
    end();
    throw;
  }
}

}  // namespace panto
