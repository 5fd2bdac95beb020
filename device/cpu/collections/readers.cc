// Readers (lib/core/collections/reader.h): the kinds of readers, and calls that wait for file names.

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "panto/device/cpu/collections/declared.h"
#include "panto/device/cpu/kernel.h"
#include "panto/lib/base/file.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/collections/queue.h"
#include "panto/lib/core/collections/reader.h"
#include "panto/lib/core/io/graph_files.h"
#include "panto/lib/core/io/input_stream.h"
#include "panto/lib/core/io/record_file.h"
#include "panto/lib/core/step/step.h"

namespace panto {
namespace {

// ---- Kinds of readers ----------------------------------------------------------------------------------------------

class IdentityReader final : public Reader {
 public:
  IdentityReader(std::string container, std::string name, std::string made_as)
      : Reader(std::move(container), std::move(name), std::move(made_as), true) {}
  std::string_view kind() const noexcept override { return "IdentityReader"; }

 private:
  void start(const std::string&) override {}
  bool next(Record& record, bool& at_end) override {
    record = {work(), work()};
    at_end = true;
    return true;
  }
  void stop() noexcept override {}
};

class WholeFileReader final : public Reader {
 public:
  WholeFileReader(std::string container, std::string name, std::string made_as)
      : Reader(std::move(container), std::move(name), std::move(made_as), true) {}
  std::string_view kind() const noexcept override { return "WholeFileReader"; }

 private:
  void start(const std::string& path) override { expect_graph_files_allowed(path); }
  bool next(Record& record, bool& at_end) override {
    const RandomAccessFile file(work());  // fails for a pipe, which could block
    if (file.size() > kMaxFileBytes) {
      failf(Code::kResourceExhausted, "file '{}': expected at most {} bytes, got {}", work(), kMaxFileBytes,
            file.size());
    }
    record = {work(), std::string(file.size(), '\0')};
    file.read(0, record.value.data(), record.value.size());
    at_end = true;
    return true;
  }
  void stop() noexcept override {}
};

class TextLineReader final : public Reader {
 public:
  TextLineReader(std::string container, std::string name, std::string made_as, int64_t header)
      : Reader(std::move(container), std::move(name), std::move(made_as), false), header_(header) {}
  std::string_view kind() const noexcept override { return "TextLineReader"; }

 private:
  void start(const std::string& path) override {
    expect_graph_files_allowed(path);
    file_.emplace(path);
    std::string line;
    for (number_ = 0; number_ < header_ && file_->read_line(line); ++number_) {
    }
  }
  bool next(Record& record, bool&) override {
    if (!file_->read_line(record.value)) return false;
    record.key = fmt::format("{}:{}", work(), ++number_);
    return true;
  }
  void stop() noexcept override { file_.reset(); }

  int64_t header_;
  int64_t number_ = 0;
  std::optional<InputStream> file_;
};

class FixedLengthRecordReader final : public Reader {
 public:
  struct Form {
    uint64_t header, record, footer, hop;
    Compression compression;
  };
  FixedLengthRecordReader(std::string container, std::string name, std::string made_as, const Form& form)
      : Reader(std::move(container), std::move(name), std::move(made_as), false), form_(form) {}
  std::string_view kind() const noexcept override { return "FixedLengthRecordReader"; }

 private:
  void start(const std::string& path) override {
    expect_graph_files_allowed(path);
    file_.emplace(path, form_.compression);
    number_ = 0;
    ahead_.clear();
    const uint64_t skipped = file_->skip(form_.header);
    if (skipped == form_.header) return;
    failf(Code::kOutOfRange, "file '{}': expected a header of {} bytes, got {}", path, form_.header, skipped);
  }
  bool next(Record& record, bool&) override {
    if (number_ > 0) {
      const uint64_t kept = std::min<uint64_t>(form_.hop, ahead_.size());
      ahead_.erase(0, kept);
      if (file_->skip(form_.hop - kept) < form_.hop - kept) return false;
    }
    std::string more;
    file_->read(form_.record + form_.footer - ahead_.size(), more);
    ahead_ += more;
    if (ahead_.size() < form_.record + form_.footer) return false;
    record.key = fmt::format("{}:{}", work(), number_++);
    record.value = ahead_.substr(0, form_.record);
    return true;
  }
  void stop() noexcept override { file_.reset(); }

  Form form_;
  int64_t number_ = 0;
  std::string ahead_;  // bytes read ahead: the last record and the footer
  std::optional<InputStream> file_;
};

class TFRecordReader final : public Reader {
 public:
  TFRecordReader(std::string container, std::string name, std::string made_as, Compression compression)
      : Reader(std::move(container), std::move(name), std::move(made_as), false), compression_(compression) {}
  std::string_view kind() const noexcept override { return "TFRecordReader"; }

