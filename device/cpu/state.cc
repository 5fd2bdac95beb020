// Variables: handles, reads, assignments and the optimizers' steps, which change values in place where nobody looks.

#include <cmath>

#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/level.h"
#include "panto/device/cpu/parallel.h"
#include "panto/device/state.h"
#include "panto/lib/base/format.h"
#include "panto/lib/core/resource.h"

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
  // Nodes without a name share one variable, as in TensorFlow; an eager call cannot mean that.
  if (declared.name.empty() && c.call().node_name.empty()) {
    declared.name = c.text("debug_name");
    return c.set_out(0, resource_tensor(make_variable(&declared)));
  }
  ResourceHandle handle = current_resources().lookup_or_create(std::string(declared.container),
                                                               std::string(declared.name), make_variable, &declared);
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

// Calls body(begin, end) for shares of n elements, each of which moves `bytes`. Not stopped once it began: a variable
// that was changed in part would be of no use.
template <class Body>
void share(int64_t n, int64_t bytes, const Body& body) {
  cpu::parallel_shares(n, n * bytes, [&](int64_t begin, int64_t end) { cpu::specialised([&] { body(begin, end); }); });
}

template <bool kAdd>
struct RunAssignChange {
  template <class T>
  static void run(KernelContext& c) {
    const T* delta = c.data<T>(1);
    state::update<T>(c, 1, [=](T* v, int64_t n) {
      share(n, 3 * sizeof(T), [=](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          if constexpr (std::is_integral_v<T>) {
            using Wraps = std::make_unsigned_t<T>;
            const auto a = static_cast<Wraps>(v[i]);
            const auto b = static_cast<Wraps>(delta[i]);
            v[i] = static_cast<T>(kAdd ? a + b : a - b);
          } else {
            v[i] = kAdd ? v[i] + delta[i] : v[i] - delta[i];
          }
        }
      });
    });
  }
};

const CpuKernel var_handle_kernel("VarHandleOp", run_var_handle);
const CpuKernel var_is_initialized_kernel("VarIsInitializedOp", run_is_initialized);
const CpuKernel read_variable_kernel("ReadVariableOp", dtypes::kAny, state::read);
const CpuKernel assign_variable_kernel("AssignVariableOp", dtypes::kAny, state::assign);
const CpuKernel assign_add_kernel("AssignAddVariableOp", types::numeric{}, RunAssignChange<true>{});
const CpuKernel assign_sub_kernel("AssignSubVariableOp", types::numeric{}, RunAssignChange<false>{});

// ---- Optimizers' steps ---------------------------------------------------------------------------------------------

struct RunGradientDescent {
  template <class T>
  static void run(KernelContext& c) {
    const T alpha = *c.data<T>(1);
    const T* delta = c.data<T>(2);
    state::update<T>(c, 2, [=](T* v, int64_t n) {
      share(n, 3 * sizeof(T), [=](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) v[i] -= alpha * delta[i];
      });
    });
  }
};

struct RunAdam {
  template <class T>
  static void run(KernelContext& c) {
    state::update_together<T, 3>(c, 9, [&](T* var, T* m, T* v, int64_t n) {
      c.flag("use_nesterov") ? step<T, true>(c, var, m, v, n) : step<T, false>(c, var, m, v, n);
    });
  }

 private:
  template <class T, bool kNesterov>
  static void step(KernelContext& c, T* var, T* m, T* v, int64_t n) {
    const auto scalar = [&c](int i) { return *c.data<T>(i); };
    const T beta1 = scalar(6);
    const T new1 = T{1} - beta1;
    const T new2 = T{1} - scalar(7);
    const T epsilon = scalar(8);
    const T rate = scalar(5) * std::sqrt(T{1} - scalar(4)) / (T{1} - scalar(3));
    const T* grad = c.data<T>(9);
    share(n, 7 * sizeof(T), [=](int64_t begin, int64_t end) {
#pragma GCC ivdep
      for (int64_t i = begin; i < end; ++i) {
        const T g = grad[i];
        m[i] += (g - m[i]) * new1;
        v[i] += (g * g - v[i]) * new2;
        const T direction = kNesterov ? g * new1 + beta1 * m[i] : m[i];
        var[i] -= (direction * rate) / (std::sqrt(v[i]) + epsilon);
      }
    });
  }
};

