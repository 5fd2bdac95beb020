// A GPU made of the CPU: what it is asked for are CPU kernels on addresses, done at once or, while a thread captures,
// kept. So what captures is tested without a GPU, and sanitized: captured work has nothing but addresses, and memory
// that was given back is gone.
#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "panto/device/cuda/fused/fused_launches.h"
#include "panto/device/fault.h"
#include "panto/device/state.h"
#include "panto/lib/base/error.h"
#include "panto/lib/core/call/dispatch.h"
#include "panto/lib/core/op/kernel.h"
#include "panto/lib/core/op/op.h"
#include "panto/lib/core/tensor/device.h"
#include "panto/lib/core/tensor/tensor_alloc.h"
#include "panto/lib/core/tensor/variable.h"
#include "panto/lib/ops/create.h"
#include "panto/lib/ops/ops.h"
#include "panto/lib/ops/products.h"
#include "panto/tests/gpu.h"
#include "panto/trace/trace.h"

namespace panto {
namespace {

using Work = std::function<void()>;

// What a GPU may refuse: memory for what is captured, making it ready, launching it.
enum class Refusal : uint8_t { kNone, kMemory, kCapture, kLaunch };

class PretendGpu final : public Device {
 public:
  PretendGpu() : Device(find_device_kind("GPU"), 0) {}

  std::string description() const override { return "a CPU that pretends"; }
  bool host_memory() const noexcept override { return false; }

  void* allocate(size_t bytes) override {
    if (here() != nullptr) refuse_if(Refusal::kMemory);
    if (Capture* c = here(); c != nullptr && !c->given_back[bytes].empty()) {
      void* data = c->given_back[bytes].back();
      c->given_back[bytes].pop_back();
      return data;
    }
    void* data = std::aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (data == nullptr) throw std::bad_alloc();
    std::memset(data, 0xff, bytes);  // NaN
    if (Capture* c = here()) c->blocks.insert(data);
    const std::lock_guard lock(mutex_);
    stats_.bytes_in_use += static_cast<int64_t>(bytes);
    return data;
  }
  void deallocate(void* data, size_t bytes) noexcept override {
    if (Capture* c = here(); c != nullptr && c->blocks.contains(data)) return c->given_back[bytes].push_back(data);
    std::free(data);
    const std::lock_guard lock(mutex_);
    stats_.bytes_in_use -= static_cast<int64_t>(bytes);
  }
  MemoryStats memory_stats() const override {
    const std::lock_guard lock(mutex_);
    return stats_;
  }

  void copy_to_host(void* host, const void* data, size_t bytes) override {
    synchronize();
    const std::lock_guard lock(mutex_);
    std::memcpy(host, data, bytes);
  }
  void copy_from_host(void* data, const void* host, size_t bytes) override {
    refuse();
    const std::lock_guard lock(mutex_);
    std::memcpy(data, host, bytes);
  }
  void copy_within(void* to, const void* from, size_t bytes) override {
    ask([=] { std::memcpy(to, from, bytes); });
  }
  void synchronize() override {
    refuse();
    const std::lock_guard lock(mutex_);
    if (fault_ != nullptr) std::rethrow_exception(std::exchange(fault_, nullptr));
  }

  bool captures() const noexcept override { return true; }
  bool capturing() const noexcept override { return here() != nullptr; }
  std::unique_ptr<CapturedWork> capture(const Callable<void()>& work) override {
    auto made = std::make_unique<Capture>(*this);
    current_ = made.get();
    try {
      work();
    } catch (const Error&) {
      current_ = nullptr;
      if (!made->refused) throw;
      return nullptr;
    }
    current_ = nullptr;
    refuse_if(Refusal::kCapture);
    return made;
  }
  // From now on.
  void set_refusal(Refusal what) { refusal_ = what; }

  // What goes wrong is thrown by who waits.
  void ask(Work work) {
    if (Capture* c = here()) return c->works.push_back(std::move(work));
    const std::lock_guard lock(mutex_);
    ++asked_;
    run(work);
  }
  // How often captured work was launched, and how much was done without.
  int launches() const { return launches_; }
  int asked() const { return asked_; }

