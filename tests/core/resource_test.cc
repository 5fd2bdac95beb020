#include "panto/lib/core/tensor/resource.h"

#include <thread>

#include "panto/lib/core/tensor/tensor_alloc.h"
#include "panto/lib/core/tensor/variable.h"
#include "panto/tests/expect.h"

namespace panto {
namespace {

class Counter final : public Resource {
 public:
  Counter() : Resource("", "c") {}
  std::string_view kind() const noexcept override { return "Counter"; }
};

const float* bytes_of(const Tensor& t) { return static_cast<const float*>(t.impl()->data); }

void add_one(VariableResource& v) {
  v.update(cpu_device(), [](Tensor& value) {
    for (int64_t i = 0; i < value.numel(); ++i) mutable_data<float>(value)[i] += 1;
  });
}

BOOST_AUTO_TEST_SUITE(resources)

BOOST_AUTO_TEST_CASE(reading_too_early) {
  VariableResource v("", "k", kFloat32, {2});
  BOOST_TEST(!v.initialized());
  const char* text = "FailedPrecondition: variable \"k\": expected an initialized one, got none assigned yet";
  expect_error([&] { (void)v.read(); }, text);
  expect_error([&] { add_one(v); }, text);
}

BOOST_AUTO_TEST_CASE(values_that_do_not_fit) {
  VariableResource v("", "k", kFloat32, {2, -1});
  v.assign(tensor({{1.f}, {2.f}}));
  v.assign(tensor({{1.f, 2.f}, {3.f, 4.f}}));
  expect_error([&] { v.assign(tensor({{1}, {2}})); },
               "InvalidArgument: dtype: expected the variable's float32, got int32 [variable \"k\"]");
  expect_error([&] { v.assign(tensor({1.f})); },
               "InvalidArgument: value: expected the variable's shape [2,?], got [1] [variable \"k\"]");
  expect_error([&] { v.assign(meta_tensor(kFloat32, {2, -1})); },
               "InvalidArgument: variable \"k\": expected a real tensor, got symbolic float32[2,?]");
  BOOST_TEST(v.read().shape().to_string() == "[2,2]");
}

BOOST_AUTO_TEST_CASE(updates_are_in_place_when_nobody_looks) {
  for (size_t n : {size_t{4}, size_t{1000}}) {
    VariableResource v("", "k", kFloat32, {static_cast<int64_t>(n)});
    v.assign(tensor(std::vector<float>(n, 1.F)));
    const float* before = nullptr;
    v.update(cpu_device(), [&](Tensor& value) { before = bytes_of(value); });
    add_one(v);
    v.update(cpu_device(), [&](Tensor& value) { BOOST_TEST(bytes_of(value) == before); });
    const Tensor held = v.read();
    add_one(v);
    // What was read stays what it was.
    BOOST_TEST((held.to_vector<float>() == std::vector<float>(n, 2.F)));
    BOOST_TEST((v.read().to_vector<float>() == std::vector<float>(n, 3.F)));
  }
}

BOOST_AUTO_TEST_CASE(the_assigned_tensor_does_not_change_with_the_variable) {
  const Tensor mine = tensor({1.f, 2.f});
  VariableResource v("", "k", kFloat32, {2});
  v.assign(mine);
  add_one(v);
  BOOST_TEST((mine.to_vector<float>() == std::vector<float>{1, 2}));
}

BOOST_AUTO_TEST_CASE(an_id_never_names_two_values) {
  VariableResource v("", "k", kFloat32, {});
  v.assign(tensor(1.F));
  const int64_t first = v.read().id();
  add_one(v);
  BOOST_TEST(v.read().id() != first);
}

BOOST_AUTO_TEST_CASE(an_update_that_throws_first_changes_nothing) {
  VariableResource v("", "k", kFloat32, {2});
  v.assign(tensor({1.f, 2.f}));
  expect_error([&] { v.update(cpu_device(), [](Tensor&) { fail(Code::kInvalidArgument, "no"); }); },
               "InvalidArgument: no");
  BOOST_TEST((v.read().to_vector<float>() == std::vector<float>{1, 2}));
}

BOOST_AUTO_TEST_CASE(every_read_sees_one_whole_value) {
  VariableResource v("", "k", kFloat32, {500});
  v.assign(tensor(std::vector<float>(500, 0.F)));
  std::thread writer([&] {
    for (int i = 0; i < 500; ++i) add_one(v);
  });
  bool whole = true;
  float last = 0;
  while (last < 500) {
    const std::vector<float> seen = v.read().to_vector<float>();
    whole = whole && seen == std::vector<float>(500, seen[0]) && seen[0] >= last;
    last = seen[0];
  }
  writer.join();
  BOOST_TEST(whole);
}

BOOST_AUTO_TEST_CASE(handles) {
  const auto v = std::make_shared<VariableResource>("", "k", kFloat32, PartialShape{2});
  BOOST_TEST(&variable_of(resource_tensor(v)) == v.get());
  expect_error([] { variable_of(tensor(1.F)); },
               "InvalidArgument: variable: expected a handle (a scalar resource tensor), got a float32 tensor");
  expect_error([] { variable_of(allocate_tensor(cpu_device(), kResource, Shape{2})); },
               "InvalidArgument: variable: expected a handle (a scalar resource tensor), got shape [2]");
  expect_error([] { variable_of(resource_tensor(nullptr)); },
               "InvalidArgument: variable: expected a handle of a Variable, got an empty handle");
  expect_error([] { variable_of(resource_tensor(std::make_shared<Counter>())); },
               "InvalidArgument: variable: expected a handle of a Variable, got a Counter named \"c\"");
  expect_error([] { variable_of(meta_tensor(kResource, {})); },
               "InvalidArgument: variable: expected a handle with a value, got a symbolic one");
}

BOOST_AUTO_TEST_CASE(a_manager_finds_by_container_and_name) {
  ResourceManager manager;
  int made = 0;
  const auto make = [](void* count) -> ResourceHandle {
    ++*static_cast<int*>(count);
    return std::make_shared<Counter>();
  };
  const ResourceHandle a = manager.lookup_or_create("", "a", make, &made);
  BOOST_TEST(manager.lookup_or_create("", "a", make, &made) == a);
  BOOST_TEST(made == 1);
  BOOST_TEST(manager.lookup_or_create("box", "a", make, &made) != a);
  BOOST_TEST(manager.find("", "a") == a);
  BOOST_TEST(manager.find("", "b") == nullptr);
  BOOST_TEST(manager.list().size() == 2U);
  manager.clear("box");
  BOOST_TEST(manager.find("box", "a") == nullptr);
  BOOST_TEST(manager.find("", "a") == a);
}

BOOST_AUTO_TEST_CASE(variables_have_unique_names) {
  const Variable a(tensor(1.F), "unique_name_test");
  const Variable b(tensor(1.F), "unique_name_test");
  const Variable c(tensor(1.F), "unique_name_test_1");
  const Variable d(tensor(1.F), "unique_name_test");
  BOOST_TEST(a.name() == "unique_name_test");
  BOOST_TEST(b.name() == "unique_name_test_1");
  BOOST_TEST(c.name() == "unique_name_test_1_1");
  BOOST_TEST(d.name() == "unique_name_test_2");
  BOOST_TEST(variable_of(a.handle()).name() == a.name());
  BOOST_TEST(a.shape().to_string() == "[]");
}

BOOST_AUTO_TEST_CASE(copies_of_a_variable_are_one_variable) {
  const Variable a(tensor({1.f, 2.f}));
  const Variable b = a;
  add_one(variable_of(a.handle()));
  BOOST_TEST((variable_of(b.handle()).read().to_vector<float>() == std::vector<float>{2, 3}));
  expect_error([] { (void)Variable().value(); },
               "FailedPrecondition: variable: expected one with a value, got a default-constructed handle");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
