// Kernels of convolutions and their gradients by cuBLAS. A matrix of windows, one row (with channels first: one column)
// per window, is multiplied by the filter, which is already a matrix. The matrix of windows is built a piece at a time.
// If windows are single pixels without gaps, the images themselves are the matrix.
//
// Groups of few channels would give narrow matrices, one per group; they are convolved directly (conv_direct.h).
#include "panto/device/cuda/blas.h"
#include "panto/device/cuda/conv/conv_direct.h"
#include "panto/device/cuda/conv/windows.h"
#include "panto/device/cuda/each.cuh"
#include "panto/device/cuda/elementwise/epilogue.h"
#include "panto/device/cuda/elementwise/in_wider.cuh"
#include "panto/device/cuda/kernel.h"
#include "panto/lib/base/checked.h"

namespace panto {
namespace {

using cuda::Piece;
using cuda::Product;
using cuda::WindowSteps;

bool single_pixels(const Convolution& c) {
  const auto single = [](const WindowAxis& a) { return a.size == 1 && a.stride == 1 && a.before == 0 && a.after == 0; };
  return single(c.height) && single(c.width);
}

// Returns the convolution that copies the pixels of the output: 1 x 1 windows without gaps.
Convolution pixels_of_output(const Convolution& c) {
  Convolution same;
  same.axes = c.axes;
  same.batch = c.batch;
  same.in_channels = same.out_channels = c.out_channels;
  same.height.input = same.height.output = c.height.output;
  same.width.input = same.width.output = c.width.output;
  return same;
}

template <class T>
class ConvolutionProduct {
 public:
  ConvolutionProduct(cuda::CudaDevice& device, const Convolution& c)
      : device_(device),
        c_(c),
        in_pixels_(c.height.input * c.width.input),
        out_pixels_(c.height.output * c.width.output),
        group_in_(c.in_channels / c.groups),
        group_out_(c.out_channels / c.groups),
        window_(c.height.size * c.width.size * group_in_),
        serves_(single_pixels(c)) {}

  void forward(const T* input, const T* filter, T* output) {
    if (c_.channels_first()) return over_pieces([&](const Piece& p) { forward_first(p, input, filter, output); });
    if (serves_) return forward_last(c_.batch * out_pixels_, by_pixel(), input, filter, output);
    over_pieces([&](const Piece& p) {
      const T* windows = gathered(p, steps_last(p), input);
      forward_last(pixels(p), by_window(p), windows, filter, output + first_pixel(p) * c_.out_channels);
    });
  }

  void by_input(T* input, const T* filter, const T* output) {
    if (c_.channels_first()) return over_pieces([&](const Piece& p) { by_input_first(p, input, filter, output); });
    if (serves_) return by_input_last(c_.batch * out_pixels_, by_pixel(), input, filter, output);
    over_pieces([&](const Piece& p) {
      T* windows = room(p);
      by_input_last(pixels(p), by_window(p), windows, filter, output + first_pixel(p) * c_.out_channels);
      cuda::scatter_windows(device_, c_, p, steps_last(p), windows, input, p.row > 0);
    });
  }

  void by_filter(const T* input, T* filter, const T* output) {
    bool more = false;  // adds this piece to the previous ones
    if (c_.channels_first()) {
      return over_pieces([&](const Piece& p) {
        by_filter_first(p, input, filter, output, more);
        more = true;
      });
    }
    if (serves_) return by_filter_last(c_.batch * out_pixels_, by_pixel(), input, filter, output, false);
    over_pieces([&](const Piece& p) {
      const T* windows = gathered(p, steps_last(p), input);
      by_filter_last(pixels(p), by_window(p), windows, filter, output + first_pixel(p) * c_.out_channels, more);
      more = true;
    });
  }

 private:
  static int64_t pixels_of(const Piece& p, int64_t columns) { return p.rows * columns; }
  int64_t image_pixels(const Piece& p) const { return pixels_of(p, c_.width.output); }  // per image of a piece
  int64_t pixels(const Piece& p) const { return p.images * image_pixels(p); }
  int64_t first_pixel(const Piece& p) const { return p.image * out_pixels_ + p.row * c_.width.output; }

  template <class Body>
  void over_pieces(const Body& body) const {
    for (const Piece& p : cuda::pieces_of(c_, sizeof(T))) body(p);
  }

  // Returns memory for a piece of the matrix. Pieces run one after the other on the stream, so all use the same memory.
  T* room(const Piece& p) { return room(windows_, pixels(p) * window_ * c_.groups); }
  T* room(Tensor& memory, int64_t elements) {
    if (!memory.defined() || memory.numel() < elements) {
      memory = Tensor();
      memory = allocate_tensor(device_, dtype_of<T>, Shape{elements});
    }
    return mutable_data<T>(memory);
  }
  const T* gathered(const Piece& p, const WindowSteps& steps, const T* input) {
    T* windows = room(p);
    cuda::gather_windows(device_, c_, p, steps, input, windows);
    return windows;
  }

