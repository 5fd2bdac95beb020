#include "panto/lib/core/tensor/resource.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <typeinfo>
#include <utility>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/tensor/tensor_alloc.h"
#include "panto/lib/core/tensor/variable_checks.h"

namespace panto {

Resource::Resource(std::string container, std::string name)
    : container_(std::move(container)), name_(std::move(name)) {}
Resource::~Resource() = default;

// ---- Variables -----------------------------------------------------------------------------------------------------

namespace {

Tensor copy_of(const Tensor& value) {
  Tensor copy = allocate_tensor(value.device(), value.dtype(), value.shape());
  const auto count = static_cast<size_t>(value.numel());
  if (is_plain(value.dtype())) {
    if (count > 0) value.device().copy_within(copy.impl()->data, value.impl()->data, value.nbytes());
  } else if (value.dtype() == kString) {
    std::copy_n(static_cast<const std::string*>(value.impl()->data), count, mutable_data<std::string>(copy));
  } else {
    failf(Code::kUnimplemented, "variable: expected a type that can be updated, got {}", dtype_name(value.dtype()));
  }
  return copy;
}

}  // namespace

void expect_variable_dtype(DType dtype, DType wanted) {
  if (dtype == wanted) return;
  invalid("dtype: expected the variable's {}, got {}", dtype_name(dtype), dtype_name(wanted));
}

void expect_variable_shape(const PartialShape& shape, const PartialShape& wanted, std::string_view argument) {
  if (shape.compatible_with(wanted)) return;
  invalid("{}: expected the variable's shape {}, got {}", argument, shape.to_string(), wanted.to_string());
}

VariableResource::VariableResource(std::string container, std::string name, DType dtype, PartialShape shape,
                                   std::string base_name)
    : Resource(std::move(container), std::move(name)),
      dtype_(dtype),
      shape_(std::move(shape)),
      base_name_(std::move(base_name)) {}

bool VariableResource::initialized() const {
  const std::lock_guard lock(mutex_);
  return value_.defined();
}

void VariableResource::expect_initialized() const {
  if (!value_.defined()) {
    failf(Code::kFailedPrecondition, "variable \"{}\": expected an initialized one, got none assigned yet", name());
  }
}

Device& VariableResource::device() const {
  const std::lock_guard lock(mutex_);
  return value_.defined() ? value_.device() : cpu_device();
}

// Every read gets a handle of its own: the variable's value may later be updated in place, and an id must not stand for
// two values.
Tensor VariableResource::read() const {
  const std::lock_guard lock(mutex_);
  expect_initialized();
  return view_tensor(value_, value_.shape());
}

Tensor VariableResource::read(Device& device) {
  const std::lock_guard lock(mutex_);
  expect_initialized();
  if (&value_.device() != &device) value_ = copy_to_device(value_, device);
  return view_tensor(value_, value_.shape());
}

void VariableResource::assign(Tensor value) {
  with_context([&] { return fmt::format("variable \"{}\"", name()); },
               [&] {
                 expect_variable_dtype(dtype_, value.dtype());
                 expect_variable_shape(shape_, value.partial_shape(), "value");
               });
  if (value.is_meta()) {
    invalid("variable \"{}\": expected a real tensor, got symbolic {}{}", name(), dtype_name(value.dtype()),
            value.partial_shape().to_string());
  }
  // Wrapped memory may change, or belong to a plan that reuses it.
  if (value.impl()->buffer != nullptr && value.impl()->buffer->adopted()) value = copy_of(value);
  {
    const std::lock_guard lock(mutex_);
    std::swap(value_, value);
  }
  // The old value is released here, outside the lock.
}

Tensor VariableResource::begin_update(Device& device) {
  expect_initialized();
  if (updated_in_place(device)) return value_;
  // The copy would be made when the captured work is launched, but other holders see the value now.
  if (device.capturing()) {
    failf(Code::kUnimplemented, "variable \"{}\": expected nobody else to hold its value while work is captured",
          name());
  }
  return &value_.device() == &device ? copy_of(value_) : copy_to_device(value_, device);
}

bool VariableResource::updated_in_place(const Device& device) const noexcept {
  return value_.defined() && &value_.device() == &device && exclusively_owned(value_);
}

// ---- Managers ------------------------------------------------------------------------------------------------------

struct ResourceManager::Impl {
  using Name = std::pair<std::string, std::string>;  // the container, and the name in it
  // Used to look up names without copying them, because each run of a node that names a resource does so.
  using NameView = std::pair<std::string_view, std::string_view>;
  struct ByName {
    using is_transparent = void;
    template <class A, class B>
    bool operator()(const A& a, const B& b) const noexcept {
      return NameView(a) < NameView(b);
    }
  };

