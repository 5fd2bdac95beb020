// Variables in parts: how they are cut (as TensorFlow's partitioners do), read and assigned.
#include "panto/nn/variables/partitioned.h"

#include "panto/lib/graph/checkpoints/checkpoint_file.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/create.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/lib/ops/random/random.h"
#include "panto/lib/runtime/session.h"
#include "panto/nn/training/saver.h"
#include "panto/tests/expect.h"
#include "panto/tests/folder.h"
#include "panto/tests/near.h"
#include "panto/trace/graph_scope.h"

namespace panto {
namespace {

BOOST_AUTO_TEST_SUITE(nn)
BOOST_AUTO_TEST_SUITE(partitioned)

using Counts = std::vector<int64_t>;

// Expected: tf.compat.v1.*_partitioner of TensorFlow 2.21.
BOOST_AUTO_TEST_CASE(partitioners) {
  const auto each = [](const Partitioner& p) {
    return std::vector<Counts>{p({10, 7}, kFloat32), p({3, 100}, kFloat64), p({9, 8}, kInt8)};
  };
  BOOST_TEST((each(variable_axis_size_partitioner(100)) == std::vector<Counts>{{4, 1}, {3, 1}, {1, 1}}));
  BOOST_TEST(
      (each(variable_axis_size_partitioner(64, {.max_parts = 3})) == std::vector<Counts>{{3, 1}, {3, 1}, {2, 1}}));
  BOOST_TEST(
      (each(min_max_variable_partitioner(4, {.min_bytes = 100})) == std::vector<Counts>{{3, 1}, {3, 1}, {1, 1}}));
  BOOST_TEST((each(min_max_variable_partitioner(40, {.axis = 1, .min_bytes = 64})) ==
              std::vector<Counts>{{1, 5}, {1, 38}, {1, 2}}));
  BOOST_TEST((each(fixed_size_partitioner(3, 1)) == std::vector<Counts>{{1, 3}, {1, 3}, {1, 3}}));
  BOOST_TEST((fixed_size_partitioner(5)({2}, kFloat32) == Counts{2}));
  BOOST_TEST((fixed_size_partitioner(5)({0}, kFloat32) == Counts{1}));
  BOOST_TEST((variable_axis_size_partitioner(1)({0, 3}, kFloat32) == Counts{1, 1}));
  BOOST_TEST((variable_axis_size_partitioner(1)({3, 0}, kFloat32) == Counts{1, 1}));
  BOOST_TEST((variable_axis_size_partitioner(32)({5}, kString) == Counts{3}));
  expect_error([] { fixed_size_partitioner(0); }, "InvalidArgument: parts: expected a positive number, got 0");
  expect_error([] { fixed_size_partitioner(2, 1)({3}, kFloat32); },
               "InvalidArgument: partitioner: expected an axis of a variable of shape [3], got 1");
}

BOOST_AUTO_TEST_CASE(eagerly) {
  const VariableStore store;
  const VariableStoreScope in(store);
  const VariableScope scope("s");
  const PartitionedVariable v = get_partitioned_variable(
      "v", {5, 2},
      {.initializer = [](const Shape& shape, DType) { return reshape(cast(range(0, 10, 1), kFloat32), shape); },
       .partitioner = fixed_size_partitioner(3)});
  BOOST_TEST(v.name() == "s/v");
  BOOST_REQUIRE_EQUAL(v.variables().size(), 3U);
  BOOST_TEST(store.names() == (std::vector<std::string>{"s/v/part_0", "s/v/part_1", "s/v/part_2"}));
  expect_near(v.variables()[1].value(), {2, 2}, {4, 5, 6, 7});
  expect_near(v.variables()[2].value(), {1, 2}, {8, 9});
  expect_near(v, {5, 2}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  v.assign(ones({5, 2}));
  expect_near(v.variables()[2].value(), {1, 2}, {1, 1});
  expect_error_begins([&] { v.assign(ones({2, 5})); },
                      "InvalidArgument: value of 's/v': expected float32[5,2], got float32[2,5]");
  const VariableScope cut("cut", {.partitioner = fixed_size_partitioner(2, 1)});
  BOOST_TEST(get_partitioned_variable("w", {2, 3}).variables()[0].shape().to_string() == "[2,2]");
  expect_error_begins([] { get_variable("x", {2, 3}); },
                      "InvalidArgument: variable 's/cut/x': expected a partitioner that leaves it whole, got one that "
                      "makes 2 parts of it");
  const auto refused = [](const Counts& counts) {
    return error_text(
        [&] { get_partitioned_variable("y", {2, 3}, {.partitioner = [&](const Shape&, DType) { return counts; }}); });
  };
  BOOST_TEST(
      refused({2}).starts_with("InvalidArgument: partitioner of 'y': expected a number for each of 2 dimensions"));
  BOOST_TEST(refused({2, 3}).starts_with("InvalidArgument: partitioner of 'y': expected one dimension that is cut"));
  BOOST_TEST(refused({3, 1}).starts_with("InvalidArgument: partitioner of 'y': expected 1 to 2 parts of dimension 0"));
  BOOST_TEST(refused({0, 1}).starts_with("InvalidArgument: partitioner of 'y': expected 1 to 2 parts of dimension 0"));
  expect_error_begins([&] { PartitionedVariable("p", {4, 2}, 0, v.variables()); },
                      "InvalidArgument: parts of 'p': expected 4 in all, got 5");
  expect_error_begins([&] { PartitionedVariable("p", {5, 3}, 0, v.variables()); },
                      "InvalidArgument: parts of 'p': expected slices of [5,3] along dimension 0, got [2,2]");
  BOOST_TEST(get_partitioned_variable(
                 "whole", {},
                 {.initializer = constant_initializer(2), .partitioner = [](const Shape&, DType) { return Counts{}; }})
                 .value()
                 .item<float>() == 2);
}

// The numbers of an initializer do not depend on the parts, nor does it draw anew for each.
BOOST_AUTO_TEST_CASE(cut_of_one_value) {
  const VariableStore store;
  const VariableStoreScope in(store);
  const Initializer drawn = glorot_uniform(7);
  const GetVariableOptions whole = {.initializer = drawn};
  const GetVariableOptions cut = {.initializer = drawn, .partitioner = fixed_size_partitioner(4)};
  const Tensor a = get_partitioned_variable("a", {9, 5}, whole), b = get_partitioned_variable("b", {9, 5}, cut);
  BOOST_TEST(a.to_vector<float>() == b.to_vector<float>());
  Graph g;
  Tensor joined;
  Operation init;
  {
    const GraphScope graph(g);
    joined = get_partitioned_variable("c", {9, 5}, cut).value();
    init = global_variables_initializer();
  }
  BOOST_TEST(g.variables().size() == 4U);
  Session s(g);
  s.run(init);
  BOOST_TEST(s.run(joined).to_vector<float>() == a.to_vector<float>());
}

// A checkpoint has one tensor, in slices; it is restored into as many parts as one likes, or into none.
BOOST_AUTO_TEST_CASE(saved_as_slices) {
  const TestFolder folder;
  const auto rows = [](const Shape& shape, DType dtype) { return cast(reshape(range(0, 10, 1), shape), dtype); };
  const auto made = [&](const char* scope, int64_t parts, int axis) {
    const VariableScope inside(std::string("saved_") + scope);
    return get_partitioned_variable("table", {5, 2},
                                    {.initializer = rows, .partitioner = fixed_size_partitioner(parts, axis)});
  };
  const auto renamed = [](const PartitionedVariable& p) {
    return PartitionedVariable("table", p.shape(), p.axis(), p.variables());
  };
  const PartitionedVariable three = renamed(made("a", 3, 0)), two = renamed(made("b", 2, 1)),
                            one = renamed(made("c", 1, 0));
  const Variable step(tensor(7), "step");
  std::vector<Variable> all = three.variables();  // as a model's variables have them
  all.push_back(step);
  Saver saver(folder / "m.ckpt", all, {.partitioned = {three}});
  const std::string prefix = saver.save(1);
  const std::vector<CheckpointVariable> listed = list_variables(prefix);
  BOOST_REQUIRE(listed.size() == 2U);
  BOOST_TEST(listed[1].name == "table");
  BOOST_TEST(listed[1].slices == 3);
  for (const PartitionedVariable& other : {three, two, one}) {
    other.assign(zeros({5, 2}));
    Saver(folder / "m.ckpt", std::vector<Variable>{step}, {.partitioned = {other}}).restore(prefix);
    expect_near(other, {5, 2}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  }
  expect_error_begins([&] { Saver(folder / "m.ckpt", all, {.partitioned = {three}, .object_graph = true}); },
                      "InvalidArgument: saver: expected no partitioned variables in an object-based checkpoint, got 1");
  expect_error_begins([&] { Saver(folder / "m.ckpt", all, {.partitioned = {three, two}}); },
                      "InvalidArgument: saver: expected each name once, got 'table' twice");
  const PartitionedVariable wide("table", {6, 2}, 0, {Variable(zeros({3, 2}), "p"), Variable(zeros({3, 2}), "q")});
  expect_error_begins(
      [&] { Saver(folder / "m.ckpt", std::vector<Variable>{}, {.partitioned = {wide}}).restore(prefix); },
      "InvalidArgument: load: expected float32[6,2] for variable 'table', got float32[5,2]");
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
