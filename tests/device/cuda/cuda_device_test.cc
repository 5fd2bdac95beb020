// What device/cuda does around its kernels: memory, faults, captured work, several GPUs, drivers that do not do. On
// GPUs that are pretended (pretend_cuda.h), of which number 0 and 3 are in order.
#include <boost/test/unit_test.hpp>
#include <thread>

#include "panto/device/cuda/blas.h"
#include "panto/device/cuda/capture.h"
#include "panto/device/cuda/device.h"
#include "panto/device/cuda/rtc/compile.h"
#include "panto/lib/base/error.h"
#include "panto/lib/core/tensor/device.h"
#include "panto/lib/core/tensor/tensor_alloc.h"
#include "panto/lib/ops/ops.h"
#include "panto/tests/device/cuda/pretend_cuda.h"
#include "panto/tests/gpu.h"

extern "C" void panto_start_backend();

namespace panto {
namespace {

using cuda::CudaDevice;
using cuda::DeviceUse;
using test::pretended_cuda;
using test::PretendedGpu;

constexpr size_t kMiB = size_t{1} << 20, kGiB = size_t{1} << 30;

struct FivePretendedGpus {
  FivePretendedGpus() {
    std::vector<PretendedGpu>& gpus = pretended_cuda().gpus;
    gpus.resize(5);
    gpus[1].answers = false;
    gpus[2].major = 5;
    gpus[4].runs_kernels = false;
    setenv("PANTO_CUDA_GRAPHS", "1", 1);
    panto_start_backend();
  }
};
BOOST_TEST_GLOBAL_FIXTURE(FivePretendedGpus);

PretendedGpu& pretended(int index) { return pretended_cuda().gpus.at(static_cast<size_t>(index)); }
CudaDevice& gpu(int index) { return static_cast<CudaDevice&>(find_device("/gpu:" + std::to_string(index))); }

auto with_code(Code code, const std::string& text = "") {
  return [=](const Error& e) {
    BOOST_TEST_MESSAGE(e.what());
    return e.code() == code && std::string(e.what()).find(text) != std::string::npos;
  };
}

// A kernel of this thread that meets with bad data.
void leave_fault(CudaDevice& device) {
  const DeviceUse stream = device.use();
  Fault* const fault = device.fault();
  test::launch(stream, [fault] { *fault = Fault::kIndexOutOfRange; });
}

void in_a_thread(const std::function<void()>& body) { std::thread(body).join(); }

BOOST_AUTO_TEST_SUITE(cuda_device)

// First: nobody has used one yet.
BOOST_AUTO_TEST_CASE(gpus_that_nobody_uses_are_left_alone) {
  for (int i = 0; i < 5; ++i) BOOST_TEST(!pretended(i).in_use, i);
  CudaDevice& last = gpu(3);
  last.deallocate(last.allocate(100), 100);
  for (int i = 0; i < 5; ++i) BOOST_TEST(pretended(i).in_use == (i == 3), i);
}

BOOST_AUTO_TEST_CASE(one_that_refuses_does_not_keep_the_others_away) {
  std::vector<std::string> names;
  for (const Device* d : devices()) names.push_back(d->name());
  BOOST_TEST(names == std::vector<std::string>({"/device:CPU:0", "/device:GPU:0", "/device:GPU:3", "/device:GPU:4"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(drivers_that_do_not_do_are_named) {
  const std::vector<Device*> before = devices();
  pretended_cuda().count_result = cudaErrorInsufficientDriver;
  pretended_cuda().driver = 11040;
  BOOST_CHECK_EXCEPTION(panto_start_backend(), Error,
                        with_code(Code::kFailedPrecondition, "CUDA 13.0 or newer, got one for CUDA 11.4"));
  pretended_cuda().driver = 0;
  BOOST_CHECK_EXCEPTION(panto_start_backend(), Error, with_code(Code::kFailedPrecondition, "got none"));
  pretended_cuda().count_result = cudaErrorInitializationError;
  BOOST_CHECK_EXCEPTION(panto_start_backend(), Error, with_code(Code::kInternal, "counting GPUs"));
  pretended_cuda().count_result = cudaErrorNoDevice;
  panto_start_backend();
  pretended_cuda().count_result = cudaSuccess;
  BOOST_TEST((devices() == before));
}

BOOST_AUTO_TEST_CASE(a_gpu_on_which_no_kernel_runs_is_not_preferred) {
  BOOST_TEST(gpu(0).works());
  BOOST_TEST(gpu(3).works());
  BOOST_TEST(!gpu(4).works());
  BOOST_TEST(find_device("").name() == "/device:GPU:0");
  set_cpu_device_count(5);
  BOOST_TEST(find_device("/device:*:3").name() == "/device:GPU:3");
  BOOST_TEST(find_device("/device:*:4").name() == "/device:CPU:4");
  BOOST_TEST(find_device("/device:GPU:4").name() == "/device:GPU:4");
}

BOOST_AUTO_TEST_CASE(the_threads_own_choice_of_a_gpu_stays) {
  for (const int chosen : {0, 3}) {
    BOOST_REQUIRE(cudaSetDevice(chosen) == cudaSuccess);
    for (const int used : {0, 3}) {
      CudaDevice& device = gpu(used);
      void* data = device.allocate(12345);
      const std::vector<char> bytes(12345, 'x');
      device.copy_from_host(data, bytes.data(), bytes.size());
      std::vector<char> back(bytes.size());
      device.copy_to_host(back.data(), data, back.size());
      BOOST_TEST((back == bytes));
      device.synchronize();
      device.deallocate(data, bytes.size());
      device.trim();
      int now = -1;
      BOOST_TEST(cudaGetDevice(&now) == cudaSuccess);
      BOOST_TEST(now == chosen);
    }
  }
  BOOST_REQUIRE(cudaSetDevice(0) == cudaSuccess);
}

// The copy comes after the work of the first and before later work of both; nobody waits on the host.
BOOST_AUTO_TEST_CASE(copies_between_gpus_are_direct) {
  const Tensor x = tensor({1.f, 2.f, 3.f}).to(gpu(0));
  auto& cuda = pretended_cuda();
  cuda.stream_waits.clear();
  cuda.direct_copies.clear();
  cuda.host_waits = 0;
  const Tensor y = x.to(gpu(3));
  BOOST_TEST(cuda.host_waits == 0);
  BOOST_TEST((cuda.direct_copies == std::vector<std::pair<int, int>>{{3, 0}}));
  BOOST_TEST((cuda.stream_waits == std::vector<std::pair<int, int>>{{3, 0}, {0, 3}}));
  BOOST_TEST(cuda.events == 0);
  BOOST_TEST(&y.device() == &gpu(3));
  BOOST_TEST(y.cpu().to_vector<float>() == (std::vector<float>{1, 2, 3}), boost::test_tools::per_element());
}

// What went wrong on the first GPU is thrown by who reads the copy on the second: the numbers there are of no use.
BOOST_AUTO_TEST_CASE(faults_follow_a_direct_copy) {
  const Tensor x = tensor({1.f, 2.f, 3.f}).to(gpu(0));
  leave_fault(gpu(0));
  const Tensor y = x.to(gpu(3));
  BOOST_CHECK_EXCEPTION(static_cast<void>(y.cpu()), Error, with_code(Code::kInvalidArgument));
  BOOST_TEST(y.cpu().to_vector<float>() == (std::vector<float>{1, 2, 3}), boost::test_tools::per_element());
  gpu(0).synchronize();
  // Also where another thread reads it.
  leave_fault(gpu(0));
  const Tensor z = x.to(gpu(3));
  in_a_thread([&] { BOOST_CHECK_EXCEPTION(static_cast<void>(z.cpu()), Error, with_code(Code::kInvalidArgument)); });
  gpu(0).synchronize();
}

BOOST_AUTO_TEST_CASE(events) {
  const std::shared_ptr<DeviceEvent> event = gpu(0).record_event();
  BOOST_TEST(event->is_done());
  pretended_cuda().stream_waits.clear();
  pretended_cuda().host_waits = 0;
  gpu(3).wait_for(*event);
  BOOST_TEST(pretended_cuda().host_waits == 0);
  BOOST_TEST((pretended_cuda().stream_waits == std::vector<std::pair<int, int>>{{3, 0}}));
  cpu_device().wait_for(*event);  // a device without a stream: its caller waits
  BOOST_TEST(pretended_cuda().host_waits == 1);
}

BOOST_AUTO_TEST_CASE(a_start_that_failed_is_tried_again) {
  pretended_cuda().refused_streams = 1;
  auto* device = new CudaDevice(3);  // devices are never destroyed
  BOOST_CHECK_EXCEPTION(device->synchronize(), Error, with_code(Code::kResourceExhausted));
  device->synchronize();
}

// 80 GiB where 65 are wanted is more than there is.
BOOST_AUTO_TEST_CASE(large_blocks_are_as_large_as_asked_for_where_memory_is_short) {
  CudaDevice& device = gpu(0);
  device.trim();
  const size_t before = pretended(0).used;
  pretended(0).memory = before + 70 * kGiB;
  void* data = device.allocate(65 * kGiB);
  BOOST_TEST(pretended(0).used == before + 65 * kGiB);
  BOOST_TEST(device.memory_stats().bytes_in_use >= static_cast<int64_t>(65 * kGiB));
  BOOST_CHECK_EXCEPTION(device.allocate(6 * kGiB), Error, with_code(Code::kResourceExhausted));
  device.deallocate(data, 65 * kGiB);
  // It is no block of its class, so nobody else gets it as one.
  BOOST_TEST(pretended(0).used == before);
  pretended(0).memory = before + 90 * kGiB;
  data = device.allocate(80 * kGiB);
  BOOST_TEST(pretended(0).used == before + 80 * kGiB);
  device.deallocate(data, 80 * kGiB);
  // What is kept is given back for what is asked for.
  data = device.allocate(kGiB + 1);
  BOOST_TEST(pretended(0).used == before + 80 * kGiB + kGiB + kGiB / 4);
  device.deallocate(data, kGiB + 1);
  data = device.allocate(90 * kGiB);
  BOOST_TEST(pretended(0).used == before + 90 * kGiB);
  device.deallocate(data, 90 * kGiB);
  device.trim();
  BOOST_TEST(pretended(0).used == before);
  BOOST_TEST(device.memory_stats().bytes_reserved == static_cast<int64_t>(before));
  pretended(0).memory = kGiB;
}

BOOST_AUTO_TEST_CASE(no_more_is_kept_than_the_limit_says) {
  CudaDevice& device = gpu(0);
  device.trim();
  const size_t before = pretended(0).used;
  const auto use = [&](size_t bytes) { device.deallocate(device.allocate(bytes), bytes); };
  use(8 * kMiB);
  use(4 * kMiB);
  BOOST_TEST(pretended(0).used == before + 12 * kMiB);
  device.set_cache_limit(10 * kMiB);
  BOOST_TEST(pretended(0).used == before);
  use(8 * kMiB);
  use(4 * kMiB);
  BOOST_TEST(pretended(0).used == before + 8 * kMiB);
  device.set_cache_limit(0);
  use(8 * kMiB);
  BOOST_TEST(pretended(0).used == before);
  BOOST_CHECK_EXCEPTION(device.set_cache_limit(-1), Error, with_code(Code::kInvalidArgument));
  device.set_cache_limit(INT64_MAX);
}

// The kept memory is given back for cuBLAS, and a failed start leaves nothing behind.
BOOST_AUTO_TEST_CASE(products_find_room) {
  CudaDevice& device = gpu(0);
  device.trim();
  const auto multiply = [&] {
    const float two = 2, three = 3;
    float product = 0;
    cuda::multiply(device, {.m = 1, .n = 1, .k = 1, .lda = 1, .ldb = 1, .ldc = 1}, &two, &three, &product);
    BOOST_TEST(product == 6);
  };
  const size_t before = pretended(0).used;
  pretended(0).memory = before + 10 * kMiB;  // for a handle, but no workspace
  const int handles = pretended_cuda().handles;
  for (int i = 0; i < 2; ++i) {
    BOOST_CHECK_EXCEPTION(multiply(), Error, with_code(Code::kResourceExhausted));
    BOOST_TEST(pretended_cuda().handles == handles);
    BOOST_TEST(pretended_cuda().workspace == nullptr);
  }
  pretended(0).memory = before + 40 * kMiB;
  device.deallocate(device.allocate(40 * kMiB), 40 * kMiB);  // and is kept
  const int products = pretended_cuda().products;
  multiply();
  BOOST_TEST(pretended_cuda().products == products + 1);
  BOOST_TEST(pretended_cuda().workspace != nullptr);
  BOOST_TEST(pretended_cuda().workspace_bytes == 32 * kMiB);
  pretended(0).memory = kGiB;
}

BOOST_AUTO_TEST_CASE(faults_reach_the_thread_that_caused_them) {
  CudaDevice& device = gpu(0);
  device.synchronize();
  leave_fault(device);
  in_a_thread([&] { device.synchronize(); });
  BOOST_CHECK_EXCEPTION(device.synchronize(), Error, with_code(Code::kInvalidArgument));
  device.synchronize();
  // Those of threads that have ended reach who waits next, once.
  for (int i = 0; i < 3000; ++i) in_a_thread([&] { leave_fault(device); });
  BOOST_CHECK_EXCEPTION(device.synchronize(), Error, with_code(Code::kInvalidArgument));
  device.synchronize();
  in_a_thread([&] { device.synchronize(); });
  leave_fault(gpu(3));
  device.synchronize();
  BOOST_CHECK_EXCEPTION(gpu(3).synchronize(), Error, with_code(Code::kInvalidArgument));
}

BOOST_AUTO_TEST_CASE(faults_reach_who_reads_what_the_thread_made) {
  CudaDevice& device = gpu(0);
  std::vector<float> host(100);
  const size_t bytes = host.size() * sizeof(float);
  auto* mine = static_cast<float*>(device.allocate(bytes));
  leave_fault(device);
  in_a_thread([&] {
    void* own = device.allocate(bytes);
    device.copy_to_host(host.data(), own, bytes);
    BOOST_CHECK_EXCEPTION(device.copy_to_host(host.data(), mine + 10, sizeof(float)), Error,
                          with_code(Code::kInvalidArgument));
    device.copy_to_host(host.data(), mine, bytes);
    device.deallocate(own, bytes);
  });
  device.synchronize();
  device.deallocate(mine, bytes);
}

BOOST_AUTO_TEST_CASE(faults_in_captured_work_reach_who_launched_it) {
  CudaDevice& device = gpu(0);
  const int64_t before = device.memory_stats().bytes_in_use;
  {
    const std::unique_ptr<CapturedWork> work = device.capture([&] { leave_fault(device); });
    BOOST_REQUIRE(work != nullptr);
    device.synchronize();
    in_a_thread([&] {
      work->launch();
      BOOST_CHECK_EXCEPTION(device.synchronize(), Error, with_code(Code::kInvalidArgument));
      device.synchronize();
    });
    device.synchronize();
    work->launch();
    BOOST_CHECK_EXCEPTION(device.synchronize(), Error, with_code(Code::kInvalidArgument));
  }
  BOOST_TEST(device.memory_stats().bytes_in_use == before);
}

BOOST_AUTO_TEST_CASE(what_cannot_be_made_ready_gives_its_memory_back) {
  CudaDevice& device = gpu(0);
  const int64_t before = device.memory_stats().bytes_in_use;
  pretended_cuda().graph_result = cudaErrorMemoryAllocation;
  const auto capture = [&] {
    return device.capture([&] {
      device.deallocate(device.allocate(kMiB), kMiB);
      leave_fault(device);
    });
  };
  BOOST_CHECK_EXCEPTION(capture(), Error, with_code(Code::kResourceExhausted));
  pretended_cuda().graph_result = cudaSuccess;
  BOOST_TEST(device.memory_stats().bytes_in_use == before);
  BOOST_TEST(capture() != nullptr);
  BOOST_TEST(device.memory_stats().bytes_in_use == before);
}

constexpr const char* kProgram = "extern \"C\" __global__ void nothing() {}";

// One that NVRTC does not know yet gets what the driver compiles for it.
BOOST_AUTO_TEST_CASE(programs_are_compiled_for_gpus_of_today_and_tomorrow) {
  BOOST_TEST(cuda::compile(kProgram, 90)
                 .starts_with("\x7f"
                              "ELF"));
  for (const int architecture : {92, 999}) {
    const std::string text = cuda::compile(kProgram, architecture);
    BOOST_TEST(text.find(".target sm_") != std::string::npos, architecture);
    BOOST_TEST(text.find("nothing") != std::string::npos, architecture);
  }
  BOOST_CHECK_EXCEPTION(cuda::compile(kProgram, 20), Error, with_code(Code::kUnimplemented, "capability 2.0"));
}

BOOST_AUTO_TEST_CASE(programs_find_room) {
  CudaDevice& device = gpu(0);
  const DeviceUse use = device.use();
  device.trim();
  const size_t before = pretended(0).used;
  device.deallocate(device.allocate(kMiB), kMiB);
  pretended_cuda().refused_libraries = 1;
  BOOST_TEST(cuda::compiled_kernel(device, kProgram, "nothing") != nullptr);
  BOOST_TEST(pretended(0).used == before);
  pretended_cuda().refused_libraries = 2;
  const std::string other = std::string(kProgram) + "\n";
  BOOST_CHECK_EXCEPTION(cuda::compiled_kernel(device, other, "nothing"), Error, with_code(Code::kResourceExhausted));
  BOOST_TEST(cuda::compiled_kernel(device, other, "nothing") != nullptr);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
