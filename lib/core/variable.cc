#include "panto/lib/core/variable.h"

#include <map>
#include <mutex>

#include "panto/lib/base/format.h"
#include "panto/lib/core/dispatch.h"
#include "panto/lib/core/resource.h"
#include "panto/lib/core/tensor_alloc.h"
#include "panto/lib/core/thread_state.h"

namespace panto {
namespace {

thread_local constinit VariableMaker* current_maker = nullptr;

// "k", then "k_1", "k_2", ... The names stay taken: a checkpoint of a later variable must not look like an older one's.
std::string unique_name(std::string_view name) {
  struct Names {
    std::mutex mutex;
    std::map<std::string, int64_t, std::less<>> used;
  };
  static auto* names = new Names;  // leaked on purpose
  const std::lock_guard lock(names->mutex);
  const auto found = names->used.find(name);
  if (found == names->used.end()) {
    names->used.emplace(name, 0);
    return std::string(name);
  }
  for (;;) {
    std::string candidate = fmt::format("{}_{}", name, ++found->second);
    if (names->used.emplace(candidate, 0).second) return candidate;
  }
}

const Tensor& checked(const Tensor& handle) {
  if (!handle.defined()) {
    fail(Code::kFailedPrecondition, "variable: expected one with a value, got a default-constructed handle");
  }
  return handle;  // NOLINT(bugprone-return-const-ref-from-parameter): callers pass their variable's own handle
}

void call_assign(const Op& op, const Tensor& handle, const Tensor& value, const std::source_location& where) {
  const Tensor* inputs[] = {&checked(handle), &value};
  dispatch::CallOptions options;
  options.where = &where;
  dispatch::call(op, inputs, {}, options);
}

}  // namespace

VariableMaker* set_variable_maker(VariableMaker* maker) noexcept { return std::exchange(current_maker, maker); }

Variable::Variable(const Tensor& initial, std::string_view name, std::source_location where) {
  if (symbolic_recorders() > 0) {
    if (current_maker == nullptr) {
      failf(
          Code::kFailedPrecondition,
          "variable \"{}\": expected to be made before tracing (a trace runs many times, a variable is made once), got "
          "one made inside a trace; make it outside and use it inside [at {}:{}]",
          name, where.file_name(), where.line());
    }
    *this = current_maker->make(initial, name, where);
    return;
  }
  dtype_ = initial.dtype();
  shape_ = initial.shape();
  name_ = unique_name(name);
  auto resource = std::make_shared<VariableResource>("", name_, dtype_, shape_);
  resource->assign(initial);
  handle_ = resource_tensor(std::move(resource));
}

Variable Variable::from_handle(Tensor handle, DType dtype, PartialShape shape, std::string name) {
  Variable v;
  v.handle_ = std::move(handle);
  v.dtype_ = dtype;
  v.shape_ = std::move(shape);
  v.name_ = std::move(name);
  return v;
}

Tensor Variable::value(std::source_location where) const {
  const Tensor* input = &checked(handle_);
  static const Op& op = get_op("ReadVariableOp");
  static const auto dtype_attr = static_cast<size_t>(op.signature().find_attr("dtype"));
  SmallVector<AttrSlot, 4> attrs(op.signature().attrs.size());
  attrs[dtype_attr] = AttrSlot(dtype_);
  dispatch::CallOptions options;
  options.where = &where;
  return std::move(dispatch::call(op, {&input, 1}, std::span<const AttrSlot>(attrs.data(), attrs.size()), options)[0]);
}

void Variable::assign(const Tensor& value, std::source_location where) const {
  static const Op& op = get_op("AssignVariableOp");
  call_assign(op, handle_, value, where);
}

void Variable::assign_add(const Tensor& delta, std::source_location where) const {
  static const Op& op = get_op("AssignAddVariableOp");
  call_assign(op, handle_, delta, where);
}

void Variable::assign_sub(const Tensor& delta, std::source_location where) const {
  static const Op& op = get_op("AssignSubVariableOp");
  call_assign(op, handle_, delta, where);
}

}  // namespace panto
