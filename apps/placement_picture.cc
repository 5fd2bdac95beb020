#include "panto/apps/placement_picture.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <vector>

#include "panto/lib/graph/files/unknown.h"

namespace panto::apps {
namespace {

constexpr int kWidth = 150, kHeight = 34, kGapX = 16, kGapY = 40, kTop = 40, kLeft = 16;
constexpr size_t kMostLetters = 22;
// Told apart by those who see colours in other ways, too (Okabe and Ito).
constexpr std::array kColours = {"#56b4e9", "#e69f00", "#009e73", "#cc79a7",
                                 "#f0e442", "#d55e00", "#0072b2", "#bbbbbb"};

std::string xml(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    switch (c) {
      case '&': safe += "&amp;"; break;
      case '<': safe += "&lt;"; break;
      case '>': safe += "&gt;"; break;
      case '"': safe += "&quot;"; break;
      default: safe += c;
    }
  }
  return safe;
}

std::string shortened(const std::string& text) {
  return text.size() <= kMostLetters ? text : "…" + text.substr(text.size() - kMostLetters + 1);
}

class Picture {
 public:
  explicit Picture(const Graph& graph) : graph_(graph) {
    for (const int id : graph.topological_order()) place(graph.at(id));
    std::ranges::sort(devices_);
  }

  std::string draw() {
    std::string body;
    for (const auto& [id, at] : places_) {
      const Node& node = graph_.at(id);
      for (const NodeOutput& input : node.inputs())
        body += edge(graph_.at(input.node), node, graph_.output_name(input), false);
      for (const int before : node.control_inputs())
        body += edge(graph_.at(before), node, "^" + graph_.at(before).name(), true);
    }
    for (const auto& [id, at] : places_) body += box(graph_.at(id), at);
    std::string legend;
    int x = kLeft;
    for (size_t d = 0; d < devices_.size(); ++d) {
      legend += fmt::format(
          "<rect x=\"{}\" y=\"10\" width=\"14\" height=\"14\" fill=\"{}\"/><text x=\"{}\" y=\"22\">{}</text>\n", x,
          colour(d), x + 20, xml(devices_[d]));
      x += kWidth;
    }
    const int width = std::max(x, kLeft + widest_ * (kWidth + kGapX));
    const int height = kTop + static_cast<int>(in_row_.size()) * (kHeight + kGapY);
    return fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" "
        "font-family=\"sans-serif\" font-size=\"11\">\n<rect width=\"{0}\" height=\"{1}\" "
        "fill=\"white\"/>\n{2}{3}</svg>\n",
        width, height, legend, body);
  }

 private:
  struct Place {
    int row = 0, column = 0;
    int x() const { return kLeft + column * (kWidth + kGapX); }
    int y() const { return kTop + row * (kHeight + kGapY); }
  };

  void place(const Node& node) {
    int row = 0;
    const auto below = [&](int id) {
      // Not yet there: the way back of a loop.
      if (const auto found = places_.find(id); found != places_.end()) row = std::max(row, found->second.row + 1);
    };
    for (const NodeOutput& input : node.inputs()) below(input.node);
    for (const int before : node.control_inputs()) below(before);
    const auto at = static_cast<size_t>(row);
    if (at >= in_row_.size()) in_row_.resize(at + 1, 0);
    places_[node.id()] = {row, in_row_[at]++};
    widest_ = std::max(widest_, in_row_[at]);
    if (std::ranges::find(devices_, node.device()) == devices_.end()) devices_.push_back(node.device());
  }

  static const char* colour(size_t device) { return kColours[device % kColours.size()]; }
  size_t device_of(const Node& node) const {
    return static_cast<size_t>(std::ranges::find(devices_, node.device()) - devices_.begin());
  }

  std::string edge(const Node& from, const Node& to, const std::string& what, bool waits) const {
    const Place &a = places_.at(from.id()), &b = places_.at(to.id());
    const bool crosses = from.device() != to.device();
    return fmt::format(
        "<path class=\"{}\" d=\"M{} {}L{} {}\" stroke=\"{}\" stroke-width=\"{}\"{}><title>{}</title></path>\n",
        crosses ? "transfer" : "edge", a.x() + kWidth / 2, a.y() + kHeight, b.x() + kWidth / 2, b.y(),
        crosses ? "#333333" : "#999999", crosses ? 2.5 : 1.0, waits ? " stroke-dasharray=\"4 3\"" : "", xml(what));
  }

  std::string box(const Node& node, const Place& at) const {
    const std::string op = op_text(node);
    return fmt::format(
        "<g class=\"node\"><title>{}: {} on {}</title><rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"4\" "
        "fill=\"{}\" stroke=\"#333333\"/><text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text><text x=\"{}\" "
        "y=\"{}\" "
        "text-anchor=\"middle\" fill=\"#333333\">{}</text></g>\n",
        xml(node.name()), xml(op), xml(node.device()), at.x(), at.y(), kWidth, kHeight, colour(device_of(node)),
        at.x() + kWidth / 2, at.y() + 14, xml(shortened(node.name())), at.x() + kWidth / 2, at.y() + 28,
        xml(shortened(op)));
  }

  const Graph& graph_;
  std::map<int, Place> places_;  // by node id
  std::vector<int> in_row_;      // how many nodes
  int widest_ = 1;
  std::vector<std::string> devices_;  // sorted
};

}  // namespace

std::string placement_picture(const Graph& placed) { return Picture(placed).draw(); }

}  // namespace panto::apps