 private:
  struct Capture final : CapturedWork {
    explicit Capture(PretendGpu& gpu) : gpu(gpu) {}
    ~Capture() override {
      for (const auto& [bytes, list] : given_back) {
        for (void* data : list) gpu.deallocate(data, bytes);
      }
    }
    void launch() override {
      gpu.refuse_if(Refusal::kLaunch);
      const std::lock_guard lock(gpu.mutex_);
      ++gpu.launches_;
      for (const Work& work : works) gpu.run(work);
    }
    PretendGpu& gpu;
    bool refused = false;
    std::vector<Work> works;
    std::set<void*> blocks;
    std::map<size_t, std::vector<void*>> given_back;  // by bytes
  };

  static Capture* here() noexcept { return current_; }
  static void refuse() {
    if (Capture* c = here()) {
      c->refused = true;
      fail(Code::kUnimplemented, "captured work: expected nothing that waits, got something that does");
    }
  }
  void refuse_if(Refusal what) const {
    if (refusal_ == what) fail(Code::kResourceExhausted, "memory: expected some, got none");
  }
  void run(const Work& work) noexcept {  // precondition: locked
    try {
      work();
    } catch (...) {
      fault_ = std::current_exception();
    }
  }

  static inline thread_local Capture* current_ = nullptr;
  mutable std::mutex mutex_;
  int launches_ = 0;
  int asked_ = 0;
  Refusal refusal_ = Refusal::kNone;
  MemoryStats stats_;
  std::exception_ptr fault_;
};

PretendGpu& device_of(const KernelContext& c) { return static_cast<PretendGpu&>(c.device()); }

// A tensor without its handle: others may have the memory by the time it is looked at.
struct Place {
  explicit Place(const Tensor& t) : dtype(t.dtype()), shape(t.shape()), data(t.impl()->data) {
    if (t.device().host_memory()) host = t;
  }
  Tensor tensor() const { return host.defined() ? host : adopt_tensor(cpu_device(), dtype, shape, data, nullptr); }
  DType dtype;
  Shape shape;
  void* data;
  Tensor host;
};

// The op on `inputs`, later; its outputs `made` are written to `places`.
void ask_for_op(KernelContext& c, std::vector<Place> inputs, std::vector<int> made, std::vector<Place> places) {
  const Op& op = c.op();
  const std::vector<AttrSlot> attrs(c.call().attrs.begin(), c.call().attrs.end());
  device_of(c).ask([=, &op] {
    std::vector<Tensor> tensors;
    for (const Place& in : inputs) tensors.push_back(in.tensor());
    const auto pointers = dispatch::pointers_to(tensors);
    const dispatch::Outputs all =
        dispatch::call(op, {pointers.data(), pointers.size()}, attrs, {.device = &cpu_device()});
    for (size_t k = 0; k < places.size(); ++k) {
      const Tensor& t = all[static_cast<size_t>(made[k])];
      if (t.nbytes() > 0) std::memcpy(places[k].data, t.impl()->data, t.nbytes());
    }
  });
}

void run_later(KernelContext& c) {
  std::vector<Place> inputs, outputs;
  std::vector<int> numbers;
  for (int i = 0; i < c.num_inputs(); ++i) inputs.emplace_back(c.in(i));
  for (int k = 0; k < c.num_outputs(); ++k) {
    outputs.emplace_back(c.out(k));
    numbers.push_back(k);
  }
  ask_for_op(c, std::move(inputs), std::move(numbers), std::move(outputs));
}

// A kernel for each shape of outputs, as device/cuda/fused/fused.cu launches them.
void run_fused(KernelContext& c) {
  static_cast<void>(cuda::gpu_program(c));
  const cuda::FusedLaunches launches = cuda::fused_launches(c);
  for (const std::vector<int>& outputs : launches.outputs) {
    std::vector<Place> places;
    for (int k : outputs) places.emplace_back(c.out(k));
    ask_for_op(c, {launches.inputs.begin(), launches.inputs.end()}, outputs, std::move(places));
  }
}

template <int kSign>
void run_assign_change(KernelContext& c) {
  state::update<float>(c, 1, [&](float* v, int64_t n) {
    const float* delta = c.data<float>(1);
    device_of(c).ask([=] {
      for (int64_t i = 0; i < n; ++i) v[i] += kSign * delta[i];
    });
  });
}

// Elementwise ones may be fused; which functor they have does not matter.
void enter(const Op& op, DType type, KernelFn run) {
  const std::type_info* functor = op.has(Trait::kElementwise) ? &typeid(void) : nullptr;
  KernelEntry(op.name().c_str(), "GPU", type, Kernel{.run = run, .payload = functor});
}

// Its kernels: most of what has a CPU kernel and no state; what gives out views does so here as there.
struct AddPretendGpu {
  AddPretendGpu() {
    static const std::map<std::string, KernelFn> own = {{"ReadVariableOp", state::read},
                                                        {"AssignVariableOp", state::assign},
                                                        {"AssignAddVariableOp", run_assign_change<1>},
                                                        {"AssignSubVariableOp", run_assign_change<-1>},
                                                        {"_FusedElementwise", run_fused}};
    static const std::set<std::string> views = {"Reshape", "Squeeze", "ExpandDims"};
    for (const Op* op : all_ops()) {
      const auto known = own.find(op->name());
      const bool view = views.contains(op->name());
      const bool plain = !op->has(Trait::kSelfAllocating) && !op->has_effects() && !op->name().starts_with('_');
      if (known == own.end() && !view && !plain) continue;
      for (int i = 0; i < kDTypeSlots; ++i) {
        const auto type = static_cast<DType>(i);
        const Kernel& cpu = op->kernel(DeviceKind::kCpu, type);
        if (cpu.run == nullptr || !(type == DType::kInvalid || is_plain(type))) continue;
        enter(*op, type, known != own.end() ? known->second : view ? cpu.run : run_later);
      }
    }
    link_ops();
    add_device(new PretendGpu);  // devices are never destroyed
  }
};

BOOST_TEST_GLOBAL_FIXTURE(AddPretendGpu);

BOOST_AUTO_TEST_SUITE(pretend_gpu)

PretendGpu& pretended() { return static_cast<PretendGpu&>(*test::gpu()); }

// How much is asked for besides launches in each of five calls; `kept`: whether their arguments and results are.
std::vector<int> asked_by_calls(const Function& f, bool kept) {
  std::vector<Tensor> all;
  std::vector<int> asked;
  const Tensor x = tensor(std::vector<float>(16, 0.5f), {4, 4});
  for (int i = 0; i < 5; ++i) {
    const Tensor there = x.to(pretended());
    const int before = pretended().asked();
    const Tensor y = f(there);
    asked.push_back(pretended().asked() - before);
    if (kept) all.insert(all.end(), {there, y});
  }
  return asked;
}

BOOST_AUTO_TEST_CASE(many_steps_are_launched_as_one) {
  const Function f = trace(
      [](const Tensor& x) {
        Tensor y = x;
        for (int i = 0; i < 10; ++i) y = matmul(y, x);
        return y;
      },
      {{kFloat32, {4, 4}}});
  const int before = pretended().launches();
  BOOST_TEST(asked_by_calls(f, true) == std::vector<int>({10, 2, 2, 2, 2}), boost::test_tools::per_element());
  BOOST_TEST(pretended().launches() == before + 4);
}

BOOST_AUTO_TEST_CASE(few_steps_are_not) {
  const Function f = trace([](const Tensor& x) { return matmul(matmul(x, x), matmul(x, x)); }, {{kFloat32, {4, 4}}});
  const int before = pretended().launches();
  BOOST_TEST(asked_by_calls(f, false) == std::vector<int>({2, 2, 2, 2, 2}), boost::test_tools::per_element());
  BOOST_TEST(pretended().launches() == before);
}

// Large ones are not copied: the steps run one by one where they are somewhere else each time, and are not captured
// again and again.
BOOST_AUTO_TEST_CASE(large_tensors_that_move_are_not_copied, *boost::unit_test::label("heavy")) {
  const Function f = trace(
      [](const Tensor& x) {
        Tensor y = x;
        for (int i = 0; i < 8; ++i) y = matmul(y, matmul(x, x));
        return sum(y);
      },
      {{kFloat32, {1100, 1100}}});
  const Tensor x = zeros({1100, 1100});
  std::vector<Tensor> kept;
  const int before = pretended().launches();
  for (int i = 0; i < 4; ++i) {
    kept.push_back(x.to(pretended()));
    BOOST_TEST(f(kept.back()).cpu().item<float>() == 0);
  }
  BOOST_TEST(pretended().launches() == before);
  for (int i = 0; i < 3; ++i) static_cast<void>(f(kept.back()));
  BOOST_TEST(pretended().launches() == before + 3);
}

// The first output of a loop has a place already, the second has none, and an input dies: its memory is not the first
// output's.
BOOST_AUTO_TEST_CASE(outputs_that_have_a_place_stay_there, *boost::unit_test::label("heavy")) {
  constexpr int64_t kSize = 512;  // so large that outputs take over donated inputs
  const auto body = [](const Tensor& x) {
    const Tensor product = matmul(x, x);
    const Tensor first = tanh(product);
    const Tensor second = exp(mul(first, product));
    const Tensor third = add(second, matmul(first, first));  // takes over the second
    Tensor fourth = third;
    for (int i = 0; i < 4; ++i) fourth = matmul(fourth, x);
    return std::vector<Tensor>{first, third, fourth};
  };
  const Function f = trace([&](std::span<const Tensor> in) { return body(in[0]); }, {{kFloat32, {kSize, kSize}}});
  const Tensor x = mul(eye(kSize), 0.5f);
  const std::vector<Tensor> expected = body(x);
  const Tensor there = x.to(pretended());
  const int before = pretended().launches();
  for (int i = 0; i < 4; ++i) {
    const std::vector<Tensor> got = f.call(std::vector<Tensor>{there});
    for (size_t k = 0; k < got.size(); ++k) {
      BOOST_TEST(reduce_max(abs(sub(got[k].cpu(), expected[k]))).item<float>() < 1e-5f,
                 "call " << i << ", output " << k);
    }
  }
  BOOST_TEST(pretended().launches() > before);
}

// Memory, making the work ready and launching it: what fails is done step by step, and comes out right.
BOOST_AUTO_TEST_CASE(what_a_gpu_refuses_is_done_step_by_step) {
  for (const Refusal refusal : {Refusal::kMemory, Refusal::kCapture, Refusal::kLaunch}) {
    const Variable v(tensor(std::vector<float>(16, 1.f), {4, 4}).to(pretended()), "v");
    const Function f = trace(
        [&](const Tensor& x) {
          Tensor y = x;
          for (int i = 0; i < 10; ++i) y = matmul(add(y, x), x);
          v.assign_add(x);
          return y;
        },
        {{kFloat32, {4, 4}}});
    const Tensor x = tensor(std::vector<float>(16, 0.25f), {4, 4}), there = x.to(pretended());
    pretended().set_refusal(refusal);
    for (int i = 1; i <= 6; ++i) {
      if (i == 5) pretended().set_refusal(Refusal::kNone);
      // The sum of x's rows is 1: each step adds 0.25.
      const std::vector<float> expected(16, 2.75f), value(16, 1 + 0.25f * static_cast<float>(i));
      BOOST_TEST(f(there).cpu().to_vector<float>() == expected, boost::test_tools::per_element());
      BOOST_TEST(v.value().cpu().to_vector<float>() == value, boost::test_tools::per_element());
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