 private:
  void start(const std::string& path) override {
    expect_graph_files_allowed(path);
    file_.emplace(path, compression_);
  }
  bool next(Record& record, bool&) override {
    record.key = fmt::format("{}:{}", work(), file_->offset());
    return file_->read(record.value);
  }
  void stop() noexcept override { file_.reset(); }

  Compression compression_;
  std::optional<RecordReader> file_;
};

// ---- Creating readers ----------------------------------------------------------------------------------------------

template <class R, class... Form>
void run_reader(KernelContext& c, const std::string& made_as, const Form&... form) {
  Tensor out = declared_resource(c, [&](const std::string& container, const std::string& name) {
    return std::make_shared<R>(container, name, made_as, form...);
  });
  const std::shared_ptr<Reader> reader = reader_of(out);
  if (reader->made_as() != made_as) {
    invalid("reader \"{}\": expected it as it was declared before, {}, got {}", reader->name(), reader->made_as(),
            made_as);
  }
  c.set_out(0, std::move(out));
}

void run_identity(KernelContext& c) { run_reader<IdentityReader>(c, "IdentityReader"); }
void run_whole_file(KernelContext& c) { run_reader<WholeFileReader>(c, "WholeFileReader"); }
void run_text_line(KernelContext& c) {
  const int64_t header = c.integer("skip_header_lines");
  run_reader<TextLineReader>(c, fmt::format("TextLineReader(skip_header_lines={})", header), header);
}
void run_fixed_length(KernelContext& c) {
  const auto bytes = [&](AttrName attr, std::string_view name, int64_t least) {
    const int64_t value = c.integer(attr);
    constexpr int64_t kMost = int64_t{1} << 31;
    if (value < least || value > kMost) invalid("{}: expected {} to {}, got {}", name, least, kMost, value);
    return static_cast<uint64_t>(value);
  };
  FixedLengthRecordReader::Form form{bytes("header_bytes", "header_bytes", 0), bytes("record_bytes", "record_bytes", 1),
                                     bytes("footer_bytes", "footer_bytes", 0), bytes("hop_bytes", "hop_bytes", 0),
                                     compression_named(c.text("encoding"))};
  if (form.hop == 0) form.hop = form.record;
  run_reader<FixedLengthRecordReader>(
      c,
      fmt::format("FixedLengthRecordReader(header_bytes={}, record_bytes={}, footer_bytes={}, hop_bytes={}, "
                  "encoding=\"{}\")",
                  form.header, form.record, form.footer, form.hop, c.text("encoding")),
      form);
}
void run_tf_record(KernelContext& c) {
  const std::string_view compression = c.text("compression_type");
  run_reader<TFRecordReader>(c, fmt::format("TFRecordReader(compression_type=\"{}\")", compression),
                             compression_named(compression));
}

// ---- Reading -------------------------------------------------------------------------------------------------------

// A read call. It waits for its turn at the reader, then reads, and waits for file names in between.
class ReadCall : public std::enable_shared_from_this<ReadCall> {
 public:
  using Records = std::vector<Reader::Record>;
  // `give` sets the outputs.
  ReadCall(const std::shared_ptr<AsyncContext>& c, Done done, int64_t most, void (*give)(AsyncContext&, const Records&))
      : context_(c),
        done_(std::move(done)),
        reader_(reader_of(c->in(0))),
        queue_(queue_of(c->in(1))),
        most_(most),
        give_(give) {
    const QueueForm& form = queue_->form();
    if (form.types.size() != 1 || form.types[0] != kString) {
      fail(Code::kInvalidArgument, "queue: expected one whose elements are single strings, got another");
    }
  }

  void start() {
    const auto self = shared_from_this();
    const std::shared_ptr<Cancellation> cancellation = context_->step().cancellation;  // read before the call can end
    const uint64_t number = reader_->line().wait([self] { return !std::exchange(self->reader_->busy, true); },
                                                 [self](const std::exception_ptr&) { self->go(); });
    cancellation->watch([self, number] { self->reader_->line().forget(number); });
  }

 private:
  // Reads until there are records, or until it needs a file name that is not in the queue yet.
  void go() {
    for (;;) {
      try {
        if (error_) std::rethrow_exception(error_);
        read();
        if (static_cast<int64_t>(records_.size()) >= most_ || !records_.empty()) {
          give_(*context_, records_);
          return finish(nullptr);
        }
      } catch (...) {
        return finish(std::current_exception());
      }
      if (!ask()) return;
    }
  }

  // May run on any thread, so it enters the call's step.
  void read() {
    const StepScope ours(context_->step());
    std::string work;
    while (!reader_->read(most_, records_) && reader_->take_back(work)) reader_->begin(work);
  }

