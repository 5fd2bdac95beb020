#include "panto/lib/runtime/profile/profiler.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <numeric>
#include <optional>

#include "panto/lib/base/file.h"
#include "panto/lib/base/log.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/call_watch.h"
#include "panto/lib/core/op/op.h"
#include "panto/lib/core/tensor/print.h"
#include "panto/lib/runtime/control/depth.h"
#include "panto/lib/runtime/profile/chrome_trace.h"
#include "panto/lib/runtime/step_stats.h"

namespace panto {
namespace {

constexpr size_t kMostOps = 1'000'000;

std::string outputs_text(const std::vector<OutputStats>& outputs) {
  std::string text;
  for (const OutputStats& o : outputs) {
    text.append(text.empty() ? "" : ", ").append(type_text(o.dtype, o.shape));
  }
  return text;
}

// Whether the op's kernel on the device of that name is asynchronous: it waits for other work.
bool waits(const Op& op, const std::string& device) {
  const DeviceKind kind = find_device_kind(DeviceSpec::parse(device).type);
  return kind != DeviceKind::kUnknown && op.has_kernel(kind) && op.kernel(kind, DType::kInvalid).start != nullptr;
}

// Computes self times: an op's time without that of ops nested in it on the same thread.
void fill_self(std::vector<ProfiledOp>& ops) {
  std::vector<size_t> order(ops.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, [&](size_t a, size_t b) {
    return std::tuple(ops[a].thread, ops[a].start, -ops[a].end) < std::tuple(ops[b].thread, ops[b].start, -ops[b].end);
  });
  std::vector<size_t> open;
  for (const size_t i : order) {
    ProfiledOp& op = ops[i];
    op.self = op.end - op.start;
    while (!open.empty() && (ops[open.back()].thread != op.thread || ops[open.back()].end <= op.start)) open.pop_back();
    // A waiting op may overlap others partially; those are not nested in it.
    if (!open.empty() && ops[open.back()].end >= op.end) ops[open.back()].self -= op.self;
    open.push_back(i);
  }
  for (ProfiledOp& op : ops) {
    op.self = std::max<int64_t>(op.self, 0);
    if (op.waiting != 0) op.waiting = op.self;
  }
}

}  // namespace

struct Profiler::Impl final : StepStats, CallWatch {
  explicit Impl(std::string path) : path(std::move(path)) {}

  int64_t begin() noexcept override { return now(); }

  void end(const Call& call, int64_t begun) override {
    const int64_t ended = now();
    if (call.symbolic || stopped) return;
    ProfiledOp op;
    op.end = ended;
    op.start = begun;
    op.op = call.op->name();
    op.name = call.node_name;
    if (op.name.empty() && call.where != nullptr && call.where->line() != 0) {
      op.name = fmt::format("{}:{}", call.where->file_name(), call.where->line());
    }
    op.device = call.device == nullptr ? "" : call.device->name();
    for (const Tensor* input : call.inputs) {
      if (input->defined()) op.inputs.append(op.inputs.empty() ? "" : ", ").append(text_of(*input));
    }
    for (const Tensor& output : call.outputs) {
      if (output.defined()) op.outputs.append(op.outputs.empty() ? "" : ", ").append(text_of(output));
    }
    const NodeWork work = work_of(call);
    op.bytes = work.bytes;
    op.flops = work.operations;
    op.depth = CallDepth::current();
    op.eager = true;
    op.waiting = waits(*call.op, op.device) ? 1 : 0;
    put(std::move(op));
  }

  bool wants_work() const override { return true; }

  void keep(NodeStats stats, const NodeWork& work) override {
    if (stopped) return;
    ProfiledOp op;
    op.name = std::move(stats.name);
    op.op = std::move(stats.op);
    op.device = std::move(stats.device);
    op.outputs = outputs_text(stats.outputs);
    op.depth = stats.depth;
    op.start = stats.start;
    op.end = stats.end;
    op.bytes = work.bytes;
    op.flops = work.operations;
    const Op* known = find_op(op.op);
    op.waiting = op.op == "_Recv" || (known != nullptr && waits(*known, op.device)) ? 1 : 0;  // lint: allow(op-names)
    put(std::move(op));
  }

  void put(ProfiledOp op) {
    op.thread = thread_number();
    const std::lock_guard lock(mutex);
    if (ops.size() < kMostOps) {
      ops.push_back(std::move(op));
    } else {
      ++left_out;
    }
  }

  static std::string text_of(const Tensor& t) { return type_text(t.dtype(), t.partial_shape()); }

  std::vector<ProfiledOp> all() const {
    std::vector<ProfiledOp> copy;
    {
      const std::lock_guard lock(mutex);
      copy = ops;
    }
    fill_self(copy);
    return copy;
  }

  const std::string path;
  std::atomic<bool> stopped = false;
  mutable std::mutex mutex;  // guards the members below
  std::vector<ProfiledOp> ops;
  int64_t left_out = 0;
  std::unique_ptr<ProfilerThread> own;  // records the thread that made it
};

// ---- Recording a thread
// ----------------------------------------------------------------------------------------------

namespace {

// A profiler that records this thread, and the recorders that it replaced.
struct Listening {
  std::shared_ptr<CallWatch> profiler;  // `profiler` and `stats` are the same object
  StepStats* stats;
  CallWatch* calls_before;
  StepStats* stats_before;
  Listening* outer;
};
thread_local constinit Listening* innermost = nullptr;

// Never freed, as a thread still refers to it.
void keep_for_ever(Listening* listening) {
  static std::mutex mutex;
  static auto* const kept = new std::vector<Listening*>;
  const std::lock_guard lock(mutex);
  kept->push_back(listening);
}

}  // namespace

struct ProfilerThread::Scope {
  explicit Scope(const std::shared_ptr<Profiler::Impl>& impl)
      : listening(new Listening{impl, impl.get(), call_watch, watching_stats, innermost}),
        thread(std::this_thread::get_id()) {
    call_watch = impl.get();
    watching_stats = impl.get();
    innermost = listening;
  }
  ~Scope() {
    if (stops_listening()) {
      delete listening;
    } else {
      keep_for_ever(listening);
    }
  }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

