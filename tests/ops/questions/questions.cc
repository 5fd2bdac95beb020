#include "panto/tests/ops/questions/questions.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <iostream>
#include <map>
#include <utility>

namespace panto::test {
namespace {

bool has_samples(const Row& row) { return !row.d.samples.empty(); }
bool pure(const Row& row) { return has_samples(row) && !row.d.random && !row.d.effect; }
bool has_kernels(const Op& op) { return op.has_kernel(DeviceKind::kCpu); }
bool takes_variables(const Row& row) {
  return std::ranges::any_of(row.d.samples, [](const Sample& s) {
    return std::ranges::any_of(s.in, [](const Array& a) { return a.is_variable; });
  });
}
bool floats(const Row& row, const Op& op) {
  if (op.primary_attr() < 0) return false;
  const DTypeSet allowed = op.signature().attrs[static_cast<size_t>(op.primary_attr())].allowed_types & row.d.types;
  return allowed.contains(kFloat64) && (op.body() != nullptr || op.kernel_types(DeviceKind::kCpu).contains(kFloat64));
}

// Also an input of the type, so that the same numbers can be given in float64.
bool takes_floats(const Row& row, const Op& op) {
  return floats(row, op) &&
         std::ranges::any_of(op.signature().inputs, [&](const ArgDef& a) { return a.type_attr == op.primary_attr(); });
}
bool differentiable(const Row& row, const Op& op) {
  return pure(row) && (op.gradient() != nullptr || op.body() != nullptr) && floats(row, op);
}

}  // namespace

std::span<const Question> questions() {
  static constexpr Question kQuestions[] = {
      {"reference",
       [](const Row& row, const Op&) {
         return pure(row) && (row.d.reference != nullptr || !row.d.samples[0].out.empty());
       },
       ask_reference},
      {"effect", [](const Row& row, const Op&) { return row.d.after != nullptr; }, ask_effect},
      {"float64", [](const Row& row, const Op& op) { return pure(row) && takes_floats(row, op); }, ask_float64},
      {"empty", [](const Row& row, const Op&) { return row.operands > 0; }, ask_empty},
      {"broadcast", [](const Row& row, const Op&) { return row.operands == 2; }, ask_broadcast},
      {"special", [](const Row& row, const Op& op) { return row.operands > 0 && floats(row, op); }, ask_special},
      {"unaligned", [](const Row& row, const Op&) { return pure(row); }, ask_unaligned},
      {"reuse", [](const Row& row, const Op&) { return pure(row); }, ask_reuse},
      {"prepared", [](const Row& row, const Op& op) { return pure(row) && has_kernels(op); }, ask_prepared},
      {"body", [](const Row& row, const Op& op) { return pure(row) && op.is_composite() && has_kernels(op); },
       ask_body},
      {"types", [](const Row& row, const Op& op) { return has_samples(row) && op.primary_attr() >= 0; }, ask_types},
      {"inference",
       [](const Row& row, const Op& op) {
         return has_samples(row) && !row.d.effect && !op.signature().outputs.empty();
       },
       ask_inference},
      {"gradient", [](const Row& row, const Op& op) { return row.d.gradient && differentiable(row, op); }, ask_gradient,
       true},
      {"second_order",
       [](const Row& row, const Op& op) { return row.d.gradient && row.d.second_order && differentiable(row, op); },
       ask_second_order, true, true},
      {"taped", differentiable, ask_taped, true},
      {"traced", [](const Row& row, const Op&) { return pure(row); }, ask_traced, false, true},
      {"optimized", [](const Row& row, const Op&) { return pure(row); }, ask_optimized, false, true},
      {"round_trip", [](const Row& row, const Op&) { return pure(row) && !takes_variables(row); }, ask_round_trip,
       false, true},
      {"saved",
       [](const Row& row, const Op& op) {
         return has_samples(row) && op.body() == nullptr && (!pure(row) || takes_variables(row));
       },
       ask_saved, false, true},
      {"traced_gradient", differentiable, ask_traced_gradient, true, true},
      {"late", [](const Row& row, const Op&) { return pure(row); }, ask_late, false, true},
      {"batched", [](const Row& row, const Op&) { return pure(row) && !takes_variables(row); }, ask_batched, false,
       true},
      {"jvp", [](const Row& row, const Op& op) { return differentiable(row, op) && !takes_variables(row); }, ask_jvp,
       true},
      {"errors", [](const Row& row, const Op&) { return !row.d.errors.empty(); }, ask_errors},
  };
  return kQuestions;
}

const Question& device_question() {
  static constexpr Question kQuestion = {
      "device", [](const Row& row, const Op& op) { return pure(row) && has_kernels(op); }, ask_accelerator};
  return kQuestion;
}

namespace {

// By question and reason: rows, each with how often.
using Unanswered = std::map<std::pair<std::string, std::string>, std::map<std::string, int>>;
Unanswered& unanswered() {
  static auto* notes = new Unanswered;
  return *notes;
}
bool asked_for_gradients = false;

struct ShowUnanswered {
  ~ShowUnanswered() {
    if (!asked_for_gradients) return;
    for (const auto& [key, rows] : unanswered()) {
      std::string text;
      int count = 0;
      for (const auto& [row, times] : rows) {
        text += fmt::format("{}{}", text.empty() ? "" : ", ", row);
        count += times;
      }
      std::cout << fmt::format("op table: question {} not asked {} times ({}), of {} rows: {}\n", key.first, count,
                               key.second, rows.size(), text);
    }
    std::cout << std::flush;
  }
};
BOOST_TEST_GLOBAL_FIXTURE(ShowUnanswered);

}  // namespace

void note_unanswered(const Row& row, const char* question, const char* reason) {
  ++unanswered()[{question, reason}][row.name()];
}

namespace {

constexpr int kShown = 4;
int failures = 0;

}  // namespace

void complain(const std::string& text) {
  if (++failures <= kShown) BOOST_ERROR(text);
}

void complain(const Bound& bound, const std::string& text) { complain(bound.text() + ": " + text); }

void ask_within_limit(const Question& question, const Row& row) {
  failures = 0;
  asked_for_gradients = asked_for_gradients || question.about_gradients;
  question.ask(row);
  if (failures > kShown) BOOST_ERROR("and " << failures - kShown << " more");
}

void compare(const std::vector<Array>& expected, std::span<const Tensor> got, const Bound& bound,
             const std::string& what) {
  if (expected.size() != got.size()) {
    return complain(bound, fmt::format("{}: expected {} outputs, got {}", what, expected.size(), got.size()));
  }
  // What an op is made of rounds its own results.
  const Tolerance tolerance{bound.row->d.units, bound.row->operands > 0 ? 0x1p-20 : bound.row->d.floor,
                            bound.op->body() == nullptr};
  for (size_t k = 0; k < got.size(); ++k) {
    check_same(difference(expected[k], got[k], tolerance, bound.type), bound, fmt::format("{}: output {}", what, k));
  }
}

void compare(const std::vector<Tensor>& expected, std::span<const Tensor> got, const Bound& bound,
             const std::string& what) {
  if (expected.size() != got.size()) {
    return complain(bound, fmt::format("{}: expected {} outputs, got {}", what, expected.size(), got.size()));
  }
  for (size_t k = 0; k < got.size(); ++k) {
    check_same(difference(expected[k], got[k]), bound, fmt::format("{}: output {}", what, k));
  }
}

std::vector<Tensor> copies(const Bound& bound) {
  std::vector<Tensor> result;
  for (size_t i = 0; i < bound.in.size(); ++i) {
    const DType t = bound.in[i].dtype();
    result.push_back(is_plain(t) ? to_tensor(bound.given.in[i], t) : bound.in[i]);
  }
  return result;
}

void check_same(const std::string& difference, const Bound& bound, const std::string& what) {
  if (!difference.empty()) complain(bound, what + ": " + difference);
}

}  // namespace panto::test
