#include "panto/lib/runtime/parts/transfers.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace panto {
namespace {

std::string meeting_of(const Node& node) {
  std::string text;
  for (const char* name : {"send_device", "send_device_incarnation", "recv_device", "tensor_name"}) {
    const auto at = static_cast<size_t>(node.op().signature().find_attr(name));
    text += node.attrs()[at].to_string() + ";";
  }
  return text;
}

// Pairs of matching (Send, Recv) node ids.
std::vector<std::pair<int, int>> pairs(const Graph& graph) {
  std::map<std::string, std::pair<std::vector<int>, std::vector<int>>> meetings;
  for (int id : graph.ids()) {
    const Node& node = graph.at(id);
    if (node.is(OpKind::kSend)) meetings[meeting_of(node)].first.push_back(id);
    if (node.is(OpKind::kReceive)) meetings[meeting_of(node)].second.push_back(id);
  }
  std::vector<std::pair<int, int>> found;
  for (const auto& [text, nodes] : meetings) {
    const auto& [sends, receives] = nodes;
    for (size_t i = 0; i < std::min(sends.size(), receives.size()); ++i) found.emplace_back(sends[i], receives[i]);
  }
  return found;
}

}  // namespace

bool has_transfers(const Graph& graph) { return !pairs(graph).empty(); }

void order_transfers(Graph& graph) {
  for (const auto& [send, receive] : pairs(graph)) graph.add_control_input(receive, send);
}

}  // namespace panto