  // Returns false if called on another thread, or within a run that another recorder traces.
  bool stops_listening() const {
    if (thread != std::this_thread::get_id()) return false;
    if (innermost == listening) {
      if (call_watch != listening->profiler.get() || watching_stats != listening->stats) return false;
      call_watch = listening->calls_before;
      watching_stats = listening->stats_before;
      innermost = listening->outer;
      return true;
    }
    // A recorder that began later is still active: make it restore what was before this one.
    Listening* inner = innermost;
    while (inner != nullptr && inner->outer != listening) inner = inner->outer;
    if (inner == nullptr) return false;
    inner->outer = listening->outer;
    inner->calls_before = listening->calls_before;
    inner->stats_before = listening->stats_before;
    return true;
  }

  Listening* listening;
  std::thread::id thread;
};

ProfilerThread::ProfilerThread(const Profiler& profiler) : scope_(std::make_unique<Scope>(profiler.impl_)) {}
ProfilerThread::~ProfilerThread() = default;

// ---- The profiler --------------------------------------------------------------------------------------------------

Profiler::Profiler() : impl_(std::make_shared<Impl>("")) { impl_->own = std::make_unique<ProfilerThread>(*this); }

Profiler::Profiler(std::string path) {
  if (path.empty()) invalid("profiler: expected the name of a file, got none");
  impl_ = std::make_shared<Impl>(std::move(path));
  impl_->own = std::make_unique<ProfilerThread>(*this);
}

Profiler::~Profiler() {
  try {
    stop();
  } catch (const std::exception& error) {
    log_warn(fmt::format("profiler: the trace is not written: {}", error.what()));
  }
}

void Profiler::stop() {
  if (impl_->stopped.exchange(true)) return;
  impl_->own.reset();
  if (!impl_->path.empty()) write_file(impl_->path, chrome_trace());
}

std::vector<ProfiledOp> Profiler::ops() const { return impl_->all(); }

int64_t Profiler::left_out() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->left_out;
}

std::string Profiler::table(int64_t rows) const {
  struct Row {
    std::string op, device, shapes;
    int64_t calls = 0, self = 0, total = 0, waiting = 0, longest = -1;
    double bytes = 0, flops = 0;
  };
  std::map<std::pair<std::string, std::string>, Row> by_op;
  int64_t all = 0;
  for (const ProfiledOp& op : ops()) {
    Row& row = by_op[{op.op, op.device}];
    row.op = op.op;
    row.device = op.device;
    ++row.calls;
    row.self += op.self;
    row.total += op.end - op.start;
    row.waiting += op.waiting;
    row.bytes += op.bytes;
    row.flops += op.flops;
    if (op.self > row.longest) {
      row.longest = op.self;
      row.shapes = op.outputs;
    }
    all += op.self;
  }
  std::vector<Row> sorted;
  for (auto& [key, row] : by_op) sorted.push_back(std::move(row));
  std::ranges::stable_sort(sorted, std::ranges::greater(), &Row::self);
  std::string text =
      fmt::format("{:<28} {:<14} {:>8} {:>10} {:>6} {:>10} {:>10} {:>9} {:>9}  {}\n", "op", "device", "calls",
                  "self ms", "%", "total ms", "waiting ms", "GFLOP/s", "GB/s", "outputs of the longest");
  const auto ms = [](int64_t ns) { return static_cast<double>(ns) / 1e6; };
  const auto rate = [](double amount, int64_t ns) { return ns > 0 ? amount / static_cast<double>(ns) : 0; };
  const size_t shown = std::min(sorted.size(), static_cast<size_t>(std::max<int64_t>(rows, 0)));
  for (size_t i = 0; i < shown; ++i) {
    const Row& r = sorted[i];
    text += fmt::format("{:<28} {:<14} {:>8} {:>10.3f} {:>6.1f} {:>10.3f} {:>10.3f} {:>9.3f} {:>9.3f}  {}\n",
                        shortened(r.op, 28), r.device, r.calls, ms(r.self),
                        all > 0 ? 100 * static_cast<double>(r.self) / static_cast<double>(all) : 0, ms(r.total),
                        ms(r.waiting), rate(r.flops, r.self), rate(r.bytes, r.self), shortened(r.shapes, 60));
  }
  if (sorted.size() > shown) text += fmt::format("and {} more ops\n", sorted.size() - shown);
  if (const int64_t more = left_out(); more > 0) text += fmt::format("without the last {} calls\n", more);
  return text;
}

std::string Profiler::chrome_trace() const {
  std::vector<TraceEvent> events;
  for (const ProfiledOp& op : ops()) {
    events.push_back({.name = op.op,
                      .device = op.device,
                      .args = fmt::format(R"("name":{},"op":{},"inputs":{},"outputs":{},"bytes":{:.0f},"flops":{:.0f},)"
                                          R"("thread":{},"depth":{},"eager":{},"self_us":{:.3f},"waiting_us":{:.3f})",
                                          json_text(op.name), json_text(op.op), json_text(op.inputs),
                                          json_text(op.outputs), op.bytes, op.flops, op.thread, op.depth, op.eager,
                                          static_cast<double>(op.self) / 1e3, static_cast<double>(op.waiting) / 1e3),
                      .thread = op.thread,
                      .start = op.start,
                      .end = op.end});
  }
  return panto::chrome_trace(events);
}

}  // namespace panto
