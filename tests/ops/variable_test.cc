// Variables under several threads, and updates that change everything or nothing.
#include <atomic>
#include <boost/test/unit_test.hpp>
#include <functional>
#include <thread>

#include "panto/lib/base/error.h"
#include "panto/lib/core/step/step.h"
#include "panto/lib/core/tensor/resource.h"
#include "panto/lib/core/tensor/tensor_alloc.h"
#include "panto/lib/core/tensor/variable.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"

namespace panto {
namespace {

using Floats = std::vector<float>;

Variable filled(int64_t n, float value, const char* name) { return Variable(fill({n}, value), name); }

void run_together(int count, const std::function<void(int)>& body) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) threads.emplace_back([&body, i] { body(i); });
  for (std::thread& t : threads) t.join();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(variables)

BOOST_AUTO_TEST_CASE(updates_of_several_threads_all_count) {
  for (const int64_t n : {3, 100'000}) {  // inside the handle's block, and in a buffer
    const Variable v = filled(n, 0, "v");
    const Tensor one = fill({n}, 1.f);
    run_together(4, [&](int) {
      for (int i = 0; i < 50; ++i) {
        v.assign_add(one);
        v.assign_add(one);
        v.assign_sub(one);
      }
    });
    BOOST_TEST(v.value().to_vector<float>() == Floats(static_cast<size_t>(n), 200.f));
  }
}

BOOST_AUTO_TEST_CASE(readers_see_whole_values) {
  for (const int64_t n : {3, 100'000}) {
    const Variable v = filled(n, 0, "v");
    const Tensor one = fill({n}, 1.f);
    std::atomic<bool> done = false;
    std::atomic<int> torn = 0;
    run_together(3, [&](int thread) {
      if (thread == 0) {
        for (int i = 0; i < 200; ++i) v.assign_add(one);
        done = true;
        return;
      }
      while (!done) {
        const Tensor seen = v.value();
        const auto values = seen.data<float>();
        for (float x : values) torn += x != values[0];
      }
    });
    BOOST_TEST(torn == 0);
  }
}

BOOST_AUTO_TEST_CASE(what_was_read_stays) {
  const Variable v(tensor({1.f, 2.f}), "v");
  const Tensor before = v.value();
  v.assign_add(tensor({1.f, 1.f}));
  v.assign(tensor({9.f, 9.f}));
  BOOST_TEST(before.to_vector<float>() == (Floats{1, 2}));
  const Tensor given = tensor({5.f, 6.f});
  v.assign(given);
  v.assign_add(given);
  BOOST_TEST(given.to_vector<float>() == (Floats{5, 6}));
  BOOST_TEST(v.value().to_vector<float>() == (Floats{10, 12}));
}

BOOST_AUTO_TEST_CASE(update_happens_in_place) {
  const Variable v = filled(1000, 1, "v");
  v.assign_add(fill({1000}, 1.f));  // the value that was assigned may be held by whoever made it
  const void* address = v.value().impl()->data;
  v.assign_add(fill({1000}, 1.f));
  BOOST_TEST(v.value().impl()->data == address);
  const Tensor held = v.value();
  v.assign_add(fill({1000}, 1.f));
  BOOST_TEST(v.value().impl()->data != address);
}

// The same variables in another order on every thread.
BOOST_AUTO_TEST_CASE(optimizers_do_not_deadlock) {
  const Variable a = filled(500, 1, "a");
  const Variable b = filled(500, 1, "b");
  const Variable c = filled(500, 1, "c");
  const Tensor grad = fill({500}, 0.5f);
  run_together(3, [&](int i) {
    const Variable* order[3][3] = {{&a, &b, &c}, {&b, &c, &a}, {&c, &a, &b}};
    for (int k = 0; k < 100; ++k) {
      resource_apply_adam(*order[i][0], *order[i][1], *order[i][2], 0.9f, 0.99f, 0.001f, 0.9f, 0.99f, 1e-7f, grad);
    }
  });
  BOOST_TEST(a.value().numel() == 500);
}

BOOST_AUTO_TEST_CASE(adam_changes_everything_or_nothing) {
  const Variable var = filled(3, 1, "var");
  const Variable m = filled(3, 0, "m");
  const Tensor grad = tensor({1.f, 2.f, 3.f});
  const auto apply = [&](const Tensor& v, const Tensor& gradient) {
    resource_apply_adam(var, m, v, 0.9f, 0.99f, 0.001f, 0.9f, 0.99f, 1e-7f, gradient);
  };
  const Tensor unset = var_handle_op(kFloat32, PartialShape{3}, {.shared_name = "never assigned"});
  const auto is = [](Code code) { return [code](const Error& error) { return error.code() == code; }; };
  BOOST_CHECK_EXCEPTION(apply(unset, grad), Error, is(Code::kFailedPrecondition));
  const Variable other = filled(4, 0, "other");
  BOOST_CHECK_EXCEPTION(apply(other.handle(), grad), Error, is(Code::kInvalidArgument));
  const Variable good = filled(3, 0, "good");
  BOOST_CHECK_EXCEPTION(apply(good.handle(), tensor({1.f})), Error, is(Code::kInvalidArgument));
  BOOST_CHECK_EXCEPTION(apply(m.handle(), grad), Error, is(Code::kInvalidArgument));
  BOOST_TEST(var.value().to_vector<float>() == (Floats{1, 1, 1}));
  BOOST_TEST(m.value().to_vector<float>() == (Floats{0, 0, 0}));
  apply(good.handle(), grad);
  BOOST_TEST(m.value().to_vector<float>()[2] > 0.29f);
}

BOOST_AUTO_TEST_CASE(names_and_managers) {
  const VarHandleOpAttrs named{.container = "box", .shared_name = "n"};
  const Tensor first = var_handle_op(kFloat32, PartialShape{2}, named);
  assign_variable_op(first, tensor({1.f, 2.f}));
  BOOST_TEST(var_is_initialized_op(var_handle_op(kFloat32, PartialShape{2}, named)).item<bool>());
  BOOST_CHECK_THROW(var_handle_op(kInt32, PartialShape{2}, named), Error);
  BOOST_CHECK_THROW(var_handle_op(kFloat32, PartialShape{3}, named), Error);
  // Without a name every eager call makes a new one.
  const Tensor fresh = var_handle_op(kFloat32, PartialShape{2});
  BOOST_TEST(!var_is_initialized_op(fresh).item<bool>());
  BOOST_CHECK_THROW(read_variable_op(fresh, kFloat32), Error);
  BOOST_CHECK_THROW(read_variable_op(first, kInt32), Error);
  {
    Step step = current_step();
    step.resources = std::make_shared<ResourceManager>();
    const StepScope scope(step);
    BOOST_TEST(!var_is_initialized_op(var_handle_op(kFloat32, PartialShape{2}, named)).item<bool>());
    BOOST_TEST(step.resources->list().size() == 1u);
  }
  BOOST_TEST(var_is_initialized_op(var_handle_op(kFloat32, PartialShape{2}, named)).item<bool>());
}

BOOST_AUTO_TEST_CASE(assigned_shapes) {
  const Tensor open = var_handle_op(kFloat32, PartialShape{-1});
  assign_variable_op(open, tensor({1.f, 2.f}));
  assign_variable_op(open, tensor({1.f, 2.f, 3.f}));
  BOOST_CHECK_THROW(assign_variable_op(open, tensor({1.f}), {.validate_shape = true}), Error);
  BOOST_CHECK_THROW(assign_variable_op(open, tensor(1.f)), Error);
  BOOST_CHECK_THROW(assign_variable_op(open, tensor({1})), Error);
  BOOST_CHECK_THROW(assign_add_variable_op(open, tensor({1.f})), Error);
  BOOST_TEST(read_variable_op(open, kFloat32).to_vector<float>() == (Floats{1, 2, 3}));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace panto
