// Rows on the GPU against the CPU: more of them than the samples of the op table have, and in ops that change variables
// or draw from a generator, which the table does not ask there. And what a GPU says of bad values.
#include <boost/test/unit_test.hpp>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "panto/lib/core/call/dispatch.h"
#include "panto/lib/core/op/attr.h"
#include "panto/lib/core/op/op.h"
#include "panto/lib/core/tensor/variable.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/tests/device/cuda/gpu_compare.h"
#include "panto/tests/expect.h"
#include "panto/tests/gpu.h"

namespace panto::test {
namespace {

namespace utf = boost::unit_test;
using Attrs = std::vector<std::pair<std::string, AttrValue>>;

BOOST_AUTO_TEST_SUITE(cuda_rows, *utf::label("cuda") * utf::precondition(has_gpu))

// Returns the op's outputs, and what it leaves in its variables, which are given by their values.
Tensors results(const char* op, const Tensors& inputs, const Attrs& attrs, Device& device) {
  const auto& signature = find_op(op)->signature().inputs;
  std::vector<Variable> kept;
  Tensors there;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const bool is_variable = signature[i].dtype == kResource;
    const Tensor moved = signature[i].host ? inputs[i] : inputs[i].to(device);
    if (is_variable) kept.emplace_back(moved, "v" + std::to_string(i));
    there.push_back(is_variable ? kept.back().handle() : moved);
  }
  const DeviceScope scope(device.name());
  Tensors all;
  for (const Tensor& out : dispatch::call(op, there, attrs)) all.push_back(out);
  for (const Variable& v : kept) all.push_back(v.value());
  return all;
}

void compare(const char* op, const Tensors& inputs, double tolerance, const Attrs& attrs = {}) {
  BOOST_TEST_CONTEXT(op) {
    const Tensors expected = results(op, inputs, attrs, cpu_device());
    const Tensors got = results(op, inputs, attrs, *gpu());
    BOOST_REQUIRE(got.size() == expected.size());
    for (size_t k = 0; k < got.size(); ++k) expect_same(expected[k], got[k], tolerance, op + std::to_string(k));
  }
}

constexpr int64_t kRows = 50, kWidth = 7, kUpdates = 300;

// Numbers in [0, limit), each several times, in no order.
Tensor mixed(int64_t count, int64_t limit, DType type) {
  std::vector<int64_t> numbers;
  for (int64_t i = 0; i < count; ++i) numbers.push_back(i * i * 31 % 9973 % limit);
  return cast(tensor(numbers, Shape{count}), type);
}
Tensor values(const Shape& shape, DType type, float step = 0.37f) {
  const Tensor real = ramp(shape, 1, step);
  return type == kInt32 ? cast(maximum(real, 1.f), kInt32) : cast(sin(real) + 2.f, type);
}

// Half of the rows occur several times. All updates of one are done in order, so the results are the CPU's to the bit.
BOOST_AUTO_TEST_CASE(rows_become_what_they_become_on_the_cpu) {
  for (const DType type : {kFloat32, kFloat64, kInt32, kFloat16, kBFloat16}) {
    const Tensor table = values({kRows, kWidth}, type), updates = values({kUpdates, kWidth}, type, 0.21f);
    for (const DType index : {kInt32, kInt64}) {
      const Tensor rows = mixed(kUpdates, kRows / 2, index);
      for (const char* op : {"ResourceScatterAdd", "ResourceScatterSub", "ResourceScatterMul", "ResourceScatterDiv",
                             "ResourceScatterMax", "ResourceScatterMin", "ResourceScatterUpdate"}) {
        compare(op, {table, rows, updates}, 0);
        compare(op, {table, rows, values({}, type)}, 0);
      }
      const Tensor places = pack({mixed(kUpdates, kRows, index), mixed(kUpdates, kWidth, index)}, {.axis = 1});
      for (const char* op : {"ResourceScatterNdAdd", "ResourceScatterNdSub", "ResourceScatterNdMax",
                             "ResourceScatterNdMin", "ResourceScatterNdUpdate"}) {
        compare(op, {table, reshape(rows, {kUpdates, 1}), updates}, 0);
        compare(op, {table, places, values({kUpdates}, type, 0.21f)}, 0);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(tensors_become_what_they_become_on_the_cpu) {
  for (const DType type : {kFloat32, kInt32, kBFloat16}) {
    const Tensor table = values({kRows, kWidth}, type), updates = values({kUpdates, kWidth}, type, 0.21f);
    const Tensor rows = mixed(kUpdates, kRows / 2, kInt32), places = reshape(rows, {kUpdates, 1});
    for (const char* op : {"TensorScatterAdd", "TensorScatterSub", "TensorScatterMax", "TensorScatterMin"}) {
      compare(op, {table, places, updates}, 0);
    }
    compare("TensorScatterUpdate", {table, places, updates}, 0);
    compare("ScatterNd", {places, updates, tensor({50, 7})}, 0);
    compare("GatherNd", {table, places}, 0);
    for (const char* op : {"UnsortedSegmentProd", "UnsortedSegmentMax", "UnsortedSegmentMin"}) {
      compare(op, {updates, rows - 1, tensor(static_cast<int32_t>(kRows))}, 0);
    }
    const Tensor ids = floor_div(range(0, static_cast<int32_t>(kUpdates), 1), 7) * 2;  // with gaps
    for (const char* op : {"SegmentSum", "SegmentMean", "SegmentProd", "SegmentMax", "SegmentMin"}) {
      compare(op, {updates, ids}, 0);
    }
    compare("DynamicPartition", {updates, rows}, 0, {{"num_partitions", AttrValue(int64_t{kRows})}});
    compare("DynamicStitch", {rows, mixed(kRows, kUpdates, kInt32), updates, table}, 0);
    compare("Where", {cast(greater(updates, cast(tensor(2), type)), kBool)}, 0);
  }
  const Tensor numbers = mixed(3000, 70, kInt32), weights = values({3000}, kFloat32);
  compare("DenseBincount", {numbers, tensor(60), weights}, 0);
  compare("DenseBincount", {reshape(numbers, {3, 1000}), tensor(60), fill({0}, 0.f)}, 0);
  compare("HistogramFixedWidth", {weights, tensor({1.1f, 2.9f}), tensor(13)}, 0);
  compare("RandomIndexShuffle", {range(0, 1000, 1), tensor({1, 2, 3}), tensor(1233)}, 0);
}

BOOST_AUTO_TEST_CASE(bad_values_are_errors) {
  const auto refused = [](const char* op, const Tensors& inputs, const char* text, const Attrs& attrs = {}) {
    BOOST_TEST_CONTEXT(op) {
      const auto run = [&] {
        results(op, inputs, attrs, *gpu());
        gpu()->synchronize();
      };
      expect_error_begins(run, std::string("InvalidArgument: ") + text);
    }
  };
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor data = tensor({1.f, 2.f, 3.f});
  refused("GatherNd", {data, tensor({{3}})}, "indices: expected all in range");
  refused("ScatterNd", {tensor({{4}}), tensor({1.f}), tensor({4})}, "indices: expected all in range");
  refused("UnsortedSegmentMax", {data, tensor({0, 1, 2}), tensor(2)}, "indices: expected all in range");
  refused("SegmentSum", {data, tensor({0, 2, 1})}, "segment_ids: expected ids of at least 0 in order");
  refused("SegmentMax", {data, tensor({-1, 0, 0})}, "segment_ids: expected ids of at least 0 in order");
  refused("DynamicPartition", {data, tensor({0, 2, 1})}, "indices: expected all in range",
          {{"num_partitions", AttrValue(int64_t{2})}});
  refused("DynamicStitch", {tensor({0, -1}), tensor({1.f, 2.f})}, "indices: expected all in range");
  refused("DenseBincount", {tensor({0, -1}), tensor(2), tensor({1.f, 2.f})}, "indices: expected all in range");
  refused("HistogramFixedWidth", {tensor({1.f, nan}), tensor({0.f, 2.f}), tensor(3)}, "values: expected numbers");
  refused("HistogramFixedWidth", {data, tensor({2.f, 2.f}), tensor(3)}, "value_range: expected a lower end");
  refused("StatelessRandomPoisson", {tensor({3, 2}), tensor({1, 2}), tensor({1.f, nan})}, "parameters: expected",
          {{"dtype", AttrValue(kFloat32)}});
  refused("StatelessRandomBinomial", {tensor({3, 1}), tensor({1, 2}), tensor({1e30f}), tensor({0.5f})},
          "parameters: expected");
  refused("RandomIndexShuffle", {tensor({1, 5}), tensor({1, 2, 3}), tensor(4)}, "indices: expected all in range");
}

BOOST_AUTO_TEST_CASE(updates_that_are_refused_change_nothing) {
  const auto refused = [](const char* op, const Tensors& inputs, const char* text) {
    BOOST_TEST_CONTEXT(op) {
      const Variable v(inputs[0].to(*gpu()), "v");
      expect_error_begins(
          [&] {
            dispatch::call(op, Tensors{v.handle(), inputs[1].to(*gpu()), inputs[2].to(*gpu())});
            gpu()->synchronize();
          },
          text);
      BOOST_TEST(v.value().cpu().to_vector<int32_t>() == inputs[0].to_vector<int32_t>());
    }
  };
  const Tensor table = tensor({{1, 2}, {3, 4}}), updates = tensor({{5, 6}, {7, 8}});
  for (const char* op : {"ResourceScatterAdd", "ResourceScatterUpdate"}) {
    refused(op, {table, tensor({0, 2}), updates}, "InvalidArgument: indices: expected all in range");
  }
  for (const char* op : {"ResourceScatterNdAdd", "ResourceScatterNdUpdate"}) {
    refused(op, {table, tensor({{0}, {-1}}), updates}, "InvalidArgument: indices: expected all in range");
  }
  refused("ResourceScatterDiv", {table, tensor({0, 1}), tensor({{5, 6}, {0, 8}})},
          "InvalidArgument: integer division by zero");
}

// A value for each scalar of an optimizer.
Tensor scalar_for(const std::string& name, DType type) {
  if (name == "global_step") return tensor(int64_t{3});
  return cast(tensor(name == "lr_power" ? -0.5f : name == "l1" || name == "l2" ? 0.01f : 0.125f), type);
}

BOOST_AUTO_TEST_CASE(optimizers_step_with_rows_as_on_the_cpu) {
  for (const char* op :
       {"ResourceSparseApplyMomentum", "ResourceSparseApplyKerasMomentum", "ResourceSparseApplyAdagrad",
        "ResourceSparseApplyAdagradV2", "ResourceSparseApplyAdagradDA", "ResourceSparseApplyProximalAdagrad",
        "ResourceSparseApplyProximalGradientDescent", "ResourceSparseApplyAdadelta", "ResourceSparseApplyRMSProp",
        "ResourceSparseApplyCenteredRMSProp", "ResourceSparseApplyFtrl", "ResourceSparseApplyFtrlV2"}) {
    for (const DType type : {kFloat32, kFloat64, kFloat16}) {
      Tensors inputs;
      for (const auto& input : find_op(op)->signature().inputs) {
        if (input.dtype == kResource) {
          inputs.push_back(values({kRows, kWidth}, type, 0.1f * static_cast<float>(inputs.size() + 1)));
        } else if (input.name == "grad") {
          inputs.push_back(values({kUpdates, kWidth}, type, 0.21f) - cast(tensor(2.f), type));
        } else if (input.name == "indices") {
          inputs.push_back(mixed(kUpdates, kRows / 2, kInt64));
        } else {
          inputs.push_back(scalar_for(input.name, type));
        }
      }
      compare(op, inputs, type == kFloat16 ? 1e-2 : 1e-5);
    }
  }
}

// With a seed the numbers are the CPU's; normal ones may differ in the last bits.
BOOST_AUTO_TEST_CASE(stateful_ops_draw_the_numbers_of_the_cpu) {
  const Attrs seed = {{"seed", AttrValue(int64_t{3})}, {"seed2", AttrValue(int64_t{4})}};
  compare("RandomUniformInt", {tensor({5, 7}), tensor(-3), tensor(100)}, 0, seed);
  compare("RandomShuffle", {ramp({30, 4}, 0, 1)}, 0, seed);
  compare("RandomShuffle", {ramp({1, 4}, 0, 1)}, 0, seed);
  Attrs of_floats = seed;
  of_floats.emplace_back("dtype", kFloat32);
  compare("TruncatedNormal", {tensor({101})}, 1e-6, of_floats);
  compare("Multinomial", {ramp({3, 20}, -1, 0.1f), tensor(33)}, 0, seed);
  compare("RandomGamma", {tensor({40}), tensor({0.3f, 1.f, 2.5f})}, 1e-5, seed);
  compare("RandomPoissonV2", {tensor({40}), tensor({0.3f, 4.f, 25.f})}, 0, seed);
}

BOOST_AUTO_TEST_CASE(generators_go_on_behind_what_was_drawn) {
  const Tensor state = tensor({int64_t{5}, int64_t{6}, int64_t{7}});
  const Tensor tagged = tensor({int64_t{1}, int64_t{5}, int64_t{6}, int64_t{7}});
  compare("RngReadAndSkip", {state, tensor(1), cast(tensor(1000), kUint64)}, 0);
  compare("RngSkip", {state, tensor(int64_t{1}), tensor(int64_t{1000})}, 0);
  compare("StatefulStandardNormal", {tagged, tensor({9, 5})}, 1e-6, {{"dtype", AttrValue(kFloat32)}});
  const Variable there(state.to(*gpu()), "generator");
  dispatch::call("RngReadAndSkip", Tensors{there.handle(), tensor(1), cast(tensor(1000), kUint64)});
  BOOST_TEST(&there.value().device() == gpu());
  compare("StatefulRandomBinomial",
          {state, tensor(int64_t{1}), tensor({50, 2}), tensor({12.f, 200.f}), tensor({0.25f, 0.5f})}, 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto::test
