#include "panto/lib/core/tensor/variable.h"

#include <map>
#include <mutex>
#include <ostream>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/bind.h"
#include "panto/lib/core/call/dispatch.h"
#include "panto/lib/core/call/recorder.h"
#include "panto/lib/core/call/thread_state.h"
#include "panto/lib/core/tensor/resource.h"
#include "panto/lib/core/tensor/tensor_alloc.h"

namespace panto {
namespace {

thread_local constinit VariableMaker* current_maker = nullptr;
thread_local constinit VariableUse current_use = VariableUse::kTrained;

struct Naming {
  std::string name;  // "k", then "k_1", "k_2", ...: unique in the process
  std::string base;  // as requested: the same in every process
};

// Names stay taken: the checkpoint of a later variable must not look like an older one's.
class Names {
 public:
  Naming make(std::string_view asked) {
    const std::lock_guard lock(mutex_);
    std::string base = base_of(asked);
    const auto [found, fresh] = used_.try_emplace(std::string(asked));
    if (fresh) {
      found->second.base = base;
      return {std::string(asked), std::move(base)};
    }
    for (;;) {
      std::string candidate = fmt::format("{}_{}", asked, ++found->second.repeats);
      const auto [made, unused] = used_.try_emplace(candidate);
      if (!unused) continue;
      made->second.base = base;
      return {std::move(candidate), std::move(base)};
    }
  }

 private:
  // A variable that belongs to another one, such as an optimizer's "k_1/m", contains its owner's unique name, which may
  // differ in the next process. Its base name "k/m" does not differ.
  std::string base_of(std::string_view asked) const {
    for (size_t slash = asked.rfind('/'); slash != std::string_view::npos && slash > 0;
         slash = asked.rfind('/', slash - 1)) {
      const auto owner = used_.find(asked.substr(0, slash));
      if (owner != used_.end()) return owner->second.base + std::string(asked.substr(slash));
    }
    return std::string(asked);
  }

  struct Used {
    std::string base;
    int64_t repeats = 0;
  };
  std::mutex mutex_;
  std::map<std::string, Used, std::less<>> used_;
};

Naming unique_name(std::string_view asked) {
  static auto* names = new Names;  // leaked on purpose
  return names->make(asked);
}

const Tensor& checked(const Tensor& handle) {
  if (!handle.defined()) {
    fail(Code::kFailedPrecondition, "variable: expected one with a value, got a default-constructed handle");
  }
  return handle;  // NOLINT(bugprone-return-const-ref-from-parameter): callers pass their variable's own handle
}

Operation call_assign(const Op& op, const Variable& variable, Arg& value) {
  const Tensor& handle = checked(variable.handle());
  dispatch::make_tensor_of(value, variable.dtype(), "value");
  const Tensor* inputs[] = {&handle, &value.tensor()};
  dispatch::CallOptions options;
  options.where = &value.where();
  dispatch::call(op, inputs, {}, options);
  return symbolic_recorders() > 0 ? latest_operation() : Operation();
}

}  // namespace

VariableMaker* set_variable_maker(VariableMaker* maker) noexcept { return std::exchange(current_maker, maker); }

bool has_variable_maker() noexcept { return current_maker != nullptr && current_maker->makes_variables(); }

VariableUseScope::VariableUseScope(VariableUse use) noexcept : previous_(std::exchange(current_use, use)) {}
VariableUseScope::~VariableUseScope() { current_use = previous_; }
VariableUse VariableUseScope::current() noexcept { return current_use; }

Variable::Variable(const Tensor& initial, std::string_view name, std::source_location where)
    : Variable(initial, name, VariableOptions(), where) {}

Variable::Variable(const Tensor& initial, std::string_view name, const VariableOptions& options,
                   std::source_location where) {
  if (symbolic_recorders() > 0) {
    if (current_maker == nullptr) {
      failf(
          Code::kFailedPrecondition,
          "variable \"{}\": expected to be made before tracing (a trace runs many times, a variable is made once), got "
          "one made inside a trace; make it outside and use it inside [at {}:{}]",
          name, where.file_name(), where.line());
    }
    *this =
        current_maker->make(initial, options.validate_shape ? initial.partial_shape() : PartialShape(), name, where);
    return;
  }
  dtype_ = initial.dtype();
  if (options.validate_shape) shape_ = initial.shape();
  Naming naming = unique_name(name);
  name_ = std::move(naming.name);
  auto resource = std::make_shared<VariableResource>("", name_, dtype_, shape_, std::move(naming.base));
  resource->assign(initial);
  handle_ = resource_tensor(std::move(resource));
}

Variable Variable::from_handle(Tensor handle, DType dtype, PartialShape shape, std::string name, Tensor initial,
                               Operation initializer) {
  Variable v;
  v.handle_ = std::move(handle);
  v.dtype_ = dtype;
  v.shape_ = std::move(shape);
  v.name_ = std::move(name);
  v.initial_ = std::move(initial);
  v.initializer_ = std::move(initializer);
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

Tensor Variable::initialized_value(std::source_location where) const {
  return initial_.defined() ? initial_ : value(where);
}

Operation Variable::assign(Arg value) const {
  static const Op& op = get_op("AssignVariableOp");
  return call_assign(op, *this, value);
}

Operation Variable::assign_add(Arg delta) const {
  static const Op& op = get_op("AssignAddVariableOp");
  return call_assign(op, *this, delta);
}

Operation Variable::assign_sub(Arg delta) const {
  static const Op& op = get_op("AssignSubVariableOp");
  return call_assign(op, *this, delta);
}

std::ostream& operator<<(std::ostream& out, const Variable& variable) {
  if (!variable.defined() || variable.handle().is_meta()) return out << "Variable '" << variable.name() << "'";
  return out << variable.value();
}

}  // namespace panto
