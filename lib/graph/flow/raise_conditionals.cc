// Converts a conditional to an If. tf.cond writes a Switch for each value that a branch takes from outside, all with
// the same condition; the nodes of the branches; and a Merge for each result.
#include <algorithm>
#include <optional>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/tensor/tensor.h"
#include "panto/lib/graph/flow/raise_parts.h"

namespace panto::raise {

namespace {

// All Switches and Merges of one deciding value that run under the same conditions.
struct Conditional {
  Conditions when;
  NodeOutput decides;
  std::vector<int> choices;                  // Switches
  std::vector<std::pair<int, int>> results;  // Merges, each with the slot of the input from branch 0

  NodeOutput result_of(const Graph& graph, size_t k, int branch) const {
    const auto& [merge, slot_of_0] = results[k];
    return graph.at(merge).input(slot(k, branch));
  }
  int slot(size_t k, int branch) const { return branch == 0 ? results[k].second : 1 - results[k].second; }
};

class ConditionalRaiser {
 public:
  explicit ConditionalRaiser(Work& work) : work_(work), graph_(work.graph), liveness_(work.graph) {
    int position = 0;
    for (const int id : graph_.topological_order()) {
      position_[id] = position++;
      if (is_in_loop(id)) continue;
      const Node& node = graph_.at(id);
      const Conditions& when = liveness_.when(id);
      if (flow_kind(node) == OpKind::kSwitch && node.num_inputs() == 2) {
        conditional(when, liveness_.decides(node)).choices.push_back(id);
      } else if (flow_kind(node) == OpKind::kMerge) {
        if (const auto joined = liveness_.joins(node)) {
          conditional(when, joined->of).results.emplace_back(id, joined->branch == 0 ? 0 : 1);
        }
      }
    }
  }

  int run() {
    // Inner conditionals, which have more conditions, first.
    std::vector<const Conditional*> order;
    for (const auto& [key, c] : conditionals_) order.push_back(&c);
    std::ranges::stable_sort(order, std::greater(), [](const Conditional* c) { return c->when.size(); });
    int count = 0;
    for (const Conditional* c : order) count += raise(*c);
    return count;
  }

 private:
  struct Branch {
    std::vector<int> nodes;  // in topological order
    std::vector<NodeOutput> outside;
    std::set<int> controls;  // control inputs from outside
  };

  Conditional& conditional(const Conditions& when, NodeOutput decides) {
    Conditional& c = conditionals_[{when, decides}];
    c.when = when;
    c.decides = decides;
    return c;
  }

  bool is_in_loop(int id) const {
    const Frames& frames = liveness_.frames();
    return added_.find(id) == added_.end() && (frames.of(id) != 0 || frames.behind(graph_.at(id)) != 0);
  }
  const Conditions& when(int id) const {
    const auto found = added_.find(id);
    return found == added_.end() ? liveness_.when(id) : found->second;
  }

  // Converts the conditional. Results that depend on other results of it go into an If of their own. Returns the number
  // of Ifs.
  int raise(Conditional c) {
    std::ranges::sort(c.results, {}, [&](const auto& result) { return position_.at(result.first); });
    int count = 0;
    while (!c.results.empty()) {
      Conditional now = c;
      now.results.clear();
      std::vector<std::pair<int, int>> later;
      for (const auto& result : c.results) {
        Conditional alone = c;
        alone.results = {result};
        const std::optional<Branch> branches[] = {collect(alone, 0), collect(alone, 1)};
        if (!branches[0] || !branches[1]) continue;
        const int first = position_.at(now.results.empty() ? result.first : now.results[0].first);
        (last_needed(alone, branches) < first ? now.results : later).push_back(result);
      }
      if (now.results.empty()) break;
      count += raise_at_once(now) ? 1 : 0;
      c.results = std::move(later);
      std::erase_if(c.choices, [&](int choice) { return graph_.find(choice) == nullptr; });
    }
    return count;
  }

  bool raise_at_once(const Conditional& c) {
    const std::optional<Branch> branches[] = {collect(c, 0), collect(c, 1)};
    if (!branches[0] || !branches[1]) return false;
    std::set<int> gone;
    for (const std::optional<Branch>& b : branches) gone.insert(b->nodes.begin(), b->nodes.end());
    if (!find_rest(c, gone)) return false;
    replace(c, *branches[0], *branches[1], std::move(gone));
    return true;
  }

