// A back-end as a user writes one, in a library of its own, of nothing but the public headers: two devices whose memory
// the host can neither read nor write, but while they copy or compute. Some of its kernels are its own; for the rest it
// takes the CPU's, from the same table that everybody reads. docs/add-a-device.md tells of each part.
#include <panto/define_op.h>
#include <panto/lib/core/tensor/tensor_alloc.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace npu {
using namespace panto;

const DeviceKindEntry npu_kind({.name = "NPU", .priority = 50});

class NpuDevice final : public Device {
 public:
  explicit NpuDevice(int index)
      : Device(find_device_kind("NPU"), index),
        memory_(mmap(nullptr, kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
    if (memory_ == MAP_FAILED) fail(Code::kResourceExhausted, "memory of an NPU: expected some, got none");
  }

  std::string description() const override { return "an NPU that the host pretends to be"; }
  bool host_memory() const noexcept override { return false; }

  void* allocate(size_t bytes) override {
    const std::lock_guard lock(mutex_);
    const size_t size = rounded(bytes);
    std::vector<void*>& same = free_[size];
    void* data = nullptr;
    if (!same.empty()) {
      data = same.back();
      same.pop_back();
    } else if (size <= kBytes - used_) {
      data = static_cast<std::byte*>(memory_) + used_;
      used_ += size;
    } else {
      fail(Code::kResourceExhausted, "memory of an NPU: expected room for another tensor, got none");
    }
    stats_.bytes_in_use += static_cast<int64_t>(size);
    stats_.peak_bytes = std::max(stats_.peak_bytes, stats_.bytes_in_use);
    return data;
  }
  void deallocate(void* data, size_t bytes) noexcept override {
    const std::lock_guard lock(mutex_);
    free_[rounded(bytes)].push_back(data);
    stats_.bytes_in_use -= static_cast<int64_t>(rounded(bytes));
  }
  MemoryStats memory_stats() const override {
    const std::lock_guard lock(mutex_);
    return stats_;
  }

  void copy_to_host(void* host, const void* data, size_t bytes) override {
    const Access access(*this);
    std::memcpy(host, data, bytes);
  }
  void copy_from_host(void* data, const void* host, size_t bytes) override {
    const Access access(*this);
    std::memcpy(data, host, bytes);
  }
  void copy_within(void* to, const void* from, size_t bytes) override {
    const Access access(*this);
    std::memcpy(to, from, bytes);
  }
  // Between two NPUs, without the host's memory.
  void copy_from_device(void* to, Device& source, const void* from, size_t bytes) override {
    auto* const other = dynamic_cast<NpuDevice*>(&source);
    if (other == nullptr) return Device::copy_from_device(to, source, from, bytes);
    const Access here(*this), there(*other);
    std::memcpy(to, from, bytes);
    ++direct_copies;
  }

  // While one lives the memory can be read and written.
  class Access {
   public:
    explicit Access(NpuDevice& device) : device_(device), lock_(device.mutex_) {
      if (device_.depth_++ == 0) mprotect(device_.memory_, kBytes, PROT_READ | PROT_WRITE);
    }
    ~Access() {
      if (--device_.depth_ == 0) mprotect(device_.memory_, kBytes, PROT_NONE);
    }
    Access(const Access&) = delete;
    Access& operator=(const Access&) = delete;

   private:
    NpuDevice& device_;
    std::lock_guard<std::recursive_mutex> lock_;
  };

  static inline std::atomic<int> direct_copies = 0;
  static inline std::atomic<int> own_kernels = 0;  // how often one ran

 private:
  static constexpr size_t kBytes = size_t{1} << 28;
  static size_t rounded(size_t bytes) { return (bytes + 63) / 64 * 64; }

  mutable std::recursive_mutex mutex_;
  void* memory_;
  size_t used_ = 0;
  int depth_ = 0;
  std::map<size_t, std::vector<void*>> free_;  // by bytes
  MemoryStats stats_;
};

NpuDevice& device_of(const KernelContext& c) { return static_cast<NpuDevice&>(c.device()); }

// ---- Kernels of its own --------------------------------------------------------------------------------------------

using NpuKernel = KernelObject<"NPU">;

const NpuKernel neg_kernel("Neg", TypeList<float, double>{}, []<class T>(KernelContext& c) {
  const NpuDevice::Access access(device_of(c));
  ++NpuDevice::own_kernels;
  const T* x = c.data<T>(0);
  T* y = c.out_data<T>(0);
  for (int64_t i = 0; i < c.out_numel(0); ++i) y[i] = -x[i];
});

const NpuKernel matmul_kernel("MatMul", TypeList<float, double>{}, []<class T>(KernelContext& c) {
  const NpuDevice::Access access(device_of(c));
  ++NpuDevice::own_kernels;
  const bool transpose_a = c.flag("transpose_a"), transpose_b = c.flag("transpose_b");
  const int64_t m = c.out(0).shape()[0], n = c.out(0).shape()[1];
  const int64_t k = c.in(0).shape()[transpose_a ? 0 : 1];
  const T *a = c.data<T>(0), *b = c.data<T>(1);
  T* product = c.out_data<T>(0);
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (int64_t p = 0; p < k; ++p) {
        sum += static_cast<double>(a[transpose_a ? p * m + i : i * k + p]) *
               static_cast<double>(b[transpose_b ? j * k + p : p * n + j]);
      }
      product[i * n + j] = static_cast<T>(sum);
    }
  }
});

