// GradientTape: records the ops that run, and computes gradients by reverse-mode differentiation.
//
//   Variable k(random_normal({2, 3}), "k");
//   GradientTape tape;                           // records until it goes out of scope; watches variables by itself
//   Tensor loss = mean(square(matmul(x, k) - 1.0f));
//   Tensor dk = tape.gradient(loss, k);                 // [2, 3]
//
// Tapes nest: the outer tape records the gradient ops of the inner one, which gives higher-order gradients. A tape that
// is not persistent computes gradients once and then frees what it recorded.
// Thread-safety: a tape belongs to the thread that made it; calls on other threads throw FailedPrecondition. It may be
// stopped or destroyed on any thread; its records are then freed when its own thread calls the next op, or ends.
#pragma once

#include <initializer_list>
#include <memory>
#include <source_location>
#include <span>
#include <utility>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/lib/base/shared_impl.h"
#include "panto/lib/core/tensor/tensor.h"
#include "panto/lib/core/tensor/variable.h"

namespace panto {

class GradSource;
class GradientTape;
struct Gradient;
namespace detail {
// Returns gradients as GradientTape::gradients does, or with `sparse` as sparse_gradient does, but without the caller's
// line in errors. If `stopped` is not null, calls without a gradient are treated as constants, and `*stopped` is set to
// whether there was one. Internal.
PANTO_EXPORT std::vector<Gradient> graph_gradients(GradientTape& tape, std::span<const Tensor> targets,
                                                   std::span<const GradSource> sources, std::span<const Tensor> seeds,
                                                   bool sparse, bool* stopped);
}  // namespace detail

// A source of a gradient: a tensor that the tape watches, or a variable.
class PANTO_EXPORT GradSource {
 public:
  GradSource(const Tensor& t) : tensor_(t) {}  // NOLINT(google-explicit-constructor): as in tape.gradient(y, x)
  GradSource(const Variable& v) : tensor_(v.handle()), variable_(v) {}  // NOLINT(google-explicit-constructor)
  const Tensor& tensor() const { return tensor_; }
  const Variable& variable() const { return variable_; }

 private:
  Tensor tensor_;
  Variable variable_;
};

// A gradient: a whole tensor, or rows of a tensor that is zero elsewhere (TensorFlow's IndexedSlices). Undefined if the
// target does not depend on the source.
struct PANTO_EXPORT Gradient {
  Tensor whole = {};
  Tensor indices = {};   // [n], int32 or int64: row numbers; repeated rows add up
  Tensor rows = {};      // [n, ...]
  Tensor num_rows = {};  // of the whole gradient: an integer scalar

  bool defined() const { return whole.defined() || rows.defined(); }
  bool sparse() const { return rows.defined(); }
  // The rows, or the whole tensor; undefined if the gradient is.
  Tensor& elements() { return sparse() ? rows : whole; }
  const Tensor& elements() const { return sparse() ? rows : whole; }
  // The whole tensor, built from the rows if needed; undefined if the gradient is. Throws InvalidArgument for an index
  // that is not below num_rows.
  Tensor dense() const;
};

class PANTO_EXPORT GradientTape {
 public:
  struct Options {
    bool persistent = false;        // gradients may be computed repeatedly; the tape also records its gradient ops
    bool watch_variables = true;    // watch floating variables when they are first read
    bool unconnected_zero = false;  // zeros, not undefined, for sources that the target does not depend on
  };

  GradientTape();
  explicit GradientTape(const Options& options);
  ~GradientTape();
  GradientTape(const GradientTape&) = delete;
  GradientTape& operator=(const GradientTape&) = delete;

  // Starts watching a tensor, or a variable if watch_variables is off, so that gradients can be asked for. Throws
  // InvalidArgument unless it is floating or complex.
  void watch(const GradSource& source);
  // Stops recording. Recorded ops stay.
  void stop();

