// Which ops are transformed without a rule of their own, or one that follows from their traits. The list is to get
// shorter: whoever adds an op gives it rules, or a line here and a reason.
#include "panto/autograd/transforms/rules.h"

#include <algorithm>
#include <set>
#include <string>

#include "panto/lib/core/op/op.h"
#include "panto/tests/autograd/transforms.h"
#include "panto/tests/ops/families.h"

namespace panto {
namespace {

// A vmap of these runs once for each example; tangents of the last two come from their gradients.
const std::set<std::string> kFallbacks = {
    "BroadcastGradientArgs",         // of shapes, which examples share
    "Print",                         // one line for each example
    "PrintV2",                       //
    "Range",                         // examples may have different lengths
    "RngReadAndSkip",                // a generator moves on for each example
    "StatelessRandomGetKeyCounter",  // each example's own seed
    "StatelessRandomNormalV2",       //
    "StatelessRandomUniformIntV2",   //
    "StatelessRandomUniformV2",      //
    "Unique",                        // examples may have different lengths
    "Where",                         //
    "_FusedConv2D",                  // made by the optimizer, after transforms
    "_FusedMatMul",                  //
    "FusedBatchNormGradV3",          // second derivatives of images' statistics
    "_CustomGradient",               // of a gradient that was written nothing else is known
};

// The value of a variable that examples do not share is refused.
// Of ops on nothing but variables and shapes there is nothing that examples do not share; other random ops draw more.
bool shared(const Op& op) {
  const auto& inputs = op.signature().inputs;
  return inputs.empty() || std::ranges::all_of(inputs, [](const ArgDef& a) { return a.dtype == kResource; }) ||
         (op.has_effect(Effect::kRandom) && inputs.size() == 1);
}
// Whether an input may have a tangent.
bool takes_floats(const Op& op) {
  return std::ranges::any_of(op.signature().inputs, [&](const ArgDef& a) {
    if (a.type_list_attr >= 0) return true;
    if (a.type_attr < 0) return dtypes::kDifferentiable.contains(a.dtype);
    const DTypeSet allowed = op.signature().attrs[static_cast<size_t>(a.type_attr)].allowed_types;
    return allowed.contains(kFloat32) || allowed.contains(kComplex64);
  });
}
bool refuses(const Op& op) { return op.has_effect(Effect::kWrites) && !op.has_effect(Effect::kRandom); }

}  // namespace

BOOST_AUTO_TEST_SUITE(transforms)
BOOST_AUTO_TEST_SUITE(rules_suite)

BOOST_AUTO_TEST_CASE(few_ops_have_no_rules) {
  std::set<std::string> found;
  for (const Op* op : all_ops()) {
    // Other tests define ops, too.
    if (op->body() != nullptr || shared(*op) || test::of_passes(*op) || op->name().starts_with("Test")) continue;
    const bool batched = batch_rule_of(*op) != nullptr || refuses(*op);
    const bool tangents = op->gradient() == nullptr || jvp_rule_of(*op) != nullptr || !takes_floats(*op);
    if (!batched || !tangents) found.insert(op->name());
  }
  for (const std::string& name : found) BOOST_TEST(kFallbacks.contains(name), name << " has no rule");
  for (const std::string& name : kFallbacks) BOOST_TEST(found.contains(name), name << " has rules, but is in the list");
  BOOST_TEST(kFallbacks.size() <= 15U);
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace panto
