// Does an op give the same values, however it is called?
#include <fmt/format.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>

#include "panto/lib/core/call/dispatch.h"
#include "panto/lib/runtime/optimizer.h"
#include "panto/tests/ops/questions/questions.h"
#include "panto/trace/trace.h"

namespace panto::test {

void ask_unaligned(const Row& row) {
  for_each_bound(row, [&](const Sample&, const Bound& b) {
    attempt(b, "unaligned", [&] {
      std::vector<Tensor> inputs;
      for (const Tensor& t : b.in) inputs.push_back(unaligned(t));
      compare(b.call(), b.call(inputs), b, "unaligned");
    });
  });
}

void ask_reuse(const Row& row) {
  for_each_bound(row, [&](const Sample&, const Bound& b) {
    if (b.in.empty() || b.op->kernel(DeviceKind::kCpu, b.type).run == nullptr) return;
    attempt(b, "inputs given away", [&] {
      const std::vector<Tensor> expected = b.call();
      std::vector<AttrSlot> slots;
      const std::vector<AttrValue> values = b.attr_values();
      for (const AttrValue& v : values) slots.push_back(borrow(v));
      // All of them, then each alone.
      for (size_t given = 0; given <= b.in.size(); ++given) {
        const uint64_t donated = given == 0 ? ~uint64_t{0} : uint64_t{1} << (given - 1);
        std::vector<Tensor> inputs = copies(b);
        const std::vector<Tensor> before = copies(b);
        std::vector<const Tensor*> pointers;
        for (const Tensor& t : inputs) pointers.push_back(&t);
        const dispatch::Outputs got = dispatch::call(*b.op, pointers, slots, {.donated = donated});
        compare(expected, {got.data(), got.size()}, b, "inputs given away");
        for (size_t i = 0; i < inputs.size(); ++i) {
          if (((donated >> i) & 1) == 0) check_same(difference(before[i], inputs[i]), b, "an input that was kept");
        }
      }
    });
  });
}

void ask_prepared(const Row& row) {
  for_each_bound(row, [&](const Sample&, const Bound& b) {
    if (b.op->kernel(DeviceKind::kCpu, b.type).run == nullptr) return;  // a composite: by its body in this type
    attempt(b, "prepared", [&] {
      const std::vector<Tensor> expected = b.call();
      std::vector<const Tensor*> pointers;
      std::vector<Tensor> known, unknown;
      for (const Tensor& t : b.in) {
        pointers.push_back(&t);
        known.push_back(meta_tensor(t.dtype(), t.partial_shape()));
        unknown.push_back(meta_tensor(t.dtype(), PartialShape()));
      }
      for (const auto* specs : {&known, &unknown}) {
        const auto prepared = dispatch::prepare(*b.op, *specs, b.attr_values(), cpu_device(), "node");
        for (int time = 0; time < 2; ++time) {
          std::vector<Tensor> outputs(expected.size());
          dispatch::run(*prepared, current_step(), pointers, outputs);
          compare(expected, outputs, b, specs == &known ? "prepared" : "prepared for unknown shapes");
        }
        if (b.op->has(Trait::kSelfAllocating)) continue;
        std::vector<Tensor> outputs;
        for (const Tensor& t : expected) outputs.push_back(allocate_tensor(cpu_device(), t.dtype(), t.shape()));
        dispatch::run(*prepared, current_step(), pointers, outputs);
        compare(expected, outputs, b, "prepared, into given outputs");
      }
    });
  });
}

void ask_body(const Row& row) {
  int asked = 0;
  for_each_bound(row, [&](const Sample&, const Bound& b) {
    if (b.op->kernel(DeviceKind::kCpu, b.type).run == nullptr) return;
    ++asked;
    attempt(b, "by its body", [&] {
      const std::vector<AttrValue> values = b.attr_values();
      std::vector<AttrSlot> slots;
      for (const AttrValue& v : values) slots.push_back(borrow(v));
      const dispatch::Outputs body = dispatch::call_body(*b.op, dispatch::pointers_to(b.in), slots);
      const auto check = [&](std::span<const Tensor> whole, const std::string& what) {
        if (whole.size() != body.size()) return complain(b, fmt::format("{}: got {} outputs", what, whole.size()));
        for (size_t k = 0; k < body.size(); ++k) {
          const double units = b.op->units_from_body();
          check_same(units == 0 ? difference(body[k], whole[k])
                                : difference(to_array(body[k]), whole[k], {.units = units, .floor = row.d.floor}),
                     b, fmt::format("{}: output {}", what, k));
        }
      };
      check(b.call(), "whole");
      std::vector<TensorSpec> specs;
      for (const Tensor& t : b.in) specs.emplace_back(t.dtype(), t.partial_shape());
      const Function f =
          make_traced([&](std::span<const Tensor> in) { return b.call(in); }, specs, std::source_location::current());
      for (const char* passes : {"", "off"}) {
        f.set_optimizer(passes);
        check(f.call(b.in), fmt::format("traced, passes '{}'", passes));
      }
      const Graph plan = optimize(f.graph());
      const auto is_whole = [&](int id) { return &plan.at(id).op() == b.op; };
      if (std::ranges::none_of(plan.ids(), is_whole)) complain(b, "traced: expected the op in the plan, got its body");
    });
  });
  BOOST_TEST(asked > 0);
}

}  // namespace panto::test