  // The position of the last node from outside that the conditional needs.
  int last_needed(const Conditional& c, std::span<const std::optional<Branch>> branches) const {
    int last = position_.at(c.decides.node);
    for (const std::optional<Branch>& b : branches) {
      for (const NodeOutput& o : b->outside) last = std::max(last, position_.at(o.node));
      for (const int control : b->controls) last = std::max(last, position_.at(control));
    }
    for (const auto& [merge, slot] : c.results) {
      for (const int control : graph_.at(merge).control_inputs()) last = std::max(last, position_.at(control));
    }
    return last;
  }

  bool is_choice(const Conditional& c, const Node& node) const {
    return std::ranges::find(c.choices, node.id()) != c.choices.end();
  }

  // The nodes that the results need of one branch; nullopt if some of them cannot be in a function.
  std::optional<Branch> collect(const Conditional& c, int branch) const {
    Conditions inside = c.when;
    inside.push_back({c.decides, branch});
    std::ranges::sort(inside);
    Branch found;
    bool fits = true;
    std::map<int, bool> done;  // false: visited, but not added to `nodes` yet
    std::vector<int> stack;
    const auto is_outside = [&](int id) {
      return !is_in_loop(id) && std::ranges::includes(c.when, when(id)) && !is_choice(c, graph_.at(id));
    };
    const auto want_choice = [&](const Node& choice) {
      std::vector<int> controls(choice.control_inputs().begin(), choice.control_inputs().end());
      liveness_.decides(choice, &controls);
      for (const int control : controls) {
        found.controls.insert(control);
        if (!is_outside(control)) fits = false;
      }
    };
    const auto want = [&](NodeOutput output) {
      const Node& node = graph_.at(output.node);
      if (is_choice(c, node)) {
        if (output.index != branch) fits = false;
        add_outside(found, node.input(0));
        want_choice(node);
      } else if (is_outside(node.id())) {
        add_outside(found, output);
      } else if (!done.contains(node.id())) {
        stack.push_back(node.id());
      }
    };
    for (size_t k = 0; k < c.results.size(); ++k) want(c.result_of(graph_, k, branch));
    while (fits && !stack.empty()) {
      const int id = stack.back();
      const auto [state, first] = done.try_emplace(id, false);
      if (!first) {
        stack.pop_back();
        if (!std::exchange(state->second, true)) found.nodes.push_back(id);
        continue;
      }
      const Node& node = graph_.at(id);
      if (is_control_flow(flow_kind(node)) || is_in_loop(id) || when(id) != inside || work_.is_kept(id) ||
          waits(node)) {
        return std::nullopt;
      }
      for (const NodeOutput& in : node.inputs()) want(in);
      for (const int control : node.control_inputs()) {
        if (is_choice(c, graph_.at(control))) {
          want_choice(graph_.at(control));
        } else if (is_outside(control)) {
          found.controls.insert(control);
        } else if (!done.contains(control)) {
          stack.push_back(control);
        }
      }
    }
    return fits ? std::optional(std::move(found)) : std::nullopt;
  }

  static void add_outside(Branch& branch, NodeOutput output) {
    if (std::ranges::find(branch.outside, output) == branch.outside.end()) branch.outside.push_back(output);
  }

  // Adds the other consumers of these nodes, which no result needs, and Switches without other consumers. Returns false
  // if a consumer must stay.
  bool find_rest(const Conditional& c, std::set<int>& gone) const {
    if (!add_users(c, {gone.begin(), gone.end()}, gone)) return false;
    for (const int choice : c.choices) {
      std::set<int> with_choice = gone;
      with_choice.insert(choice);
      if (!work_.is_kept(choice) && add_users(c, {choice}, with_choice)) {
        gone = std::move(with_choice);
      }
    }
    return true;
  }

  // Adds all transitive consumers of the nodes in `stack`, except the results.
  bool add_users(const Conditional& c, std::vector<int> stack, std::set<int>& gone) const {
    while (!stack.empty()) {
      const int id = stack.back();
      stack.pop_back();
      for (const NodeUse& use : graph_.at(id).consumers()) {
        const auto is_result = [&](const auto& result) { return result.first == use.node; };
        if (std::ranges::any_of(c.results, is_result)) {
          if (use.slot < 0) return false;
          continue;
        }
        const Node& user = graph_.at(use.node);
        if (work_.is_kept(user.id()) || is_in_loop(user.id()) || flow_kind(user) == OpKind::kMerge ||
            flow_kind(user) == OpKind::kEnter) {
          return false;
        }
        if (gone.insert(user.id()).second) stack.push_back(user.id());
      }
    }
    return true;
  }

