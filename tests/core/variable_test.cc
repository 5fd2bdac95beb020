#include "panto/lib/core/tensor/variable.h"

#include <thread>

#include "panto/lib/core/call/dispatch.h"
#include "panto/lib/core/call/recorder.h"
#include "panto/lib/core/tensor/resource.h"
#include "panto/lib/core/tensor/tensor_alloc.h"
#include "panto/tests/expect.h"

namespace panto {
namespace {

// Hears ops; `traces`: they run symbolically.
class Listener final : public Recorder {
 public:
  explicit Listener(bool traces = false) : traces_(traces) {}
  bool keeps(const Call&) override { return false; }
  void record(const Call& call) override { names.push_back(call.op->name()); }
  void record_custom(std::span<const Tensor>, std::span<const Tensor>, std::shared_ptr<CustomBackward>) override {}
  bool symbolic() const override { return traces_; }
  std::vector<std::string> names;

 private:
  bool traces_;
};

class Maker final : public VariableMaker {
 public:
  Variable make(const Tensor& initial, const PartialShape& shape, std::string_view name,
                const std::source_location&) override {
    return Variable::from_handle(meta_tensor(kResource, Shape{}), initial.dtype(), shape, std::string(name) + "/made");
  }
};

using Names = std::vector<std::string>;

BOOST_AUTO_TEST_SUITE(variable)

BOOST_AUTO_TEST_CASE(reads_and_assignments) {
  const Variable v(tensor({1.f, 2.f}), "v");
  const Tensor before = v.value();
  v.assign_add(tensor({10.f, 10.f}));
  v.assign_sub(tensor({1.f, 2.f}));
  BOOST_TEST((v.value().to_vector<float>() == std::vector<float>{10, 10}));
  v.assign(tensor({5.f, 6.f}));
  BOOST_TEST((v.value().to_vector<float>() == std::vector<float>{5, 6}));
  BOOST_TEST((before.to_vector<float>() == std::vector<float>{1, 2}));
  // A value may be added to itself.
  v.assign_add(v.value());
  BOOST_TEST((v.value().to_vector<float>() == std::vector<float>{10, 12}));
}

BOOST_AUTO_TEST_CASE(shapes_of_values) {
  const Variable fixed(tensor({1.f, 2.f}), "fixed"), loose(tensor({1.f, 2.f}), "loose", {.validate_shape = false});
  BOOST_TEST(error_text([&] { fixed.assign(tensor({1.f})); }).starts_with("InvalidArgument: "));
  loose.assign(tensor({1.f}));
  BOOST_TEST((loose.value().to_vector<float>() == std::vector<float>{1}));
  loose.assign(tensor({{1.f, 2.f}}));
  BOOST_TEST(loose.value().shape().to_string() == "[1,2]");
  BOOST_TEST(error_text([&] { loose.assign(tensor({1})); }).starts_with("InvalidArgument: "));
  BOOST_TEST(!loose.initializer().defined());
}

BOOST_AUTO_TEST_CASE(are_ops) {
  const Variable v(tensor({1.f, 2.f}), "v");
  Listener listener;
  const RecorderScope scope(&listener);
  (void)v.value();
  v.assign(tensor({1.f, 2.f}));
  v.assign_add(tensor({1.f, 2.f}));
  v.assign_sub(tensor({1.f, 2.f}));
  BOOST_TEST(
      (listener.names == Names{"ReadVariableOp", "AssignVariableOp", "AssignAddVariableOp", "AssignSubVariableOp"}));
}

BOOST_AUTO_TEST_CASE(errors_name_the_users_line) {
  const Variable v(tensor({1.f, 2.f}), "v_line");
  const std::string text = error_text([&] { v.assign(tensor({1, 2})); });
  const std::string line = "[at " + std::string(__FILE__) + ":" + std::to_string(__LINE__ - 1) + "]";
  BOOST_TEST(text.starts_with("InvalidArgument: "), text);
  BOOST_TEST(text.ends_with(line), text);
}

BOOST_AUTO_TEST_CASE(inside_a_symbolic_trace) {
  const Variable outside(tensor({1.f, 2.f}), "outside");
  Listener tracer(true);
  const RecorderScope scope(&tracer);
  BOOST_TEST(outside.value().is_meta());
  BOOST_TEST(outside.value().partial_shape().to_string() == "[2]");
  const std::string text = error_text([] { const Variable inside(tensor(1.F), "inside"); });
  const std::string expected =
      "FailedPrecondition: variable \"inside\": expected to be made before tracing (a trace runs many times, a "
      "variable is "
      "made once), got one made inside a trace; make it outside and use it inside [at ";
  BOOST_TEST(text == expected + __FILE__ + ":" + std::to_string(__LINE__ - 5) + "]");
}

BOOST_AUTO_TEST_CASE(a_graph_scope_makes_its_own) {
  Maker maker;
  VariableMaker* before = set_variable_maker(&maker);
  Listener tracer(true);
  {
    const RecorderScope scope(&tracer);
    const Variable v(meta_tensor(kFloat32, {2, -1}), "k");
    BOOST_TEST(v.name() == "k/made");
    BOOST_TEST(v.shape().to_string() == "[2,?]");
    // Of this thread only.
    std::thread([] {
      Listener other(true);
      const RecorderScope inner(&other);
      expect_error_begins([] { const Variable w(tensor(1.F), "w"); }, "FailedPrecondition: variable \"w\"");
    }).join();
  }
  // Outside the trace it is not asked.
  BOOST_TEST(Variable(tensor(1.F), "outside_of_it").name() == "outside_of_it");
  BOOST_TEST(set_variable_maker(before) == &maker);
}

BOOST_AUTO_TEST_CASE(assigned_memory_of_somebody_else_is_copied) {
  const Variable v(tensor(std::vector<float>(100, 0.F)), "v");
  std::vector<float> memory(100, 1.F);
  v.assign(adopt_tensor(cpu_device(), kFloat32, Shape{100}, memory.data(), nullptr));
  memory.assign(100, 2.F);
  BOOST_TEST((v.value().to_vector<float>() == std::vector<float>(100, 1.F)));
}

BOOST_AUTO_TEST_CASE(updates_from_many_threads_all_count) {
  const Variable v(tensor({0.f}), "v");
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 500; ++k) v.assign_add(tensor({1.f}));
    });
  }
  for (std::thread& t : threads) t.join();
  BOOST_TEST(v.value().item<float>() == 2000.F);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
