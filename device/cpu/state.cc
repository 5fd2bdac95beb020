// Variables: handles, reads, assignments and the optimizers' steps, which change values in place where nobody looks.

#include <cmath>
#include <tuple>
#include <utility>

#include "panto/device/cpu/elementwise/as_floats.h"
#include "panto/device/cpu/isa.h"
#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/parallel.h"
#include "panto/device/math/convert.h"
#include "panto/device/op_kernels.h"
#include "panto/device/state.h"
#include "panto/lib/base/checked.h"
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
  // Nodes without a name share one variable, as in TensorFlow; an eager call cannot mean that.
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

// Calls body(begin, end) for shares of n elements, each of which moves `bytes`. Not stopped once it began: a variable
// that was changed in part would be of no use.
template <class T, class Body>
void share(int64_t n, int64_t bytes, const Body& body) {
  cpu::parallel_for(n, n * bytes,
                    [&](int64_t begin, int64_t end) { cpu::multiversioned_for<T>([&] { body(begin, end); }); });
}

// An input's elements as what they are computed in.
template <class T>
class Given {
 public:
  Given(const KernelContext& c, int i) {
    if constexpr (is_half_type<T>) {
      floats_ = cpu::widened<T>(c.in(i), c.device());
      data_ = mutable_data<float>(floats_);
    } else {
      data_ = c.data<T>(i);
    }
  }
  const Compute<T>* data() const { return data_; }

 private:
  Tensor floats_;
  const Compute<T>* data_;
};
template <class T>
Compute<T> scalar(const KernelContext& c, int i) {
  return convert<Compute<T>>(*c.data<T>(i));
}

// Calls change(first, second, ..., n) with the elements of the first `kCount` variables (device/state.h) as what they
// are computed in; halves are rounded once, when all is done.
template <class T, size_t kCount, class Change>
void step(KernelContext& c, int like, const Change& change) {
  state::update_together<T, kCount>(c, like, [&](auto... given) {
    const auto all = std::tuple(given...);
    const int64_t n = std::get<kCount>(all);
    [&]<size_t... I>(std::index_sequence<I...>) {
      if constexpr (is_half_type<T>) {
        const cpu::AsFloats<T> floats[] = {{std::get<I>(all), n, c.device()}...};
        change(floats[I].data()..., n);
        (floats[I].write(std::get<I>(all)), ...);
      } else {
        change(std::get<I>(all)..., n);
      }
    }(std::make_index_sequence<kCount>{});
  });
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

void run_variable_shape(KernelContext& c) {
  const Tensor value = variable_of(c.in(0)).read();
  const Shape shape{static_cast<int64_t>(value.rank())};
  Tensor out = allocate_tensor(cpu_device(), c.type("out_type"), shape);
  for (int k = 0; k < value.rank(); ++k) {
    if (c.type("out_type") == kInt64) {
      mutable_data<int64_t>(out)[k] = value.dim(k);
    } else {
      mutable_data<int32_t>(out)[k] = checked_cast<int32_t>(value.dim(k), "dimension");
    }
  }
  c.set_out(0, std::move(out));
}

const CpuKernel variable_shape_kernel("VariableShape", dtypes::kIndex, run_variable_shape);
const CpuKernel disable_copy_kernel("DisableCopyOnRead", [](KernelContext&) {});
const CpuKernel var_handle_kernel("VarHandleOp", run_var_handle);
const CpuKernel var_is_initialized_kernel("VarIsInitializedOp", run_is_initialized);
const CpuKernel read_variable_kernel("ReadVariableOp", dtypes::kAny, state::read);
const CpuKernel assign_variable_kernel("AssignVariableOp", dtypes::kAny, state::assign);
const CpuKernel assign_add_kernel("AssignAddVariableOp", types::arithmetic{}, RunAssignChange<true>{});
const CpuKernel assign_sub_kernel("AssignSubVariableOp", types::arithmetic{}, RunAssignChange<false>{});

// ---- Optimizers' steps ---------------------------------------------------------------------------------------------

struct RunGradientDescent {
  template <class T>
  static void run(KernelContext& c) {
    using V = Compute<T>;
    const V alpha = scalar<T>(c, 1);
    const Given<T> given(c, 2);
    const V* delta = given.data();
    step<T, 1>(c, 2, [=](V* v, int64_t n) {
      share<V>(n, 3 * sizeof(T), [=](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) v[i] -= alpha * delta[i];
      });
    });
  }
};

struct RunAdam {
  template <class T>
  static void run(KernelContext& c) {
    using V = Compute<T>;
    step<T, 3>(c, 9, [&](V* var, V* m, V* v, int64_t n) {
      c.flag("use_nesterov") ? apply<T, true>(c, var, m, v, n) : apply<T, false>(c, var, m, v, n);
    });
  }