  // Makes a function of `inputs` from the branch.
  std::shared_ptr<const GraphFunction> function(const Conditional& c, const Branch& branch, int number,
                                                const std::vector<NodeOutput>& inputs, std::string name) const {
    FunctionMaker maker(graph_);
    for (const NodeOutput& input : inputs) maker.add_input(input, graph_.info(input));
    for (const int choice : c.choices) {
      const NodeOutput value = graph_.at(choice).input(0);
      if (maker.has(value)) maker.alias({choice, number}, value);
    }
    for (const int id : branch.nodes) maker.copy(id);
    std::vector<NodeOutput> outputs;
    for (size_t k = 0; k < c.results.size(); ++k) outputs.push_back(maker.at(c.result_of(graph_, k, number)));
    for (size_t k = 0; k < c.results.size(); ++k) {
      if (index_is_read(c.results[k].first)) outputs.push_back(maker.add_constant("index", tensor(c.slot(k, number))));
    }
    return maker.make(std::move(name), std::move(outputs));
  }

  // Output 1 of a Merge is the index of the input that was present.
  bool index_is_read(int merge) const {
    return work_.is_kept(merge) || std::ranges::any_of(graph_.at(merge).consumers(), [](const NodeUse& use) {
             return use.slot >= 0 && use.output == 1;
           });
  }

  void replace(const Conditional& c, const Branch& otherwise, const Branch& then, std::set<int>&& gone) {
    std::vector<NodeOutput> inputs = otherwise.outside;
    for (const NodeOutput& o : then.outside) {
      if (std::ranges::find(inputs, o) == inputs.end()) inputs.push_back(o);
    }
    const Node& first = graph_.at(c.results[0].first);
    const std::string scope = scope_of(first, "cond");
    std::string name = scope;
    std::ranges::replace(name, '/', '_');
    const auto if_true = function(c, then, 1, inputs, name + "_true");
    const auto if_false = function(c, otherwise, 0, inputs, name + "_false");

    NodeSpec spec;
    spec.op = &get_op(if_true->effects() == 0 && if_false->effects() == 0 ? "StatelessIf" : "If");
    spec.name = graph_.unique_name(scope);
    std::vector<DType> in, out;
    spec.inputs.push_back(c.decides);
    for (const NodeOutput& o : inputs) {
      spec.inputs.push_back(o);
      in.push_back(graph_.info(o).dtype);
    }
    std::set<int> controls = otherwise.controls;
    controls.insert(then.controls.begin(), then.controls.end());
    std::vector<int> indices;
    for (const auto& [merge, slot] : c.results) {
      out.push_back(graph_.at(merge).output(0).dtype);
      if (index_is_read(merge)) indices.push_back(merge);
      controls.insert(graph_.at(merge).control_inputs().begin(), graph_.at(merge).control_inputs().end());
    }
    out.resize(out.size() + indices.size(), kInt32);
    spec.control_inputs.assign(controls.begin(), controls.end());
    for (const DType t : out) spec.outputs.push_back({t, PartialShape()});
    spec.attrs = attributes(*spec.op, {{"Tcond", AttrValue(graph_.info(c.decides).dtype)},
                                       {"Tin", AttrValue(std::move(in))},
                                       {"Tout", AttrValue(std::move(out))},
                                       {"then_branch", AttrValue(FunctionRef{if_true->name(), if_true})},
                                       {"else_branch", AttrValue(FunctionRef{if_false->name(), if_false})}});
    spec.where = first.where();
    spec.place = first.place();
    const int id = graph_.add(std::move(spec));
    const int position = position_.at(c.results[0].first);
    const auto note = [&](int added, int at) {
      added_[added] = c.when;
      position_[added] = at;
    };
    note(id, position);
    for (size_t k = 0; k < indices.size(); ++k) {
      const NodeOutput index{id, static_cast<int>(c.results.size() + k)};
      graph_.replace_output({indices[k], 1}, index);
      work_.moved[{indices[k], 1}] = index;
    }
    for (size_t k = 0; k < c.results.size(); ++k) {
      const int merge = c.results[k].first;
      note(work_.replace(merge, {id, static_cast<int>(k)}), position_.at(merge));
      gone.insert(merge);
    }
    remove_all(graph_, gone);
  }

  Work& work_;
  Graph& graph_;
  const Liveness liveness_;
  std::map<std::pair<Conditions, NodeOutput>, Conditional> conditionals_;
  std::map<int, Conditions> added_;  // new nodes, with their conditions
  std::map<int, int> position_;      // in a topological order
};

}  // namespace

int raise_conditionals(Work& work) {
  if (!work.graph.has_control_flow()) return 0;
  return ConditionalRaiser(work).run();
}

}  // namespace panto::raise
