// GradientTape: remembers the ops that ran, and runs their gradients backwards.
//
//   Variable k(random_normal({2, 3}), "k");
//   GradientTape tape;                           // records until it goes out of scope; watches variables by itself
//   Tensor loss = mean(square(matmul(x, k) - 1.0f));
//   Tensor dk = tape.gradient(loss, k);                 // [2, 3]
//
// Tapes nest: the inner one's gradient ops are recorded by the outer one, which gives higher orders. A tape that is not
// persistent gives gradients once and then lets go of what it kept.
// Thread-safety: a tape belongs to the thread that made it; FailedPrecondition elsewhere. It may be stopped or deleted
// on any thread: what it kept is then freed when its own thread calls the next op, or ends.
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
// Gradients as GradientTape::gradients gives them, or with `sparse` as sparse_gradient does, without a word of where
// that was called. Unless `stopped` is null, calls on the way that have no gradient are taken for constants, and
// `*stopped` says whether there was one. Internal.
PANTO_EXPORT std::vector<Gradient> graph_gradients(GradientTape& tape, std::span<const Tensor> targets,
                                                   std::span<const GradSource> sources, std::span<const Tensor> seeds,
                                                   bool sparse, bool* stopped);
}  // namespace detail

// What one can ask a gradient for: a tensor that the tape watches, or a variable.
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

// A gradient: a whole tensor, or rows of one that is zero elsewhere (TensorFlow's IndexedSlices). One without either
// says that the target does not depend on the source.
struct PANTO_EXPORT Gradient {
  Tensor whole = {};
  Tensor indices = {};   // [n], int32 or int64: numbers of rows; those of one that occurs several times add up
  Tensor rows = {};      // [n, ...]
  Tensor num_rows = {};  // of the whole gradient: an integer scalar

  bool defined() const { return whole.defined() || rows.defined(); }
  bool sparse() const { return rows.defined(); }
  // The rows, or the whole tensor; undefined if there is neither.
  Tensor& elements() { return sparse() ? rows : whole; }
  const Tensor& elements() const { return sparse() ? rows : whole; }
  // The whole tensor, which is made if there are rows; undefined if there is neither. Throws InvalidArgument for an
  // index that is not below num_rows.
  Tensor dense() const;
};

class PANTO_EXPORT GradientTape {
 public:
  struct Options {
    bool persistent = false;        // gradients may be asked for several times; the tape then also hears its own
    bool watch_variables = true;    // floating variables are watched when they are first read
    bool unconnected_zero = false;  // sources that the target does not depend on: zeros instead of an undefined tensor
  };

  GradientTape();
  explicit GradientTape(const Options& options);
  ~GradientTape();
  GradientTape(const GradientTape&) = delete;
  GradientTape& operator=(const GradientTape&) = delete;

  // Makes a tensor (or a variable, where watch_variables is off) one that gradients can be asked for. Throws
  // InvalidArgument unless it is floating or complex.
  void watch(const GradSource& source);
  // Stops recording. Recorded ops stay.
  void stop();

  // d target / d source, in the source's shape. `seed` (of the target's shape) is the gradient that flows into target;
  // ones if undefined, which gives the gradient of the target's sum. An undefined tensor where target does not depend
  // on the source. Throws FailedPrecondition when called a second time on a tape that is not persistent,
  // Unimplemented where an op on the way has no gradient.
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

  // As gradient, but of a source whose rows were looked up (`gather` along the first dimension without batch
  // dimensions, `resource_gather`) only the rows that were, in the order in which the tape comes to them: one for each
  // lookup, repeats included. Whole where the source is used in another way too, where the target depends on it through
  // a traced function's call, or where it was itself computed from a source.
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

  // Ops recorded so far.
  size_t size() const;

 private:
  friend std::vector<Gradient> detail::graph_gradients(GradientTape& tape, std::span<const Tensor> targets,
                                                       std::span<const GradSource> sources,
                                                       std::span<const Tensor> seeds, bool sparse, bool* stopped);
  class Impl;
  // For the templates: spans of a vector are slow to compile (see Node).
  std::vector<Tensor> gradient_of(const Tensor& target, const std::vector<GradSource>& sources, const Tensor& seed,
                                  const std::source_location& where);
  std::vector<Gradient> sparse_gradient_of(const Tensor& target, const std::vector<GradSource>& sources,
                                           const Tensor& seed, const std::source_location& where);
  std::vector<Gradient> gradients_at(const std::source_location& where, std::span<const Tensor> targets,
                                     std::span<const GradSource> sources, std::span<const Tensor> seeds, bool sparse);
  SharedImpl<Impl> impl_;
};

namespace detail {
// A new handle on the same bytes: a tensor that is given for two arguments is two things to differentiate by.
PANTO_EXPORT Tensor own_argument(const Tensor& t);
inline Variable own_argument(const Variable& v) { return v; }
}  // namespace detail

// The functional form: value_and_grad(f)(a, b, ...) gives f's value and its gradients with respect to all arguments,
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
