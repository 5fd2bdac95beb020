// Converts a loop to a While. tf.while_loop writes, for each loop variable:
//
//   Enter -> Merge -> Switch -> (1) body -> NextIteration -> back to Merge
//              |         |
//              |         +----> (0) Exit
//              +-> condition -> LoopCond -> every Switch
//
// and a constant Enter for each value from outside.
#include <algorithm>
#include <optional>

#include "panto/lib/base/text/format.h"
#include "panto/lib/graph/flow/raise_parts.h"

namespace panto::raise {

namespace {

struct Variable {
  int enter = -1, merge = -1, next = -1, choice = -1;  // choice is the Switch
  std::vector<int> exits = {};
};

struct Loop {
  std::vector<Variable> variables;
  std::vector<int> constants;  // Enters
  int condition = -1;          // the LoopCond
};

class LoopRaiser {
 public:
  explicit LoopRaiser(Work& work) : work_(work), graph_(work.graph), liveness_(work.graph) {
    members_.resize(frames().all().size());
    for (const int id : graph_.ids()) members_[static_cast<size_t>(frames().of(id))].push_back(id);
  }

  int run() {
    int count = 0;
    for (size_t f = frames().all().size() - 1; f > 0; --f) {  // inner loops have higher numbers than outer ones
      if (raise(static_cast<int>(f))) ++count;
    }
    return count;
  }

 private:
  const Frames& frames() const { return liveness_.frames(); }

  const Conditions& when(int id) const {
    const auto found = when_.find(id);
    return found == when_.end() ? liveness_.when(id) : found->second;
  }

  bool raise(int f) {
    if (!liveness_.whole(f)) return false;
    const std::optional<Loop> loop = find(f);
    if (!loop) return false;
    const std::optional<std::vector<int>> condition = collect(f, *loop, false), body = collect(f, *loop, true);
    if (!condition || !body) return false;
    replace(f, *loop, *condition, *body);
    return true;
  }

  // The parts of the loop; nullopt if it has another form.
  std::optional<Loop> find(int f) const {
    Loop loop;
    std::map<int, size_t> by_merge, by_choice;  // positions among the variables
    for (const int enter : frames().frame(f).enters) {
      const Node& node = graph_.at(enter);
      if (is_unknown_or_kept(enter)) return std::nullopt;
      if (node.attr("is_constant").as<bool>()) {
        loop.constants.push_back(enter);
        continue;
      }
      for (const NodeUse& use : node.consumers()) {
        if (use.slot != 0) return std::nullopt;
        const Node& merge = graph_.at(use.node);
        if (flow_kind(merge) != OpKind::kMerge || merge.num_inputs() != 2) return std::nullopt;
        const Node& next = graph_.at(merge.input(1).node);
        if (flow_kind(next) != OpKind::kNextIteration) return std::nullopt;
        const auto is_index = [](const NodeUse& u) { return u.output == 1 && u.slot >= 0; };
        if (std::ranges::any_of(merge.consumers(), is_index)) return std::nullopt;
        by_merge[merge.id()] = loop.variables.size();
        loop.variables.push_back({.enter = enter, .merge = merge.id(), .next = next.id()});
      }
    }
    size_t merges = 0, nexts = 0;
    for (const int id : members_[static_cast<size_t>(f)]) {
      const Node* node = graph_.find(id);
      if (node == nullptr) continue;
      const OpKind kind = flow_kind(*node);
      if (kind == OpKind::kEnter || kind == OpKind::kControlTrigger) return std::nullopt;  // there is an inner loop
      if (kind == OpKind::kLoopCondition) {
        if (loop.condition >= 0) return std::nullopt;
        loop.condition = id;
      }
      merges += kind == OpKind::kMerge && liveness_.begins_round(*node) ? 1 : 0;
      nexts += kind == OpKind::kNextIteration ? 1 : 0;
      const bool inside = std::ranges::all_of(
          node->consumers(), [&](const NodeUse& use) { return kind == OpKind::kExit || frame_of(use.node) == f; });
      if (!inside || (kind != OpKind::kExit && work_.is_kept(id))) return std::nullopt;
    }
    if (loop.condition < 0 || merges != loop.variables.size() || nexts != merges) return std::nullopt;
    for (const NodeUse& use : graph_.at(loop.condition).consumers()) {
      if (use.slot < 0) continue;
      const Node& choice = graph_.at(use.node);
      const auto variable = by_merge.find(choice.input(0).node);
      if (flow_kind(choice) != OpKind::kSwitch || use.slot != 1 || variable == by_merge.end()) return std::nullopt;
      int& known = loop.variables[variable->second].choice;
      if (known >= 0) return std::nullopt;
      known = choice.id();
      by_choice[choice.id()] = variable->second;
      for (const NodeUse& result : choice.consumers()) {
        if (result.slot < 0 || result.output != 0) continue;
        const Node& exit = graph_.at(result.node);
        if (flow_kind(exit) != OpKind::kExit || !exit.control_inputs().empty()) return std::nullopt;
        loop.variables[variable->second].exits.push_back(exit.id());
      }
    }
    size_t exits = 0;
    for (const Variable& v : loop.variables) {
      if (v.choice < 0) return std::nullopt;
      // Their control inputs would belong to neither the condition nor the body.
      if (!graph_.at(v.choice).control_inputs().empty() || !graph_.at(v.merge).control_inputs().empty()) {
        return std::nullopt;
      }
      exits += v.exits.size();
    }
    const auto is_exit = [&](int id) {
      return graph_.find(id) != nullptr && flow_kind(graph_.at(id)) == OpKind::kExit;
    };
    if (static_cast<size_t>(std::ranges::count_if(members_[static_cast<size_t>(f)], is_exit)) != exits) {
      return std::nullopt;
    }
    return loop;
  }

