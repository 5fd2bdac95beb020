// Reports: what a run holds is there, and nothing of it is markup.
#include "panto/nn/summaries/report.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "panto/lib/base/file.h"
#include "panto/lib/ops/create.h"
#include "panto/lib/ops/ops.h"
#include "panto/lib/ops/random/random.h"
#include "panto/lib/runtime/profile/profiler.h"
#include "panto/nn/summaries/summary_writer.h"
#include "panto/tests/expect.h"
#include "panto/tests/folder.h"
#include "panto/trace/trace.h"

namespace panto {
namespace {

// Counts a page's elements. Reports what is no page of ours: other elements, ends that do not fit, attributes that
// could do something.
std::map<std::string, int> elements_of(std::string_view page) {
  static const std::set<std::string> known = {"html",   "head",       "meta",    "style", "title", "body", "h1",
                                              "h2",     "h3",         "section", "table", "tr",    "th",   "td",
                                              "figure", "figcaption", "small",   "svg",   "path",  "text", "p",
                                              "pre",    "details",    "summary", "img",   "audio"};
  static const std::set<std::string> empty = {"meta", "img"};
  std::map<std::string, int> count;
  std::vector<std::string> open;
  for (size_t at = page.find('<'); at != std::string_view::npos; at = page.find('<', at + 1)) {
    const size_t end = page.find('>', at);
    BOOST_REQUIRE(end != std::string_view::npos);
    std::string_view tag = page.substr(at + 1, end - at - 1);
    if (tag == "!DOCTYPE html") continue;
    const bool closes = tag.starts_with('/'), alone = tag.ends_with('/');
    if (closes) tag.remove_prefix(1);
    const std::string name(tag.substr(0, tag.find_first_of(" /")));
    BOOST_TEST(known.contains(name), tag.substr(0, 80));
    BOOST_TEST(tag.find(" on") == std::string_view::npos, tag.substr(0, 80));
    if (const size_t source = tag.find("src="); source != std::string_view::npos) {
      BOOST_TEST(tag.substr(source).starts_with("src=\"data:"), tag.substr(0, 80));
    }
    BOOST_TEST(tag.find("href") == std::string_view::npos, tag.substr(0, 80));
    if (closes) {
      BOOST_REQUIRE(!open.empty());
      BOOST_TEST(open.back() == name);
      open.pop_back();
    } else {
      ++count[name];
      if (!alone && !empty.contains(name)) open.push_back(name);
    }
  }
  BOOST_TEST(open.empty());
  return count;
}

constexpr const char* kHostile = "<script>alert('x')</script>\"><img src=x onerror=alert(1)>&lt; \x1b[2J ]]>-->";

BOOST_AUTO_TEST_SUITE(nn)
BOOST_AUTO_TEST_SUITE(reports)

BOOST_AUTO_TEST_CASE(all_that_a_run_holds_is_shown_and_nothing_of_it_is_markup) {
  const TestFolder folder;
  for (const std::string run : {"train", "validation"}) {
    SummaryWriter writer(folder / run);
    for (int step = 0; step < 3000; step += 100) writer.scalar("loss", 1.0 / (step + 1), step);
    writer.scalar(kHostile, std::nan(""), 1);
    expect_error([&] { writer.scalar("\xff", 1, 1); },
                 "InvalidArgument: summary: expected a tag of UTF-8, got '\\xff'");
    writer.histogram("weights", random_normal({100}), 1);
    writer.histogram("weights", random_normal({100}), 2);
    writer.image(kHostile, zeros({2, 4, 4, 3}), 3);
    writer.audio("voice", zeros({1, 100, 1}), 3);
    writer.text("said", std::string("two\nlines ") + kHostile + "\xff", 4);
    writer.pr_curve("spam", tensor({1, 0, 1}), tensor({0.9f, 0.4f, 0.6f}), 5);
    writer.hparams({{"rate", 0.1}, {kHostile, kHostile}});
    const Function f = trace([](const Tensor& x) { return tanh(x); }, {TensorSpec(kFloat32, {-1, 2}, "x")});
    writer.graph(f.graph());
  }
  {
    const Profiler profiler(folder / "t.json");
    exp(ones({3}));
  }
  const std::string page = report_html(folder.path().string(), {.title = kHostile, .profile = folder / "t.json"});
  const std::map<std::string, int> elements = elements_of(page);
  BOOST_TEST(elements.at("section") == 9);
  BOOST_TEST(elements.at("svg") == 2 + 2 + 1);  // two tags of scalars, histograms of two runs, one of curves
  BOOST_TEST(elements.at("img") == 4);
  BOOST_TEST(elements.at("audio") == 2);
  BOOST_TEST(page.find("<script") == std::string::npos);
  BOOST_TEST(page.find("http:") == std::string::npos);
  BOOST_TEST(page.find("https:") == std::string::npos);
  BOOST_TEST(page.find("default-src 'none'") != std::string::npos);
  BOOST_TEST(page.find("two\nlines &lt;script&gt;") != std::string::npos);
  BOOST_TEST(page.find("Tanh") != std::string::npos);
  BOOST_TEST(page.find(">Exp<") != std::string::npos);
  BOOST_TEST(page.find('\x1b') == std::string::npos);
  BOOST_TEST(page.find("<td>0.1</td>") != std::string::npos);
  BOOST_TEST(page.find("no finite values") != std::string::npos);
  write_report(folder.path().string(), folder / "r.html");
  BOOST_TEST(read_file(folder / "r.html").starts_with("<!DOCTYPE html>"));
}

BOOST_AUTO_TEST_CASE(damaged_files_are_shown_as_far_as_they_can_be_read) {
  const TestFolder folder;
  std::string path;
  {
    SummaryWriter writer(folder / "run");
    for (int step = 0; step < 20; ++step) writer.scalar("loss", step, step);
    writer.histogram("h", ones({5}), 1);
    writer.text("t", "text", 1);
    writer.hparams({{"a", 1}});
    writer.close();
    path = writer.path();
  }
  const std::string whole = read_file(path);
  write_file(path, whole.substr(0, whole.size() - 5));
  const std::string page = report_html(folder / "run");
  elements_of(page);
  BOOST_TEST(page.find("read up to here: DataLoss") != std::string::npos);
  BOOST_TEST(page.find("latest: 19") != std::string::npos);
  std::mt19937 random(2);
  for (int i = 0; i < 30; ++i) {
    std::string damaged = whole;
    damaged[random() % damaged.size()] = static_cast<char>(random());
    write_file(path, damaged);
    elements_of(report_html(folder / "run"));
  }
  expect_error_begins([&] { report_html(folder / "none"); }, "NotFound: ");
  make_folders(folder / "empty");
  expect_error_begins([&] { report_html(folder / "empty"); },
                      "NotFound: report: expected event files (*tfevents*) in '");
}

BOOST_AUTO_TEST_CASE(damaged_traces_end_in_a_table_or_an_error) {
  const TestFolder folder;
  {
    SummaryWriter(folder / "run").scalar("a", 1, 1);
  }
  const std::string good = R"({"traceEvents":[
{"name":"MatMul","ph":"X","dur":2000,"args":{"self_us":1500,"flops":3e6,"bytes":10,
"outputs":"float32[2]","deep":[1,{"a":null}]}},
{"name":"process_name","ph":"M","args":{"name":"CPU:0"}}, {"name":"<b>\"A\u003c","ph":"X","dur":1}]})";
  const auto of = [&](const std::string& text) {
    write_file(folder / "t.json", text);
    return report_html(folder / "run", {.profile = folder / "t.json"});
  };
  const std::string page = of(good);
  BOOST_TEST(page.find("<td>MatMul</td><td>1</td><td>1.500</td><td>99.9</td><td>2.000</td>") != std::string::npos);
  BOOST_TEST(page.find("&lt;b&gt;&quot;A&lt;") != std::string::npos);
  elements_of(page);
  for (const std::string& other : {std::string("[[[[[["), "{\"a\":" + std::string(100'000, '['), std::string("{}")}) {
    expect_error([&] { of(other); }, "DataLoss: trace: expected JSON with traceEvents, got other text");
  }
  std::mt19937 random(3);
  for (int i = 0; i < 60; ++i) {
    std::string damaged = good.substr(0, i % 2 == 0 ? good.size() : random() % good.size());
    if (!damaged.empty()) damaged[random() % damaged.size()] = static_cast<char>(random());
    const std::string text = error_text([&] { of(damaged); });
    BOOST_TEST((text == "nothing was thrown" || text.starts_with("DataLoss: ")), text);
  }
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
