// Barriers: elements whose components arrive separately; an element is ready when it has all of them.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "panto/device/cpu/collections/declared.h"
#include "panto/device/cpu/collections/queue_elements.h"
#include "panto/device/cpu/kernel.h"
#include "panto/lib/base/checked.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/collections/handle.h"
#include "panto/lib/core/collections/queue.h"

namespace panto {
namespace {

// Ready elements are in a priority queue, ordered by the number of the call that first inserted their key.
class Barrier final : public Resource {
 public:
  Barrier(std::string container, std::string name, std::vector<DType> types, std::vector<PartialShape> shapes)
      : Resource(std::move(container), std::move(name)), types_(std::move(types)), shapes_(std::move(shapes)) {
    QueueForm form{.order = QueueForm::Order::kPriority, .types = {kInt64, kString}, .shapes = {Shape{}, Shape{}}};
    form.types.insert(form.types.end(), types_.begin(), types_.end());
    form.shapes.insert(form.shapes.end(), shapes_.begin(), shapes_.end());
    ready_ = std::make_shared<Queue>(std::string(), std::string(), std::move(form), nullptr);
  }
  std::string_view kind() const noexcept override { return "Barrier"; }
  const std::vector<DType>& types() const { return types_; }
  const std::vector<PartialShape>& shapes() const { return shapes_; }
  const std::shared_ptr<Queue>& ready() const { return ready_; }

  void insert(const Tensor& keys, size_t component, const Tensor& values) {
    const Shape rows(values.shape().dims().subspan(1));
    if (!shapes_[component].compatible_with(rows)) {
      invalid("values: expected the component's shape {}, got {}", shapes_[component].to_string(), rows.to_string());
    }
    const auto names = keys.data<std::string>();
    if (!names.empty() && values.numel() == 0) {
      invalid("values: expected ones that have elements, got shape {}", values.shape().to_string());
    }
    const std::lock_guard lock(mutex_);
    if (closed_ && (cancelled_ || (!names.empty() && waiting_.empty()))) closed_error("no key that lacks a component");
    bool any_new = false;
    std::vector<QueueElement> complete;
    std::exception_ptr error;
    try {
      for (size_t i = 0; i < names.size(); ++i) {
        auto found = waiting_.find(names[i]);
        if (found == waiting_.end()) {
          if (closed_) closed_error(fmt::format("the new key \"{}\"", names[i]));
          any_new = true;
          found = waiting_.emplace(names[i], Incomplete{next_, QueueElement(types_.size()), types_.size()}).first;
        }
        Incomplete& of_key = found->second;
        Tensor& value = of_key.values[component];
        if (value.defined()) {
          invalid("keys: expected ones without a value of component {}, got \"{}\"", component, names[i]);
        }
        value = view_tensor(values, rows, static_cast<int64_t>(i) * rows.numel());
        if (--of_key.missing > 0) continue;
        QueueElement element = {scalar_index(of_key.index), tensor_from_strings(Shape{}, {names[i]})};
        for (Tensor& v : of_key.values) element.push_back(std::move(v));
        complete.push_back(std::move(element));
        waiting_.erase(found);
      }
    } catch (...) {
      error = std::current_exception();
    }
    if (any_new) ++next_;
    // The queue is unbounded, so enqueue() does not wait. It calls waiting takers under our lock, which is safe: they
    // do not call the barrier.
    if (!complete.empty()) ready_->enqueue(std::move(complete), [](const std::exception_ptr&) {});
    if (closed_ && waiting_.empty()) close_ready();
    if (error) std::rethrow_exception(error);
  }

  void close(bool cancel) {
    const std::lock_guard lock(mutex_);
    if (closed_ && (cancelled_ || !cancel)) closed_error("a second closing");
    closed_ = true;
    cancelled_ = cancel;
    if (cancel) waiting_.clear();
    if (waiting_.empty()) close_ready();
  }

  // Returns how many of `count` elements to take. Throws OutOfRange if there will never be enough.
  int64_t can_take(int64_t count, bool allow_small_batch) const {
    const std::lock_guard lock(mutex_);
    if (!closed_) return count;
    int64_t available = ready_->size();
    const int64_t take = allow_small_batch ? std::min(count, available) : count;
    if (!allow_small_batch) available += static_cast<int64_t>(waiting_.size());
    if (available < std::max<int64_t>(take, 1)) {
      failf(Code::kOutOfRange, "barrier: expected {} elements, got {} in one that is closed",
            std::max<int64_t>(take, 1), available);
    }
    return take;
  }

  int64_t incomplete() const {
    const std::lock_guard lock(mutex_);
    return static_cast<int64_t>(waiting_.size());
  }

