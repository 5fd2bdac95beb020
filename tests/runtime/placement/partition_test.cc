// A graph cut by devices: which part each node is in, which values go from part to part, and that a run of the parts
// gives what one device gives. The other device is the one that pretend_gpu.cc adds.
#include "panto/lib/runtime/parts/partition.h"

#include <boost/test/unit_test.hpp>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "panto/define_op.h"
#include "panto/lib/core/call/dispatch.h"
#include "panto/lib/core/call/scopes.h"
#include "panto/lib/core/tensor/device.h"
#include "panto/lib/graph/graph.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/lib/ops/products.h"
#include "panto/lib/ops/random/random.h"
#include "panto/lib/ops/reductions.h"
#include "panto/lib/runtime/session.h"
#include "panto/tests/device/cuda/gpu_compare.h"
#include "panto/tests/expect.h"
#include "panto/tests/gpu.h"
#include "panto/trace/control/control_flow.h"
#include "panto/trace/graph_scope.h"

namespace panto {
namespace {

using test::gpu;
using test::ramp;

// A graph whose nodes are placed as `on_gpu` says, and everything else on the CPU.
WorkGraph placed(const std::function<void()>& build, const std::set<std::string>& on_gpu) {
  WorkGraph work;
  {
    const GraphScope building(work.graph);
    build();
  }
  for (int id : work.graph.ids()) {
    const bool there = on_gpu.contains(work.graph.at(id).name());
    work.graph.set_device(id, there ? gpu()->name() : cpu_device().name());
  }
  return work;
}

// "a:CPU>GPU", in the order of the edges.
std::vector<std::string> edges_of(const WorkGraph& work, const Partition& cut) {
  const auto kind = [&](int part) {
    return std::string(device_kind_name(cut.parts[static_cast<size_t>(part)]->kind()));
  };
  std::vector<std::string> texts;
  for (const CrossEdge& e : cut.edges) {
    texts.push_back(work.graph.output_name(e.value) + ":" + kind(e.from) + ">" + kind(e.to) + " in " +
                    std::string(device_kind_name(e.memory->kind())));
  }
  return texts;
}

int calls_on_cpu = 0;
// Its name keeps it from the kernels that pretend_gpu.cc copies.
const Op& kOnCpu = define_op("_TestOnCpu(x: float32) -> (y: float32)",
                             {.doc = "3 x, by a kernel on the CPU only.",
                              .cpp = "test_on_cpu",
                              .shape = shapes::same_as_input,
                              .body = [](CompositeContext& c) { c.set_out(0, c.in(0) * 3); }});
const KernelEntry on_cpu_kernel("_TestOnCpu", "CPU", DType::kInvalid, Kernel{.run = [](KernelContext& c) {
                                  ++calls_on_cpu;
                                  for (int64_t i = 0; i < c.numel(0); ++i) {
                                    c.out_data<float>(0)[i] = c.data<float>(0)[i] * 3;
                                  }
                                }});

BOOST_AUTO_TEST_SUITE(partition_suite)

BOOST_AUTO_TEST_CASE(one_device_is_one_part_without_edges) {
  const WorkGraph work = placed([] { named("y", tanh(placeholder(kFloat32, {2}, "x")) + 1.0f); }, {});
  const Partition cut = partition(work, {}, cpu_device());
  BOOST_TEST(cut.parts.size() == 1u);
  BOOST_TEST(cut.edges.empty());
  BOOST_TEST(cut.order.size() == static_cast<size_t>(work.graph.num_nodes()));
}

// What crosses is named once for all that read it in one memory; constants are where they are wanted from the start.
BOOST_AUTO_TEST_CASE(values_that_cross_are_edges) {
  const WorkGraph work = placed(
      [] {
        const Tensor x = placeholder(kFloat32, {2, 2}, "x");
        const Tensor a = named("a", tanh(x));
        const Tensor b = named("b", matmul(a, a));
        const Tensor c = named("c", add(b, a));
        named("d", add(c, named("one", constant(tensor({1.f, 2.f}), kFloat32))));
      },
      {"b", "c"});
  const Partition cut = partition(work, {}, cpu_device());
  const auto part = [&](const char* name) { return cut.part_of[static_cast<size_t>(work.graph.at(name).id())]; };
  BOOST_TEST(cut.parts.size() == 2u);
  BOOST_TEST(part("a") == part("d"));
  BOOST_TEST(part("b") == part("c"));
  BOOST_TEST(part("a") != part("b"));
  BOOST_TEST(part("one") == -1);
  BOOST_TEST(edges_of(work, cut) == std::vector<std::string>({"a:CPU>GPU in GPU", "c:GPU>CPU in CPU"}),
             boost::test_tools::per_element());
}

// What an op wants in host memory crosses to another part, not to another memory.
BOOST_AUTO_TEST_CASE(host_inputs_cross_to_host_memory) {
  const WorkGraph work = placed(
      [] {
        const Tensor x = placeholder(kFloat32, {4}, "x");
        const Tensor dims = named("dims", add(placeholder(kInt32, {2}, "n"), tensor({1, 1})));
        named("y", reshape(named("a", tanh(x)), dims));
      },
      {"a", "y"});
  const Partition cut = partition(work, {}, cpu_device());
  BOOST_TEST(edges_of(work, cut) == std::vector<std::string>({"dims:CPU>GPU in CPU"}),
             boost::test_tools::per_element());
}

// ---- Runs ----------------------------------------------------------------------------------------------------------

// The same graph on one device and, as it asks, on two, run several times.
void expect_the_same(const std::vector<int64_t>& shape, const std::vector<int64_t>& declared,
                     const std::function<Tensor(const Tensor&, const std::string&)>& build) {
  const auto session = [&](const std::string& device) {
    Graph graph;
    {
      const GraphScope building(graph);
      named("y", build(placeholder(kFloat32, PartialShape(declared), "x"), device));
    }
    return Session(std::move(graph));
  };
  Session one = session("/cpu:0"), two = session("/gpu:0");
  for (int i = 0; i < 4; ++i) {
    const Tensor x = ramp(Shape(shape), -1 + 0.1f * static_cast<float>(i), 0.05f);
    const Tensor expected = one.run("y", {{"x", x}}).cpu();
    BOOST_TEST(two.run("y", {{"x", x}}).cpu().to_vector<float>() == expected.to_vector<float>(),
               boost::test_tools::per_element());
    BOOST_TEST(two.run("y", {{"x", x.to(*gpu())}}).cpu().to_vector<float>() == expected.to_vector<float>(),
               boost::test_tools::per_element());
  }
}

// Back and forth, so that no part can run as a whole before the other.
BOOST_AUTO_TEST_CASE(parts_that_need_one_another_take_turns) {
  for (const int64_t rows : {int64_t{4}, int64_t{-1}}) {
    expect_the_same({4, 4}, {rows, 4}, [](const Tensor& x, const std::string& there) {
      Tensor y = x;
      std::vector<Tensor> all;
      for (int i = 0; i < 6; ++i) {
        {
          const DeviceScope scope(there);
          y = matmul(tanh(y), transpose(y, {1, 0}));
        }
        const DeviceScope scope("/cpu:0");
        y = y * 0.25f + exp(y) * 0.125f;
        all.push_back(y);
      }
      const DeviceScope scope("/cpu:0");
      return add_n(all);
    });
  }
}

// What was sent keeps its value though its maker's memory is used again.
BOOST_AUTO_TEST_CASE(what_was_sent_stays_as_it_was) {
  expect_the_same({64, 64}, {64, 64}, [](const Tensor& x, const std::string& there) {
    Tensor early, y = x;
    {
      const DeviceScope scope("/cpu:0");
      early = exp(x);
    }
    {
      const DeviceScope scope(there);
      y = matmul(early, x);
    }
    const DeviceScope scope("/cpu:0");
    Tensor z = early;
    for (int i = 0; i < 4; ++i) z = matmul(z, x) * 0.01f;  // over and over in the same memory
    const DeviceScope last(there);
    return add(add(matmul(y, early), z), early);
  });
}

// A shape that is made on one device and read, in host memory, by another.
BOOST_AUTO_TEST_CASE(shapes_cross_too) {
  expect_the_same({6, 4}, {-1, 4}, [](const Tensor& x, const std::string& there) {
    Tensor dims;
    {
      const DeviceScope scope(there);
      dims = shape(matmul(x, transpose(x, {1, 0})));
    }
    const DeviceScope scope("/cpu:0");
    const Tensor size = dims * tensor({2, 1}) - tensor({0, 4});
    const DeviceScope last(there);
    return reshape(matmul(reshape(x, {2, -1}), reshape(x, {-1, 2})), {-1}) + cast(sum(size), kFloat32);
  });
}

// Loops and branches go from device to device: their values do, and what decides is read by the host.
BOOST_AUTO_TEST_CASE(loops_go_from_device_to_device) {
  const auto session = [](const std::string& there) {
    Graph graph;
    {
      const GraphScope building(graph);
      const Tensor x = placeholder(kFloat32, {4, 4}, "x");
      const auto on = [](const std::string& device, const auto& make) {
        const DeviceScope scope(device);
        return make();
      };
      const Tensor begin = enter_op(x, "loop"), count = enter_op(tensor(0.f), "loop");
      const Tensor limit = enter_op(tensor(5.f), "loop", {.is_constant = true});
      const Tensor weights = on(there, [&] { return enter_op(exp(x), "loop", {.is_constant = true}); });
      const Tensor i = named("i", merge_op({count, count}).output), y = named("value", merge_op({begin, begin}).output);
      const Tensor go = on(there, [&] { return loop_cond(less(i, limit)); });
      const auto of_i = switch_op(i, go), of_y = switch_op(y, go);
      const Tensor one = enter_op(tensor(1.25f), "loop", {.is_constant = true});
      named("next_i", next_iteration(add(of_i.output_true, one)));
      const Tensor product = on(there, [&] { return matmul(of_y.output_true, weights); });
      const Tensor large = on(there, [&] { return less(of_i.output_true, one); });
      const auto branch = switch_op(product, large);
      const Tensor a = on(there, [&] { return tanh(branch.output_false); });
      const Tensor b = on("/cpu:0", [&] { return tanh(neg(branch.output_true)); });
      const Tensor joined = on("/cpu:0", [&] { return sub(merge_op({a, b}).output, of_y.output_true); });
      named("next_value", next_iteration(joined));
      const Tensor out = exit_op(of_y.output_false);
      named("y", on(there, [&] { return matmul(out, x); }));
    }
    graph.set_input(graph.at("i").id(), 1, graph.output("next_i"));
    graph.set_input(graph.at("value").id(), 1, graph.output("next_value"));
    return Session(std::move(graph));
  };
  Session one = session("/cpu:0"), two = session("/gpu:0");
  for (int i = 0; i < 4; ++i) {
    const Tensor x = ramp(Shape{4, 4}, -1 + 0.3f * static_cast<float>(i), 0.05f);
    const std::vector<float> expected = one.run("y", {{"x", x}}).to_vector<float>();
    BOOST_TEST(two.run("y", {{"x", x}}).cpu().to_vector<float>() == expected, boost::test_tools::per_element());
    BOOST_TEST(two.run("y", {{"x", x.to(*gpu())}}).cpu().to_vector<float>() == expected,
               boost::test_tools::per_element());
  }
}

// A loop that asks for a device without a kernel for it (this one has none of ops with effects) runs on the CPU; the
// nodes of its body are where they ask to be.
BOOST_AUTO_TEST_CASE(loops_run_where_their_bodies_are_elsewhere) {
  const auto session = [](const std::string& there) {
    Graph graph;
    {
      const GraphScope building(graph);
      const Tensor x = placeholder(kFloat32, {4, 4}, "x");
      const DeviceScope scope(there);
      const auto body = [&](const Tensor& i, const Tensor& t) {
        const Tensor product = tanh(matmul(t, x));
        const DeviceScope host("/cpu:0");
        const Tensor drawn = random_uniform({4, 4}, {.seed = 3});
        return std::tuple(i + 1.F, product + drawn);
      };
      const auto ends =
          while_loop([](const Tensor& i, const Tensor&) { return i < 6.F; }, body, std::tuple(tensor(0.F), exp(x)));
      named("y", neg(std::get<1>(ends)));
    }
    return Session(std::move(graph));
  };
  Session one = session("/cpu:0"), two = session("/gpu:0");
  for (int i = 0; i < 3; ++i) {
    const Tensor x = ramp(Shape{4, 4}, -1 + 0.3f * static_cast<float>(i), 0.05f);
    BOOST_TEST(two.run("y", {{"x", x}}).cpu().to_vector<float>() == one.run("y", {{"x", x}}).to_vector<float>(),
               boost::test_tools::per_element());
  }
  const Graph placed = two.optimized_graph();
  int loops = 0;
  for (const int id : placed.ids()) {
    const Node& node = placed.at(id);
    if (!node.is(OpKind::kLoop)) continue;
    ++loops;
    BOOST_TEST(node.device() == cpu_device().name());
  }
  BOOST_TEST(loops == 1);
}

// A composite is its kernel where it is placed, or the ops of its body, which are placed there.
BOOST_AUTO_TEST_CASE(composites_expand_where_they_have_no_kernel) {
  Graph g;
  {
    const GraphScope in(g);
    const Tensor x = placeholder(kFloat32, {2}, "x");
    const auto on_cpu = [&] { return dispatch::call(kOnCpu.name(), std::span(&x, 1))[0]; };
    named("anywhere", on_cpu());
    const DeviceScope scope("/cpu:0");
    named("there", on_cpu());
  }
  const auto run = [&](const char* fetch, const char* device, int calls, DeviceKind kind) {
    BOOST_TEST_CONTEXT(fetch << " on " << device) {
      Session session(g, {.device = device});
      const int before = calls_on_cpu;
      const Tensor y = session.run(fetch, {{"x", tensor({1.f, 2.f})}});
      BOOST_TEST((y.cpu().to_vector<float>() == std::vector<float>{3, 6}));
      BOOST_TEST(calls_on_cpu - before == calls);
      BOOST_TEST((y.device().kind() == kind));
      const Graph plan = session.optimized_graph();
      BOOST_TEST((&plan.at(fetch).op() == &kOnCpu) == (calls > 0));
    }
  };
  run("anywhere", "/gpu:0", 0, find_device_kind("GPU"));
  run("anywhere", "/cpu:0", 1, DeviceKind::kCpu);
  run("there", "/gpu:0", 1, DeviceKind::kCpu);
}

// The same of a call.
BOOST_AUTO_TEST_CASE(composites_run_by_their_bodies_where_they_have_no_kernel) {
  const Tensor x = tensor({1.f, 2.f});
  const auto call = [](const Tensor& t) { return dispatch::call(kOnCpu.name(), std::span(&t, 1))[0]; };
  const int before = calls_on_cpu;
  const Tensor there = call(x.to(*gpu()));
  BOOST_TEST((there.device().kind() == find_device_kind("GPU")));
  BOOST_TEST((there.cpu().to_vector<float>() == std::vector<float>{3, 6}));
  BOOST_TEST(calls_on_cpu == before);
  call(x);
  BOOST_TEST(calls_on_cpu == before + 1);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
