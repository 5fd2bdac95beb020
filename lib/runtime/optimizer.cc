#include "panto/lib/runtime/optimizer.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <set>
#include <shared_mutex>

#include "panto/lib/base/log.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/recorder.h"
#include "panto/lib/core/op/library.h"
#include "panto/lib/core/step/stop.h"
#include "panto/lib/core/tensor/tensor_alloc.h"
#include "panto/lib/graph/flow/flow.h"
#include "panto/lib/graph/functions/endpoints.h"
#include "panto/lib/graph/functions/expand.h"
#include "panto/lib/graph/infer.h"
#include "panto/lib/graph/nodes.h"
#include "panto/lib/graph/validate.h"
#include "panto/lib/runtime/passes/passes.h"
#include "panto/lib/runtime/passes/rules.h"
#include "panto/lib/runtime/rewrite.h"

namespace panto {

namespace {

struct PassList {
  std::shared_mutex mutex;
  std::vector<Pass> passes = {
      {"prune", "Drops what neither a fetch nor a target needs.", passes::prune},
      {"constant_folding", "Computes what depends on constants and known shapes only.", passes::fold_constants},
      {"arithmetic", "Removes ops that give back their input, and pairs that undo each other.", passes::simplify},
      {"reshapes", "Makes one reshape of a chain of them.", passes::merge_reshapes},
      {"loop_invariants", "Computes before a loop what is the same in every round.", passes::move_loop_invariants},
      {"common_branches", "Computes before a conditional what every branch of it computes.",
       passes::move_common_of_branches},
      {"matmul",
       "Has matrix products read transposed operands as they lie, and make what is read of them only; those of columns "
       "by rows are elementwise.",
       passes::narrow_matmuls},
      {"padding", "Has convolutions by constants pad what they read.", passes::pad_in_convolutions},
      {"cse", "Merges nodes that compute the same from the same.", passes::merge_common},
      {"dependencies", "Drops waiting for what is waited for anyway, or has nothing to wait for.",
       passes::clean_dependencies},
      {"fusion", "Makes one op of a matrix product or a convolution and what follows it.", passes::fuse, true},
      {"elementwise", "Makes one loop of neighbouring elementwise ops.", passes::fuse_elementwise, true},
  };
};

PassList& pass_list() {
  static auto* list = new PassList;  // leaked on purpose
  return *list;
}

struct Selection {
  std::vector<Pass> passes = {};
  bool by_name = false;  // passes were selected by name, not by exclusion
};

// "" all, "off", "a,b", "-a,-b".
Selection selected(std::string_view text) {
  PassList& list = pass_list();
  const std::shared_lock lock(list.mutex);
  if (text.empty()) return {list.passes};
  if (text == "off") return {};
  std::vector<std::string_view> only, without;
  for (size_t at = 0; at <= text.size();) {
    const size_t comma = std::min(text.find(',', at), text.size());
    std::string_view word = text.substr(at, comma - at);
    at = comma + 1;
    const bool negative = word.starts_with('-');
    if (negative) word.remove_prefix(1);
    if (std::ranges::find(list.passes, word, &Pass::name) == list.passes.end()) {
      std::string known;
      for (const Pass& pass : list.passes) known += fmt::format("{}{}", known.empty() ? "" : ", ", pass.name);
      invalid("passes: expected 'off' or names of {}, each with '-' to leave it out, got '{}'", whole(known), word);
    }
    (negative ? without : only).push_back(word);
  }
  Selection result{.by_name = !only.empty()};
  for (const Pass& pass : list.passes) {
    const auto in = [&](const std::vector<std::string_view>& names) {
      return std::ranges::find(names, pass.name) != names.end();
    };
    if ((only.empty() || in(only)) && !in(without)) result.passes.push_back(pass);
  }
  return result;
}

// Returns false, with the error in `run`, if the pass failed; the graph is then in an undefined state.
bool run_pass(const Pass& pass, PassContext& context, PassRun& run) {
  run.name = pass.name;
  const auto start = std::chrono::steady_clock::now();
  const Flow flow = flow_of(context.graph);
  context.flow = flow.contexts;
  try {
    run.changes = pass.run(context);
    if (run.changes != 0) {
      remove_dead(context.graph, context.sink, context.feeds);
      validate(context.graph);
    }
  } catch (const Error& error) {
    if (is_stop(error)) throw;
    run.error = error.what();
    run.changes = 0;
    // Not a warning: if the graph is at fault, the user gets one error when it runs. PlanStats counts undone passes.
    log_info(fmt::format("pass '{}' was undone: {}", pass.name, error.what()));
  }
  context.flow = {};
  run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (log_debug_enabled()) {
    log_debug(fmt::format("pass '{}': {} changes, {} nodes, {:.3f} ms", run.name, run.changes,
                          context.graph.num_nodes(), run.seconds * 1e3));
  }
  return run.error.empty();
}

}  // namespace

void add_pass(Pass pass, std::string_view after) {
  if (!pass.run) invalid("pass '{}': expected a function, got none", pass.name);
  const bool plain = !pass.name.empty() && pass.name != "off" && std::ranges::all_of(pass.name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
  if (!plain) invalid("pass name: expected lower-case letters, digits and '_', got '{}'", pass.name);
  PassList& list = pass_list();
  const std::unique_lock lock(list.mutex);
  if (std::ranges::find(list.passes, pass.name, &Pass::name) != list.passes.end()) {
    failf(Code::kAlreadyExists, "pass name: expected one that is not taken, got '{}'", pass.name);
  }
  auto position = list.passes.begin();
  if (!after.empty()) {
    position = std::ranges::find(list.passes, after, &Pass::name);
    if (position == list.passes.end()) failf(Code::kNotFound, "pass: expected one to come after, got '{}'", after);
    ++position;
  }
  list.passes.insert(position, std::move(pass));
}

std::vector<std::string> pass_names() {
  PassList& list = pass_list();
  const std::shared_lock lock(list.mutex);
  std::vector<std::string> names;
  for (const Pass& pass : list.passes) names.push_back(pass.name);
  return names;
}

void load_pass_library(const std::string& path) {
  static auto* known = new std::set<std::string>;
  static auto* mutex = new std::mutex;
  const std::lock_guard lock(*mutex);
  const size_t before = pass_names().size();
  load_library(path);
  if (pass_names().size() != before) known->insert(path);
  if (!known->contains(path)) {
    invalid("{}: expected a library whose panto_add_passes adds passes, got one that adds none", path);
  }
}

void check_passes(std::string_view passes) { static_cast<void>(selected(passes)); }

std::string portable_passes(std::string_view passes, PortablePasses named) {
  const auto [chosen, by_name] = selected(passes);
  std::string names;
  for (const Pass& pass : chosen) {
    if (!pass.own_ops) {
      names += (names.empty() ? "" : ",") + pass.name;
    } else if (by_name && named == PortablePasses::kRefuse) {
      invalid("passes: expected some that leave ops that others have, too, got '{}'", pass.name);
    }
  }
  return names.empty() ? "off" : names;
}

std::vector<PassRun> run_passes(PassContext& context, std::string_view passes, const std::function<Graph()>& remake) {
  const RecorderPause unheard;  // folding calls ops, which must not be recorded
  const std::vector<Pass> chosen = selected(passes).passes;
  std::vector<PassRun> runs(chosen.size());
  // Failures are rare: after one the graph is made again, and the passes before it run again.
  for (size_t i = 0; i < chosen.size();) {
    if (!runs[i].error.empty() || run_pass(chosen[i], context, runs[i])) {
      ++i;
    } else {
      context.graph = remake();
      i = 0;
    }
  }
  return runs;
}

namespace {

// Makes output `before` of the old node `name` available under that name again. Its value is now output `now`, of a
// node that may have another name or other users.
void restore_name(Graph& graph, const std::string& name, NodeOutput before, NodeOutput now) {
  if (const Node* holder = graph.find(name)) {
    if (holder->id() == before.node || now == NodeOutput{holder->id(), before.index}) return;
    graph.rename(holder->id(), free_name(graph, name + "/fused"));  // this is not its first output
  }
  const Node& node = graph.at(now.node);
  NodeSpec spec = identity_spec(name, now, node.output(now.index));
  spec.device = node.device();
  spec.where = node.where();
  graph.add(std::move(spec));
}

}  // namespace

Graph optimize(const Graph& graph, std::span<const NodeOutput> fetches, std::span<const int> targets,
               std::string_view passes, std::vector<PassRun>* runs) {
  std::vector<NodeOutput> outputs(fetches.begin(), fetches.end());
  std::vector<int> nodes(targets.begin(), targets.end());
  const bool all = outputs.empty() && nodes.empty();
  if (all) {
    for (int id : graph.ids()) {
      const Node& node = graph.at(id);
      std::vector<uint8_t> read(static_cast<size_t>(node.num_outputs()), 0);
      for (const NodeUse& use : node.consumers()) {
        if (use.slot != NodeUse::kControl) read[static_cast<size_t>(use.output)] = 1;
      }
      const bool asked = is_endpoint(node);
      for (int k = 0; k < node.num_outputs(); ++k) {
        if (read[static_cast<size_t>(k)] == 0 || asked) outputs.push_back({id, k});
      }
      if (node.num_outputs() == 0 && (node.consumers().empty() || asked)) nodes.push_back(id);
    }
  }
  // Outputs of unknown ops have no type, so the sink cannot read them; keep their nodes instead.
  std::erase_if(outputs, [&](NodeOutput output) {
    const bool untyped = graph.info(output).dtype == DType::kInvalid;
    if (untyped && std::ranges::find(nodes, output.node) == nodes.end()) nodes.push_back(output.node);
    return untyped;
  });
  // Users of the result feed its Placeholders, so they stay unchanged.
  std::vector<NodeOutput> feeds;
  std::vector<OutputInfo> infos;
  std::vector<Tensor> values;
  for (int id : graph.ids()) {
    const Node& node = graph.at(id);
    if (!node.is(OpKind::kPlaceholder)) continue;
    feeds.push_back({id, 0});
    infos.push_back(node.output(0));
    values.push_back(meta_tensor(infos.back().dtype, infos.back().shape));
  }
  const auto make_work = [&] {
    WorkGraph made = make_work_graph(graph, feeds, infos, outputs, nodes);
    expand_composites(made.graph, [](const Node& node) {
      return node.op().kernel(passes::device_kind(node), passes::kernel_type(node)).run == nullptr;
    });
    return made;
  };
  WorkGraph work = make_work();
  // The node that replaced a composite has its name but another id.
  const auto id_now = [&](int id) {
    const Node* node = work.graph.find(graph.at(id).name());
    return node != nullptr ? node->id() : id;
  };
  std::vector<int> kept;
  for (int id : nodes) kept.push_back(id_now(id));
  std::vector<NodeOutput> before;
  for (const NodeOutput& output : outputs) {
    before.push_back({id_now(output.node), output.index});
    if (graph.at(output.node).num_outputs() > 1) kept.push_back(before.back().node);
  }
  // A PlaceholderWithDefault may be fed as well.
  std::vector<NodeOutput> given = work.feeds;
  for (const int id : work.graph.ids()) {
    const Node& node = work.graph.at(id);
    if (!passes::has_default(node)) continue;
    kept.push_back(id);
    given.push_back({id, 0});
    values.push_back(meta_tensor(node.output(0).dtype, node.attr("shape").as<PartialShape>()));
  }
  PassContext context{work.graph, work.sink, given, values, kept};
  std::vector<PassRun> went = run_passes(context, passes, [&] { return make_work().graph; });
  if (runs != nullptr) *runs = std::move(went);
  const Node sink = work.graph.at(work.sink);
  const std::vector<NodeOutput> now(sink.inputs().begin(), sink.inputs().end());
  work.graph.remove(work.sink);
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (graph.at(outputs[i].node).is(OpKind::kPlaceholder)) continue;
    restore_name(work.graph, graph.at(outputs[i].node).name(), before[i], now[i]);
  }
  if (all) {
    copy_endpoints(graph, work.graph);  // matched by name, as passes replace nodes
  } else {
    erase_endpoints(work.graph);  // the result is not that function any more
  }
  return std::move(work.graph);
}

}  // namespace panto
