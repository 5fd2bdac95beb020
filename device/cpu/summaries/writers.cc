// Kernels of writers of summaries (lib/graph/events/event_writer.h).
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "panto/device/cpu/collections/declared.h"
#include "panto/device/cpu/kernel.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/collections/handle.h"
#include "panto/lib/core/io/graph_files.h"
#include "panto/lib/graph/events/event_writer.h"
#include "panto/lib/graph/events/summary_bytes.h"

namespace panto {
namespace {

class Writer final : public Resource {
 public:
  using Resource::Resource;
  std::string_view kind() const noexcept override { return "SummaryWriter"; }

  void open(const std::string& folder, EventWriterOptions options) {
    const std::lock_guard lock(mutex_);
    if (!file_) file_ = std::make_shared<EventWriter>(folder, std::move(options));
  }
  void flush() {
    if (const auto file = this->file()) file->flush();
  }
  void close() {
    std::shared_ptr<EventWriter> file;
    {
      const std::lock_guard lock(mutex_);
      file = std::exchange(file_, nullptr);
    }
    if (file) file->close();
  }
  // Throws FailedPrecondition if no file is open.
  std::shared_ptr<EventWriter> open_file() const {
    std::shared_ptr<EventWriter> file = this->file();
    if (!file) {
      fail(Code::kFailedPrecondition,
           "summary writer: expected one to which CreateSummaryFileWriter gave a file, got one without");
    }
    return file;
  }

 private:
  std::shared_ptr<EventWriter> file() const {
    const std::lock_guard lock(mutex_);
    return file_;
  }
  mutable std::mutex mutex_;
  std::shared_ptr<EventWriter> file_;
};

std::shared_ptr<Writer> writer_of(const KernelContext& c) { return resource_as<Writer>(c.in(0), "summary writer"); }
const std::string& text(const KernelContext& c, int i) { return *c.data<std::string>(i); }
int64_t step_of(const KernelContext& c) { return *c.data<int64_t>(1); }

void write(const KernelContext& c, std::string_view summary) {
  const std::shared_ptr<EventWriter> file = writer_of(c)->open_file();
  file->add(events::event_of_summary(file->now(), step_of(c), summary));
}

void declare(KernelContext& c) {
  c.set_out(0, declared_resource(c, [](const std::string& container, const std::string& name) {
              return std::make_shared<Writer>(container, name);
            }));
}

void create(KernelContext& c) {
  const std::string& folder = text(c, 1);
  expect_graph_files_allowed(folder);
  const int32_t queue = *c.data<int32_t>(2), millis = *c.data<int32_t>(3);
  if (queue < 0) invalid("max_queue: expected at least 0, got {}", queue);
  if (millis < 0) invalid("flush_millis: expected at least 0, got {}", millis);
  // 0 stands for a very short wait.
  constexpr double kMillis = 1e-3;
  writer_of(c)->open(folder, {.max_queue = int64_t{queue} + 1,
                              .flush_seconds = millis == 0 ? kMillis : kMillis * millis,
                              .filename_suffix = text(c, 4)});
}

void flush(KernelContext& c) { writer_of(c)->flush(); }
void close(KernelContext& c) { writer_of(c)->close(); }

void write_tensor(KernelContext& c) { write(c, events::tensor_summary(text(c, 3), c.in(2), text(c, 4))); }
void write_scalar(KernelContext& c) { write(c, events::scalar_summary(c.in(2), c.in(3))); }
void write_histogram(KernelContext& c) { write(c, events::histogram_summary(text(c, 2), c.in(3))); }
void write_image(KernelContext& c) {
  write(c, events::image_summary(text(c, 2), c.in(3), c.integer("max_images"), c.in(4)));
}
void write_audio(KernelContext& c) {
  write(c, events::audio_summary(text(c, 2), c.in(3), *c.data<float>(4), c.integer("max_outputs")));
}
void write_raw(KernelContext& c) {
  for (const std::string& summary : c.in(2).data<std::string>()) write(c, summary);
}
void write_graph(KernelContext& c) {
  const std::shared_ptr<EventWriter> file = writer_of(c)->open_file();
  file->add(events::event_of_graph(file->now(), step_of(c), text(c, 2)));
}
void import_event(KernelContext& c) {
  events::expect_event(text(c, 1));
  writer_of(c)->open_file()->add(text(c, 1));
}

constexpr DTypeSet kImages{kUint8, kFloat16, kFloat32, kFloat64};

const CpuKernel declare_kernel("SummaryWriter", declare);
const CpuKernel create_kernel("CreateSummaryFileWriter", create);
const CpuKernel flush_kernel("FlushSummaryWriter", flush);
const CpuKernel close_kernel("CloseSummaryWriter", close);
const CpuKernel tensor_kernel("WriteSummary", dtypes::kAny, write_tensor);
const CpuKernel scalar_kernel("WriteScalarSummary", dtypes::kReal, write_scalar);
const CpuKernel histogram_kernel("WriteHistogramSummary", dtypes::kReal | DTypeSet{kBool}, write_histogram);
const CpuKernel image_kernel("WriteImageSummary", kImages, write_image);
const CpuKernel audio_kernel("WriteAudioSummary", write_audio);
const CpuKernel raw_kernel("WriteRawProtoSummary", write_raw);
const CpuKernel graph_kernel("WriteGraphSummary", write_graph);
const CpuKernel import_kernel("ImportEvent", import_event);

}  // namespace
}  // namespace panto