  bool is_unknown_or_kept(int id) const {
    return work_.is_kept(id) || graph_.at(id).op().kind() != flow_kind(graph_.at(id));
  }

  int frame_of(int id) const {
    const auto found = frame_of_.find(id);
    return found == frame_of_.end() ? frames().of(id) : found->second;
  }

  // True for the inputs of the loop's functions: the values that a Merge or a Switch passes to a round, and constants.
  static bool is_input(const Loop& loop, NodeOutput output) {
    const auto gives = [&](const Variable& v) {
      return output == NodeOutput{v.merge, 0} || output == NodeOutput{v.choice, 1};
    };
    return std::ranges::any_of(loop.variables, gives) ||
           (output.index == 0 && std::ranges::find(loop.constants, output.node) != loop.constants.end());
  }

  // The nodes of the body or of the condition, in topological order; nullopt if some node cannot be in it.
  std::optional<std::vector<int>> collect(int f, const Loop& loop, bool body) const {
    std::set<int> frame_parts(loop.constants.begin(), loop.constants.end());
    frame_parts.insert(loop.condition);
    std::vector<NodeOutput> wanted;
    std::vector<int> roots;
    for (const Variable& v : loop.variables) {
      frame_parts.insert({v.enter, v.merge, v.next, v.choice});
      if (!body) continue;
      wanted.push_back(graph_.at(v.next).input(0));
      for (const int c : graph_.at(v.next).control_inputs()) roots.push_back(c);
    }
    if (!body) {
      wanted.push_back(graph_.at(loop.condition).input(0));
      for (const int c : graph_.at(loop.condition).control_inputs()) roots.push_back(c);
    }
    bool fits = true;
    const auto want = [&](NodeOutput output, std::vector<int>& nodes) {
      if (is_input(loop, output)) return;
      if (frame_parts.contains(output.node)) fits = false;
      nodes.push_back(output.node);
    };
    for (const NodeOutput& o : wanted) want(o, roots);
    std::vector<int> order;
    std::map<int, bool> done;  // false: visited, but not added to `order` yet
    std::vector<int> stack;
    for (const int root : roots) {
      if (!frame_parts.contains(root)) stack.push_back(root);
    }
    while (fits && !stack.empty()) {
      const int id = stack.back();
      const auto [state, first] = done.try_emplace(id, false);
      if (!first) {
        stack.pop_back();
        if (!std::exchange(state->second, true)) order.push_back(id);
        continue;
      }
      const Node& node = graph_.at(id);
      fits = may_be_in(f, loop, node, body);
      std::vector<int> needs;
      for (const NodeOutput& in : node.inputs()) want(in, needs);
      for (const int c : node.control_inputs()) {
        if (!frame_parts.contains(c)) needs.push_back(c);
      }
      for (const int need : needs) {
        if (!done.contains(need)) stack.push_back(need);
      }
    }
    return fits ? std::optional(std::move(order)) : std::nullopt;
  }

