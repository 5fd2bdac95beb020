// Mutable objects that tensors of dtype resource refer to: variables, queues, tables.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/lib/core/tensor/tensor.h"

namespace panto {

class PANTO_EXPORT Resource {
 public:
  Resource(std::string container, std::string name);
  Resource(const Resource&) = delete;
  Resource& operator=(const Resource&) = delete;
  virtual ~Resource();

  const std::string& container() const noexcept { return container_; }
  const std::string& name() const noexcept { return name_; }
  // "Variable", ...: for messages about handles of the wrong kind.
  virtual std::string_view kind() const noexcept = 0;

 private:
  std::string container_;
  std::string name_;
};

// The resource behind a Variable. The value is undefined until the first assignment. It lives on the device that used
// it last; code that needs it on another device says so, and the value moves.
// Thread-safe: reads and updates take the mutex; later updates do not change a tensor that was read.
class PANTO_EXPORT VariableResource final : public Resource {
 public:
  // `base_name`: the name before it was made unique; empty: the same as `name`.
  VariableResource(std::string container, std::string name, DType dtype, PartialShape shape,
                   std::string base_name = {});

  std::string_view kind() const noexcept override { return "Variable"; }
  // Equal in every process that makes the same variables: files use it in the names of values.
  const std::string& base_name() const noexcept { return base_name_.empty() ? name() : base_name_; }
  DType dtype() const noexcept { return dtype_; }
  const PartialShape& shape() const noexcept { return shape_; }

  bool initialized() const;
  // The device of the value; the first CPU before the first assignment.
  Device& device() const;
  // The value, on any device. Throws FailedPrecondition before the first assignment.
  Tensor read() const;
  // Moves the value to `device` and returns it. Throws FailedPrecondition before the first assignment.
  Tensor read(Device& device);
  // Throws InvalidArgument if dtype or shape do not fit the declared ones.
  void assign(Tensor value);
  // Calls `update(value)` under the lock. `value` is on `device` and has no other owner (it is copied first if it is
  // shared or elsewhere); what `update` leaves in it is the new value. Nothing changes if `update` throws before it
  // writes. Throws FailedPrecondition before the first assignment.
  template <class Update>
  void update(Device& device, Update&& update) {
    const std::lock_guard lock(mutex_);
    Tensor value = begin_update(device);
    update(value);
    value_ = std::move(value);
  }
  // The parts of `update`, for several variables at once, locked without deadlock (an optimizer's slots).
  std::mutex& mutex() const noexcept { return mutex_; }
  Tensor begin_update(Device& device);                          // precondition: locked
  void end_update(Tensor value) { value_ = std::move(value); }  // precondition: locked
  // The current value, to see its device; undefined before the first assignment. Precondition: locked.
  const Tensor& value() const noexcept { return value_; }
  // True if an update on `device` would change the value in place. Precondition: locked.
  bool updated_in_place(const Device& device) const noexcept;

 private:
  void expect_initialized() const;

  mutable std::mutex mutex_;
  DType dtype_;
  PartialShape shape_;
  std::string base_name_;
  Tensor value_;
};

// The resources of one session, or of eager mode (`default_resources()`): a map from (container, name) to resource.
// Thread-safe.
class PANTO_EXPORT ResourceManager {
 public:
  ResourceManager();
  ~ResourceManager();
  ResourceManager(const ResourceManager&) = delete;
  ResourceManager& operator=(const ResourceManager&) = delete;

  // Returns the resource of that name; calls `make` if there is none.
  ResourceHandle lookup_or_create(const std::string& container, const std::string& name, ResourceHandle (*make)(void*),
                                  void* argument);
  // Null if there is none.
  ResourceHandle find(const std::string& container, const std::string& name) const;
  void clear(const std::string& container);
  std::vector<ResourceHandle> list() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The resources of eager mode, used by steps that have no ResourceManager of their own (lib/core/step/step.h).
PANTO_EXPORT ResourceManager& default_resources();

// The variable that scalar resource tensor `handle` refers to. Throws InvalidArgument for anything else.
PANTO_EXPORT VariableResource& variable_of(const Tensor& handle);

// The device of a tensor; for a handle, the device of its variable's value.
PANTO_EXPORT Device& home_of(const Tensor& t);

}  // namespace panto
