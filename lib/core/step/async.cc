#include "panto/lib/core/step/async.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "panto/lib/base/log.h"
#include "panto/lib/base/text/format.h"

namespace panto {
namespace detail {

OwnedCall::OwnedCall(const Call& from)
    : owned_call(from),
      owned_step(*from.step),
      owned_name(from.node_name),
      owned_state(from.state == nullptr ? nullptr : from.state->shared_from_this()) {
  for (const Tensor* t : from.inputs) owned_inputs.push_back(*t);
  for (const Tensor& t : owned_inputs) owned_pointers.push_back(&t);
  const std::vector<AttrDef>& defs = from.op->signature().attrs;
  for (size_t i = 0; i < from.attrs.size(); ++i) owned_attrs.push_back(to_value(from.attrs[i], defs[i].kind));
  for (const AttrValue& v : owned_attrs) owned_slots.push_back(borrow(v));
  owned_step.cancellation = std::make_shared<Cancellation>();
  owned_call.inputs = owned_pointers;
  owned_call.attrs = owned_slots;
  owned_call.node_name = owned_name;
  owned_call.where = nullptr;  // the waiting caller adds it to errors
  owned_call.step = &owned_step;
}

// The state that a kernel's `done` and the waiting call share.
struct AsyncResult {
  void finish(std::exception_ptr with) noexcept {
    bool tell = false;
    {
      const std::lock_guard lock(mutex);
      const bool again = std::exchange(finished, true);
      if (taken) {  // too late for an error of the call
        if (again) log_warn("asynchronous kernel: expected one call of done, got two");
        return;
      }
      if (again) with = internal("done: expected one call of it, got two");
      error = std::move(with);
      changed.notify_all();
      tell = started && !again;
    }
    if (tell && ended) ended();
  }
  // The kernel's `start` has returned.
  void begin() {
    bool tell = false;
    {
      const std::lock_guard lock(mutex);
      started = true;
      tell = finished;
    }
    if (tell && ended) ended();
  }
  void take() {
    const std::lock_guard lock(mutex);
    taken = true;
  }
  static std::exception_ptr internal(const char* text) noexcept {
    return std::make_exception_ptr(Error(Code::kInternal, text));
  }

  std::mutex mutex;
  std::condition_variable changed;
  Callable<void()> ended;
  bool started = false;
  bool finished = false;
  bool taken = false;  // the caller does not wait any more
  std::exception_ptr error;
};

}  // namespace detail

using detail::AsyncResult;

AsyncContext::AsyncContext(const Call& call) : OwnedCall(call), KernelContext(owned_call) {}
void AsyncContext::drop_watches() { owned_step.cancellation = std::make_shared<Cancellation>(); }

struct Done::Token {
  explicit Token(std::shared_ptr<AsyncResult> of) : result(std::move(of)) {}
  Token(const Token&) = delete;
  Token& operator=(const Token&) = delete;
  ~Token() {
    if (!used.load()) result->finish(AsyncResult::internal("done: expected a call of it, got none"));
  }
  void finish(std::exception_ptr error) const noexcept {
    used.store(true);
    result->finish(std::move(error));
  }
  std::shared_ptr<AsyncResult> result;
  mutable std::atomic<bool> used{false};
};

Done::Done(std::shared_ptr<AsyncResult> result) : token_(std::make_shared<const Token>(std::move(result))) {}
void Done::operator()() const noexcept { token_->finish(nullptr); }
void Done::operator()(std::exception_ptr error) const noexcept { token_->finish(std::move(error)); }

namespace {

// A request to the whole process may come from a signal handler, which cannot wake a thread: waiting threads check for
// it this often.
constexpr std::chrono::milliseconds kLookEvery(20);

// Wakes the thread that waits for `result` when `cancellation`, which may be null, is requested.
class Wakeup {
 public:
  Wakeup(std::shared_ptr<Cancellation> cancellation, const std::shared_ptr<AsyncResult>& result)
      : cancellation_(std::move(cancellation)) {
    if (cancellation_ == nullptr) return;
    watch_ = cancellation_->watch([result] {
      const std::lock_guard lock(result->mutex);
      result->changed.notify_all();
    });
  }
  ~Wakeup() {
    if (cancellation_ != nullptr) cancellation_->unwatch(watch_);
  }
  Wakeup(const Wakeup&) = delete;
  Wakeup& operator=(const Wakeup&) = delete;

 private:
  std::shared_ptr<Cancellation> cancellation_;
  uint64_t watch_ = 0;
};

}  // namespace

StartedCall::StartedCall(const Call& call, KernelStartFn start, Callable<void()> ended)
    : context_(std::make_shared<AsyncContext>(call)), result_(std::make_shared<AsyncResult>()) {
  result_->ended = std::move(ended);
  try {
    start(context_, Done(result_));
  } catch (...) {
    result_->take();
    context_->step().cancellation->request();
    throw;
  }
  result_->begin();
}

StartedCall::~StartedCall() {
  if (result_ == nullptr) return;
  result_->take();
  context_->step().cancellation->request();
}

void StartedCall::wait(const Step& step) {
  const Wakeup wakeup(step.cancellation, result_);
  std::unique_lock lock(result_->mutex);
  while (!result_->finished) {
    step.throw_if_stopped();
    result_->changed.wait_for(lock, kLookEvery);
  }
}

void StartedCall::finish(std::span<Tensor> outputs) {
  std::exception_ptr error;
  {
    const std::lock_guard lock(result_->mutex);
    result_->taken = true;
    error = std::exchange(result_->error, nullptr);
  }
  result_ = nullptr;
  context_->drop_watches();  // the kernel does not use it any more
  if (error) {
    try {
      std::rethrow_exception(error);
    } catch (const Error& e) {
      throw Error(e);  // a copy, because context is added to it and the kernel's thread may hold the original
    }
  }
  for (size_t k = 0; k < outputs.size(); ++k) {
    const Tensor& made = context_->out(static_cast<int>(k));
    if (!made.defined()) failf(Code::kInternal, "output {}: expected a tensor, got none", k);
    outputs[k] = made;
  }
}

void start_and_wait(KernelContext& c) {
  const int primary = c.op().primary_attr();
  const DType type = primary < 0 ? DType::kInvalid : c.call().attrs[static_cast<size_t>(primary)].t;
  StartedCall call(c.call(), c.op().kernel(c.device().kind(), type).start);
  call.wait(c.step());
  SmallVector<Tensor, 2> outputs;
  outputs.resize(static_cast<size_t>(c.num_outputs()));
  call.finish(outputs);
  for (int k = 0; k < c.num_outputs(); ++k) c.set_out(k, std::move(outputs[static_cast<size_t>(k)]));
}

}  // namespace panto