 private:
  template <class T, bool kNesterov>
  static void apply(KernelContext& c, Compute<T>* var, Compute<T>* m, Compute<T>* v, int64_t n) {
    using V = Compute<T>;
    const V beta1 = scalar<T>(c, 6);
    const V new1 = V{1} - beta1;
    const V new2 = V{1} - scalar<T>(c, 7);
    const V epsilon = scalar<T>(c, 8);
    const V rate = scalar<T>(c, 5) * std::sqrt(V{1} - scalar<T>(c, 4)) / (V{1} - scalar<T>(c, 3));
    const Given<T> given(c, 9);
    const V* grad = given.data();
    share<V>(n, 7 * sizeof(T), [=](int64_t begin, int64_t end) {
#pragma GCC ivdep
      for (int64_t i = begin; i < end; ++i) {
        const V g = grad[i];
        m[i] += (g - m[i]) * new1;
        v[i] += (g * g - v[i]) * new2;
        const V direction = kNesterov ? g * new1 + beta1 * m[i] : m[i];
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
    using V = Compute<T>;
    step<T, 2>(c, 3, [&](V* var, V* accum, int64_t n) {
      c.flag("use_nesterov") ? apply<T, true>(c, var, accum, n) : apply<T, false>(c, var, accum, n);
    });
  }

 private:
  template <class T, bool kNesterov>
  static void apply(KernelContext& c, Compute<T>* var, Compute<T>* accum, int64_t n) {
    using V = Compute<T>;
    const V lr = scalar<T>(c, 2);
    const V momentum = scalar<T>(c, 4);
    const Given<T> given(c, 3);
    const V* grad = given.data();
    share<V>(n, 5 * sizeof(T), [=](int64_t begin, int64_t end) {
#pragma GCC ivdep
      for (int64_t i = begin; i < end; ++i) {
        const V g = kKeras ? -(grad[i] * lr) : grad[i];
        accum[i] = accum[i] * momentum + g;
        const V direction = kNesterov ? accum[i] * momentum + g : accum[i];
        var[i] = kKeras ? var[i] + direction : var[i] - direction * lr;
      }
    });
  }
};

struct RunRmsProp {
  template <class T>
  static void run(KernelContext& c) {
    using V = Compute<T>;
    const V lr = scalar<T>(c, 3);
    const V rest = V{1} - scalar<T>(c, 4);
    const V momentum = scalar<T>(c, 5);
    const V epsilon = scalar<T>(c, 6);
    const Given<T> given(c, 7);
    const V* grad = given.data();
    step<T, 3>(c, 7, [=](V* var, V* ms, V* mom, int64_t n) {
      share<V>(n, 7 * sizeof(T), [=](int64_t begin, int64_t end) {
#pragma GCC ivdep
        for (int64_t i = begin; i < end; ++i) {
          const V g = grad[i];
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
    using V = Compute<T>;
    const V lr = scalar<T>(c, 4);
    const V rest = V{1} - scalar<T>(c, 5);
    const V momentum = scalar<T>(c, 6);
    const V epsilon = scalar<T>(c, 7);
    const Given<T> given(c, 8);
    const V* grad = given.data();
    step<T, 4>(c, 8, [=](V* var, V* mg, V* ms, V* mom, int64_t n) {
      share<V>(n, 9 * sizeof(T), [=](int64_t begin, int64_t end) {
#pragma GCC ivdep
        for (int64_t i = begin; i < end; ++i) {
          const V g = grad[i];
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
    using V = Compute<T>;
    const bool update_slots = c.flag("update_slots");
    const V lr = scalar<T>(c, 2);
    const V epsilon = scalar<T>(c, 3);
    const Given<T> given(c, 4);
    const V* grad = given.data();
    step<T, 2>(c, 4, [=](V* var, V* accum, int64_t n) {
      share<V>(n, 5 * sizeof(T), [=](int64_t begin, int64_t end) {
#pragma GCC ivdep
        for (int64_t i = begin; i < end; ++i) {
          const V g = grad[i];
          if (update_slots) accum[i] += g * g;
          var[i] -= (g * lr) / (std::sqrt(accum[i]) + epsilon);
        }
      });
    });
  }
};

const CpuKernel gradient_descent_kernel("ResourceApplyGradientDescent", types::fractions{}, RunGradientDescent{});
const CpuKernel adam_kernel("ResourceApplyAdam", types::fractions{}, RunAdam{});
const CpuKernel momentum_kernel("ResourceApplyMomentum", types::fractions{}, RunMomentum<false>{});
const CpuKernel keras_momentum_kernel("ResourceApplyKerasMomentum", types::fractions{}, RunMomentum<true>{});
const CpuKernel rms_prop_kernel("ResourceApplyRMSProp", types::fractions{}, RunRmsProp{});
const CpuKernel centered_rms_prop_kernel("ResourceApplyCenteredRMSProp", types::fractions{}, RunCenteredRmsProp{});
const CpuKernel adagrad_kernel("ResourceApplyAdagradV2", types::fractions{}, RunAdagrad{});

}  // namespace
}  // namespace panto
