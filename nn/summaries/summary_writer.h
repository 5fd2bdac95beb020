// SummaryWriter: writes event files that TensorBoard shows.
//
//   SummaryWriter writer("runs/1");
//   writer.scalar("loss", loss, step);                         // a number or a tensor
//   writer.histogram("dense/kernel", model.kernel(), step);
//   writer.image("input", x, step);                            // [height, width, channels], or a batch of them
//   writer.text("sample", "To be, or not", step);
//   writer.audio("voice", samples, step, {.sample_rate = 16000});
//   writer.pr_curve("spam", labels, probabilities, step);
//   writer.graph(f.graph());                                   // of a traced function
//   writer.hparams({{"rate", 0.1}, {"layers", 3}, {"optimizer", "adam"}}, {.metrics = {"epoch_loss"}});
//
//   $ tensorboard --logdir runs
//
// Each writer makes its own file in the folder. TensorBoard sees new values after `flush_seconds`, after `max_queue`
// values, after `flush`, and when the writer or the process ends normally. A thread writes, so the run does not wait
// for the disk. read_events reads the file back (panto/lib/graph/events/event_file.h).
//
// A writer belongs to the process that made it: in a fork all functions throw FailedPrecondition, and destroying it
// does nothing. Inside a trace there are no values: return from the traced function what is to be written.
// Thread-safety: may be used by several threads at once.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "panto/lib/base/callable.h"
#include "panto/lib/base/export.h"
#include "panto/lib/core/tensor/tensor.h"
#include "panto/lib/graph/graph.h"

namespace panto {

struct SummaryWriterOptions {
  int64_t max_queue = 10;              // values to collect before the writing thread is woken
  double flush_seconds = 120;          // the longest time that a value waits
  std::string filename_suffix = "";    // appended to the file's name
  Callable<double()> clock = nullptr;  // seconds since 1970, for events; none: the machine's clock
};

struct HistogramSummaryOptions {
  int64_t buckets = 30;  // of equal width from the smallest value to the largest
};
struct ImageSummaryOptions {
  int64_t max_outputs = 3;  // images of a batch
};
struct AudioSummaryOptions {
  int64_t sample_rate = 44100;
  int64_t max_outputs = 3;  // clips of a batch
};

struct PrCurveOptions {
  int64_t num_thresholds = 201;  // from 0 to 1
  Tensor weights = {};           // of the labels' shape, or a scalar
};

// A hyper-parameter's value.
class PANTO_EXPORT HParam {
 public:
  enum class Kind : uint8_t { kNumber, kText, kBool };
  // NOLINTBEGIN(google-explicit-constructor): {{"rate", 0.1}, {"optimizer", "adam"}}
  template <class Number>
    requires std::is_arithmetic_v<Number>
  HParam(Number value)
      : kind_(std::is_same_v<Number, bool> ? Kind::kBool : Kind::kNumber), number_(static_cast<double>(value)) {}
  HParam(std::string value);
  HParam(const char* value);
  // NOLINTEND(google-explicit-constructor)
  Kind kind() const { return kind_; }
  double number() const { return number_; }
  const std::string& text() const { return text_; }

 private:
  Kind kind_;
  double number_ = 0;
  std::string text_;
};
using HParams = std::vector<std::pair<std::string, HParam>>;

struct HParamsOptions {
  std::string trial = "";                 // runs with the same name form one trial; none: derived from the values
  std::vector<std::string> metrics = {};  // tags of scalars for TensorBoard's table
};

// An integer step; bool is excluded, so that a swapped value and step do not compile.
template <class I>
concept StepNumber = std::integral<I> && !std::same_as<I, bool>;

class PANTO_EXPORT SummaryWriter {
 public:
  // Creates the folder if it does not exist. Throws InvalidArgument for options out of range, and as write_file.
  explicit SummaryWriter(const std::string& folder);
  SummaryWriter(const std::string& folder, SummaryWriterOptions options);
  ~SummaryWriter();  // closes
  SummaryWriter(const SummaryWriter&) = delete;
  SummaryWriter& operator=(const SummaryWriter&) = delete;

  // All throw FailedPrecondition for symbolic tensors and on a closed writer, InvalidArgument for an empty tag and for
  // values that the function cannot show, and errors from earlier writes.

