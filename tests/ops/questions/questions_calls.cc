// Does an op give the same values, however it is called?
#include <boost/test/unit_test.hpp>

#include "panto/lib/core/call/dispatch.h"
#include "panto/tests/ops/questions/questions.h"

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
    if (b.in.empty() || b.op->body() != nullptr) return;
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

}  // namespace panto::test
