// The table of ops from a trace in Chrome's format.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "panto/lib/base/text/format.h"
#include "panto/nn/summaries/report_parts.h"

namespace panto::summaries {
namespace {

using Json = nlohmann::json;

double number(const Json& object, const char* key, double otherwise) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number() ? found->get<double>() : otherwise;
}
std::string text(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

struct Row {
  std::string op, example;
  int64_t calls = 0;
  double self = 0, total = 0, waiting = 0, bytes = 0, flops = 0, longest = -1;  // microseconds
};

}  // namespace

std::string profile_table(std::string_view given) {
  const Json trace = Json::parse(given, nullptr, false);
  const Json* events = &trace;
  if (trace.is_object() && trace.contains("traceEvents")) events = &trace["traceEvents"];
  if (!events->is_array()) fail(Code::kDataLoss, "trace: expected JSON with traceEvents, got other text");
  std::map<std::string, Row> rows;
  double all = 0;
  for (const Json& event : *events) {
    if (!event.is_object() || text(event, "ph") != "X") continue;
    static const Json none = Json::object();
    const auto found = event.find("args");
    const Json& args = found != event.end() && found->is_object() ? *found : none;
    std::string name = text(event, "name");
    const double duration = number(event, "dur", 0), self = number(args, "self_us", duration);
    constexpr size_t kMostOps = 10'000;
    if (rows.size() >= kMostOps && !rows.contains(name)) name = "others";
    Row& row = rows[name];
    row.op = name;
    ++row.calls;
    row.self += self;
    row.total += duration;
    row.waiting += number(args, "waiting_us", 0);
    row.bytes += number(args, "bytes", 0);
    row.flops += number(args, "flops", 0);
    if (self > row.longest) {
      row.longest = self;
      row.example = text(args, "outputs");
    }
    all += self;
  }
  std::vector<Row> sorted;
  for (auto& [name, row] : rows) sorted.push_back(std::move(row));
  std::ranges::stable_sort(sorted, std::ranges::greater(), &Row::self);
  std::string out =
      "<table><tr><th>op</th><th>calls</th><th>self ms</th><th>%</th><th>total ms</th><th>waiting ms</th>"
      "<th>GFLOP/s</th><th>GB/s</th><th>outputs of the longest</th></tr>\n";
  constexpr size_t kShown = 10;
  for (size_t i = 0; i < std::min(kShown, sorted.size()); ++i) {
    const Row& r = sorted[i];
    const auto rate = [&](double amount) { return r.self > 0 ? amount / r.self / 1e3 : 0; };
    out += fmt::format(
        "<tr><td>{}</td><td>{}</td><td>{:.3f}</td><td>{:.1f}</td><td>{:.3f}</td><td>{:.3f}</td><td>{:.3f}</td>"
        "<td>{:.3f}</td><td>{}</td></tr>\n",
        html(r.op, 60), r.calls, r.self / 1e3, all > 0 ? 100 * r.self / all : 0, r.total / 1e3, r.waiting / 1e3,
        rate(r.flops), rate(r.bytes), html(r.example, 120));
  }
  out += "</table>\n";
  if (sorted.size() > kShown) out += fmt::format("<p>and {} more ops</p>\n", sorted.size() - kShown);
  return out;
}

}  // namespace panto::summaries
