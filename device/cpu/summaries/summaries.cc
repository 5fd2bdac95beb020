// Kernels of summaries (lib/graph/events/summary_bytes.h).
#include <string>
#include <vector>

#include "panto/device/cpu/kernel.h"
#include "panto/device/kernel.h"
#include "panto/lib/graph/events/summary_bytes.h"

namespace panto {
namespace {

const std::string& text(const KernelContext& c, int i) { return *c.data<std::string>(i); }
std::string& out(KernelContext& c) { return *c.out_data<std::string>(0); }

void scalar(KernelContext& c) { out(c) = events::scalar_summary(c.in(0), c.in(1)); }
void histogram(KernelContext& c) { out(c) = events::histogram_summary(text(c, 0), c.in(1)); }
void image(KernelContext& c) {
  out(c) = events::image_summary(text(c, 0), c.in(1), c.integer("max_images"), c.tensor_attr("bad_color"));
}
void audio(KernelContext& c) {
  out(c) = events::audio_summary(text(c, 0), c.in(1), *c.data<float>(2), c.integer("max_outputs"));
}
void tensor_v1(KernelContext& c) { out(c) = events::tensor_summary_of_node(c.call().node_name, c.in(0)); }
void tensor_v2(KernelContext& c) { out(c) = events::tensor_summary(text(c, 0), c.in(1), text(c, 2)); }
void merge(KernelContext& c) {
  std::vector<Tensor> all;
  for (int i = 0; i < c.num_inputs(); ++i) all.push_back(c.in(i));
  out(c) = events::merged_summary(all);
}

constexpr DTypeSet kImages{kUint8, kFloat16, kFloat32, kFloat64};

const CpuKernel scalar_kernel("ScalarSummary", dtypes::kReal, scalar);
const CpuKernel histogram_kernel("HistogramSummary", dtypes::kReal, histogram);
const CpuKernel image_kernel("ImageSummary", kImages, image);
const CpuKernel audio_kernel("AudioSummaryV2", audio);
const CpuKernel tensor_v1_kernel("TensorSummary", dtypes::kAny, tensor_v1);
const CpuKernel tensor_v2_kernel("TensorSummaryV2", dtypes::kAny, tensor_v2);
const CpuKernel merge_kernel("MergeSummary", merge);

}  // namespace
}  // namespace panto
