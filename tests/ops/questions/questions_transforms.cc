// Do transforms give what they stand for? vmap what a loop over the batch gives; jvp what finite differences give, and
// what the gradient says.
#include <fmt/format.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <string>

#include "panto/autograd/tape.h"
#include "panto/autograd/transforms/jvp.h"
#include "panto/autograd/transforms/vmap.h"
#include "panto/lib/ops/operators.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"
#include "panto/tests/ops/questions/questions.h"

namespace panto::test {
namespace {

constexpr int64_t kBatch = 3;

// Which inputs an example of a batch may have for its own: those that are computed with, not those that say what is
// computed.
bool may_differ(const Bound& b, size_t i) {
  const std::vector<int> arguments = argument_of_inputs(*b.op, b.in.size(), b.attrs);
  const DType t = b.in[i].dtype();
  return !b.op->signature().inputs[static_cast<size_t>(arguments[i])].host && t != kResource && t != kVariant;
}

// Inputs whose elements are in an order that they must have: all examples have those of the sample.
bool is_in_order(const Bound& b, size_t i) {
  const auto argument = static_cast<size_t>(argument_of_inputs(*b.op, b.in.size(), b.attrs)[i]);
  if (std::ranges::count(b.row->d.fixed, argument) > 0) return true;
  const std::string& name = b.op->signature().inputs[argument].name;
  // Three strings are a tensor.
  if (name == "serialized_sparse") return true;
  if (name == "set_indices" || name == "set1_indices" || name == "set2_indices") return true;
  if (name == "splits" || name.ends_with("_splits") || name == "row_partition_tensors") return true;
  return name == "value_range" || name == "sparse_indices" ||
         (name == "segment_ids" && !b.op->name().starts_with("Unsorted"));
}

// The input of example e: the sample's elements, moved around, so that examples differ and every one of them is valid
// where the sample is.
Tensor of_example(const Bound& b, size_t i, int64_t e) {
  const Tensor& t = b.in[i];
  if (e == 0 || t.rank() == 0 || is_in_order(b, i)) return t;
  // Rows of integers, which may be positions, stay as they are.
  if (!dtypes::kDifferentiable.contains(t.dtype())) return roll(t, {e}, {0});
  return reshape(roll(reshape(t, {-1}), {e}, {0}), t.shape());
}

struct Examples {
  std::vector<std::vector<Tensor>> inputs;  // by example
  std::vector<Tensor> packed;               // by input
  std::vector<uint8_t> batched;
};

Examples examples_of(const Bound& b, const std::vector<uint8_t>& batched) {
  Examples x;
  x.batched = batched;
  x.inputs.resize(kBatch);
  for (size_t i = 0; i < b.in.size(); ++i) {
    std::vector<Tensor> each;
    for (int64_t e = 0; e < kBatch; ++e) {
      each.push_back(batched[i] != 0 ? of_example(b, i, e) : b.in[i]);
      x.inputs[static_cast<size_t>(e)].push_back(each.back());
    }
    x.packed.push_back(batched[i] != 0 ? pack(each) : b.in[i]);
  }
  return x;
}

// The op on inputs of which some have a batch.
std::vector<Tensor> batched_call(const Bound& b, const Examples& x) {
  std::vector<Tensor> batch;
  for (size_t i = 0; i < x.packed.size(); ++i) {
    if (x.batched[i] != 0) batch.push_back(x.packed[i]);
  }
  return vmap([&](const std::vector<Tensor>& own) {
    std::vector<Tensor> inputs = x.packed;
    size_t next = 0;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (x.batched[i] != 0) inputs[i] = own[next++];
    }
    return b.call(inputs);
  })(batch);
}

// Sums of other lengths may be added in another order.
Tolerance near(const Tensor& t) {
  const bool exact = !dtypes::kDifferentiable.contains(t.dtype());
  double floor = 1;
  if (!exact) {
    for (const double v : to_array(t).values) floor = std::isfinite(v) ? std::max(floor, std::abs(v)) : floor;
  }
  return {.units = exact ? 0.0 : 32, .floor = floor};
}

void compare_batched(const Bound& b, const Examples& x, const std::string& what) {
  std::vector<std::vector<Tensor>> looped;  // by output
  for (const std::vector<Tensor>& inputs : x.inputs) {
    const std::vector<Tensor> outputs = b.call(inputs);
    looped.resize(outputs.size());
    for (size_t k = 0; k < outputs.size(); ++k) looped[k].push_back(outputs[k]);
  }
  for (const std::vector<Tensor>& each : looped) {
    const bool one_shape = std::ranges::all_of(each, [&](const Tensor& t) { return t.shape() == each[0].shape(); });
    if (!one_shape) return;  // nothing that vmap could give
  }
  const std::vector<Tensor> got = batched_call(b, x);
  for (size_t k = 0; k < got.size(); ++k) {
    const Tensor expected = pack(looped[k]);
    check_same(difference(to_array(expected), got[k], near(expected)), b, fmt::format("{}: output {}", what, k));
  }
}

}  // namespace

