#include "panto/nn/summaries/report.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include "panto/lib/base/file.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/tensor/print.h"
#include "panto/lib/graph/events/event_file.h"
#include "panto/lib/graph/files/io.h"
#include "panto/nn/summaries/plugins.h"
#include "panto/nn/summaries/report_parts.h"

namespace panto {
namespace {

using summaries::html, summaries::html_lines, summaries::Line;

// Limits that keep the page small enough for browsers.
constexpr size_t kMostTags = 300;               // of each kind
constexpr size_t kMostPictureBytes = 64 << 20;  // of all pictures and sounds
constexpr size_t kMostTextBytes = 10'000;       // of one text
constexpr size_t kMostRuns = 200;

struct Latest {
  int64_t step = 0;
  Tensor value;
};

struct Run {
  std::string name;  // relative to the folder
  std::map<std::string, std::vector<std::pair<double, double>>> scalars;
  std::map<std::string, std::vector<std::pair<int64_t, Tensor>>> histograms;
  std::map<std::string, Latest> images, audio, texts, curves;
  std::map<std::string, int> others;  // counts per plugin that is not shown
  std::vector<std::pair<std::string, std::string>> hparams;
  std::string graph;
  std::vector<std::string> notes;
};

// ---- Reading -------------------------------------------------------------------------------------------------------

void keep_latest(std::map<std::string, Latest>& of, const std::string& tag, int64_t step, const Tensor& value) {
  Latest& latest = of[tag];
  if (!latest.value.defined() || step >= latest.step) latest = {step, value};
}

void add_value(Run& run, const SummaryEvent& event, const SummaryValue& v) {
  const Tensor& t = v.value;
  if (v.plugin == "scalars" && t.numel() == 1 && dtypes::kReal.contains(t.dtype())) {
    run.scalars[v.tag].emplace_back(static_cast<double>(event.step), t.cast(kFloat64).item<double>());
  } else if (v.plugin == "histograms" && dtypes::kReal.contains(t.dtype()) && t.shape().rank() == 2 &&
             t.shape()[1] == 3) {
    run.histograms[v.tag].emplace_back(event.step, t.cast(kFloat64));
  } else if (v.plugin == "images" && t.dtype() == kString) {
    keep_latest(run.images, v.tag, event.step, t);
  } else if (v.plugin == "audio" && t.dtype() == kString) {
    keep_latest(run.audio, v.tag, event.step, t);
  } else if (v.plugin == "text" && t.dtype() == kString) {
    keep_latest(run.texts, v.tag, event.step, t);
  } else if (v.plugin == summaries::kPrCurvesPlugin && dtypes::kReal.contains(t.dtype()) && t.shape().rank() == 2 &&
             t.shape()[0] == 6) {
    keep_latest(run.curves, v.tag, event.step, t);
  } else if (v.plugin == summaries::kHParamsPlugin) {
    for (auto& pair : summaries::hparams_in(v.content)) run.hparams.push_back(std::move(pair));
  } else {
    ++run.others[v.plugin.empty() ? "(none)" : v.plugin];
  }
}

// A file that is still being written may end in the middle of a record.
void read_file_of(const std::string& path, Run& run) {
  try {
    EventReader reader(path);
    for (SummaryEvent event; reader.read(event);) {
      if (!event.graph_def.empty()) run.graph = event.graph_def;
      for (const SummaryValue& v : event.values) add_value(run, event, v);
    }
  } catch (const Error& error) {
    run.notes.emplace_back(error.what());
  }
}

std::vector<Run> runs_in(const std::string& folder) {
  std::map<std::string, std::vector<std::string>> files;  // by folder
  std::error_code error;
  const auto note = [&](const std::filesystem::path& path) {
    if (path.filename().string().find("tfevents") == std::string::npos || !is_file(path.string())) return;
    files[path.parent_path().string()].push_back(path.string());
  };
  if (is_file(folder)) {
    files[""].push_back(folder);
  } else {
    for (std::filesystem::recursive_directory_iterator at(folder, error), end; !error && at != end;
         at.increment(error)) {
      note(at->path());
    }
    if (error) fail_file(error.value(), "read", folder);
  }
  if (files.empty()) failf(Code::kNotFound, "report: expected event files (*tfevents*) in '{}', got none", folder);
  std::vector<Run> runs;
  for (auto& [path, names] : files) {
    if (runs.size() == kMostRuns) {
      runs.back().notes.push_back(fmt::format("{} more runs are left out", files.size() - kMostRuns));
      break;
    }
    Run& run = runs.emplace_back();
    const std::string relative = path.empty() ? "." : std::filesystem::path(path).lexically_relative(folder).string();
    run.name = relative.empty() ? "." : relative;
    std::ranges::sort(names);
    for (const std::string& name : names) read_file_of(name, run);
    // Steps of several files may overlap.
    for (auto& [tag, points] : run.scalars) {
      std::ranges::stable_sort(points, {}, &std::pair<double, double>::first);
    }
  }
  return runs;
}

// ---- Writing -------------------------------------------------------------------------------------------------------

// The tags of one kind over all runs; adds a line to the page if there are too many.
template <class Map>
std::vector<std::string> tags_of(const std::vector<Run>& runs, Map Run::* kind, std::string& page) {
  std::set<std::string> all;
  for (const Run& run : runs) {
    for (const auto& [tag, values] : run.*kind) all.insert(tag);
  }
  std::vector<std::string> tags(all.begin(), all.end());
  if (tags.size() > kMostTags) {
    page += fmt::format("<p>The first {} of {} tags.</p>\n", kMostTags, tags.size());
    tags.resize(kMostTags);
  }
  return tags;
}

// Adds a section unless its body is empty.
void section(std::string& page, std::string_view id, std::string_view title, const std::string& body) {
  if (body.empty()) return;
  page += fmt::format("<section id=\"{}\">\n<h2>{}</h2>\n{}</section>\n", id, title, body);
}

std::string figure(const std::string& caption, const std::string& body) {
  return fmt::format("<figure><figcaption>{}</figcaption>\n{}</figure>\n", caption, body);
}

std::string hparams_html(const std::vector<Run>& runs) {
  std::set<std::string> names;
  for (const Run& run : runs) {
    for (const auto& [name, value] : run.hparams) names.insert(name);
  }
  if (names.empty()) return "";
  std::vector<std::string> shown(names.begin(), names.end());
  if (shown.size() > kMostTags) shown.resize(kMostTags);
  std::string text = "<table><tr><th>run</th>";
  for (const std::string& name : shown) text += "<th>" + html(name) + "</th>";
  text += "</tr>\n";
  for (const Run& run : runs) {
    if (run.hparams.empty()) continue;
    text += "<tr><td>" + html(run.name) + "</td>";
    for (const std::string& name : shown) {
      const auto found = std::ranges::find(run.hparams, name, &std::pair<std::string, std::string>::first);
      text += "<td>" + (found == run.hparams.end() ? "" : html(found->second)) + "</td>";
    }
    text += "</tr>\n";
  }
  return text + "</table>\n";
}

std::string scalars_html(const std::vector<Run>& runs) {
  std::string text;
  for (const std::string& tag : tags_of(runs, &Run::scalars, text)) {
    std::vector<Line> lines;
    std::string latest;
    for (const Run& run : runs) {
      const auto found = run.scalars.find(tag);
      if (found == run.scalars.end()) continue;
      lines.push_back({run.name, found->second});
      latest += fmt::format("{}{:.6g}", latest.empty() ? "" : ", ", found->second.back().second);
    }
    text += figure(fmt::format("{} <small>latest: {}</small>", html(tag), html(latest)),
                   summaries::lines_svg(lines, "step"));
  }
  return text;
}

std::string histograms_html(const std::vector<Run>& runs) {
  std::string text;
  for (const std::string& tag : tags_of(runs, &Run::histograms, text)) {
    for (const Run& run : runs) {
      const auto found = run.histograms.find(tag);
      if (found == run.histograms.end()) continue;
      text += figure(fmt::format("{} <small>{}</small>", html(tag), html(run.name)),
                     summaries::histograms_svg(found->second));
    }
  }
  return text;
}

std::string curves_html(const std::vector<Run>& runs) {
  std::string text;
  for (const std::string& tag : tags_of(runs, &Run::curves, text)) {
    std::vector<Line> lines;
    for (const Run& run : runs) {
      const auto found = run.curves.find(tag);
      if (found == run.curves.end()) continue;
      const Tensor t = found->second.value.cast(kFloat64);
      const auto values = t.data<double>();
      const auto n = static_cast<size_t>(t.shape()[1]);
      Line line{fmt::format("{}, step {}", run.name, found->second.step), {}};
      for (size_t i = n; i-- > 0;) line.points.emplace_back(values[5 * n + i], values[4 * n + i]);
      lines.push_back(std::move(line));
    }
    text += figure(html(tag) + " <small>precision by recall</small>", summaries::lines_svg(lines, "recall"));
  }
  return text;
}

// Embeds pictures and sounds up to a total size.
class Media {
 public:
  std::string shown(const std::string& bytes, std::string_view element) {
    const std::string url = summaries::data_url(bytes);
    const bool is_audio = url.starts_with("data:audio/");
    if (url.empty() || is_audio != (element == "audio")) return "<p>no PNG, JPEG or WAV</p>\n";
    if (bytes.size() > kMostPictureBytes - used_) return "<p>left out: the page is large enough</p>\n";
    used_ += bytes.size();
    return element == "audio" ? fmt::format("<audio controls src=\"{}\"></audio>\n", url)
                              : fmt::format("<img alt=\"\" src=\"{}\">\n", url);
  }

