// The optimizers' update formulas, for one element, as in TensorFlow's kernels. Shared by dense updates on the CPU
// (device/cpu/training/dense.cc) and on GPUs (device/cuda/training.cu) and by updates of rows
// (device/cpu/training/sparse.cc, device/cuda/training_rows.cu).
//
// A rule is a template over the type that it computes in. kSlots: the number of variables that it updates, which are
// the first inputs. kGrad: the input that is the gradient; in an update of rows the row numbers come after it. The
// other inputs are scalars. kFlag: the bool attribute that the rule reads, if it has one. `with` reads the scalars in
// order and calls its last argument with the update function, which takes the gradient's element and the variables'
// elements. Each back-end gives its own reader of scalars:
//
//   s.next()                            the next scalar, in the type that the rule computes in
//   s.count()                           the next scalar, an int64
//   s.of_rows()                         true for an update of rows
//   s.expect(holds, what, wanted, got)  throws, if !holds, for a scalar that TensorFlow refuses
#pragma once

#include <cmath>
#include <cstddef>

#include "panto/device/math/vocabulary.h"
#include "panto/lib/core/call/call.h"

// `with` runs where the scalars are: on a GPU in the kernel.
#ifdef __CUDACC__
#define PANTO_WITH_FN __device__ inline
#else
#define PANTO_WITH_FN inline
#endif