// ---- Kernels of the CPU, on this memory ----------------------------------------------------------------------------

const Kernel& cpu_kernel(const KernelContext& c) {
  const int primary = c.op().primary_attr();
  return c.op().kernel(DeviceKind::kCpu,
                       primary < 0 ? DType::kInvalid : c.call().attrs[static_cast<size_t>(primary)].t);
}

void run_as_cpu(KernelContext& c) {
  const NpuDevice::Access access(device_of(c));
  cpu_kernel(c).run(c);
}

std::shared_ptr<KernelState> prepare_as_cpu(const KernelContext& c) {
  const NpuDevice::Access access(device_of(c));
  return cpu_kernel(c).prepare(c);
}

// Strings and lists are in no device's memory but the host's. A constant's value is in the program, which every device
// has.
bool is_the_hosts(const Op& op) {
  const auto types_of = [&op](const ArgDef& a) {
    return a.type_attr < 0 ? DTypeSet{a.dtype} : op.signature().attrs[static_cast<size_t>(a.type_attr)].allowed_types;
  };
  const auto on_host = [&](const ArgDef& a) {
    return a.type_list_attr < 0 && (types_of(a) - DTypeSet{kString, kVariant}).empty();
  };
  return op.is(OpKind::kConstant) || std::ranges::any_of(op.signature().inputs, on_host) ||
         std::ranges::any_of(op.signature().outputs, on_host);
}

// For all that has no kernel here yet and whose tensors are plain bytes. What the optimizer makes for the CPU stays the
// CPU's: nothing is fused here.
void take_kernels_of_the_cpu() {
  for (const Op* op : all_ops()) {
    if (op->name().starts_with("_Fused") || is_the_hosts(*op)) continue;
    for (int i = 0; i < kDTypeSlots; ++i) {
      const auto type = static_cast<DType>(i);
      const Kernel& cpu = op->kernel(DeviceKind::kCpu, type);
      if (cpu.run == nullptr || cpu.start != nullptr || op->kernel(find_device_kind("NPU"), type).run != nullptr ||
          !(type == DType::kInvalid || is_plain(type))) {
        continue;
      }
      KernelEntry(op->name().c_str(), "NPU", type,
                  Kernel{.run = run_as_cpu, .prepare = cpu.prepare == nullptr ? nullptr : prepare_as_cpu});
    }
  }
  link_ops();
}

}  // namespace npu

// load_library calls it when the library's kernels are linked.
extern "C" PANTO_EXPORT void panto_start_backend() {
  npu::take_kernels_of_the_cpu();
  for (int index : {0, 1}) panto::add_device(new npu::NpuDevice(index));  // devices are never destroyed
}

// For the tests.
extern "C" PANTO_EXPORT int npu_direct_copies() { return npu::NpuDevice::direct_copies; }
extern "C" PANTO_EXPORT int npu_own_kernels() { return npu::NpuDevice::own_kernels; }