 private:
  struct Incomplete {
    int64_t index;
    QueueElement values;  // undefined values are missing
    size_t missing;
  };
  [[noreturn]] static void closed_error(const std::string& what) {
    failf(Code::kCancelled, "barrier: expected it to be open, got {} in one that was closed", what);
  }
  static Tensor scalar_index(int64_t index) {
    Tensor t = allocate_tensor(cpu_device(), kInt64, Shape{});
    *mutable_data<int64_t>(t) = index;
    return t;
  }
  void close_ready() {
    if (!ready_->closed()) ready_->close(false, [](const std::exception_ptr&) {});
  }

  std::vector<DType> types_;
  std::vector<PartialShape> shapes_;
  std::shared_ptr<Queue> ready_;
  mutable std::mutex mutex_;
  std::map<std::string, Incomplete, std::less<>> waiting_;
  int64_t next_ = std::numeric_limits<int64_t>::min();
  bool closed_ = false, cancelled_ = false;
};

std::shared_ptr<Barrier> barrier_in(const KernelContext& c) { return resource_as<Barrier>(c.in(0), "barrier"); }

void run_make(KernelContext& c) {
  const auto types = c.types("component_types");
  const AttrSlot& given = c.slot("shapes");
  const auto* first = static_cast<const PartialShape*>(given.p);
  const std::vector<PartialShape> shapes(first, first + given.n);
  Tensor out = declared_resource(c, [&](const std::string& container, const std::string& name) {
    return std::make_shared<Barrier>(container, name, std::vector<DType>(types.begin(), types.end()), shapes);
  });
  const auto barrier = resource_as<Barrier>(out, "barrier");
  if (!std::ranges::equal(barrier->types(), types) || barrier->shapes() != shapes) {
    invalid("barrier \"{}\": expected it as it was declared before, got other components", barrier->name());
  }
  c.set_out(0, std::move(out));
}

void run_insert(KernelContext& c) {
  const std::shared_ptr<Barrier> barrier = barrier_in(c);
  const int64_t index = c.integer("component_index");
  if (index < 0 || index >= static_cast<int64_t>(barrier->types().size())) {
    invalid("component_index: expected one in [0, {}), got {}", barrier->types().size(), index);
  }
  const auto component = static_cast<size_t>(index);
  if (c.in(2).dtype() != barrier->types()[component]) {
    invalid("values: expected the component's {}, got {}", dtype_name(barrier->types()[component]),
            dtype_name(c.in(2).dtype()));
  }
  barrier->insert(c.in(1), component, own_memory(c.in(2)));
}

void start_take(const std::shared_ptr<AsyncContext>& c, Done done) {
  const std::shared_ptr<Barrier> barrier = barrier_in(*c);
  if (!std::ranges::equal(c->types("component_types"), barrier->types())) {
    fail(Code::kInvalidArgument, "component_types: expected the barrier's, got others");
  }
  if (c->integer("timeout_ms") != -1) {
    invalid("timeout_ms: expected -1, since a step has a deadline, got {}", c->integer("timeout_ms"));
  }
  const int64_t count = *c->data<int32_t>(1);
  if (count < 0) invalid("num_elements: expected at least 0, got {}", count);
  const bool small = c->flag("allow_small_batch");
  const std::shared_ptr<Queue> queue = barrier->ready();
  const auto give = [c, done, queue](const std::vector<QueueElement>& elements, std::exception_ptr error) {
    if (error) return done(std::move(error));
    try {
      const QueueForm& of = queue->form();
      for (size_t k = 0; k < of.types.size(); ++k) {
        c->set_out(static_cast<int>(k), stacked_component(elements, k, of.types[k], of.shapes[k]));
      }
    } catch (...) {
      return done(std::current_exception());
    }
    done();
  };
  const int64_t take = barrier->can_take(count, small);
  if (take == 0) return give({}, nullptr);
  const std::shared_ptr<Cancellation> cancellation = c->step().cancellation;
  const uint64_t attempt = queue->dequeue(take, small, give);
  cancellation->watch([queue, attempt] { queue->forget(attempt); });
}

void run_close(KernelContext& c) { barrier_in(c)->close(c.flag("cancel_pending_enqueues")); }
void run_ready(KernelContext& c) {
  *c.out_data<int32_t>(0) = checked_cast<int32_t>(barrier_in(c)->ready()->size(), "number of elements");
}
void run_incomplete(KernelContext& c) {
  *c.out_data<int32_t>(0) = checked_cast<int32_t>(barrier_in(c)->incomplete(), "number of elements");
}

const CpuKernel make_barrier_kernel("Barrier", run_make);
const CpuKernel insert_kernel("BarrierInsertMany", dtypes::kAny, run_insert);
const CpuKernel take_kernel("BarrierTakeMany", Kernel{.start = start_take});
const CpuKernel close_kernel("BarrierClose", run_close);
const CpuKernel ready_kernel("BarrierReadySize", run_ready);
const CpuKernel incomplete_kernel("BarrierIncompleteSize", run_incomplete);

}  // namespace
}  // namespace panto