  // Dequeues a file name. Returns false if there is none yet: answer() then continues the call.
  bool ask() {
    asking_.store(true);
    answered_.store(false);
    const auto self = shared_from_this();
    const std::shared_ptr<Cancellation> cancellation = context_->step().cancellation;  // read before the call can end
    const uint64_t number =
        queue_->dequeue(1, false, [self](const std::vector<QueueElement>& elements, const std::exception_ptr& error) {
          self->answer(elements, error);
        });
    cancellation->watch([self, number] {
      self->queue_->forget(number);
      // answer() will not come any more; the next call may read.
      if (self->asking_.exchange(false)) self->leave();
    });
    return answered_.exchange(true);
  }

  void answer(const std::vector<QueueElement>& elements, const std::exception_ptr& error) {
    const bool asking = asking_.exchange(false);
    try {
      if (error) std::rethrow_exception(error);
      const Tensor& name = elements[0][0];
      if (name.numel() != 1) invalid("queue: expected one name in an element, got {}", name.numel());
      const std::string& work = name.data<std::string>()[0];
      if (asking) {
        const StepScope ours(context_->step());
        reader_->begin(work);
      } else {
        reader_->give_back(work);
      }
    } catch (...) {
      error_ = std::current_exception();
    }
    if (asking && answered_.exchange(true)) go();
  }

  void finish(const std::exception_ptr& error) {
    error ? done_(error) : done_();
    leave();
  }
  void leave() {
    reader_->line().change([this] { reader_->busy = false; });
  }

  std::shared_ptr<AsyncContext> context_;
  Done done_;
  std::shared_ptr<Reader> reader_;
  std::shared_ptr<Queue> queue_;
  int64_t most_;
  void (*give_)(AsyncContext&, const Records&);
  Records records_;
  std::exception_ptr error_;
  std::atomic<bool> asking_{false};    // a name was requested, and neither given nor given up
  std::atomic<bool> answered_{false};  // set by ask() and by answer(): whichever comes second goes on
};

void start_read(const std::shared_ptr<AsyncContext>& c, Done done) {
  std::make_shared<ReadCall>(c, std::move(done), 1, [](AsyncContext& context, const ReadCall::Records& records) {
    context.set_out(0, tensor_from_strings(Shape{}, {records[0].key}));
    context.set_out(1, tensor_from_strings(Shape{}, {records[0].value}));
  })->start();
}

void start_read_up_to(const std::shared_ptr<AsyncContext>& c, Done done) {
  const int64_t most = *c->data<int64_t>(2);
  if (most < 0) invalid("num_records: expected at least 0, got {}", most);
  const auto give = [](AsyncContext& context, const ReadCall::Records& records) {
    std::vector<std::string> keys, values;
    for (const Reader::Record& record : records) {
      keys.push_back(record.key);
      values.push_back(record.value);
    }
    const Shape shape{static_cast<int64_t>(records.size())};
    context.set_out(0, tensor_from_strings(shape, keys));
    context.set_out(1, tensor_from_strings(shape, values));
  };
  if (most == 0) {
    give(*c, {});
    return done();
  }
  std::make_shared<ReadCall>(c, std::move(done), most, give)->start();
}

void run_produced(KernelContext& c) { *c.out_data<int64_t>(0) = reader_of(c.in(0))->records_produced(); }
void run_completed(KernelContext& c) { *c.out_data<int64_t>(0) = reader_of(c.in(0))->work_units_completed(); }
void run_serialize(KernelContext& c) { *c.out_data<std::string>(0) = reader_of(c.in(0))->state(); }
void run_restore(KernelContext& c) { reader_of(c.in(0))->set_state(*c.data<std::string>(1)); }
void run_reset(KernelContext& c) { reader_of(c.in(0))->reset(); }

const CpuKernel identity_kernel("IdentityReaderV2", run_identity);
const CpuKernel whole_file_kernel("WholeFileReaderV2", run_whole_file);
const CpuKernel text_line_kernel("TextLineReaderV2", run_text_line);
const CpuKernel fixed_length_kernel("FixedLengthRecordReaderV2", run_fixed_length);
const CpuKernel tf_record_kernel("TFRecordReaderV2", run_tf_record);
const CpuKernel read_kernel("ReaderReadV2", Kernel{.start = start_read});
const CpuKernel read_up_to_kernel("ReaderReadUpToV2", Kernel{.start = start_read_up_to});
const CpuKernel produced_kernel("ReaderNumRecordsProducedV2", run_produced);
const CpuKernel completed_kernel("ReaderNumWorkUnitsCompletedV2", run_completed);
const CpuKernel serialize_kernel("ReaderSerializeStateV2", run_serialize);
const CpuKernel restore_kernel("ReaderRestoreStateV2", run_restore);
const CpuKernel reset_kernel("ReaderResetV2", run_reset);

}  // namespace
}  // namespace panto
