#include "panto/tests/ops/questions.h"

#include <boost/test/unit_test.hpp>

namespace panto::test {
namespace {

bool has_samples(const Row& row) { return !row.d.samples.empty(); }
bool pure(const Row& row) { return has_samples(row) && !row.d.random && !row.d.effect; }
bool floats(const Row& row, const Op& op) {
  if (op.primary_attr() < 0) return false;
  const DTypeSet allowed = op.signature().attrs[static_cast<size_t>(op.primary_attr())].allowed_types & row.d.types;
  return allowed.contains(kFloat64) && (op.body() != nullptr || op.kernel_types(DeviceKind::kCpu).contains(kFloat64));
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
      {"float64", [](const Row& row, const Op& op) { return pure(row) && floats(row, op); }, ask_float64},
      {"empty", [](const Row& row, const Op&) { return row.operands > 0; }, ask_empty},
      {"broadcast", [](const Row& row, const Op&) { return row.operands == 2; }, ask_broadcast},
      {"special", [](const Row& row, const Op& op) { return row.operands > 0 && floats(row, op); }, ask_special},
      {"unaligned", [](const Row& row, const Op&) { return pure(row); }, ask_unaligned},
      {"reuse", [](const Row& row, const Op&) { return pure(row); }, ask_reuse},
      {"prepared", [](const Row& row, const Op& op) { return pure(row) && op.body() == nullptr; }, ask_prepared},
      {"types", [](const Row& row, const Op& op) { return has_samples(row) && op.primary_attr() >= 0; }, ask_types},
      {"inference",
       [](const Row& row, const Op& op) {
         return has_samples(row) && !row.d.effect && !op.signature().outputs.empty();
       },
       ask_inference},
      {"gradient", [](const Row& row, const Op& op) { return row.d.gradient && differentiable(row, op); },
       ask_gradient},
      {"second_order",
       [](const Row& row, const Op& op) { return row.d.gradient && row.d.second_order && differentiable(row, op); },
       ask_second_order},
      {"taped", differentiable, ask_taped},
      {"errors", [](const Row& row, const Op&) { return !row.d.errors.empty(); }, ask_errors},
  };
  return kQuestions;
}

void check_same(const std::string& difference, const Bound& bound, const char* what) {
  BOOST_CHECK_MESSAGE(difference.empty(), what << " (" << bound.text() << "): " << difference);
}

}  // namespace panto::test