void ask_batched(const Row& row) {
  for_each_sample(row, [&](const Sample&, const Bound& b) {
    attempt(b, "batched", [&] {
      std::vector<uint8_t> all(b.in.size(), 0);
      for (size_t i = 0; i < b.in.size(); ++i) all[i] = may_differ(b, i) ? 1 : 0;
      const auto count = std::ranges::count(all, 1);
      if (count == 0) return;
      compare_batched(b, examples_of(b, all), "all batched");
      // Each alone, and all but each.
      for (size_t i = 0; i < all.size() && count > 1; ++i) {
        if (all[i] == 0) continue;
        std::vector<uint8_t> some(all.size(), 0);
        some[i] = 1;
        compare_batched(b, examples_of(b, some), fmt::format("input {} batched", i));
        if (count == 2) continue;
        some = all;
        some[i] = 0;
        compare_batched(b, examples_of(b, some), fmt::format("all but input {} batched", i));
      }
    });
  });
}

void ask_jvp(const Row& row) {
  for (const Sample& sample : row.d.samples) {
    if (!fits(row, sample, kFloat64)) continue;
    const std::vector<DType> types = types_of(row);
    if (row.op().primary_attr() >= 0 && std::ranges::find(types, kFloat64) == types.end()) continue;
    const Bound b = bind(row, sample, kFloat64);
    if (!row.d.constant.empty()) {
      note_unanswered(row, "jvp", "an output has no tangent");
      continue;
    }
    attempt(b, "jvp", [&] {
      std::vector<size_t> positions;
      std::vector<Tensor> primals, directions;
      for (size_t i = 0; i < b.in.size(); ++i) {
        if (b.in[i].dtype() != kFloat64) continue;
        positions.push_back(i);
        primals.push_back(b.in[i]);
        const std::vector<int64_t> dims(b.in[i].shape().dims().begin(), b.in[i].shape().dims().end());
        directions.push_back(to_tensor(draw(dims, -1, 1, static_cast<int>(7 + i)), kFloat64));
      }
      if (positions.empty()) return;
      const auto call = [&](const std::vector<Tensor>& own) {
        std::vector<Tensor> inputs = b.in;
        for (size_t i = 0; i < positions.size(); ++i) inputs[positions[i]] = own[i];
        return b.call(inputs);
      };
      const auto [values, tangents] = jvp(call, primals, directions);
      const std::vector<Tensor> plain = call(primals);
      // Along the direction.
      constexpr double kStep = 1e-6;
      const auto moved = [&](double step) {
        std::vector<Tensor> at;
        for (size_t i = 0; i < primals.size(); ++i) at.push_back(primals[i] + directions[i] * step);
        return call(at);
      };
      const std::vector<Tensor> above = moved(kStep), below = moved(-kStep);
      // v' J u, computed backwards.
      GradientTape tape({.unconnected_zero = true});
      std::vector<GradSource> sources;
      for (const Tensor& x : primals) {
        tape.watch(x);
        sources.emplace_back(x);
      }
      const std::vector<Tensor> taped = call(primals);
      std::vector<Tensor> targets, seeds;
      double forwards = 0;
      for (size_t k = 0; k < values.size(); ++k) {
        check_same(difference(plain[k], values[k]), b, fmt::format("value {} beside its tangent", k));
        if (values[k].dtype() != kFloat64) continue;
        if (!(tangents[k].shape() == values[k].shape())) {
          complain(b, fmt::format("tangent {}: shape {}", k, tangents[k].shape().to_string()));
          continue;
        }
        const std::vector<int64_t> dims(values[k].shape().dims().begin(), values[k].shape().dims().end());
        const Tensor seed = to_tensor(draw(dims, 0.5, 1.5), kFloat64);
        forwards += sum(seed * tangents[k]).item<double>();
        targets.push_back(taped[k]);
        seeds.push_back(seed);
        if (!row.d.gradient) continue;
        const std::vector<double> t = tangents[k].to_vector<double>(), up = above[k].to_vector<double>(),
                                  down = below[k].to_vector<double>();
        for (size_t e = 0; e < t.size(); ++e) {
          const double expected = (up[e] - down[e]) / (2 * kStep);
          if (std::abs(t[e] - expected) <= 1e-5 + 1e-5 * std::abs(expected)) continue;
          complain(b, fmt::format("tangent {}[{}]: expected {} (differences), got {}", k, e, expected, t[e]));
        }
      }
      if (targets.empty()) return;
      const std::vector<Tensor> gradients = tape.gradients(targets, sources, seeds);
      double backwards = 0;
      for (size_t i = 0; i < gradients.size(); ++i) backwards += sum(gradients[i] * directions[i]).item<double>();
      if (std::abs(forwards - backwards) > 1e-8 * (1 + std::abs(backwards))) {
        complain(b, fmt::format("v'(J u): expected {} (backwards), got {} (forwards)", backwards, forwards));
      }
    });
  }
}

}  // namespace panto::test
