// Variables: handles, reads and assignments. Assignments change the value in place if no reader holds it.

#include "panto/device/state.h"
#include "panto/device/cpu/isa.h"
#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/parallel.h"
#include "panto/device/math/convert.h"
#include "panto/device/op_kernels.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/tensor/resource.h"
#include "panto/lib/core/tensor/tensor_alloc.h"

namespace panto {
namespace {

// ---- Handles -------------------------------------------------------------------------------------------------------

struct Declared {
  std::string_view container, name;
  DType dtype;
  const PartialShape& shape;
};

ResourceHandle make_variable(void* declared) {
  const Declared& d = *static_cast<const Declared*>(declared);
  return std::make_shared<VariableResource>(std::string(d.container), std::string(d.name), d.dtype, d.shape);
}

void run_var_handle(KernelContext& c) {
  Declared declared{c.text("container"), c.text("shared_name"), c.type("dtype"), c.shape_attr("shape")};
  // Nodes without a name share one variable, as in TensorFlow. An eager call without a name makes a new one.
  if (declared.name.empty() && c.call().node_name.empty()) {
    declared.name = c.text("debug_name");
    return c.set_out(0, resource_tensor(make_variable(&declared)));
  }
  ResourceHandle handle = c.step().resource_manager().lookup_or_create(
      std::string(declared.container), std::string(declared.name), make_variable, &declared);
  Tensor out = resource_tensor(std::move(handle));
  const VariableResource& variable = variable_of(out);
  if (variable.dtype() != declared.dtype || !variable.shape().compatible_with(declared.shape)) {
    invalid("variable \"{}\": expected {} of shape {}, got one declared before as {} of shape {}", declared.name,
            dtype_name(declared.dtype), declared.shape.to_string(), dtype_name(variable.dtype()),
            variable.shape().to_string());
  }
  c.set_out(0, std::move(out));
}

void run_is_initialized(KernelContext& c) { *c.out_data<bool>(0) = variable_of(c.in(0)).initialized(); }

// ---- Whole values --------------------------------------------------------------------------------------------------

// Calls body(begin, end) for shares of n elements, each of which moves `bytes`. Not cancelled once begun: a variable
// that is changed in part would be useless.
template <class T, class Body>
void share(int64_t n, int64_t bytes, const Body& body) {
  cpu::parallel_for(n, n * bytes,
                    [&](int64_t begin, int64_t end) { cpu::multiversioned_for<T>([&] { body(begin, end); }); });
}

template <bool kAdd>
struct RunAssignChange {
  template <class T>
  static void run(KernelContext& c) {
    const T* delta = c.data<T>(1);
    state::update<T>(c, 1, [=](T* v, int64_t n) {
      share<T>(n, 3 * sizeof(T), [=](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const auto a = convert<Compute<T>>(v[i]), b = convert<Compute<T>>(delta[i]);
          v[i] = convert<T>(kAdd ? k::add(a, b) : k::sub(a, b));
        }
      });
    });
  }
};

const CpuKernel variable_shape_kernel("VariableShape", dtypes::kIndex, state::shape);
const CpuKernel disable_copy_kernel("DisableCopyOnRead", [](KernelContext&) {});
const CpuKernel var_handle_kernel("VarHandleOp", run_var_handle);
const CpuKernel var_is_initialized_kernel("VarIsInitializedOp", run_is_initialized);
const CpuKernel read_variable_kernel("ReadVariableOp", dtypes::kAny, state::read);
const CpuKernel assign_variable_kernel("AssignVariableOp", dtypes::kAny, state::assign);
const CpuKernel assign_add_kernel("AssignAddVariableOp", types::arithmetic{}, RunAssignChange<true>{});
const CpuKernel assign_sub_kernel("AssignSubVariableOp", types::arithmetic{}, RunAssignChange<false>{});

}  // namespace
}  // namespace panto
