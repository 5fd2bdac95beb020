// Mutable things that tensors of dtype resource refer to: variables, queues, tables.
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

// The resource behind a Variable. The value is undefined until something was assigned. It is on the device that used it
// last: who needs it elsewhere says so, and it moves there.
// Thread-safe: reads and updates take the mutex; a read gives a tensor that later updates do not change.
class PANTO_EXPORT VariableResource final : public Resource {
 public:
  // `base_name`: what it was called before its name was made unique; empty: its name.
  VariableResource(std::string container, std::string name, DType dtype, PartialShape shape,
                   std::string base_name = {});

  std::string_view kind() const noexcept override { return "Variable"; }
  // The same in every process that makes the same variables: names of values in files are made of it.
  const std::string& base_name() const noexcept { return base_name_.empty() ? name() : base_name_; }
  DType dtype() const noexcept { return dtype_; }
  const PartialShape& shape() const noexcept { return shape_; }

  bool initialized() const;
  // Where the value is; the first CPU before the first assignment.
  Device& device() const;
  // The value, wherever it is. Throws FailedPrecondition before the first assignment.
  Tensor read() const;
  // The value, which moves to `device`. Throws FailedPrecondition before the first assignment.
  Tensor read(Device& device);
  // Throws InvalidArgument where dtype or shape do not fit the declared ones.
  void assign(Tensor value);
  // Calls `update(value)` under the lock with a tensor on `device` that nobody else holds (copied first if somebody
  // does, or if it is elsewhere); what the function leaves there is the new value. Nothing changes if it throws before
  // it writes. Throws FailedPrecondition before the first assignment.
  template <class Update>
  void update(Device& device, Update&& update) {
    const std::lock_guard lock(mutex_);
    Tensor value = begin_update(device);
    update(value);
    value_ = std::move(value);
  }
  // The same over several variables at once, locked without deadlock (an optimizer's slots).
  std::mutex& mutex() const noexcept { return mutex_; }
  Tensor begin_update(Device& device);                          // precondition: locked
  void end_update(Tensor value) { value_ = std::move(value); }  // precondition: locked
  // The value as it is, undefined before the first assignment: to look at where it is. Precondition: locked.
  const Tensor& value() const noexcept { return value_; }
  // Whether an update on `device` would be made in its bytes. Precondition: locked.
  bool updated_in_place(const Device& device) const noexcept;

 private:
  void expect_initialized() const;

  mutable std::mutex mutex_;
  DType dtype_;
  PartialShape shape_;
  std::string base_name_;
  Tensor value_;
};

// The resources of one session, or of eager mode (`default_resources()`): (container, name) -> resource.
// Thread-safe.
class PANTO_EXPORT ResourceManager {
 public:
  ResourceManager();
  ~ResourceManager();
  ResourceManager(const ResourceManager&) = delete;
  ResourceManager& operator=(const ResourceManager&) = delete;

  // The resource of that name, made by `make` if there is none.
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

// The resources of eager mode: those of steps that name no others (lib/core/step/step.h).
PANTO_EXPORT ResourceManager& default_resources();

// The variable that scalar resource tensor `handle` refers to. Throws InvalidArgument for anything else.
PANTO_EXPORT VariableResource& variable_of(const Tensor& handle);

// Where a tensor is; of a handle, where the value of its variable is.
PANTO_EXPORT Device& home_of(const Tensor& t);

}  // namespace panto
