// Spectral normalisation: keeps the largest singular value of a layer's kernel at 1.
//
//   SpectralNorm layer(Dense(64, 64));
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/nn/layers/layer.h"

namespace panto {

struct SpectralNormOptions {
  int64_t power_iterations = 1;
  std::string name = "spectral_norm";  // of the variable: "spectral_norm/vector_u"
};

namespace detail {
template <class L>
const Variable& kernel_of(const L& layer) {
  if constexpr (requires { layer.kernel(); }) {
    return layer.kernel();
  } else {
    return layer.table();
  }
}
}  // namespace detail

// In training each call first divides the layer's kernel, as a matrix whose columns are its last dimension, by an
// estimate of its largest singular value; power iterations improve the estimate from call to call (Miyato et al. 2018;
// the kernel itself changes, as in Keras). Otherwise it just applies the layer. A kernel of zeros is not changed.
// Thread-safety: one call in training at a time.
class PANTO_EXPORT SpectralNorm final : public BuiltInLayer {
 public:
  // Wraps a layer that has a kernel or a table: SpectralNorm(Dense(3, 4)). Throws InvalidArgument unless
  // power_iterations is positive.
  template <class L>
    requires(std::is_base_of_v<Layer, L> && requires(const L& layer) { detail::kernel_of(layer); })
  explicit SpectralNorm(L layer, SpectralNormOptions options = {})
      : layer_(std::make_shared<const L>(std::move(layer))) {
    begin(detail::kernel_of(static_cast<const L&>(*layer_)), options);
  }
  Tensor forward(const Tensor& x) const override;
  Parts parts() const override { return {layer_, frozen(u_)}; }
  std::string to_string() const override;
  const Variable& vector_u() const { return u_; }  // [1, last dimension of the kernel]

 private:
  void begin(const Variable& kernel, const SpectralNormOptions& options);

  std::shared_ptr<const Layer> layer_;
  int64_t iterations_ = 1;
  Variable kernel_, u_;
};

}  // namespace panto