  // d target / d source, in the source's shape. `seed` (of the target's shape) is the gradient that flows into target;
  // if undefined, ones, which gives the gradient of the target's sum. Returns an undefined tensor if target does not
  // depend on the source. Throws FailedPrecondition at the second call on a tape that is not persistent, Unimplemented
  // if an op on the path has no gradient.
  Tensor gradient(const Tensor& target, const GradSource& source, const Tensor& seed = {},
                  std::source_location where = std::source_location::current());
  std::vector<Tensor> gradient(const Tensor& target, std::span<const GradSource> sources, const Tensor& seed = {},
                               std::source_location where = std::source_location::current());
  std::vector<Tensor> gradient(const Tensor& target, std::initializer_list<GradSource> sources, const Tensor& seed = {},
                               std::source_location where = std::source_location::current());
  template <class Source>
  std::vector<Tensor> gradient(const Tensor& target, const std::vector<Source>& sources, const Tensor& seed = {},
                               std::source_location where = std::source_location::current()) {
    return gradient_of(target, {sources.begin(), sources.end()}, seed, where);
  }
  // The same with several targets, each with its seed (undefined: ones): the gradient of their sum.
  std::vector<Tensor> gradients(std::span<const Tensor> targets, std::span<const GradSource> sources,
                                std::span<const Tensor> seeds = {},
                                std::source_location where = std::source_location::current());

  // As gradient, but for a source whose rows were looked up (`gather` along the first dimension without batch
  // dimensions, `resource_gather`) returns only those rows: one per lookup, repeats included, in the order in which the
  // backward pass meets them. The gradient is whole if the source is also used in another way, if the target depends on
  // it through a call of a traced function, or if it was itself computed from a source.
  Gradient sparse_gradient(const Tensor& target, const GradSource& source, const Tensor& seed = {},
                           std::source_location where = std::source_location::current());
  std::vector<Gradient> sparse_gradient(const Tensor& target, std::span<const GradSource> sources,
                                        const Tensor& seed = {},
                                        std::source_location where = std::source_location::current());
  std::vector<Gradient> sparse_gradient(const Tensor& target, std::initializer_list<GradSource> sources,
                                        const Tensor& seed = {},
                                        std::source_location where = std::source_location::current());
  template <class Source>
  std::vector<Gradient> sparse_gradient(const Tensor& target, const std::vector<Source>& sources,
                                        const Tensor& seed = {},
                                        std::source_location where = std::source_location::current()) {
    return sparse_gradient_of(target, {sources.begin(), sources.end()}, seed, where);
  }

  // The number of ops recorded so far.
  size_t size() const;

 private:
  friend std::vector<Gradient> detail::graph_gradients(GradientTape& tape, std::span<const Tensor> targets,
                                                       std::span<const GradSource> sources,
                                                       std::span<const Tensor> seeds, bool sparse, bool* stopped);
  class Impl;
  // Used by the templates, as spans of a vector are slow to compile (see Node).
  std::vector<Tensor> gradient_of(const Tensor& target, const std::vector<GradSource>& sources, const Tensor& seed,
                                  const std::source_location& where);
  std::vector<Gradient> sparse_gradient_of(const Tensor& target, const std::vector<GradSource>& sources,
                                           const Tensor& seed, const std::source_location& where);
  std::vector<Gradient> gradients_at(const std::source_location& where, std::span<const Tensor> targets,
                                     std::span<const GradSource> sources, std::span<const Tensor> seeds, bool sparse);
  SharedImpl<Impl> impl_;
};

namespace detail {
// A new handle on the same data, so that a tensor passed for two arguments is differentiated separately for each.
PANTO_EXPORT Tensor own_argument(const Tensor& t);
inline Variable own_argument(const Variable& v) { return v; }
}  // namespace detail

// The functional form: value_and_grad(f)(a, b, ...) returns f's value and its gradients with respect to all arguments,
// which are Tensors or Variables.
template <class F>
auto value_and_grad(F f) {
  return [f = std::move(f)](const auto&... args) {
    const auto differentiate = [&f](const auto&... own) {
      GradientTape tape;
      const GradSource sources[] = {GradSource(own)...};
      for (const GradSource& s : sources) tape.watch(s);
      Tensor value = f(own...);
      std::vector<Tensor> gradients = tape.gradient(value, std::span<const GradSource>(sources));
      return std::pair(std::move(value), std::move(gradients));
    };
    return differentiate(detail::own_argument(args)...);
  };
}

}  // namespace panto
