// Tensors that a session keeps by handle, in one table among its resources.

#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "panto/device/cpu/kernel.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/tensor/resource.h"
#include "panto/lib/core/tensor/tensor_alloc.h"
#include "panto/lib/core/tensor/variable_checks.h"

namespace panto {
namespace {

// A container that nothing ever clears.
constexpr const char* kContainer = "_session";
constexpr const char* kTable = "tensors";

// Thread-safe.
class SessionTensors final : public Resource {
 public:
  SessionTensors() : Resource(kContainer, kTable) {}
  std::string_view kind() const noexcept override { return "SessionTensors"; }

  // Returns the handle in TensorFlow's form: "node;number;device".
  std::string add(std::string_view node, Tensor value) {
    const std::lock_guard lock(mutex_);
    std::string handle = fmt::format("{};{};{}", node, next_++, value.device().name());
    tensors_.emplace(handle, std::move(value));
    return handle;
  }
  // Returns an undefined tensor if there is none.
  Tensor find(const std::string& handle) const {
    const std::lock_guard lock(mutex_);
    const auto found = tensors_.find(handle);
    return found == tensors_.end() ? Tensor() : found->second;
  }
  bool remove(const std::string& handle) {
    const std::lock_guard lock(mutex_);
    return tensors_.erase(handle) > 0;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, Tensor> tensors_;
  int64_t next_ = 0;
};

// The resource that GetSessionHandleV2 returns.
class SessionTensor final : public Resource {
 public:
  explicit SessionTensor(const std::string& handle) : Resource(kContainer, handle) {}
  std::string_view kind() const noexcept override { return "SessionTensor"; }
};

ResourceHandle make_table(void*) { return std::make_shared<SessionTensors>(); }
ResourceHandle table_of(const KernelContext& c) {
  return c.step().resource_manager().lookup_or_create(kContainer, kTable, make_table, nullptr);
}
SessionTensors& in(const ResourceHandle& table) { return static_cast<SessionTensors&>(*table); }

// Copies memory that belongs to someone else, since it may change.
Tensor own(const Tensor& t) {
  const Buffer* buffer = t.impl()->buffer;
  if (buffer == nullptr || !buffer->adopted()) return t;
  const Tensor copy = allocate_tensor(t.device(), t.dtype(), t.shape());
  if (t.nbytes() > 0) t.device().copy_within(copy.impl()->data, t.impl()->data, t.nbytes());
  return copy;
}

std::string keep(const KernelContext& c) {
  const std::string_view node = c.call().node_name;
  return in(table_of(c)).add(node.empty() ? c.op().name() : node, own(c.in(0)));
}

void run_handle(KernelContext& c) { *c.out_data<std::string>(0) = keep(c); }
void run_resource(KernelContext& c) { c.set_out(0, resource_tensor(std::make_shared<SessionTensor>(keep(c)))); }

void run_get(KernelContext& c) {
  const std::string& handle = *c.data<std::string>(0);
  const Tensor found = in(table_of(c)).find(handle);
  if (!found.defined()) invalid("handle: expected that of a tensor that the session keeps, got \"{}\"", handle);
  if (found.dtype() != c.type("dtype")) {
    invalid("handle: expected that of a {} tensor, got one of {}", dtype_name(c.type("dtype")),
            dtype_name(found.dtype()));
  }
  c.set_out(0, is_plain(found.dtype()) ? view_tensor(found, found.shape()) : found);
}

void run_delete(KernelContext& c) {
  const std::string& handle = *c.data<std::string>(0);
  if (in(table_of(c)).remove(handle)) return;
  invalid("handle: expected that of a tensor that the session keeps, got \"{}\"", handle);
}

const CpuKernel handle_kernel("GetSessionHandle", dtypes::kAny, run_handle);
const CpuKernel resource_kernel("GetSessionHandleV2", dtypes::kAny, run_resource);
const CpuKernel get_kernel("GetSessionTensor", dtypes::kAny, run_get);
const CpuKernel delete_kernel("DeleteSessionTensor", run_delete);

// ---- Counting ------------------------------------------------------------------------------------------------------

template <class T>
void count_up(KernelContext& c) {
  VariableResource& variable = variable_of(c.in(0));
  expect_variable_dtype(variable.dtype(), c.type("T"));
  const int64_t limit = c.integer("limit");
  variable.update(cpu_device(), [&](Tensor& value) {
    if (value.shape().rank() != 0) invalid("resource: expected a scalar, got shape {}", value.shape().to_string());
    T& count = *mutable_data<T>(value);
    if (count >= limit) failf(Code::kOutOfRange, "limit: expected a count below {}, got {}", limit, count);
    *c.out_data<T>(0) = count;
    ++count;
  });
}

const CpuKernel count_kernel("ResourceCountUpTo", TypeList<int32_t, int64_t>{},
                             []<class T>(KernelContext& c) { count_up<T>(c); });

}  // namespace
}  // namespace panto
