// Samples of candidate samplers. Their numbers are compared with TensorFlow's in replay_test.cc.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <climits>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "panto/lib/core/call/dispatch.h"
#include "panto/lib/core/call/scopes.h"
#include "panto/lib/ops/ops.h"
#include "panto/lib/runtime/session.h"
#include "panto/tests/folder.h"
#include "panto/tests/ops/reference.h"
#include "panto/tests/ops/table.h"
#include "panto/trace/graph_scope.h"

namespace panto::test::candidates_rows {
namespace {

const Array kTrue = array({2, 2}, {0, 3, 1, 4}).as(kInt64);

Attrs attrs(bool unique, int sampled, Attrs more = {}) {
  Attrs all = {{"num_true", 2}, {"num_sampled", sampled}, {"unique", unique}};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}
Attrs ranged(bool unique, int sampled, int range) { return attrs(unique, sampled, {{"range_max", range}}); }

std::vector<Sample> samples() {
  return {{.in = {kTrue}, .attrs = ranged(false, 9, 5)},
          {.in = {kTrue}, .attrs = ranged(true, 5, 5)},
          {.in = {array({0, 2}, {}).as(kInt64)}, .attrs = ranged(true, 1, 1)}};
}
std::vector<ErrorSample> errors() {
  return {{.in = {kTrue},
           .attrs = ranged(true, 6, 5),
           .text = "num_sampled: expected at most range_max that differ, which is 5, got 6"},
          {.in = {kTrue}, .attrs = ranged(false, 1, 4), .text = "true_classes[3]: expected 0 to 3, got 4"},
          {.in = {kTrue}, .attrs = ranged(false, 0, 5), .text = "num_sampled: expected at least 1, got 0"},
          {.in = {kTrue}, .attrs = ranged(false, 1, 0), .text = "range_max: expected at least 1, got 0"},
          {.in = {array({2, 3}, {0, 1, 2, 3, 4, 0}).as(kInt64)},
           .attrs = ranged(false, 1, 5),
           .text = "the columns of true_classes: expected 2, got 3"}};
}

// Frequencies of many draws, to five standard errors; and the expected counts.
void follows(const char* op, const std::vector<double>& probabilities, Attrs more) {
  constexpr int kDraws = 40000;
  std::vector<std::pair<std::string, AttrValue>> given;
  for (const auto& a : attrs(false, kDraws, std::move(more))) given.emplace_back(a.name, a.value);
  given.emplace_back("seed", int64_t{5});
  const auto out = dispatch::call(op, std::vector<Tensor>{to_tensor(kTrue, kInt64)}, given);
  std::vector<double> counts(probabilities.size());
  for (const double k : to_array(out[0]).values) counts.at(static_cast<size_t>(k)) += 1;
  for (size_t k = 0; k < counts.size(); ++k) {
    const double expected = probabilities[k] * kDraws;
    BOOST_CHECK_SMALL(counts[k] - expected, 5 * std::sqrt(expected * (1 - probabilities[k])) + 1e-9);
  }
  const std::vector<double> of_true = to_array(out[1]).values;
  for (size_t i = 0; i < of_true.size(); ++i) {
    BOOST_CHECK_CLOSE(of_true[i], probabilities[static_cast<size_t>(kTrue.values[i])] * kDraws, 1e-3);
  }
}

void uniform() { follows("UniformCandidateSampler", std::vector<double>(6, 1. / 6), {{"range_max", 6}}); }
void zipf() {
  std::vector<double> p;
  for (int k = 0; k < 7; ++k) p.push_back(std::log((k + 2.) / (k + 1.)) / std::log(8.));
  follows("LogUniformCandidateSampler", p, {{"range_max", 7}});
}
const std::vector<float> kUnigrams = {1, 4, 0, 16, 9};
void unigrams() {
  follows("FixedUnigramCandidateSampler", {0.1, 0.2, 0, 0.4, 0.3},
          {{"range_max", 5}, {"unigrams", kUnigrams}, {"distortion", 0.5}});
  follows("FixedUnigramCandidateSampler", {0, 0, 1. / 30, 4. / 30, 0, 16. / 30, 9. / 30},
          {{"range_max", 7}, {"num_reserved_ids", 2}, {"unigrams", kUnigrams}});
}
void vocabulary() {
  const TestFolder folder;
  const std::string path = folder / "words.csv", wrong = folder / "wrong.csv";
  std::ofstream(path) << "the,1\na,4\nno comma here,0\nof,a,16\nto,9\n";
  std::ofstream(wrong) << "the,1\na,b\n";
  follows("FixedUnigramCandidateSampler", {1. / 30, 4. / 30, 0, 16. / 30, 9. / 30},
          {{"range_max", 5}, {"vocab_file", path.c_str()}});
  BOOST_CHECK_EXCEPTION(follows("FixedUnigramCandidateSampler", {}, {{"range_max", 2}, {"vocab_file", wrong.c_str()}}),
                        Error, [](const Error& e) {
                          return std::string(e.what()).find("line 2: expected a number in the last column, got 'b'") !=
                                 std::string::npos;
                        });
}

// By a node of a session, which goes on from run to run.
void read_once() {
  const TestFolder folder;
  const std::string path = folder / "words.csv";
  std::ofstream(path) << "1\n4\n0\n16\n9\n";
  Graph graph;
  {
    const GraphScope building(graph);
    const auto drawn =
        fixed_unigram_candidate_sampler(to_tensor(kTrue, kInt64), 2, 50, false, 5, {.vocab_file = path, .seed = 3});
    named("drawn", drawn.sampled_candidates);
  }
  Session session(graph);
  const Tensor first = session.run("drawn");
  std::filesystem::remove(path);
  BOOST_TEST(difference(first, session.run("drawn")) != "");
}

// Until there are enough that differ, draws count as often as they were made.
void unique_ones() {
  const auto [drawn, of_true, of_drawn] = log_uniform_candidate_sampler(to_tensor(kTrue, kInt64), 2, 20, true, 20);
  const std::vector<double> values = to_array(drawn).values;
  BOOST_TEST(std::set<double>(values.begin(), values.end()).size() == 20U);
  for (const double e : to_array(of_drawn).values) BOOST_TEST((e > 0.2 && e <= 1));
}

// A node sees its classes 0, 3, 1 and 4 once more in each run.
void as_likely() { follows("LearnedUnigramCandidateSampler", std::vector<double>(6, 1. / 6), {{"range_max", 6}}); }
void learns() {
  Graph graph;
  {
    const GraphScope building(graph);
    const auto drawn = learned_unigram_candidate_sampler(to_tensor(kTrue, kInt64), 2, 10, false, 5, {.seed = 3});
    named("drawn", drawn.sampled_candidates);
  }
  Session session(graph);
  const auto expected = [&] { return session.run("drawn:1").to_vector<float>(); };
  BOOST_TEST(expected() == std::vector<float>(4, 2));
  BOOST_CHECK_CLOSE(expected()[0], 10 * 2 / 9.F, 1e-4F);
  for (int i = 0; i < 1000; ++i) expected();
  BOOST_CHECK_CLOSE(expected()[3], 10 * 1003 / 4013.F, 1e-4F);
  std::vector<int> counts(5, 0);
  for (int i = 0; i < 100; ++i) {
    for (const int64_t k : session.run("drawn").to_vector<int64_t>()) ++counts.at(static_cast<size_t>(k));
  }
  BOOST_TEST(counts[2] < 10);
  for (const size_t k : {0U, 1U, 3U, 4U}) BOOST_CHECK_SMALL(counts[k] - 250., 75.);
}

std::vector<Array> all_reference(const Given& g) {
  const int64_t n = g.integer("num_sampled");
  return {make({n}, [](const Index& i) { return static_cast<double>(i[0]); }), filled(g.in[0].dims, 1), filled({n}, 1)};
}
std::vector<Array> hits(const Given& g) {
  std::vector<double> rows, places;
  for (size_t i = 0; i < g.in[0].values.size(); ++i) {
    for (size_t k = g.in[1].values.size(); k-- > 0;) {
      if (g.in[1].values[k] != g.in[0].values[i]) continue;
      rows.push_back(static_cast<double>(i / 2));
      places.push_back(static_cast<double>(k));
      break;
    }
  }
  const Array none = filled({static_cast<int64_t>(rows.size())}, std::numeric_limits<float>::lowest());
  return {list(rows), list(places), none};
}

const Family candidates(
    "random",
    {{"UniformCandidateSampler",
      {.samples = samples(), .errors = errors(), .own = {{"frequencies", uniform}}, .random = true}},
     {"LogUniformCandidateSampler",
      {.samples = samples(),
       .errors = errors(),
       .own = {{"frequencies", zipf}, {"unique", unique_ones}},
       .random = true}},
     {"FixedUnigramCandidateSampler",
      {.samples = {{.in = {kTrue}, .attrs = attrs(false, 9, {{"range_max", 5}, {"unigrams", kUnigrams}})},
                   {.in = {kTrue}, .attrs = attrs(true, 4, {{"range_max", 5}, {"unigrams", kUnigrams}})}},
       .errors = {{.in = {kTrue}, .attrs = ranged(false, 1, 5), .text = "expected vocab_file or unigrams, got neither"},
                  {.in = {kTrue},
                   .attrs = attrs(false, 1, {{"range_max", 4}, {"unigrams", kUnigrams}}),
                   .text = "range_max: expected as many as there are classes, 5, got 4"},
                  {.in = {kTrue},
                   .attrs = attrs(false, 1, {{"range_max", 5}, {"unigrams", kUnigrams}, {"num_reserved_ids", INT_MAX}}),
                   .text = "range_max: expected as many as there are classes, 2147483652, got 5"},
                  {.in = {kTrue},
                   .attrs = attrs(false, 1, {{"range_max", 2}, {"unigrams", std::vector<float>{-1, 1}}}),
                   .text = "unigrams: expected finite ones of at least 0, got -1"},
                  {.in = {kTrue},
                   .attrs = attrs(false, 1, {{"range_max", 2}, {"unigrams", std::vector<float>{0, 0}}}),
                   .text = "unigrams: expected one above 0, got none"}},
       .own = {{"frequencies", unigrams}, {"vocabulary", vocabulary}, {"read_once", read_once}},
       .random = true}},
     {"LearnedUnigramCandidateSampler",
      {.samples = samples(),
       .errors = errors(),
       .own = {{"frequencies", as_likely}, {"learns", learns}},
       .random = true}},
     {"AllCandidateSampler",
      {.samples = {{.in = {kTrue}, .attrs = attrs(true, 6)}, {.in = {kTrue}, .attrs = attrs(false, 5)}},
       .reference = all_reference}},
     {"ComputeAccidentalHits",
      {.samples = {{.in = {kTrue, list({4, 9, 0, 4}).as(kInt64)}, .attrs = {{"num_true", 2}}},
                   {.in = {kTrue, list({9}).as(kInt64)}, .attrs = {{"num_true", 2}}},
                   {.in = {kTrue, list({}).as(kInt64)}, .attrs = {{"num_true", 2}}}},
       .reference = hits,
       .errors = {{.in = {kTrue, list({9}).as(kInt64)},
                   .attrs = {{"num_true", 3}},
                   .text = "the columns of true_classes: expected 3, got 2"}},
       .data_dependent_shape = true}}});

}  // namespace
}  // namespace panto::test::candidates_rows
