// Kernels of glimpses.
#include "panto/device/cuda/array/index_list.cuh"
#include "panto/device/cuda/each.cuh"
#include "panto/device/cuda/image/images.cuh"
#include "panto/device/cuda/kernel.h"
#include "panto/device/cuda/reduce/reduce.cuh"
#include "panto/device/glimpses.h"
#include "panto/device/scratch.h"

namespace panto {
namespace {

// What the noise of an image depends on: `least` and `most` of each image for uniform noise, all of each channel for
// gaussian noise. `sums` are of the elements, `squares` of their squared distances from the mean.
struct Statistics {
  const float* least;
  const float* most;
  const double* sums;
  const double* squares;
};

struct SquaredDistance {
  Glimpses::Size size;
  const float* images;
  const double* sums;
  __device__ double operator()(int64_t i) const {
    const int64_t channel = i / size.numel() * size.channels + i % size.channels;
    const double distance = images[i] - sums[channel] / static_cast<double>(size.height * size.width);
    return distance * distance;
  }
};
struct AsDouble {
  const float* images;
  __device__ double operator()(int64_t i) const { return images[i]; }
};

struct Glimpse {
  Glimpses g;
  philox::Stream stream;
  Statistics s;
  const float* images;
  const float* offsets;
  float* out;
  Fault* fault;

  __device__ int64_t first_pixel(float offset, int64_t side, int64_t window) const {
    const float place = g.place(offset, side, window);
    if (std::isnan(place)) {
      cuda::note(fault, Fault::kOffsetNotANumber);
      return 0;
    }
    return Glimpses::pixel(place);
  }
  __device__ float noise(int64_t i, int64_t image, int64_t channel) const {
    if (g.noise == Glimpses::Noise::kZero) return 0;
    if (g.noise == Glimpses::Noise::kUniform) {
      return s.least[image] + uniform_at(stream, i) * (s.most[image] - s.least[image]);
    }
    const int64_t k = image * g.from.channels + channel;
    const auto pixels = static_cast<double>(g.from.height * g.from.width);
    const auto middle = static_cast<float>(s.sums[k] / pixels);
    const auto deviation = static_cast<float>(std::sqrt(s.squares[k] / pixels));
    return std::max(std::min(middle + normal_at(stream, i) * deviation, s.most[k]), s.least[k]);
  }
  __device__ void operator()(int64_t i) const {
    const cuda::ImagePlace p(i, g.to.height, g.to.width, g.to.channels);
    const int64_t y = first_pixel(offsets[2 * p.image], g.from.height, g.to.height) + p.y;
    const int64_t x = first_pixel(offsets[2 * p.image + 1], g.from.width, g.to.width) + p.x;
    const bool inside = y >= 0 && x >= 0 && y < g.from.height && x < g.from.width;
    out[i] = inside ? images[((p.image * g.from.height + y) * g.from.width + x) * g.from.channels + p.channel]
                    : noise(i, p.image, p.channel);
  }
};

template <int kVersion>
void extract(KernelContext& c) {
  if (c.out_numel(0) == 0) return;
  cuda::CudaDevice& device = cuda::device_of(c);
  const Glimpses g(c, kVersion);
  const auto* images = c.data<float>(0);
  const bool gaussian = g.noise == Glimpses::Noise::kGaussian, zero = g.noise == Glimpses::Noise::kZero;
  // Images seen as [image, place, channel]; uniform noise has the same range in all channels.
  const int64_t channels = gaussian ? g.from.channels : 1, count = c.shape(0).dim(0) * channels;
  const Scratch<float> ends(device, zero ? 0 : 2 * count);
  const Scratch<double> sums(device, gaussian ? 2 * count : 0);
  double* squares = gaussian ? sums.data() + count : nullptr;
  philox::Stream stream;
  if (!zero) {
    stream = noise_stream(c);
    AxisFlags places;
    places.set(1);
    const ReduceShape shape(Shape{c.shape(0).dim(0), g.from.numel() / channels, channels}, places);
    cuda::reduce<MinOf<float>>(device, shape, cuda::Elements<float>{images},
                               cuda::Store<MinOf<float>, float>{ends.data()});
    cuda::reduce<MaxOf<float>>(device, shape, cuda::Elements<float>{images},
                               cuda::Store<MaxOf<float>, float>{ends.data() + count});
    if (gaussian) {
      cuda::reduce<SumOf<double>>(device, shape, cuda::Computed<AsDouble>{{images}},
                                  cuda::Store<SumOf<double>, double>{sums.data()});
      cuda::reduce<SumOf<double>>(device, shape, cuda::Computed<SquaredDistance>{{g.from, images, sums.data()}},
                                  cuda::Store<SumOf<double>, double>{squares});
    }
  }
  const Statistics statistics{ends.data(), zero ? nullptr : ends.data() + count, sums.data(), squares};
  cuda::for_each_index(device, c.out_numel(0),
                       Glimpse{g, stream, statistics, images, c.data<float>(2), c.out_data<float>(0), device.fault()});
}

const CudaKernel v1_kernel("ExtractGlimpse", extract<1>);
const CudaKernel v2_kernel("ExtractGlimpseV2", extract<2>);

}  // namespace
}  // namespace panto