  mutable std::mutex mutex;
  std::map<Name, ResourceHandle, ByName> resources;
};

ResourceManager::ResourceManager() : impl_(std::make_unique<Impl>()) {}
ResourceManager::~ResourceManager() = default;

ResourceHandle ResourceManager::lookup_or_create(const std::string& container, const std::string& name,
                                                 ResourceHandle (*make)(void*), void* argument) {
  const std::lock_guard lock(impl_->mutex);
  const auto found = impl_->resources.find(Impl::NameView(container, name));
  if (found != impl_->resources.end()) return found->second;
  ResourceHandle made = make(argument);
  impl_->resources.emplace(Impl::Name(container, name), made);
  return made;
}

ResourceHandle ResourceManager::find(const std::string& container, const std::string& name) const {
  const std::lock_guard lock(impl_->mutex);
  const auto found = impl_->resources.find(Impl::NameView(container, name));
  return found == impl_->resources.end() ? nullptr : found->second;
}

void ResourceManager::clear(const std::string& container) {
  std::vector<ResourceHandle> dropped;  // destroyed after the lock is gone: a resource may hold others
  const std::lock_guard lock(impl_->mutex);
  for (auto it = impl_->resources.begin(); it != impl_->resources.end();) {
    if (it->first.first != container) {
      ++it;
      continue;
    }
    dropped.push_back(std::move(it->second));
    it = impl_->resources.erase(it);
  }
}

std::vector<ResourceHandle> ResourceManager::list() const {
  const std::lock_guard lock(impl_->mutex);
  std::vector<ResourceHandle> all;
  for (const auto& [key, resource] : impl_->resources) all.push_back(resource);
  return all;
}

ResourceManager& default_resources() {
  static auto* shared = new ResourceManager;  // leaked on purpose
  return *shared;
}

namespace {
// Null for anything else. VariableResource is final, so comparing types suffices: dynamic_cast took a fifth of the time
// of a read.
VariableResource* as_variable(Resource* resource) {
  const bool is_one = resource != nullptr && typeid(*resource) == typeid(VariableResource);
  return is_one ? static_cast<VariableResource*>(resource) : nullptr;
}
}  // namespace

VariableResource& variable_of(const Tensor& handle) {
  if (handle.dtype() != kResource) {
    invalid("variable: expected a handle (a scalar resource tensor), got a {} tensor", dtype_name(handle.dtype()));
  }
  if (handle.is_meta()) invalid("variable: expected a handle with a value, got a symbolic one");
  if (handle.numel() != 1) {
    invalid("variable: expected a handle (a scalar resource tensor), got shape {}", handle.shape().to_string());
  }
  Resource* resource = static_cast<const ResourceHandle*>(handle.impl()->data)->get();
  if (resource == nullptr) invalid("variable: expected a handle of a Variable, got an empty handle");
  VariableResource* variable = as_variable(resource);
  if (variable == nullptr) {
    invalid("variable: expected a handle of a Variable, got a {} named \"{}\"", resource->kind(), resource->name());
  }
  return *variable;
}

Device& home_of(const Tensor& t) {
  if (t.dtype() != kResource || t.is_meta() || t.numel() == 0) return t.device();
  const VariableResource* variable = as_variable(static_cast<const ResourceHandle*>(t.impl()->data)->get());
  return variable == nullptr ? t.device() : variable->device();
}

}  // namespace panto