  // ---- Channels last: a matrix for each group, with a row for each pixel of the output ------------------------------

  // Strides of the matrix of windows, or of the images that serve as the matrix.
  struct Rows {
    int64_t row, group;
  };
  Rows by_pixel() const { return {c_.in_channels, group_in_}; }
  Rows by_window(const Piece& p) const { return {window_, pixels(p) * window_}; }
  WindowSteps steps_last(const Piece& p) const { return {image_pixels(p) * window_, pixels(p) * window_, 1, window_}; }

  void forward_last(int64_t rows, const Rows& of_windows, const T* windows, const T* filter, T* output) {
    cuda::multiply(device_,
                   Product{.m = rows,
                           .n = group_out_,
                           .k = window_,
                           .lda = of_windows.row,
                           .ldb = c_.out_channels,
                           .ldc = c_.out_channels,
                           .count = c_.groups,
                           .step_a = of_windows.group,
                           .step_b = group_out_,
                           .step_c = group_out_},
                   windows, filter, output);
  }
  void by_input_last(int64_t rows, const Rows& of_windows, T* windows, const T* filter, const T* output) {
    cuda::multiply(device_,
                   Product{.m = rows,
                           .n = window_,
                           .k = group_out_,
                           .transpose_b = true,
                           .lda = c_.out_channels,
                           .ldb = c_.out_channels,
                           .ldc = of_windows.row,
                           .count = c_.groups,
                           .step_a = group_out_,
                           .step_b = group_out_,
                           .step_c = of_windows.group},
                   output, filter, windows);
  }
  void by_filter_last(int64_t rows, const Rows& of_windows, const T* windows, T* filter, const T* output, bool more) {
    cuda::multiply(device_,
                   Product{.m = window_,
                           .n = group_out_,
                           .k = rows,
                           .transpose_a = true,
                           .lda = of_windows.row,
                           .ldb = c_.out_channels,
                           .ldc = c_.out_channels,
                           .accumulate = more,
                           .count = c_.groups,
                           .step_a = of_windows.group,
                           .step_b = group_out_,
                           .step_c = group_out_},
                   windows, output, filter);
  }

  // ---- Channels first: a matrix for each image and group, with a column for each pixel of the output ----------------

  WindowSteps steps_first(const Piece& p) const {
    const int64_t matrix = window_ * image_pixels(p);
    return {c_.groups * matrix, matrix, image_pixels(p), 1};
  }
  // Strides of the matrix of windows.
  struct Columns {
    int64_t row, image, group;
  };
  Columns columns(const Piece& p) const {
    if (serves_) return {in_pixels_, c_.in_channels * in_pixels_, group_in_ * in_pixels_};
    const WindowSteps steps = steps_first(p);
    return {steps.element, steps.image, steps.group};
  }
  // Returns where the piece's pixels begin in images that serve as the matrix.
  int64_t served(const Piece& p) const { return p.image * c_.in_channels * in_pixels_ + p.row * c_.width.output; }
  int64_t first_of_output(const Piece& p, int64_t group) const {
    return (p.image * c_.out_channels + group * group_out_) * out_pixels_ + p.row * c_.width.output;
  }

  void forward_first(const Piece& p, const T* input, const T* filter, T* output) {
    const T* windows = serves_ ? input + served(p) : gathered(p, steps_first(p), input);
    const Columns at = columns(p);
    for (int64_t g = 0; g < c_.groups; ++g) {
      cuda::multiply(device_,
                     Product{.m = group_out_,
                             .n = image_pixels(p),
                             .k = window_,
                             .transpose_a = true,
                             .lda = c_.out_channels,
                             .ldb = at.row,
                             .ldc = out_pixels_,
                             .count = p.images,
                             .step_a = 0,
                             .step_b = at.image,
                             .step_c = c_.out_channels * out_pixels_},
                     filter + g * group_out_, windows + g * at.group, output + first_of_output(p, g));
    }
  }
  void by_input_first(const Piece& p, T* input, const T* filter, const T* output) {
    T* windows = serves_ ? input + served(p) : room(p);
    const Columns at = columns(p);
    for (int64_t g = 0; g < c_.groups; ++g) {
      cuda::multiply(device_,
                     Product{.m = window_,
                             .n = image_pixels(p),
                             .k = group_out_,
                             .lda = c_.out_channels,
                             .ldb = out_pixels_,
                             .ldc = at.row,
                             .count = p.images,
                             .step_a = 0,
                             .step_b = c_.out_channels * out_pixels_,
                             .step_c = at.image},
                     filter + g * group_out_, output + first_of_output(p, g), windows + g * at.group);
    }
    if (!serves_) cuda::scatter_windows(device_, c_, p, steps_first(p), windows, input, p.row > 0);
  }
  // Puts the pixels of all images of a piece side by side in both factors, which makes it one product.
  void by_filter_first(const Piece& p, const T* input, T* filter, const T* output, bool more) {
    const int64_t n = pixels(p);
    const T* windows = gathered(p, {image_pixels(p), window_ * n, n, 1}, input);
    T* outputs = room(outputs_, n * c_.out_channels);
    cuda::gather_windows(device_, pixels_of_output(c_), p, {image_pixels(p), 0, n, 1}, output, outputs);
    cuda::multiply(device_,
                   Product{.m = window_,
                           .n = group_out_,
                           .k = n,
                           .transpose_b = true,
                           .lda = n,
                           .ldb = n,
                           .ldc = c_.out_channels,
                           .accumulate = more,
                           .count = c_.groups,
                           .step_a = window_ * n,
                           .step_b = group_out_ * n,
                           .step_c = group_out_},
                   windows, outputs, filter);
  }

