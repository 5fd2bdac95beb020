#include "panto/lib/core/tensor/device.h"

#include <dlfcn.h>

#include <atomic>
#include <barrier>
#include <thread>
#include <vector>

#include "panto/device/cpu/device.h"
#include "panto/lib/core/call/scopes.h"
#include "panto/lib/core/op/op.h"
#include "panto/lib/core/tensor/tensor.h"
#include "panto/lib/core/tensor/tensor_alloc.h"
#include "panto/lib/ops/ops.h"
#include "panto/tests/expect.h"

namespace panto {
namespace {

std::string canonical(std::string_view name) { return DeviceSpec::parse(name).to_string(); }

// Under Address sanitizer they are not, so that it sees each one's life.
boost::test_tools::assertion_result blocks_are_used_again(boost::unit_test::test_unit_id) {
  boost::test_tools::assertion_result result(dlsym(RTLD_DEFAULT, "__asan_init") == nullptr);
  if (!result) result.message() << "no block is used again under Address sanitizer";
  return result;
}

BOOST_AUTO_TEST_SUITE(device)

BOOST_AUTO_TEST_CASE(names_that_are_right) {
  const std::pair<const char*, const char*> table[] = {
      {"", ""},
      {"/", ""},
      {"/job:localhost/replica:0/task:0/device:GPU:0", "/job:localhost/replica:0/task:0/device:GPU:0"},
      {"/device:GPU:0/task:1/job:worker", "/job:worker/task:1/device:GPU:0"},  // any order
      {"/job:worker/task:1", "/job:worker/task:1"},
      {"/job:a_1B", "/job:a_1B"},
      {"/job:*/replica:*/task:*/device:*", ""},
      {"/job:*/task:3", "/task:3"},
      {"/device:CPU:*", "/device:CPU:*"},
      {"/device:CPU", "/device:CPU:*"},
      {"/device:*:2", "/device:*:2"},
      {"/device:XLA_CPU:1", "/device:XLA_CPU:1"},
      {"/cpu:0", "/device:CPU:0"},
      {"/CPU:0", "/device:CPU:0"},
      {"/gpu:1", "/device:GPU:1"},
      {"/GPU:12", "/device:GPU:12"},
      {"/gpu:*", "/device:GPU:*"},
      {"/job:w/gpu:1", "/job:w/device:GPU:1"},
      {"cpu:0", "/device:CPU:0"},
      {"GPU:3", "/device:GPU:3"},
      {"META:0", "/device:META:0"},
  };
  for (const auto& [name, expected] : table) {
    BOOST_TEST(canonical(name) == expected, name);
    BOOST_TEST(canonical(expected) == expected, expected);
  }
}

BOOST_AUTO_TEST_CASE(names_that_are_wrong) {
  const char* table[] = {"cpu",
                         "CPU",
                         "/cpu",
                         "/device:",
                         "/device:CPU:",
                         "/device:CPU:-1",
                         "/device:CPU:1x",
                         "/device:cpu:0/",
                         "//cpu:0",
                         "/job:",
                         "/job:1a",
                         "/job:a-b",
                         "/task:",
                         "/task:-1",
                         "/task:+1",
                         "/task:1.5",
                         "/task:99999999999",
                         "/Cpu:0",
                         "/tpu:0",
                         "cpu:0/task:1",
                         "job:a",
                         " /cpu:0",
                         "/cpu:0 ",
                         "/replica:one",
                         "/device:\xc3\xa9:0",
                         "/frob:1"};
  for (const char* name : table) {
    expect_error([&] { DeviceSpec::parse(name); },
                 "InvalidArgument: device name: expected a form like \"/job:localhost/replica:0/task:0/device:GPU:0\", "
                 "\"/device:CPU:*\" or \"/gpu:1\", got \"" +
                     std::string(name) + "\"");
  }
}

BOOST_AUTO_TEST_CASE(matching) {
  Device& cpu = cpu_device();
  for (const char* name :
       {"", "/cpu:0", "/cpu:*", "/device:*:0", "/job:localhost", "/replica:0/task:0", "/device:CPU"}) {
    BOOST_TEST(DeviceSpec::parse(name).matches(cpu), name);
  }
  for (const char* name : {"/gpu:0", "/cpu:1", "/job:worker", "/task:1", "/replica:2", "/device:XLA_CPU:0"}) {
    BOOST_TEST(!DeviceSpec::parse(name).matches(cpu), name);
  }
}

BOOST_AUTO_TEST_CASE(faulty_kinds_are_reported_when_ops_are_linked) {
  const DeviceKindEntry second({.name = "CPU"});
  expect_error([] { link_ops(); }, "AlreadyExists: device kind: expected a new name, got CPU a second time");
  const DeviceKindEntry malformed({.name = "my device"});
  expect_error([] { link_ops(); },
               "InvalidArgument: device kind: expected a name of letters, digits and '_', got 'my device'");
  BOOST_CHECK_NO_THROW(link_ops());
  BOOST_CHECK(find_device_kind("my device") == DeviceKind::kUnknown);
  BOOST_TEST(device_kind_name(find_device_kind("GPU")) == "GPU");
}

BOOST_AUTO_TEST_CASE(an_inner_name_refines_an_outer_one) {
  const auto refined = [](const char* inner, const char* outer) {
    return DeviceSpec::parse(inner).refined_from(DeviceSpec::parse(outer)).to_string();
  };
  BOOST_TEST(refined("", "/gpu:1") == "/device:GPU:1");
  BOOST_TEST(refined("/cpu:0", "/gpu:1") == "/device:CPU:0");
  BOOST_TEST(refined("/cpu:0", "/job:worker/task:1/gpu:1") == "/job:worker/task:1/device:CPU:0");
  BOOST_TEST(refined("/device:GPU", "/gpu:1") == "/device:GPU:1");
  BOOST_TEST(refined("/device:GPU", "/cpu:3") == "/device:GPU:*");
  BOOST_TEST(refined("/job:ps", "/job:worker/cpu:0") == "/job:ps/device:CPU:0");
}

BOOST_AUTO_TEST_CASE(finding) {
  set_cpu_device_count(3);
  BOOST_TEST(&find_device("/cpu:0") == &cpu_device());
  BOOST_TEST(find_device("cpu:2").name() == "/device:CPU:2");
  BOOST_TEST(find_device("/job:localhost/replica:0/task:0/device:CPU:1").name() == "/device:CPU:1");
  BOOST_TEST(&find_device("/device:META:0") == &meta_device());
  BOOST_TEST(devices().front() == &cpu_device());
  for (Device* d : devices()) BOOST_TEST(!d->is_meta());
  expect_error_begins([] { find_device("/cpu:99"); },
                      "NotFound: device: expected one of /device:CPU:0, /device:CPU:1, /device:CPU:2");
  const std::string text = error_text([] { find_device("/cpu:99"); });
  BOOST_TEST(text.ends_with(", got \"/cpu:99\""), text);
  // Counts only grow.
  set_cpu_device_count(1);
  BOOST_TEST(find_device("/cpu:2").index() == 2);
  expect_error([] { set_cpu_device_count(0); }, "InvalidArgument: CPU devices: expected a number in [1, 64], got 0");
  expect_error([] { set_cpu_device_count(65); }, "InvalidArgument: CPU devices: expected a number in [1, 64], got 65");
  expect_error([] { add_device(&cpu_device()); },
               "AlreadyExists: device: expected a new name, got /device:CPU:0 a second time");
}

BOOST_AUTO_TEST_CASE(scopes_nest_and_end) {
  set_cpu_device_count(3);
  BOOST_TEST(current_device_spec().to_string().empty());
  {
    const DeviceScope outer("/cpu:1");
    BOOST_TEST(tensor(1.F).device().name() == "/device:CPU:1");
    {
      const DeviceScope inner("/cpu:2");
      BOOST_TEST(tensor(1.F).device().name() == "/device:CPU:2");
      // Another thread knows nothing of it.
      std::thread([] { BOOST_TEST(tensor(1.F).device().name() == "/device:CPU:0"); }).join();
    }
    {
      const DeviceScope same("");
      BOOST_TEST(current_device_spec().to_string() == "/device:CPU:1");
    }
    expect_error_begins([] { const DeviceScope wrong("nonsense"); }, "InvalidArgument: device name: ");
    BOOST_TEST(current_device_spec().to_string() == "/device:CPU:1");
  }
  BOOST_TEST(current_device_spec().to_string().empty());
  BOOST_TEST(tensor(1.F).device().name() == "/device:CPU:0");
}

BOOST_AUTO_TEST_CASE(a_scope_for_another_machine_is_no_error_by_itself) {
  const DeviceScope elsewhere("/job:worker/task:7/gpu:0");
  BOOST_TEST(current_device_spec().to_string() == "/job:worker/task:7/device:GPU:0");
}

BOOST_AUTO_TEST_CASE(cpu_memory) {
  Device& cpu = cpu_device();
  BOOST_TEST(cpu.host_memory());
  BOOST_TEST(!cpu.description().empty());
  const MemoryStats before = cpu.memory_stats();
  for (size_t bytes : {size_t{1}, size_t{511}, size_t{512}, size_t{513}, size_t{100000}, size_t{5} << 20}) {
    void* data = cpu.allocate(bytes);
    BOOST_TEST(reinterpret_cast<uintptr_t>(data) % 64 == 0U);
    BOOST_TEST(cpu.memory_stats().bytes_in_use == before.bytes_in_use + static_cast<int64_t>(bytes));
    static_cast<char*>(data)[bytes - 1] = 1;
    cpu.deallocate(data, bytes);
  }
  BOOST_TEST(cpu.memory_stats().bytes_in_use == before.bytes_in_use);
  // More than the process ever had.
  const int64_t more = before.peak_bytes - before.bytes_in_use + (5 << 20);
  void* data = cpu.allocate(static_cast<size_t>(more));
  cpu.deallocate(data, static_cast<size_t>(more));
  BOOST_TEST(cpu.memory_stats().peak_bytes == before.bytes_in_use + more);
}

BOOST_AUTO_TEST_CASE(freed_blocks_are_used_again, *boost::unit_test::precondition(blocks_are_used_again)) {
  Device& cpu = cpu_device();
  void* first = cpu.allocate(3 << 20);
  cpu.deallocate(first, 3 << 20);
  BOOST_TEST(cpu.memory_stats().bytes_reserved >= cpu.memory_stats().bytes_in_use + (3 << 20));
  void* second = cpu.allocate((3 << 20) - 100);  // of the same size class
  BOOST_TEST(second == first);
  cpu.deallocate(second, (3 << 20) - 100);
  cpu.trim();
  BOOST_TEST(cpu.memory_stats().bytes_reserved == cpu.memory_stats().bytes_in_use);
}

BOOST_AUTO_TEST_CASE(kept_memory_has_a_limit, *boost::unit_test::precondition(blocks_are_used_again)) {
  Device& cpu = cpu_device();
  const auto kept = [&] { return cpu.memory_stats().bytes_reserved - cpu.memory_stats().bytes_in_use; };
  const auto use = [&](size_t bytes) { cpu.deallocate(cpu.allocate(bytes), bytes); };
  use(8 << 20);
  BOOST_TEST(kept() >= 8 << 20);
  cpu.set_cache_limit(4 << 20);  // what is beyond it goes at once
  BOOST_TEST(kept() == 0);
  use(8 << 20);
  BOOST_TEST(kept() == 0);
  use(1 << 20);
  BOOST_TEST(kept() >= 1 << 20);
  cpu.set_cache_limit(0);
  use(64);
  BOOST_TEST(kept() == 0);
  expect_error([&] { cpu.set_cache_limit(-1); },
               "InvalidArgument: limit of kept memory: expected at least 0 bytes, got -1");
  expect_error([] { meta_device().set_cache_limit(0); },
               "Unimplemented: limit of kept memory: expected a device that has one, got /device:META:0");
  cpu.set_cache_limit(int64_t{1} << 30);
}

BOOST_AUTO_TEST_CASE(more_memory_than_there_is) {
  const std::string text = error_text([] { cpu_device().allocate(size_t{1} << 60); });
  BOOST_TEST(
      text.starts_with("ResourceExhausted: memory: expected room for 1152921504606846976 bytes on /device:CPU:0"),
      text);
  expect_error_begins(
      [] { allocate_tensor(cpu_device(), kFloat64, Shape{int64_t{1} << 61}); },
      "ResourceExhausted: memory: expected fewer than 2^63 bytes, got 2305843009213693952 elements of float64");
}

BOOST_AUTO_TEST_CASE(memory_limits) {
  Device& device = cpu_device();
  const int64_t machine = device.memory_stats().bytes_limit;
  BOOST_TEST(machine > 0);
  expect_error_begins([&] { device.allocate(static_cast<size_t>(machine) + 1); }, "ResourceExhausted: memory: ");

  const int64_t before = device.memory_stats().bytes_in_use, limit = before + 1'000'000;
  const auto refusal = [&](int64_t bytes, int64_t in_use) {
    return "ResourceExhausted: memory: expected room for " + std::to_string(bytes) +
           " bytes on /device:CPU:0, got none (" + std::to_string(in_use) + " of " + std::to_string(limit) +
           " bytes are in use)";
  };
  cpu::set_memory_limit(limit);
  BOOST_TEST(device.memory_stats().bytes_limit == limit);
  void* most = device.allocate(999'000);
  expect_error([&] { device.allocate(1'001); }, refusal(1'001, before + 999'000));
  void* rest = device.allocate(1'000);
  expect_error([&] { device.allocate(1); }, refusal(1, limit));
  device.deallocate(most, 999'000);
  device.deallocate(rest, 1'000);
  BOOST_TEST(device.memory_stats().bytes_in_use == before);
  // Ops as well: few bytes that ask for many.
  expect_error_begins([] { fill({int64_t{1} << 36}, 1.F); }, "ResourceExhausted: ");
  expect_error_begins([] { fill({1 << 20}, 1.F); }, "ResourceExhausted: ");
  BOOST_TEST(device.memory_stats().bytes_in_use == before);

  expect_error([&] { cpu::set_memory_limit(-1); }, "InvalidArgument: memory limit: expected at least 0 bytes, got -1");
  BOOST_TEST(device.memory_stats().bytes_limit == limit);
  cpu::set_memory_limit(0);
  BOOST_TEST(device.memory_stats().bytes_limit == machine);
}

// Threads that allocate at once do not get more than the limit between them.
BOOST_AUTO_TEST_CASE(a_memory_limit_holds_for_all_threads) {
  Device& device = cpu_device();
  constexpr size_t kBlock = 10'000;
  const int64_t before = device.memory_stats().bytes_in_use;
  cpu::set_memory_limit(before + 25 * static_cast<int64_t>(kBlock));
  std::atomic<int> made{0};
  std::barrier all(8);
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      std::vector<void*> blocks;
      for (int k = 0; k < 10; ++k) {
        try {
          blocks.push_back(device.allocate(kBlock));
        } catch (const Error&) {
          continue;
        }
        ++made;
      }
      all.arrive_and_wait();  // nothing is freed before all have tried
      for (void* block : blocks) device.deallocate(block, kBlock);
    });
  }
  for (std::thread& t : threads) t.join();
  cpu::set_memory_limit(0);
  BOOST_TEST(made == 25);
  BOOST_TEST(device.memory_stats().bytes_in_use == before);
}

BOOST_AUTO_TEST_CASE(meta_has_no_memory) {
  BOOST_TEST(meta_device().name() == "/device:META:0");
  BOOST_TEST(meta_device().is_meta());
  expect_error([] { meta_device().allocate(1); },
               "Internal: memory: expected a device that has some, got /device:META:0");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
