#include "panto/lib/graph/files/unknown.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>

#include "panto/lib/base/text/format.h"
#include "panto/lib/base/text/quote.h"
#include "panto/lib/core/call/call.h"
#include "panto/lib/graph/files/wire/attr_proto.h"
#include "panto/lib/graph/infer.h"
#include "panto/lib/graph/proto/graph.pb.h"
#include "panto/lib/graph/show/shown.h"

namespace panto {

namespace {

constexpr size_t kOpAttr = 0, kWhyAttr = 1, kCallAttr = 2;

// The signature says nothing about data inputs and outputs: a node may have any.
const Op& kUnknown =
    define_op("_Unknown(inputs: Tin; op: string, why: string = \"\", call: bool = false, Tin: list(type) = []) -> ()",
              {.doc = "Stands in a graph for a node of an op that is not here. It cannot run.",
               .cpp = "unknown_op",
               .effects = {effects::external()},
               .body = [](CompositeContext& c) {
                 failf(Code::kUnimplemented, "op: expected one that this build has, got '{}'", c.text("op"));
               }});

const std::string& text_attr(const Node& node, size_t position) { return node.attrs()[position].as<std::string>(); }
bool is_call(const Node& node) { return node.attrs()[kCallAttr].as<bool>(); }

std::string reason(const Node& node) {
  const std::string& why = text_attr(node, kWhyAttr);
  return why.empty() ? fmt::format("op: expected one that this build has, got '{}'", printable(op_name(node))) : why;
}

// "Foo (2), Bar (1)", the most frequent first.
std::string counts_text(const std::map<std::string, int>& counts) {
  std::vector<std::pair<std::string, int>> sorted(counts.begin(), counts.end());
  std::ranges::stable_sort(sorted, std::greater<>(), &std::pair<std::string, int>::second);
  constexpr size_t kShown = 20;
  std::string text;
  for (size_t i = 0; i < std::min(sorted.size(), kShown); ++i) {
    text += fmt::format("{}{} ({})", i == 0 ? "" : ", ", sorted[i].first, sorted[i].second);
  }
  if (sorted.size() > kShown) text += fmt::format(" and {} more", sorted.size() - kShown);
  return text;
}

std::string counted(size_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

// Throws the error of the first node; names all missing ops.
[[noreturn]] void fail_all(std::span<const Node* const> nodes) {
  std::vector<std::string> names;
  for (const Node* node : nodes) {
    if (std::ranges::find(names, op_name(*node)) == names.end()) names.push_back(op_name(*node));
  }
  constexpr size_t kShown = 10;
  std::string others;
  for (size_t i = 1; i < std::min(names.size(), kShown); ++i) {
    others += fmt::format("{} '{}'", i == 1 ? " (also missing:" : ",", printable(names[i]));
  }
  if (names.size() > kShown) others += fmt::format(" and {} more", names.size() - kShown);
  if (!others.empty()) others += ")";
  with_context([&] { return node_context(*nodes[0]); },
               [&] { failf(Code::kUnimplemented, "{}{}", whole(reason(*nodes[0])), whole(others)); });
  fail(Code::kInternal, "unknown op: expected an error, got none");
}

}  // namespace

NodeSpec unknown_init(std::string name, std::string op, std::string why, bool call) {
  NodeSpec spec;
  spec.name = std::move(name);
  spec.op = &get_op("_Unknown");  // looked up by name, which links it
  spec.attrs = {AttrValue(std::move(op)), AttrValue(std::move(why)), AttrValue(call)};
  return spec;
}

bool is_unknown_op(const Op& op) noexcept { return &op == &kUnknown; }
bool is_unknown(const Node& node) noexcept { return is_unknown_op(node.op()); }
const std::string& op_name(const Node& node) { return is_unknown(node) ? text_attr(node, kOpAttr) : node.op().name(); }
std::string op_text(const Node& node) { return is_unknown(node) ? printable(op_name(node)) + "?" : node.op().name(); }

std::vector<std::pair<std::string, std::string>> kept_attr_texts(const Node& node) {
  std::vector<std::pair<std::string, std::string>> texts;
  const AttrValue* kept = node.internal_attr(kKeptAttrs);
  graphdef::NodeDef def;
  if (kept == nullptr || !def.ParseFromString(kept->as<std::string>())) return texts;
  ExpansionBudget budget(int64_t{1} << 20);
  for (const auto& [name, attr] : def.attr()) {
    if (name == "_output_shapes") continue;
    const std::optional<AttrValue> value = value_to_show(attr, budget);
    texts.emplace_back(printable(name), value ? printable(shown_on_a_line(*value)) : "...");
  }
  std::ranges::sort(texts);
  return texts;
}

void fail_unknown(const Node& node) {
  const Node* one = &node;
  fail_all({&one, 1});
}

void refuse_unknown(const Graph& graph) {
  std::vector<const Node*> nodes;
  for (int id : graph.ids()) {
    if (is_unknown(graph.at(id))) nodes.push_back(&graph.at(id));
  }
  if (!nodes.empty()) fail_all(nodes);
}

std::string missing_text(const Graph& graph) {
  std::map<std::string, int> ops, functions, reasons;
  size_t of_ops = 0, of_functions = 0;
  for (int id : graph.ids()) {
    const Node& node = graph.at(id);
    if (!is_unknown(node)) continue;
    if (is_call(node)) {
      ++of_functions;
      ++functions[printable(op_name(node))];
    } else if (text_attr(node, kWhyAttr).empty()) {
      ++of_ops;
      ++ops[printable(op_name(node))];
    } else {
      ++reasons[fmt::format("node '{}' of {}: {}", printable(node.name()), printable(op_name(node)),
                            printable(text_attr(node, kWhyAttr)))];
    }
  }
  std::string text;
  if (of_ops > 0) {
    text += fmt::format("{} of {}: {}\n", counted(of_ops, "node"), counted(ops.size(), "unknown op"), counts_text(ops));
  }
  if (of_functions > 0) {
    text += fmt::format("{} of {} of the file: {}\n", counted(of_functions, "call"),
                        counted(functions.size(), "function"), counts_text(functions));
  }
  constexpr size_t kShown = 20;
  size_t shown = 0;
  for (const auto& [why, count] : reasons) {
    if (++shown > kShown) break;
    text += fmt::format("cannot be run here: {}\n", why);
  }
  if (reasons.size() > kShown) text += fmt::format("cannot be run here: {} more nodes\n", reasons.size() - kShown);
  return text;
}

}  // namespace panto