  bool may_be_in(int f, const Loop& loop, const Node& node, bool body) const {
    const OpKind kind = flow_kind(node);
    if (is_control_flow(kind) && kind != OpKind::kSwitch && kind != OpKind::kMerge) return false;
    if (waits(node) || frame_of(node.id()) != f) return false;
    const Conditions& own = when(node.id());
    const auto holds = [&](const Condition& c) { return std::ranges::find(own, c) != own.end(); };
    if (!holds(Liveness::every_round(f)[0])) return false;
    const NodeOutput decides{loop.condition, 0};
    if (holds({decides, 0})) return false;
    if (holds({decides, 1})) return body;
    // Outside of the Switch a node runs once more than the body, which makes no difference if it has no effects.
    return !body || effects_of(graph_, std::vector<int>{node.id()}) == 0;
  }

  void replace(int f, const Loop& loop, const std::vector<int>& condition, const std::vector<int>& body) {
    const std::string scope = scope_of(graph_.at(loop.condition), "while");
    std::vector<NodeOutput> inputs;
    std::vector<DType> types;
    std::set<int> controls;
    FunctionMaker make_condition(graph_), make_body(graph_);
    const auto add_input = [&](int enter, NodeOutput inside) {
      const Node& node = graph_.at(enter);
      inputs.push_back(node.input(0));
      types.push_back(graph_.info(node.input(0)).dtype);
      controls.insert(node.control_inputs().begin(), node.control_inputs().end());
      for (FunctionMaker* maker : {&make_condition, &make_body})
        maker->add_input(inside, {types.back(), PartialShape()});
    };
    for (const Variable& v : loop.variables) {
      add_input(v.enter, {v.merge, 0});
      for (FunctionMaker* maker : {&make_condition, &make_body}) maker->alias({v.choice, 1}, {v.merge, 0});
    }
    for (const int enter : loop.constants) add_input(enter, {enter, 0});
    for (const int id : condition) make_condition.copy(id);
    for (const int id : body) make_body.copy(id);

    std::string name = scope;
    std::ranges::replace(name, '/', '_');
    std::vector<NodeOutput> results;
    for (const Variable& v : loop.variables) results.push_back(make_body.at(graph_.at(v.next).input(0)));
    for (const int enter : loop.constants) results.push_back(make_body.at({enter, 0}));
    const auto goes_on = make_condition.make(name + "_cond", {make_condition.at(graph_.at(loop.condition).input(0))});
    const auto round = make_body.make(name + "_body", std::move(results));

    const Frame& frame = frames().frame(f);
    NodeSpec spec;
    spec.op = &get_op(goes_on->effects() == 0 && round->effects() == 0 ? "StatelessWhile" : "While");
    spec.name = graph_.unique_name(scope);
    spec.inputs = std::move(inputs);
    spec.control_inputs.assign(controls.begin(), controls.end());
    for (const DType t : types) spec.outputs.push_back({t, PartialShape()});
    spec.attrs = attributes(*spec.op, {{"T", AttrValue(std::move(types))},
                                       {"cond", AttrValue(FunctionRef{goes_on->name(), goes_on})},
                                       {"body", AttrValue(FunctionRef{round->name(), round})},
                                       {"parallel_iterations", AttrValue(frame.parallel_iterations)}});
    spec.where = graph_.at(loop.condition).where();
    spec.place = graph_.at(loop.condition).place();
    const int id = graph_.add(std::move(spec));

    const auto note = [&](int added) {
      members_[static_cast<size_t>(frame.parent)].push_back(added);
      frame_of_[added] = frame.parent;
      when_[added] = liveness_.entered(frame);
    };
    note(id);
    for (size_t i = 0; i < loop.variables.size(); ++i) {
      for (const int exit : loop.variables[i].exits) note(work_.replace(exit, {id, static_cast<int>(i)}));
    }
    std::set<int> gone(frame.enters.begin(), frame.enters.end());
    for (const int member : members_[static_cast<size_t>(f)]) {
      if (graph_.find(member) != nullptr) gone.insert(member);
    }
    remove_all(graph_, gone);
  }

  Work& work_;
  Graph& graph_;
  const Liveness liveness_;
  std::vector<std::vector<int>> members_;  // by frame
  std::map<int, Conditions> when_;         // of new nodes
  std::map<int, int> frame_of_;            // of new nodes
};

}  // namespace

int raise_loops(Work& work) { return LoopRaiser(work).run(); }

}  // namespace panto::raise