  // A number, or a real tensor with one element; written as float32.
  void scalar(std::string_view tag, double value, StepNumber auto step) {
    add_scalar(tag, value, static_cast<int64_t>(step));
  }
  void scalar(std::string_view tag, const Tensor& value, StepNumber auto step) {
    add_scalar(tag, value, static_cast<int64_t>(step));
  }
  // The distribution of a real tensor's elements. InvalidArgument for NaNs and infinities.
  void histogram(std::string_view tag, const Tensor& values, StepNumber auto step,
                 const HistogramSummaryOptions& options = {}) {
    add_histogram(tag, values, static_cast<int64_t>(step), options);
  }
  // uint8, or floating, clipped to [0, 1]: [height, width, channels] with 1 to 4 channels, or [images, height, width,
  // channels].
  void image(std::string_view tag, const Tensor& images, StepNumber auto step,
             const ImageSummaryOptions& options = {}) {
    add_image(tag, images, static_cast<int64_t>(step), options);
  }
  void text(std::string_view tag, std::string_view text, StepNumber auto step) {
    add_text(tag, text, static_cast<int64_t>(step));
  }
  // TensorBoard shows a string tensor of rank 2 as a table.
  void text(std::string_view tag, const Tensor& texts, StepNumber auto step) {
    add_text(tag, texts, static_cast<int64_t>(step));
  }
  // Floating-point samples from -1 to 1, as WAV of 16 bits: [frames], [frames, channels] or [clips, frames, channels].
  void audio(std::string_view tag, const Tensor& samples, StepNumber auto step,
             const AudioSummaryOptions& options = {}) {
    add_audio(tag, samples, static_cast<int64_t>(step), options);
  }
  // Precision and recall of a binary classifier by threshold: labels of 0 and 1, or bools; predictions of the same
  // shape, clipped to [0, 1]. InvalidArgument for NaNs and fewer than two thresholds.
  void pr_curve(std::string_view tag, const Tensor& labels, const Tensor& predictions, StepNumber auto step,
                const PrCurveOptions& options = {}) {
    add_pr_curve(tag, labels, predictions, static_cast<int64_t>(step), options);
  }
  // The run's hyper-parameters, for TensorBoard's HPARAMS; call it once, before the results. InvalidArgument for a name
  // given twice.
  void hparams(const HParams& values, const HParamsOptions& options = {});
  // Marks the run as ended, successfully or not.
  void hparams_end(bool success = true);
  // Writes the result of scalar_summary, merge_all_summaries and the like (panto/nn/summaries/graph_summaries.h): a
  // Summary's bytes, or a string tensor of such. InvalidArgument for other bytes.
  void add_summary(std::string_view summary, StepNumber auto step) {
    add_serialized(summary, static_cast<int64_t>(step));
  }
  void add_summary(const Tensor& summary, StepNumber auto step) { add_serialized(summary, static_cast<int64_t>(step)); }
  // Writes the graph as a GraphDef, for TensorBoard's graph view.
  void graph(const Graph& graph);

  // Waits until all earlier values are on the disk.
  void flush();
  // Flushes and closes the file: nothing may be written afterwards. May be called again.
  void close();
  const std::string& path() const noexcept;  // of the file

 private:
  void add_scalar(std::string_view tag, double value, int64_t step);
  void add_scalar(std::string_view tag, const Tensor& value, int64_t step);
  void add_histogram(std::string_view tag, const Tensor& values, int64_t step, const HistogramSummaryOptions& options);
  void add_image(std::string_view tag, const Tensor& images, int64_t step, const ImageSummaryOptions& options);
  void add_text(std::string_view tag, std::string_view text, int64_t step);
  void add_text(std::string_view tag, const Tensor& texts, int64_t step);
  void add_audio(std::string_view tag, const Tensor& samples, int64_t step, const AudioSummaryOptions& options);
  void add_pr_curve(std::string_view tag, const Tensor& labels, const Tensor& predictions, int64_t step,
                    const PrCurveOptions& options);
  void add(std::string_view tag, std::string_view plugin, Tensor value, int64_t step, std::string content = "");
  void add_serialized(std::string_view summary, int64_t step);
  void add_serialized(const Tensor& summary, int64_t step);

  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace panto