 private:
  size_t used_ = 0;
};

std::string media_html(const std::vector<Run>& runs, std::map<std::string, Latest> Run::* kind, Media& media) {
  const bool is_audio = kind == &Run::audio;
  std::string text;
  for (const std::string& tag : tags_of(runs, kind, text)) {
    for (const Run& run : runs) {
      const auto found = (run.*kind).find(tag);
      if (found == (run.*kind).end()) continue;
      const auto parts = found->second.value.data<std::string>();
      std::string body;
      // Images follow their width and height; clips alternate with their labels.
      constexpr size_t kMost = 24;
      for (size_t i = is_audio ? 0 : 2, n = 0; i < parts.size() && n < kMost; i += is_audio ? 2 : 1, ++n) {
        body += media.shown(parts[i], is_audio ? "audio" : "img");
      }
      text += figure(fmt::format("{} <small>{}, step {}</small>", html(tag), html(run.name), found->second.step), body);
    }
  }
  return text;
}

std::string texts_html(const std::vector<Run>& runs) {
  std::string text;
  for (const std::string& tag : tags_of(runs, &Run::texts, text)) {
    for (const Run& run : runs) {
      const auto found = run.texts.find(tag);
      if (found == run.texts.end()) continue;
      std::string body;
      constexpr size_t kMost = 100;
      size_t n = 0;
      for (const std::string& part : found->second.value.data<std::string>()) {
        if (++n > kMost) break;
        body += "<pre>" + html_lines(part, kMostTextBytes) + "</pre>\n";
      }
      text += figure(fmt::format("{} <small>{}, step {}</small>", html(tag), html(run.name), found->second.step), body);
    }
  }
  return text;
}

std::string graphs_html(const std::vector<Run>& runs) {
  std::string text;
  for (const Run& run : runs) {
    if (run.graph.empty()) continue;
    try {
      const Graph graph = parse_graph(run.graph);
      std::map<std::string, int> ops;
      std::string nodes;
      size_t shown = 0;
      for (const int id : graph.ids()) {
        const Node& node = graph.at(id);
        ++ops[node.op().name()];
        constexpr size_t kMostNodes = 2000;
        if (++shown > kMostNodes) continue;
        nodes += fmt::format("<tr><td>{}</td><td>{}</td><td>", html(node.name()), html(node.op().name()));
        for (const NodeOutput in : node.inputs()) nodes += html(graph.output_name(in)) + " ";
        nodes += "</td><td>";
        for (const OutputInfo& o : node.outputs()) nodes += html(type_text(o.dtype, o.shape)) + " ";
        nodes += "</td></tr>\n";
      }
      text += fmt::format("<h3>{}: {} nodes</h3>\n<p>", html(run.name), graph.num_nodes());
      for (const auto& [op, count] : ops) text += fmt::format("{} × {} &nbsp; ", html(op), count);
      text += fmt::format(
          "</p>\n<details><summary>nodes</summary>\n<table><tr><th>name</th><th>op</th><th>inputs</th><th>outputs</th>"
          "</tr>\n{}</table></details>\n",
          nodes);
    } catch (const Error& error) {
      text += fmt::format("<p>{}: {}</p>\n", html(run.name), html(error.what(), 500));
    }
  }
  return text;
}

std::string notes_html(const std::vector<Run>& runs) {
  std::string text;
  for (const Run& run : runs) {
    for (const std::string& note : run.notes) {
      text += fmt::format("<p>{}: read up to here: {}</p>\n", html(run.name), html(note, 500));
    }
    for (const auto& [plugin, count] : run.others) {
      text += fmt::format("<p>{}: {} values of plugin {} are not shown</p>\n", html(run.name), count, html(plugin));
    }
  }
  return text;
}

constexpr std::string_view kHead =
    "<meta charset=\"utf-8\">\n"
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; media-src data:; "
    "style-src 'unsafe-inline'\">\n"
    "<meta name=\"viewport\" content=\"width=device-width\">\n"
    "<style>\n"
    "body{font:14px sans-serif;margin:1em 2em;color:#222}h1{font-size:20px}h2{font-size:17px;border-bottom:1px solid "
    "#ccc}\n"
    "figure{display:inline-block;margin:0 1em 1em 0;vertical-align:top;max-width:100%}figcaption{font-weight:bold}\n"
    "small{font-weight:normal;color:#777}svg{font-size:11px}img{image-rendering:pixelated;min-width:64px;max-width:"
    "420px}\n"
    "table{border-collapse:collapse}td,th{border:1px solid #ddd;padding:2px 8px;text-align:left}pre{white-space:pre-"
    "wrap;max-width:60em;background:#f6f6f6;padding:6px}\n"
    "</style>\n";

}  // namespace

std::string report_html(const std::string& folder, const ReportOptions& options) {
  const std::vector<Run> runs = runs_in(folder);
  const std::string title = options.title.empty() ? folder : options.title;
  std::string page =
      fmt::format("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n{}<title>{}</title>\n</head>\n<body>\n<h1>{}</h1>\n",
                  kHead, html(title), html(title));
  section(page, "hparams", "Hyper-parameters", hparams_html(runs));
  section(page, "scalars", "Scalars", scalars_html(runs));
  section(page, "pr_curves", "Precision and recall", curves_html(runs));
  section(page, "histograms", "Histograms", histograms_html(runs));
  Media media;
  section(page, "images", "Images", media_html(runs, &Run::images, media));
  section(page, "audio", "Audio", media_html(runs, &Run::audio, media));
  section(page, "text", "Text", texts_html(runs));
  section(page, "graph", "Graph", graphs_html(runs));
  if (!options.profile.empty()) {
    section(page, "profile", "Profile", summaries::profile_table(read_file(options.profile)));
  }
  section(page, "notes", "Notes", notes_html(runs));
  return page + "</body>\n</html>\n";
}

std::string report_html(const std::string& folder) { return report_html(folder, ReportOptions()); }
void write_report(const std::string& folder, const std::string& path, const ReportOptions& options) {
  write_file(path, report_html(folder, options));
}
void write_report(const std::string& folder, const std::string& path) { write_report(folder, path, ReportOptions()); }

}  // namespace panto
