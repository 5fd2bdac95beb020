// Kernels that decode and encode sound (lib/core/media/wav.h), and of MFCCs.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <span>
#include <string>
#include <vector>

#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/parallel.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/media/codecs.h"
#include "panto/lib/core/media/wav.h"
#include "panto/lib/core/tensor/tensor_alloc.h"

namespace panto {
namespace {

void decode_wav(KernelContext& c) {
  Wav wav = wav_from_bytes(*c.data<std::string>(0),
                           {.channels = c.integer("desired_channels"), .frames = c.integer("desired_samples")});
  Tensor rate = allocate_tensor(cpu_device(), kInt32, Shape{});
  *mutable_data<int32_t>(rate) = static_cast<int32_t>(wav.sample_rate);
  c.set_out(0, std::move(wav.samples));
  c.set_out(1, std::move(rate));
}

void encode_wav(KernelContext& c) {
  *c.out_data<std::string>(0) =
      wav_bytes(std::span(c.data<float>(0), static_cast<size_t>(c.numel(0))), c.shape(0).dim(1), *c.data<int32_t>(1));
}

// ---- Mel-frequency cepstral coefficients ----------------------------------------------------------------------------

double mel(double hertz) { return 1127 * std::log1p(hertz / 700); }

// The triangle under whose falling side a bin lies, and that triangle's weight; the rest of the bin counts for the next
// triangle, whose rising side is there.
struct Bin {
  int64_t triangle;  // -1: only under the first triangle's rising side
  double weight;
};

void mfcc(KernelContext& c) {
  const Shape& shape = c.shape(0);
  const int64_t bins = shape.dim(2), windows = shape.dim(0) * shape.dim(1);
  const int64_t bands = c.integer("filterbank_channel_count"), count = c.integer("dct_coefficient_count");
  const int32_t rate = *c.data<int32_t>(1);
  if (rate < 1) invalid("sample_rate: expected at least 1, got {}", rate);
  const double low = c.real("lower_frequency_limit"), high = c.real("upper_frequency_limit");
  const double hertz = 0.5 * rate / static_cast<double>(bins - 1);  // distance between bins
  if (high / hertz >= static_cast<double>(bins)) {
    invalid("upper_frequency_limit: expected at most half of the sample rate {}, got {}", rate, high);
  }
  const auto first = static_cast<int64_t>(1.5 + low / hertz), last = static_cast<int64_t>(high / hertz);
  const double least = mel(low), spacing = (mel(high) - least) / static_cast<double>(bands + 1);
  std::vector<double> centers;
  for (int64_t i = 0; i <= bands; ++i) centers.push_back(least + spacing * static_cast<double>(i + 1));
  std::vector<Bin> map;
  int64_t triangle = 0;
  for (int64_t i = first; i <= last; ++i) {
    const double at = mel(static_cast<double>(i) * hertz);
    while (triangle < bands && centers[static_cast<size_t>(triangle)] < at) ++triangle;
    const double right = centers[static_cast<size_t>(triangle)];
    const double left = triangle > 0 ? centers[static_cast<size_t>(triangle - 1)] : least;
    map.push_back({triangle - 1, (right - at) / (right - left)});
  }
  std::vector<double> cosines;
  const auto width = static_cast<double>(bands);
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t j = 0; j < bands; ++j) {
      cosines.push_back(std::sqrt(2 / width) *
                        std::cos(static_cast<double>(i) * (std::numbers::pi / width) * (static_cast<double>(j) + 0.5)));
    }
  }
  const auto* from = c.data<float>(0);
  auto* to = c.out_data<float>(0);
  cpu::parallel_ranges(windows, windows * (bins + bands * count) * 8, [&](int64_t begin, int64_t end) {
    std::vector<double> sums(static_cast<size_t>(bands));
    for (int64_t w = begin; w < end; ++w) {
      std::ranges::fill(sums, 0.0);
      for (size_t i = 0; i < map.size(); ++i) {
        const double value = std::sqrt(double{from[w * bins + first + static_cast<int64_t>(i)]});
        const double weighted = value * map[i].weight;
        if (map[i].triangle >= 0) sums[static_cast<size_t>(map[i].triangle)] += weighted;
        if (map[i].triangle + 1 < bands) sums[static_cast<size_t>(map[i].triangle + 1)] += value - weighted;
      }
      constexpr double kLeast = 1e-12;
      for (double& sum : sums) sum = std::log(std::max(sum, kLeast));
      for (int64_t i = 0; i < count; ++i) {
        double sum = 0;
        for (size_t j = 0; j < sums.size(); ++j) sum += cosines[static_cast<size_t>(i * bands) + j] * sums[j];
        to[w * count + i] = static_cast<float>(sum);
      }
    }
  });
}

const CpuKernel mfcc_kernel("Mfcc", mfcc);
const CpuKernel decode_kernel("DecodeWav", decode_wav);
const CpuKernel encode_kernel("EncodeWav", encode_wav);

}  // namespace
}  // namespace panto
