#include "panto/nn/summaries/summary_writer.h"

#include <cmath>
#include <set>
#include <utility>
#include <vector>

#include "panto/lib/base/text/format.h"
#include "panto/lib/base/text/utf8.h"
#include "panto/lib/core/tensor/tensor_alloc.h"
#include "panto/lib/graph/events/event_file.h"
#include "panto/lib/graph/events/event_writer.h"
#include "panto/lib/graph/events/summary_bytes.h"
#include "panto/lib/graph/files/io.h"
#include "panto/nn/summaries/encode.h"
#include "panto/nn/summaries/plugins.h"

namespace panto {

struct SummaryWriter::Impl {
  EventWriter file;
};

SummaryWriter::SummaryWriter(const std::string& folder) : SummaryWriter(folder, SummaryWriterOptions{}) {}
SummaryWriter::SummaryWriter(const std::string& folder, SummaryWriterOptions options)
    : impl_(new Impl{EventWriter(folder, {.max_queue = options.max_queue,
                                          .flush_seconds = options.flush_seconds,
                                          .filename_suffix = std::move(options.filename_suffix),
                                          .clock = std::move(options.clock)})}) {}
SummaryWriter::~SummaryWriter() = default;

HParam::HParam(std::string value) : kind_(Kind::kText), text_(std::move(value)) {}
HParam::HParam(const char* value) : HParam(std::string(value)) {}

void SummaryWriter::add(std::string_view tag, std::string_view plugin, Tensor value, int64_t step,
                        std::string content) {
  if (tag.empty()) invalid("summary: expected a tag, got none");
  // Invalid UTF-8 could not be read back.
  if (!is_utf8(tag)) invalid("summary: expected a tag of UTF-8, got '{}'", tag);
  SummaryEvent event;
  event.wall_time = impl_->file.now();
  event.step = step;
  event.values.push_back({std::string(tag), std::string(plugin), std::move(value), std::move(content)});
  impl_->file.add(event_bytes(event));
}

namespace {
// The value of a summary whose content is all in the plugin's bytes.
Tensor no_value() { return allocate_tensor(cpu_device(), kFloat32, Shape{0}); }
}  // namespace

void SummaryWriter::hparams(const HParams& values, const HParamsOptions& options) {
  std::set<std::string_view> names;
  for (const auto& [name, value] : values) {
    if (name.empty()) invalid("hyper-parameter: expected a name, got none");
    if (!names.insert(name).second) invalid("hyper-parameter: expected each name once, got '{}' again", name);
  }
  const double now = impl_->file.now();
  if (!options.metrics.empty()) {
    add(summaries::kExperimentTag, summaries::kHParamsPlugin, no_value(), 0,
        summaries::experiment_bytes(values, options.metrics, now));
  }
  add(summaries::kSessionStartTag, summaries::kHParamsPlugin, no_value(), 0,
      summaries::session_start_bytes(values, options.trial, now));
}

void SummaryWriter::hparams_end(bool success) {
  add(summaries::kSessionEndTag, summaries::kHParamsPlugin, no_value(), 0,
      summaries::session_end_bytes(success, impl_->file.now()));
}

void SummaryWriter::add_pr_curve(std::string_view tag, const Tensor& labels, const Tensor& predictions, int64_t step,
                                 const PrCurveOptions& options) {
  constexpr int64_t kMostThresholds = 1'000'000;
  if (options.num_thresholds < 2 || options.num_thresholds > kMostThresholds) {
    invalid("pr_curve summary: expected 2 to {} thresholds, got {}", kMostThresholds, options.num_thresholds);
  }
  if (!(labels.shape() == predictions.shape())) {
    invalid("pr_curve summary: expected labels and predictions of one shape, got {} and {}",
            whole(labels.shape().to_string()), whole(predictions.shape().to_string()));
  }
  const auto numbers = [](const Tensor& t) {
    std::vector<double> values = summaries::numbers_of(t.dtype() == kBool ? t.cast(kUint8) : t, "pr_curve");
    for (const double v : values) {
      if (std::isnan(v)) invalid("pr_curve summary: expected numbers, got {}", v);
    }
    return values;
  };
  std::vector<double> weights;
  if (options.weights.defined()) weights = numbers(options.weights);
  const std::vector<double> is = numbers(labels);
  if (weights.size() > 1 && weights.size() != is.size()) {
    invalid("pr_curve summary: expected as many weights as labels, {}, got {}", is.size(), weights.size());
  }
  add(tag, summaries::kPrCurvesPlugin, summaries::pr_curve(is, numbers(predictions), weights, options.num_thresholds),
      step, summaries::pr_curve_bytes(options.num_thresholds));
}

void SummaryWriter::add_scalar(std::string_view tag, double value, int64_t step) {
  Tensor t = allocate_tensor(cpu_device(), kFloat32, Shape{});
  *mutable_data<float>(t) = static_cast<float>(value);
  add(tag, "scalars", std::move(t), step);
}

void SummaryWriter::add_scalar(std::string_view tag, const Tensor& value, int64_t step) {
  const std::vector<double> numbers = summaries::numbers_of(value, "scalar");
  if (numbers.size() != 1) invalid("scalar summary: expected one element, got {}", numbers.size());
  add_scalar(tag, numbers[0], step);
}

void SummaryWriter::add_histogram(std::string_view tag, const Tensor& values, int64_t step,
                                  const HistogramSummaryOptions& options) {
  constexpr int64_t kMostBuckets = 1'000'000;
  if (options.buckets < 1 || options.buckets > kMostBuckets) {
    invalid("histogram summary: expected 1 to {} buckets, got {}", kMostBuckets, options.buckets);
  }
  add(tag, "histograms", summaries::histogram(summaries::numbers_of(values, "histogram"), options.buckets), step);
}

void SummaryWriter::add_image(std::string_view tag, const Tensor& images, int64_t step,
                              const ImageSummaryOptions& options) {
  if (options.max_outputs < 1) invalid("image summary: expected max_outputs >= 1, got {}", options.max_outputs);
  add(tag, "images", summaries::pictures(images, options.max_outputs), step);
}

void SummaryWriter::add_text(std::string_view tag, std::string_view text, int64_t step) {
  add(tag, "text", tensor(std::string(text)), step);
}

void SummaryWriter::add_text(std::string_view tag, const Tensor& texts, int64_t step) {
  if (texts.dtype() != kString) invalid("text summary: expected strings, got {}", dtype_name(texts.dtype()));
  add(tag, "text", texts.cpu(), step);
}

void SummaryWriter::add_audio(std::string_view tag, const Tensor& samples, int64_t step,
                              const AudioSummaryOptions& options) {
  if (options.max_outputs < 1) invalid("audio summary: expected max_outputs >= 1, got {}", options.max_outputs);
  if (options.sample_rate < 1) invalid("audio summary: expected sample_rate >= 1, got {}", options.sample_rate);
  add(tag, "audio", summaries::clips(samples, options.sample_rate, options.max_outputs), step);
}

void SummaryWriter::graph(const Graph& graph) {
  SummaryEvent event;
  event.wall_time = impl_->file.now();
  event.graph_def = to_graph_def(graph);
  impl_->file.add(event_bytes(event));
}

void SummaryWriter::add_serialized(const Tensor& summary, int64_t step) {
  if (summary.dtype() != kString) invalid("summary: expected strings, got {}", dtype_name(summary.dtype()));
  const Tensor host = summary.cpu();
  for (const std::string& bytes : host.data<std::string>()) add_serialized(bytes, step);
}

void SummaryWriter::add_serialized(std::string_view summary, int64_t step) {
  impl_->file.add(events::event_of_summary(impl_->file.now(), step, summary));
}

void SummaryWriter::flush() { impl_->file.flush(); }
void SummaryWriter::close() { impl_->file.close(); }
const std::string& SummaryWriter::path() const noexcept { return impl_->file.path(); }

}  // namespace panto
