#include "panto/lib/runtime/placement/cost_placer.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "panto/lib/runtime/placement/placer.h"

namespace panto {

namespace {

// Data that all simulations of one graph share.
class Problem {
 public:
  Problem(const Graph& graph, const std::vector<PlacementGroup>& groups, const CostModel& costs)
      : graph_(graph),
        groups_(groups),
        costs_(costs),
        order_(graph.topological_order()),
        group_of_(static_cast<size_t>(graph.id_limit()), -1),
        seconds_(static_cast<size_t>(graph.id_limit())) {
    for (size_t g = 0; g < groups.size(); ++g) {
      for (const int id : groups[g].nodes) group_of_[static_cast<size_t>(id)] = static_cast<int>(g);
    }
  }

  const Graph& graph() const { return graph_; }
  const std::vector<PlacementGroup>& groups() const { return groups_; }
  const std::vector<int>& order() const { return order_; }
  int group_of(int id) const { return group_of_[static_cast<size_t>(id)]; }
  double seconds(const Node& node, DeviceKind kind) {
    std::map<DeviceKind, double>& known = seconds_[static_cast<size_t>(node.id())];
    const auto [found, is_new] = known.try_emplace(kind, 0);
    if (is_new) found->second = costs_.seconds(graph_, node, kind);
    return found->second;
  }
  double transfer_seconds(NodeOutput output) const {
    const OutputInfo& info = graph_.info(output);
    if (!is_plain(info.dtype)) return 0;
    int64_t bytes = static_cast<int64_t>(dtype_size(info.dtype));
    if (info.shape.known_rank()) {
      for (const int64_t dim : info.shape.dims()) bytes *= std::max<int64_t>(dim, dim < 0 ? 1 : 0);
    }
    return costs_.transfer_seconds(bytes);
  }
  // Nodes whose values exist on all devices before the run.
  bool is_everywhere(const Node& node) const { return node.is(OpKind::kConstant) || node.is(OpKind::kVariableHandle); }

 private:
  const Graph& graph_;
  const std::vector<PlacementGroup>& groups_;
  const CostModel& costs_;
  std::vector<int> order_;
  std::vector<int> group_of_;                          // by node id
  std::vector<std::map<DeviceKind, double>> seconds_;  // by node id
};

// One run, node by node.
class Simulation {
 public:
  explicit Simulation(Problem& problem)
      : problem_(problem),
        end_(static_cast<size_t>(problem.graph().id_limit()), 0),
        device_(static_cast<size_t>(problem.graph().id_limit()), nullptr) {}

  // The time at which the node would end on `device`.
  double end_on(const Node& node, const Device& device) {
    double begin = free(device);
    const double seconds = problem_.seconds(node, device.kind());
    if (seconds == 0) begin = 0;  // no kernel runs: outputs are ready with the inputs
    for (const NodeOutput& input : node.inputs()) begin = std::max(begin, arrival(input, device));
    for (const int before : node.control_inputs()) begin = std::max(begin, end_[static_cast<size_t>(before)]);
    return begin + seconds;
  }

  void run_on(const Node& node, const Device& device) {
    const double end = end_on(node, device);
    for (const NodeOutput& input : node.inputs()) arrivals_[{input, &device}] = arrival(input, device);
    end_[static_cast<size_t>(node.id())] = end;
    device_[static_cast<size_t>(node.id())] = &device;
    if (problem_.seconds(node, device.kind()) > 0) free_[&device] = end;
    latest_ = std::max(latest_, end);
  }

  double latest() const { return latest_; }

 private:
  double free(const Device& device) const {
    const auto found = free_.find(&device);
    return found != free_.end() ? found->second : 0;
  }

  double arrival(NodeOutput output, const Device& device) const {
    const auto from = static_cast<size_t>(output.node);
    if (device_[from] == nullptr || device_[from] == &device) return end_[from];
    if (problem_.is_everywhere(problem_.graph().at(output.node))) return end_[from];
    const auto found = arrivals_.find({output, &device});
    return found != arrivals_.end() ? found->second : end_[from] + problem_.transfer_seconds(output);
  }

  Problem& problem_;
  std::vector<double> end_;               // by node id
  std::vector<const Device*> device_;     // by node id
  std::map<const Device*, double> free_;  // when the device becomes free
  std::map<std::pair<NodeOutput, const Device*>, double> arrivals_;
  double latest_ = 0;
};

double simulate(Problem& problem, const std::vector<const Device*>& devices) {
  Simulation simulation(problem);
  for (const int id : problem.order()) {
    const int group = problem.group_of(id);
    if (group >= 0) simulation.run_on(problem.graph().at(id), *devices[static_cast<size_t>(group)]);
  }
  return simulation.latest();
}

// Places each group when its first node that takes time or has inputs is reached.
std::vector<const Device*> choose_greedily(Problem& problem) {
  std::vector<const Device*> devices(problem.groups().size(), nullptr);
  Simulation simulation(problem);
  for (const int id : problem.order()) {
    const int group = problem.group_of(id);
    if (group < 0) continue;
    const Node& node = problem.graph().at(id);
    const std::vector<const Device*>& choices = problem.groups()[static_cast<size_t>(group)].choices;
    const Device*& device = devices[static_cast<size_t>(group)];
    if (device == nullptr && choices.size() == 1) device = choices[0];
    if (device == nullptr && problem.is_everywhere(node)) continue;
    if (device == nullptr) {
      double best = std::numeric_limits<double>::infinity();
      for (const Device* choice : choices) {
        const double end = simulation.end_on(node, *choice);
        if (end >= best) continue;
        best = end;
        device = choice;
      }
    }
    simulation.run_on(node, *device);
  }
  for (size_t g = 0; g < devices.size(); ++g) {
    if (devices[g] == nullptr) devices[g] = problem.groups()[g].choices[0];
  }
  return devices;
}

}  // namespace

double simulated_seconds(const Graph& graph, const std::vector<PlacementGroup>& groups,
                         const std::vector<const Device*>& devices, const CostModel& costs) {
  Problem problem(graph, groups, costs);
  return simulate(problem, devices);
}

PlacementByCost place_by_cost(const Graph& graph, const std::vector<PlacementGroup>& groups, const CostModel& costs) {
  Problem problem(graph, groups, costs);
  PlacementByCost made;
  std::vector<const Device*> best_single;
  std::vector<const Device*> tried;
  for (const PlacementGroup& group : groups) {
    for (const Device* device : group.choices) {
      if (std::ranges::find(tried, device) != tried.end()) continue;
      tried.push_back(device);
      std::vector<const Device*> single;
      for (const PlacementGroup& other : groups) {
        const bool may = std::ranges::find(other.choices, device) != other.choices.end();
        single.push_back(may ? device : other.choices[0]);
      }
      const double seconds = simulate(problem, single);
      if (made.single != nullptr && seconds >= made.single_seconds) continue;
      made.single = device;
      made.single_seconds = seconds;
      best_single = std::move(single);
    }
  }
  made.devices = choose_greedily(problem);
  made.seconds = simulate(problem, made.devices);
  if (made.seconds >= made.single_seconds) {
    made.devices = std::move(best_single);
    made.seconds = made.single_seconds;
  }
  return made;
}

}  // namespace panto
