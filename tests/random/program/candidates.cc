#include "panto/tests/random/program/candidates.h"

#include <algorithm>
#include <map>

namespace panto::random {
namespace {

using test::Array;
using test::Row;
using test::Sample;

bool usable(const Row& row) {
  const Op& op = row.op();
  for (const OpKind kind : {OpKind::kVariableHandle, OpKind::kPlaceholder, OpKind::kConstant, OpKind::kNoOperation}) {
    if (op.is(kind)) return false;
  }
  if (op.has_effect(Effect::kExternal | Effect::kRandom)) return false;
  if (row.d.random) return false;
  if (op.signature().find_attr("carried") >= 0) return false;  // a loop: of other values it may have no end
  return !op.has_effects() || op.has_effect(Effect::kReads | Effect::kWrites);
}

// Data and variables: other handles stand for nothing that a graph could be given.
bool usable(const Op& op, const std::vector<Array>& in, const test::Attrs& attrs, DType type) {
  if (type == DType::kResource || type == DType::kVariant) return false;
  const std::vector<int> args = test::argument_of_inputs(op, in.size(), attrs);
  for (size_t i = 0; i < in.size(); ++i) {
    if (args[i] < 0) return false;
    if (in[i].is_variable) continue;
    const ArgDef& arg = op.signature().inputs[static_cast<size_t>(args[i])];
    if (arg.dtype == kResource || arg.dtype == kVariant) return false;
    if (in[i].type == kResource || in[i].type == kVariant) return false;
  }
  return true;
}

bool hands_on(const Op& op) {
  return op.has(Trait::kIdentity) || op.is(OpKind::kStopGradient) || op.has(Trait::kDataMovement) ||
         op.has(Trait::kContraction) || op.has(Trait::kReduction);
}

}  // namespace

const std::vector<Candidate>& candidates() {
  static const auto* list = [] {
    auto* all = new std::vector<Candidate>;
    for (const Row* row : test::all_rows()) {
      if (find_op(row->op_name) == nullptr || !usable(*row)) continue;
      for (const DType type : test::types_of(*row)) {
        Candidate c{row, type, {}};
        for (const Sample& s : row->d.samples) {
          if (usable(row->op(), s.in, s.attrs, type) && test::fits(*row, s, type)) c.samples.push_back(&s);
        }
        if (!c.samples.empty()) all->push_back(std::move(c));
      }
    }
    return all;
  }();
  return *list;
}

const std::vector<Candidate>& generators() {
  static const auto* list = [] {
    auto* all = new std::vector<Candidate>;
    for (const Row* row : test::all_rows()) {
      const Op* op = find_op(row->op_name);
      if (op == nullptr || !op->has_effect(Effect::kRandom) || op->signature().inputs.size() != 1) continue;
      if (op->signature().inputs[0].name != "shape" || op->primary_attr() < 0) continue;
      if (op->signature().find_attr("seed") < 0 || op->signature().find_attr("seed2") < 0) continue;
      for (const DType type : test::types_of(*row)) all->push_back({row, type, {}});
    }
    return all;
  }();
  return *list;
}

const Candidate& pick_candidate(Rng& rng, DType main) {
  static const auto* by_type = [] {
    auto* lists = new std::map<DType, std::vector<const Candidate*>>;
    for (const Candidate& c : candidates()) {
      const int weight = hands_on(c.row->op()) ? 3 : 1;
      for (int i = 0; i < weight; ++i) (*lists)[c.type].push_back(&c);
    }
    return lists;
  }();
  const auto list = by_type->find(main);
  if (list == by_type->end() || rng.chance(0.4)) return rng.pick(candidates());
  return *rng.pick(list->second);
}

const std::vector<Illegal>& illegal_samples() {
  static const auto* list = [] {
    auto* all = new std::vector<Illegal>;
    for (const Row* row : test::all_rows()) {
      if (find_op(row->op_name) == nullptr || !usable(*row)) continue;
      const Op& op = row->op();
      if (op.signature().outputs.empty() || op.signature().has_output_lists) continue;
      for (const test::ErrorSample& s : row->d.errors) {
        const DType type = s.type != DType::kInvalid ? s.type : test::first_type(*row);
        if (usable(op, s.in, s.attrs, type)) all->push_back({row, &s, type});
      }
    }
    return all;
  }();
  return *list;
}

}  // namespace panto::random