namespace panto::training {

// The value of the attribute kFlag of the rule; false if the rule has none.
template <class Rule>
bool flag_for([[maybe_unused]] const KernelContext& c) {
  if constexpr (requires { Rule::kFlag; }) {
    return c.flag(Rule::kFlag);
  } else {
    return false;
  }
}

template <class V>
PANTO_FN V sign(V x) {
  return static_cast<V>((x > V{0}) - (x < V{0}));
}

template <class S, class V>
PANTO_WITH_FN void expect_regularization(S& s, V l1, V l2) {
  s.expect(l1 >= V{0}, "l1", "at least 0", l1);
  s.expect(l2 >= V{0}, "l2", "at least 0", l2);
}

// Soft thresholding: x moved by `width` towards 0, no further.
template <class V>
PANTO_FN V shrunk(V x, V width) {
  return sign(x) * k::max(k::abs(x) - width, V{0});
}

// The proximal step (Duchi and Singer 2009, FOBOS) for regularization l1 |x| + l2 x^2 / 2.
template <class V>
PANTO_FN V proximal(V x, V rate, V l1, V l2) {
  return (l1 > V{0} ? shrunk(x, rate * l1) : x) / (V{1} + l2 * rate);
}

template <class V>
struct GradientDescent {
  static constexpr size_t kSlots = 1;
  static constexpr int kGrad = 2;
  V alpha;
  PANTO_FN void operator()(V g, V& var) const { var -= alpha * g; }
  template <class S, class F>
  PANTO_WITH_FN static void with(bool, S& s, const F& f) {
    f(GradientDescent{s.next()});
  }
};

template <class V>
struct ProximalGradientDescent {
  static constexpr size_t kSlots = 1;
  static constexpr int kGrad = 4;
  V alpha, l1, l2;
  PANTO_FN void operator()(V g, V& var) const { var = proximal(var - alpha * g, alpha, l1, l2); }
  template <class S, class F>
  PANTO_WITH_FN static void with(bool, S& s, const F& f) {
    f(ProximalGradientDescent{s.next(), s.next(), s.next()});
  }
};

// kKeras: the learning rate scales each gradient before it is accumulated, instead of the accumulated value.
template <class V, bool kKeras>
struct MomentumOf {
  static constexpr size_t kSlots = 2;
  static constexpr int kGrad = 3;
  static constexpr const char* kFlag = "use_nesterov";
  template <bool kNesterov>
  struct Step {
    V lr, momentum;
    PANTO_FN void operator()(V grad, V& var, V& accum) const {
      const V g = kKeras ? -(grad * lr) : grad;
      accum = accum * momentum + g;
      const V direction = kNesterov ? accum * momentum + g : accum;
      var = kKeras ? var + direction : var - direction * lr;
    }
  };
  template <class S, class F>
  PANTO_WITH_FN static void with(bool use_nesterov, S& s, const F& f) {
    const V lr = s.next(), momentum = s.next();
    use_nesterov ? f(Step<true>{lr, momentum}) : f(Step<false>{lr, momentum});
  }
};
template <class V>
using Momentum = MomentumOf<V, false>;
template <class V>
using KerasMomentum = MomentumOf<V, true>;

template <class V>
struct Adam {
  static constexpr size_t kSlots = 3;
  static constexpr int kGrad = 9;
  static constexpr const char* kFlag = "use_nesterov";
  template <bool kNesterov>
  struct Step {
    V rate, beta1, new1, new2, epsilon;
    PANTO_FN void operator()(V g, V& var, V& m, V& v) const {
      m += (g - m) * new1;
      v += (g * g - v) * new2;
      const V direction = kNesterov ? g * new1 + beta1 * m : m;
      var -= (direction * rate) / (k::sqrt(v) + epsilon);
    }
  };
  template <class S, class F>
  PANTO_WITH_FN static void with(bool use_nesterov, S& s, const F& f) {
    const V beta1_power = s.next(), beta2_power = s.next(), lr = s.next(), beta1 = s.next(), beta2 = s.next();
    const V epsilon = s.next(), rate = lr * k::sqrt(V{1} - beta2_power) / (V{1} - beta1_power);
    const V new1 = V{1} - beta1, new2 = V{1} - beta2;
    if (use_nesterov) {
      f(Step<true>{rate, beta1, new1, new2, epsilon});
    } else {
      f(Step<false>{rate, beta1, new1, new2, epsilon});
    }
  }
};

template <class V>
struct AdamWithAmsgrad {
  static constexpr size_t kSlots = 4;
  static constexpr int kGrad = 10;
  V rate, new1, new2, epsilon;
  PANTO_FN void operator()(V g, V& var, V& m, V& v, V& vhat) const {
    m += (g - m) * new1;
    v += (g * g - v) * new2;
    vhat = k::max(vhat, v);
    var -= (m * rate) / (k::sqrt(vhat) + epsilon);
  }
  template <class S, class F>
  PANTO_WITH_FN static void with(bool, S& s, const F& f) {
    const V beta1_power = s.next(), beta2_power = s.next(), lr = s.next(), beta1 = s.next(), beta2 = s.next();
    const V rate = lr * k::sqrt(V{1} - beta2_power) / (V{1} - beta1_power);
    f(AdamWithAmsgrad{rate, V{1} - beta1, V{1} - beta2, s.next()});
  }
};

template <class V>
struct AdaMax {
  static constexpr size_t kSlots = 3;
  static constexpr int kGrad = 8;
  V rate, new1, beta2, epsilon;
  PANTO_FN void operator()(V g, V& var, V& m, V& v) const {
    m += (g - m) * new1;
    v = k::max(beta2 * v, k::abs(g));
    var -= rate * (m / (v + epsilon));
  }
  template <class S, class F>
  PANTO_WITH_FN static void with(bool, S& s, const F& f) {
    const V beta1_power = s.next(), lr = s.next(), beta1 = s.next(), beta2 = s.next();
    f(AdaMax{lr / (V{1} - beta1_power), V{1} - beta1, beta2, s.next()});
  }
};

template <class V>
struct RmsProp {
  static constexpr size_t kSlots = 3;
  static constexpr int kGrad = 7;
  V lr, rest, momentum, epsilon;
  PANTO_FN void operator()(V g, V& var, V& ms, V& mom) const {
    ms += (g * g - ms) * rest;
    mom = mom * momentum + (g * lr) / k::sqrt(ms + epsilon);
    var -= mom;
  }
  template <class S, class F>
  PANTO_WITH_FN static void with(bool, S& s, const F& f) {
    const V lr = s.next(), rho = s.next(), momentum = s.next();
    f(RmsProp{lr, V{1} - rho, momentum, s.next()});
  }
};

template <class V>
struct CenteredRmsProp {
  static constexpr size_t kSlots = 4;
  static constexpr int kGrad = 8;
  V lr, rest, momentum, epsilon;
  PANTO_FN void operator()(V g, V& var, V& mg, V& ms, V& mom) const {
    ms += (g * g - ms) * rest;
    mg += (g - mg) * rest;
    mom = mom * momentum + (g * lr) / k::sqrt(ms - mg * mg + epsilon);
    var -= mom;
  }
  template <class S, class F>
  PANTO_WITH_FN static void with(bool, S& s, const F& f) {
    const V lr = s.next(), rho = s.next(), momentum = s.next();
    f(CenteredRmsProp{lr, V{1} - rho, momentum, s.next()});
  }
};

template <class V>
struct Adadelta {
  static constexpr size_t kSlots = 3;
  static constexpr int kGrad = 6;
  V lr, rho, epsilon;
  PANTO_FN void operator()(V g, V& var, V& accum, V& accum_update) const {
    accum = accum * rho + g * g * (V{1} - rho);
    const V update = k::sqrt(accum_update + epsilon) / k::sqrt(accum + epsilon) * g;
    var -= update * lr;
    accum_update = accum_update * rho + update * update * (V{1} - rho);
  }
  template <class S, class F>
  PANTO_WITH_FN static void with(bool, S& s, const F& f) {
    f(Adadelta{s.next(), s.next(), s.next()});
  }
};

template <class V>
struct Adagrad {
  static constexpr size_t kSlots = 2;
  static constexpr int kGrad = 3;
  static constexpr const char* kFlag = "update_slots";
  V lr;
  bool update_slots;
  PANTO_FN void operator()(V g, V& var, V& accum) const {
    if (update_slots) accum += g * g;
    var -= (g * lr) / k::sqrt(accum);
  }
  template <class S, class F>
  PANTO_WITH_FN static void with(bool update_slots, S& s, const F& f) {
    f(Adagrad{s.next(), update_slots});
  }
};

template <class V>
struct AdagradV2 {
  static constexpr size_t kSlots = 2;
  static constexpr int kGrad = 4;
  static constexpr const char* kFlag = "update_slots";
  V lr, epsilon;
  bool update_slots;
  PANTO_FN void operator()(V g, V& var, V& accum) const {
    if (update_slots) accum += g * g;
    var -= (g * lr) / (k::sqrt(accum) + epsilon);
  }
  template <class S, class F>
  PANTO_WITH_FN static void with(bool update_slots, S& s, const F& f) {
    f(AdagradV2{s.next(), s.next(), update_slots});
  }
};

template <class V>
struct ProximalAdagrad {
  static constexpr size_t kSlots = 2;
  static constexpr int kGrad = 5;
  V lr, l1, l2;
  PANTO_FN void operator()(V g, V& var, V& accum) const {
    accum += g * g;
    const V rate = lr / k::sqrt(accum);
    var = proximal(var - g * rate, rate, l1, l2);
  }
  template <class S, class F>
  PANTO_WITH_FN static void with(bool, S& s, const F& f) {
    const ProximalAdagrad rule{s.next(), s.next(), s.next()};
    s.expect(rule.lr > V{0}, "lr", "more than 0", rule.lr);
    expect_regularization(s, rule.l1, rule.l2);
    f(rule);
  }
};

// Dual averaging: the variable is computed from the sums over all gradients so far, not from its last value.
template <class V>
struct AdagradDA {
  static constexpr size_t kSlots = 3;
  static constexpr int kGrad = 3;
  V lr, l1, l2, steps;
  PANTO_FN void operator()(V g, V& var, V& sum, V& squares) const {
    sum += g;
    squares += g * g;
    const V direction = l1 > V{0} ? shrunk(sum, l1 * steps) : sum;
    var = -lr * direction / (l2 * steps * lr + k::sqrt(squares));
  }
  template <class S, class F>
  PANTO_WITH_FN static void with(bool, S& s, const F& f) {
    const V lr = s.next(), l1 = s.next(), l2 = s.next();
    f(AdagradDA{lr, l1, l2, s.count()});
  }
};

// kShrinks: FtrlV2, which adds an L2 shrinkage term to the gradient.
template <class V, bool kShrinks>
struct FtrlOf {
  static constexpr size_t kSlots = 3;
  static constexpr int kGrad = 3;
  static constexpr const char* kFlag = "multiply_linear_by_lr";
  V lr, l1, l2, shrinkage, power;  // power = -lr_power: exponent of the sum of squares
  bool linear_by_lr;
  PANTO_FN V raised(V accum) const { return power == V(0.5) ? k::sqrt(accum) : std::pow(accum, power); }
  PANTO_FN void operator()(V g, V& var, V& accum, V& linear) const {
    const V direction = kShrinks ? g + V{2} * shrinkage * var : g;
    const V next = accum + g * g;
    const V size = raised(next), more = size - raised(accum);
    V limit, quadratic;
    if (linear_by_lr) {
      linear += direction * lr - more * var;
      quadratic = size + V{2} * l2 * lr;
      limit = l1 * lr;
    } else {
      linear += direction - more / lr * var;
      quadratic = size / lr + V{2} * l2;
      limit = l1;
    }
    var = k::abs(linear) > limit ? (limit * sign(linear) - linear) / quadratic : V{0};
    accum = next;
  }
  template <class S, class F>
  PANTO_WITH_FN static void with(bool multiply_linear_by_lr, S& s, const F& f) {
    const V lr = s.next(), l1 = s.next(), l2 = s.next();
    const V shrinkage = kShrinks ? s.next() : V{0}, lr_power = s.next();
    if (s.of_rows()) {
      s.expect(lr > V{0} || (multiply_linear_by_lr && lr == V{0}), "lr", "more than 0", lr);
      expect_regularization(s, l1, l2);
      s.expect(shrinkage >= V{0}, "l2_shrinkage", "at least 0", shrinkage);
      s.expect(lr_power <= V{0}, "lr_power", "at most 0", lr_power);
    }
    f(FtrlOf{lr, l1, l2, shrinkage, -lr_power, multiply_linear_by_lr});
  }
};
template <class V>
using Ftrl = FtrlOf<V, false>;
template <class V>
using FtrlV2 = FtrlOf<V, true>;

template <class V>
struct AddSign {
  static constexpr size_t kSlots = 2;
  static constexpr int kGrad = 6;
  V lr, alpha, sign_decay, beta;
  PANTO_FN void operator()(V g, V& var, V& m) const {
    m = m * beta + g * (V{1} - beta);
    var -= lr * (alpha + sign_decay * sign(g) * sign(m)) * g;
  }
  template <class S, class F>
  PANTO_WITH_FN static void with(bool, S& s, const F& f) {
    f(AddSign{s.next(), s.next(), s.next(), s.next()});
  }
};

template <class V>
struct PowerSign {
  static constexpr size_t kSlots = 2;
  static constexpr int kGrad = 6;
  V lr, logbase, sign_decay, beta;
  PANTO_FN void operator()(V g, V& var, V& m) const {
    m = m * beta + g * (V{1} - beta);
    var -= lr * std::exp(logbase * sign_decay * sign(g) * sign(m)) * g;
  }
  template <class S, class F>
  PANTO_WITH_FN static void with(bool, S& s, const F& f) {
    f(PowerSign{s.next(), s.next(), s.next(), s.next()});
  }
};

}  // namespace panto::training