// kKeras: the rate is applied to each gradient as it is accumulated, not to what has accumulated.
template <bool kKeras>
struct RunMomentum {
  template <class T>
  static void run(KernelContext& c) {
    state::update_together<T, 2>(c, 3, [&](T* var, T* accum, int64_t n) {
      c.flag("use_nesterov") ? step<T, true>(c, var, accum, n) : step<T, false>(c, var, accum, n);
    });
  }

 private:
  template <class T, bool kNesterov>
  static void step(KernelContext& c, T* var, T* accum, int64_t n) {
    const T lr = *c.data<T>(2);
    const T momentum = *c.data<T>(4);
    const T* grad = c.data<T>(3);
    share(n, 5 * sizeof(T), [=](int64_t begin, int64_t end) {
#pragma GCC ivdep
      for (int64_t i = begin; i < end; ++i) {
        const T g = kKeras ? -(grad[i] * lr) : grad[i];
        accum[i] = accum[i] * momentum + g;
        const T direction = kNesterov ? accum[i] * momentum + g : accum[i];
        var[i] = kKeras ? var[i] + direction : var[i] - direction * lr;
      }
    });
  }
};

struct RunRmsProp {
  template <class T>
  static void run(KernelContext& c) {
    const auto scalar = [&c](int i) { return *c.data<T>(i); };
    const T lr = scalar(3);
    const T rest = T{1} - scalar(4);
    const T momentum = scalar(5);
    const T epsilon = scalar(6);
    const T* grad = c.data<T>(7);
    state::update_together<T, 3>(c, 7, [=](T* var, T* ms, T* mom, int64_t n) {
      share(n, 7 * sizeof(T), [=](int64_t begin, int64_t end) {
#pragma GCC ivdep
        for (int64_t i = begin; i < end; ++i) {
          const T g = grad[i];
          ms[i] += (g * g - ms[i]) * rest;
          mom[i] = mom[i] * momentum + (g * lr) / std::sqrt(ms[i] + epsilon);
          var[i] -= mom[i];
        }
      });
    });
  }
};

struct RunCenteredRmsProp {
  template <class T>
  static void run(KernelContext& c) {
    const auto scalar = [&c](int i) { return *c.data<T>(i); };
    const T lr = scalar(4);
    const T rest = T{1} - scalar(5);
    const T momentum = scalar(6);
    const T epsilon = scalar(7);
    const T* grad = c.data<T>(8);
    state::update_together<T, 4>(c, 8, [=](T* var, T* mg, T* ms, T* mom, int64_t n) {
      share(n, 9 * sizeof(T), [=](int64_t begin, int64_t end) {
#pragma GCC ivdep
        for (int64_t i = begin; i < end; ++i) {
          const T g = grad[i];
          ms[i] += (g * g - ms[i]) * rest;
          mg[i] += (g - mg[i]) * rest;
          mom[i] = mom[i] * momentum + (g * lr) / std::sqrt(ms[i] - mg[i] * mg[i] + epsilon);
          var[i] -= mom[i];
        }
      });
    });
  }
};

struct RunAdagrad {
  template <class T>
  static void run(KernelContext& c) {
    const bool update_slots = c.flag("update_slots");
    const T lr = *c.data<T>(2);
    const T epsilon = *c.data<T>(3);
    const T* grad = c.data<T>(4);
    state::update_together<T, 2>(c, 4, [=](T* var, T* accum, int64_t n) {
      share(n, 5 * sizeof(T), [=](int64_t begin, int64_t end) {
#pragma GCC ivdep
        for (int64_t i = begin; i < end; ++i) {
          const T g = grad[i];
          if (update_slots) accum[i] += g * g;
          var[i] -= (g * lr) / (std::sqrt(accum[i]) + epsilon);
        }
      });
    });
  }
};

const CpuKernel gradient_descent_kernel("ResourceApplyGradientDescent", types::floating{}, RunGradientDescent{});
const CpuKernel adam_kernel("ResourceApplyAdam", types::floating{}, RunAdam{});
const CpuKernel momentum_kernel("ResourceApplyMomentum", types::floating{}, RunMomentum<false>{});
const CpuKernel keras_momentum_kernel("ResourceApplyKerasMomentum", types::floating{}, RunMomentum<true>{});
const CpuKernel rms_prop_kernel("ResourceApplyRMSProp", types::floating{}, RunRmsProp{});
const CpuKernel centered_rms_prop_kernel("ResourceApplyCenteredRMSProp", types::floating{}, RunCenteredRmsProp{});
const CpuKernel adagrad_kernel("ResourceApplyAdagradV2", types::floating{}, RunAdagrad{});

}  // namespace
}  // namespace panto
