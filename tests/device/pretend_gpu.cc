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

#include "panto/device/fault.h"
#include "panto/device/state.h"
#include "panto/lib/base/error.h"
#include "panto/lib/core/device.h"
#include "panto/lib/core/dispatch.h"
#include "panto/lib/core/kernel.h"
#include "panto/lib/core/op.h"
#include "panto/lib/core/tensor_alloc.h"
#include "panto/lib/ops/create.h"
#include "panto/lib/ops/ops.h"
#include "panto/tests/gpu.h"
#include "panto/trace/function.h"

namespace panto {
namespace {

using Work = std::function<void()>;

class PretendGpu final : public Device {
 public:
  PretendGpu() : Device(DeviceKind::kCuda, 0) {}

  std::string description() const override { return "a CPU that pretends"; }
  bool host_memory() const noexcept override { return false; }

  void* allocate(size_t bytes) override {
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
    return made;
  }

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

void run_later(KernelContext& c) {
  std::vector<Place> inputs, outputs;
  for (int i = 0; i < c.num_inputs(); ++i) inputs.emplace_back(c.in(i));
  for (int k = 0; k < c.num_outputs(); ++k) outputs.emplace_back(c.out(k));
  const Op& op = c.op();
  const std::vector<AttrSlot> attrs(c.call().attrs.begin(), c.call().attrs.end());
  device_of(c).ask([=, &op] {
    std::vector<Tensor> tensors;
    for (const Place& in : inputs) tensors.push_back(in.tensor());
    const auto pointers = dispatch::pointers_to(tensors);
    const dispatch::Outputs made =
        dispatch::call(op, {pointers.data(), pointers.size()}, attrs, {.device = &cpu_device()});
    for (size_t k = 0; k < outputs.size(); ++k) {
      if (made[k].nbytes() > 0) std::memcpy(outputs[k].data, made[k].impl()->data, made[k].nbytes());
    }
  });
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

void enter(const Op& op, DType type, KernelFn run) {
  KernelEntry(op.name().c_str(), DeviceKind::kCuda, type, Kernel{.run = run});
}

// Its kernels: most of what has a CPU kernel and no state; what gives out views does so here as there.
struct AddPretendGpu {
  AddPretendGpu() {
    static const std::map<std::string, KernelFn> own = {{"ReadVariableOp", state::read},
                                                        {"AssignVariableOp", state::assign},
                                                        {"AssignAddVariableOp", run_assign_change<1>},
                                                        {"AssignSubVariableOp", run_assign_change<-1>}};
    static const std::set<std::string> views = {"Reshape", "Squeeze", "ExpandDims"};
    for (const Op* op : all_ops()) {
      const auto known = own.find(op->name());
      const bool view = views.contains(op->name());
      const bool plain = !op->has(Trait::kSelfAllocating) && !op->has(Trait::kStateful) && !op->name().starts_with('_');
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

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