  cuda::CudaDevice& device_;
  const Convolution& c_;
  int64_t in_pixels_, out_pixels_, group_in_, group_out_;
  int64_t window_;  // elements in one group's window
  bool serves_;     // the images serve as the matrix
  Tensor windows_, outputs_;
};

enum class Kind : uint8_t { kForward, kByInput, kByFilter };

// One of the three kernels. Inputs 0, 1 and 2 are the convolution's input, filter and output (or its gradient); in
// place of the tensor to compute, the op has its shape. A depthwise filter [height, width, channels, multiplier] has
// its elements in the order of a filter with one group per channel, [height, width, 1, channels * multiplier].
template <Kind kKind, bool kFused = false, FilterKind kFilterKind = FilterKind::kOfGroups>
struct ConvolutionKernel {
  template <class T>
  static void run(KernelContext& c) {
    if (c.out_numel(0) == 0) return;
    const PartialShape& input = kKind == Kind::kByInput ? c.out_shape(0) : c.shape(0);
    const PartialShape& filter = kKind == Kind::kByFilter ? c.out_shape(0) : c.shape(1);
    const Convolution convolution = convolution_of(c, input, filter, kFilterKind);
    const bool nothing = kKind == Kind::kForward ? c.numel(0) == 0 : c.numel(2) == 0;
    if (nothing || (kKind == Kind::kByFilter && c.numel(0) == 0)) {
      cuda::clear_output(c);  // sums of nothing
    } else if (std::is_integral_v<T> || cuda::prefers_direct(convolution)) {
      convolve(c, cuda::DirectConvolution<T>(cuda::device_of(c), convolution));
    } else if constexpr (std::is_floating_point_v<T>) {
      convolve(c, ConvolutionProduct<T>(cuda::device_of(c), convolution));
    }
    if constexpr (kFused) {
      const int64_t pixels = convolution.height.output * convolution.width.output;
      const bool first = convolution.channels_first();
      cuda::finish(c, convolution.batch * (first ? 1 : pixels), convolution.out_channels, first ? pixels : 1);
    }
  }

 private:
  template <template <class> class Way, class T>
  static void convolve(KernelContext& c, Way<T> way) {
    T* out = c.out_data<T>(0);
    if constexpr (kKind == Kind::kForward) {
      way.forward(c.data<T>(0), c.data<T>(1), out);
    } else if constexpr (kKind == Kind::kByInput) {
      way.by_input(out, c.data<T>(1), c.data<T>(2));
    } else {
      way.by_filter(c.data<T>(0), out, c.data<T>(2));
    }
  }
};

using WithIntegers = TypeList<float, double, Half, BFloat16, int32_t>;
using Fractions = TypeList<float, double, Half, BFloat16>;
const CudaKernel conv_kernel("Conv2D", WithIntegers{}, CudaInWider<ConvolutionKernel<Kind::kForward>>{});
const CudaKernel fused_conv_kernel("_FusedConv2D", TypeList<float>{}, ConvolutionKernel<Kind::kForward, true>{});
const CudaKernel by_input_kernel("Conv2DBackpropInput", WithIntegers{},
                                 CudaInWider<ConvolutionKernel<Kind::kByInput>>{});
const CudaKernel by_filter_kernel("Conv2DBackpropFilter", Fractions{},
                                  CudaInWider<ConvolutionKernel<Kind::kByFilter>>{});

template <Kind kKind>
using DepthwiseKernel = CudaInWider<ConvolutionKernel<kKind, false, FilterKind::kDepthwise>>;
const CudaKernel fused_depthwise_kernel("_FusedDepthwiseConv2dNative", TypeList<float>{},
                                        ConvolutionKernel<Kind::kForward, true, FilterKind::kDepthwise>{});
const CudaKernel depthwise_kernel("DepthwiseConv2dNative", Fractions{}, DepthwiseKernel<Kind::kForward>{});
const CudaKernel depthwise_by_input_kernel("DepthwiseConv2dNativeBackpropInput", Fractions{},
                                           DepthwiseKernel<Kind::kByInput>{});
const CudaKernel depthwise_by_filter_kernel("DepthwiseConv2dNativeBackpropFilter", Fractions{},
                                            DepthwiseKernel<Kind::kByFilter>{});

}  // namespace
}  // namespace panto
