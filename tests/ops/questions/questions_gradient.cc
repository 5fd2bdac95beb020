// Are the gradients right? Of an op's floating inputs, by every floating output.
#include <fmt/format.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <utility>

#include "panto/autograd/gradcheck.h"
#include "panto/autograd/tape.h"
#include "panto/tests/ops/questions/questions.h"

namespace panto::test {
namespace {

// How far the gradient of 16-bit types may be from that of float32, in units of their last place.
constexpr double kHalfUnits = 16;

bool is_floating(const Tensor& t) { return dtypes::kFloating.contains(t.dtype()); }
bool is_constant(const Row& row, size_t output) { return std::ranges::count(row.d.constant, output) > 0; }

// Calls `f(bound, k)` for each sample in float64 and each float64 output `k` that depends on a float64 input.
template <class F>
void for_each_float64_output(const Row& row, const char* question, F f) {
  int asked = 0;
  std::vector<Sample> samples = row.d.samples;
  if (row.operands == 2) {  // with broadcasting
    for (const auto& [x, y] :
         {std::pair<std::vector<int64_t>, std::vector<int64_t>>{{2, 3}, {3}}, {{}, {2}}, {{3, 1}, {1, 2}}}) {
      samples.push_back({.in = {draw(x, row.domains[0].low, row.domains[0].high, 3),
                                draw(y, row.domains[1].low, row.domains[1].high, 4)}});
    }
  }
  for (const Sample& sample : samples) {
    for (const DType t : types_of(row)) {
      if (t != kFloat64 && row.op().primary_attr() >= 0) continue;
      if (!fits(row, sample, t)) {
        note_unanswered(row, question, "the sample does not fit float64");
        continue;
      }
      const Bound b = bind(row, sample, t);
      if (std::ranges::none_of(b.in, [](const Tensor& x) { return x.dtype() == kFloat64; })) {
        note_unanswered(row, question, "the sample has no float64 input");
        continue;
      }
      try {
        const std::vector<Tensor> outputs = b.call();
        for (size_t k = 0; k < outputs.size(); ++k) {
          if (is_constant(row, k)) continue;
          if (outputs[k].dtype() != kFloat64) {
            if (dtypes::kDifferentiable.contains(outputs[k].dtype())) {
              note_unanswered(row, question, "the output is not float64");
            }
            continue;
          }
          ++asked;
          f(b, k);
        }
      } catch (const Error& error) {
        complain(b, error.what());
      }
    }
  }
  if (asked == 0) complain("no sample has a float64 input and output");
}

GradcheckFunction output_of(const Bound& b, size_t k) {
  return [&b, k](std::span<const Tensor> inputs) { return b.call(inputs)[k]; };
}

void report(const Bound& b, size_t k, const GradcheckResult& result) {
  if (!result.ok) complain(b, fmt::format("output {}: {}", k, result.report));
}

}  // namespace

std::vector<Tensor> gradients_of(const Bound& b, std::vector<Tensor>& outputs, const TensorsFunction& call) {
  GradientTape tape;
  std::vector<GradSource> sources;
  for (const Tensor& t : b.in) {
    if (is_floating(t)) {
      tape.watch(t);
      sources.emplace_back(t);
    }
  }
  outputs = call ? call(b.in) : b.call();
  std::vector<Tensor> targets, seeds;
  for (size_t k = 0; k < outputs.size(); ++k) {
    const Tensor& t = outputs[k];
    if (!is_floating(t) || is_constant(*b.row, k)) continue;
    targets.push_back(t);
    const std::vector<int64_t> dims(t.shape().dims().begin(), t.shape().dims().end());
    seeds.push_back(to_tensor(draw(dims, 0.5, 1.5), t.dtype()));
  }
  const std::vector<Tensor> found = tape.gradients(targets, sources, seeds);
  std::vector<Tensor> result;
  size_t next = 0;
  for (const Tensor& t : b.in) result.push_back(is_floating(t) ? found[next++] : Tensor());
  return result;
}

void ask_gradient(const Row& row) {
  for_each_float64_output(row, "gradient",
                          [](const Bound& b, size_t k) { report(b, k, gradcheck(output_of(b, k), b.in)); });
}

void ask_second_order(const Row& row) {
  for_each_float64_output(row, "second_order", [](const Bound& b, size_t k) {
    report(b, k, gradcheck_second_order(output_of(b, k), b.in));
  });
}

void ask_taped(const Row& row) {
  for_each_bound(row, [&](const Sample& sample, const Bound& b) {
    try {
      if (!dtypes::kFloating.contains(b.type)) {
        if (dtypes::kComplex.contains(b.type)) note_unanswered(row, "taped", "the type is complex");
        return;
      }
      std::vector<Tensor> outputs;
      const std::vector<Tensor> eager = b.call();
      const std::vector<Tensor> got = gradients_of(b, outputs);
      for (size_t k = 0; k < outputs.size(); ++k) check_same(difference(eager[k], outputs[k]), b, "taped");
      for (size_t i = 0; i < b.in.size(); ++i) {
        if (!got[i].defined()) continue;
        if (got[i].dtype() == b.in[i].dtype() && got[i].shape() == b.in[i].shape()) continue;
        complain(b, fmt::format("gradient of input {} is a {}{}", i, dtype_name(got[i].dtype()),
                                got[i].shape().to_string()));
      }
      // The same in the next wider type.
      const DType wider = b.type == kFloat32 ? kFloat64 : kFloat32;
      const std::vector<DType> types = types_of(row);
      if (b.type == kFloat64 || !row.d.gradient || !fits(row, sample, wider) || !std::ranges::count(types, wider))
        return;
      Sample wide = sample;
      for (size_t i = 0; i < wide.in.size(); ++i) wide.in[i].values = b.given.in[i].values;
      const Bound wide_bound = bind(row, wide, wider);
      const std::vector<Tensor> expected = gradients_of(wide_bound, outputs);
      for (size_t i = 0; i < b.in.size(); ++i) {
        if (got[i].defined() != expected[i].defined())
          complain(b, fmt::format("gradient {} in {} and {}", i, dtype_name(b.type), dtype_name(wider)));
        if (!got[i].defined() || got[i].dtype() != b.type) continue;
        const Array wanted = to_array(expected[i]);
        // Ops that a gradient is made of round their results, large ones as well as what is left of them.
        double largest = 1;
        for (const double v : wanted.values) largest = std::max(largest, std::abs(v));
        const Tolerance tolerance =
            b.type == kFloat32 ? Tolerance{.units = 200, .floor = 1} : Tolerance{.units = kHalfUnits, .floor = largest};
        check_same(difference(wanted, got[i], tolerance), b, fmt::format("gradient in {}", dtype_name(b.type)));
      }
    } catch (const Error& error) {
      complain(b, error.what());
    }
  });
}

}  // namespace panto::test
