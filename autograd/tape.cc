#include "panto/autograd/tape.h"

#include <thread>
#include <unordered_map>

#include "panto/autograd/broadcast.h"
#include "panto/lib/base/format.h"
#include "panto/lib/core/recorder.h"
#include "panto/lib/core/thread_state.h"
#include "panto/lib/ops/ops.h"

namespace panto {
namespace {

constexpr int32_t kNone = -1;
constexpr size_t kFirstEntries = 64;  // what a tape has room for before its pools grow

bool differentiable(DType t) { return dtypes::kFloating.contains(t) || dtypes::kComplex.contains(t); }

// Tensor id -> slot. Ids made while the tape lives are dense (one thread, blocks of ids): a vector by distance from the
// first. Older tensors, few of which are ever watched, go through a map.
class SlotTable {
 public:
  SlotTable() : base_(next_tensor_id()) {}

  int32_t find(int64_t id) const {
    const int64_t distance = id - base_;
    if (distance >= 0 && distance < static_cast<int64_t>(recent_.size())) return recent_[static_cast<size_t>(distance)];
    if (others_.empty()) return kNone;
    const auto it = others_.find(id);
    return it == others_.end() ? kNone : it->second;
  }
  void set(int64_t id, int32_t slot) {
    const int64_t distance = id - base_;
    // Another thread's block of ids may lie between two of ours; further away than this it is not worth a vector.
    constexpr int64_t kLargestGap = 1 << 16;
    if (distance < 0 || distance > static_cast<int64_t>(recent_.size()) + kLargestGap) {
      others_[id] = slot;
      return;
    }
    if (distance >= static_cast<int64_t>(recent_.size())) {
      if (distance >= static_cast<int64_t>(recent_.capacity()))
        recent_.reserve(static_cast<size_t>(distance) * 2 + 256);
      recent_.resize(static_cast<size_t>(distance) + 1, kNone);
    }
    recent_[static_cast<size_t>(distance)] = slot;
  }

 private:
  int64_t base_;
  std::vector<int32_t> recent_;
  std::unordered_map<int64_t, int32_t> others_;
};

// One recorded call. Everything of varying length lies in the tape's pools, at the offsets kept here.
struct Entry {
  const Op* op = nullptr;  // null: custom
  std::shared_ptr<CustomBackward> custom;
  uint32_t slots = 0;  // inputs, then outputs
  uint32_t attrs = 0;
  uint32_t saved = 0;
  uint32_t types = 0;
  int32_t shapes = kNone;           // input shapes, if kept
  int32_t symbolic_inputs = kNone;  // in `saved`: all inputs, if their shapes have unknowns
  uint32_t num_inputs = 0;          // Pack and AddN take any number
  uint32_t num_outputs = 0;
  bool reduces = false;  // inputs broadcast: gradients must be summed to their shapes
};

}  // namespace

class GradientTape::Impl final : public Recorder {
 public:
  explicit Impl(const Options& options) : options_(options), owner_(std::this_thread::get_id()) { push_recorder(this); }
  ~Impl() override { stop(); }

  void stop() {
    if (recording_) remove_recorder(this);
    recording_ = false;
  }
  size_t size() const { return entries_.size(); }

  void watch(const GradSource& source) {
    check_thread();
    const DType t = source.variable().defined() ? source.variable().dtype() : source.tensor().dtype();
    if (!differentiable(t)) invalid("watched: expected a floating or complex tensor, got {}", dtype_name(t));
    if (table_.find(source.tensor().id()) == kNone) new_slot(source.tensor().id());
  }

  bool hears_own_gradients() const override { return options_.persistent; }
  bool keeps(const Call& call) override { return !call.op->saves().empty() && tracks_any(call); }

  void record(const Call& call) override {
    const Op& op = *call.op;
    if (options_.watch_variables && op.has(Trait::kReadsResource)) watch_read_variables(call);
    if (!tracks_any(call)) return;
    if (op.gradient() == nullptr && !op.no_gradient().empty()) return;  // gradients end here, as the op's block says
    if (op.has(Trait::kStopsGradient)) return;
    Entry e;
    e.op = &op;
    if (!open_entry(e, call.inputs, std::span<const Tensor>(call.outputs.data(), call.outputs.size()))) return;
    e.attrs = static_cast<uint32_t>(attrs_.size());
    keep_attrs(op, call.attrs);
    e.types = static_cast<uint32_t>(types_.size());
    for (const Tensor* t : call.inputs) types_.push_back(t->dtype());
    keep_saved(e, call);
    keep_shapes(e, call);
    entries_.push_back(std::move(e));
  }

  void record_custom(std::span<const Tensor> inputs, std::span<const Tensor> outputs,
                     std::shared_ptr<CustomBackward> backward) override {
    SmallVector<const Tensor*, 8> pointers;
    bool tracked = false;
    for (const Tensor& t : inputs) {
      if (options_.watch_variables && t.dtype() == kResource && table_.find(t.id()) == kNone) new_slot(t.id());
      tracked = tracked || table_.find(t.id()) != kNone;
      pointers.push_back(&t);
    }
    if (!tracked) return;
    Entry e;
    e.custom = std::move(backward);
    if (open_entry(e, pointers, outputs)) entries_.push_back(std::move(e));
  }

  std::vector<Tensor> gradients(std::span<const Tensor> targets, std::span<const GradSource> sources,
                                std::span<const Tensor> seeds) {
    check_thread();
    if (used_ && !options_.persistent) {
      fail(Code::kFailedPrecondition,
           "tape: expected one call of gradient, got a second (make the tape with {.persistent = true})");
    }
    if (!options_.persistent) {
      used_ = true;
      stop();
    }
    // Also when a gradient fails: what a used tape keeps is of no use to anybody.
    struct Release {
      Impl* tape;
      ~Release() {
        if (!tape->options_.persistent) tape->release();
      }
    } release_at_end{this};
    const LibraryScope inside;
    std::vector<int32_t> source_slots;
    for (const GradSource& s : sources) source_slots.push_back(table_.find(s.tensor().id()));
    std::vector<Tensor> grads(static_cast<size_t>(num_slots_));
    seed_targets(targets, seeds, grads);
    const std::vector<uint8_t> useful = mark_useful(source_slots);
    std::vector<uint8_t> is_source(static_cast<size_t>(num_slots_), 0);
    for (int32_t s : source_slots) {
      if (s != kNone) is_source[static_cast<size_t>(s)] = 1;
    }
    Scratch scratch;
    for (size_t i = entries_.size(); i-- > 0;) back(entries_[i], scratch, grads, useful, is_source);
    std::vector<Tensor> result;
    for (size_t i = 0; i < sources.size(); ++i) {
      const int32_t slot = source_slots[i];
      Tensor g = slot == kNone ? Tensor() : grads[static_cast<size_t>(slot)];
      if (!g.defined() && options_.unconnected_zero) {
        const Variable& v = sources[i].variable();
        g = zeros_like(v.defined() ? v.value() : sources[i].tensor());
      }
      result.push_back(std::move(g));
    }
    return result;
  }

 private:
  void check_thread() const {
    if (std::this_thread::get_id() != owner_) {
      fail(Code::kFailedPrecondition, "tape: expected a call from the thread that made it, got another thread");
    }
  }

  int32_t new_slot(int64_t id) {
    table_.set(id, num_slots_);
    return num_slots_++;
  }

  bool tracks_any(const Call& call) const {
    if (num_slots_ == 0) return false;
    for (const Tensor* t : call.inputs) {
      if (table_.find(t->id()) != kNone) return true;
    }
    return false;
  }

  void watch_read_variables(const Call& call) {
    for (size_t i = 0; i < call.inputs.size(); ++i) {
      const Tensor& t = *call.inputs[i];
      if (t.dtype() != kResource || table_.find(t.id()) != kNone) continue;
      for (const Tensor& o : call.outputs) {
        if (differentiable(o.dtype())) {
          new_slot(t.id());
          break;
        }
      }
    }
  }

  // Gives slots to the outputs. False if no output can carry a gradient.
  bool open_entry(Entry& e, std::span<const Tensor* const> inputs, std::span<const Tensor> outputs) {
    bool carries = false;
    for (const Tensor& o : outputs) carries = carries || differentiable(o.dtype());
    if (!carries) return false;
    e.slots = static_cast<uint32_t>(slots_.size());
    e.num_inputs = static_cast<uint32_t>(inputs.size());
    e.num_outputs = static_cast<uint32_t>(outputs.size());
    for (const Tensor* t : inputs) slots_.push_back(table_.find(t->id()));
    for (const Tensor& o : outputs) slots_.push_back(differentiable(o.dtype()) ? new_slot(o.id()) : kNone);
    return true;
  }

  // Plain attributes are copied as they are; what others borrow is kept by the tape.
  void keep_attrs(const Op& op, std::span<const AttrSlot> attrs) {
    const auto& defs = op.signature().attrs;
    for (size_t i = 0; i < attrs.size(); ++i) {
      const AttrKind kind = defs[i].kind;
      if (kind <= AttrKind::kType || attrs[i].p == defs[i].default_slot.p) {
        attrs_.push_back(attrs[i]);
      } else {
        owned_attrs_.push_back(std::make_unique<AttrValue>(to_value(attrs[i], kind)));
        attrs_.push_back(borrow(*owned_attrs_.back()));
      }
    }
  }

  void keep_saved(Entry& e, const Call& call) {
    e.saved = static_cast<uint32_t>(saved_.size());
    const CallView view(call);
    for (const Saved& s : call.op->saves()) {
      if (s.what == Saved::What::kInput) {
        const auto [first, last] = view.list(s.index);
        for (int i = first; i < last; ++i) saved_.push_back(*call.inputs[static_cast<size_t>(i)]);
      } else if (s.what == Saved::What::kOutput) {
        const auto [first, last] = output_range(*call.op, static_cast<int>(call.outputs.size()), s.index);
        for (int k = first; k < last; ++k) saved_.push_back(call.outputs[static_cast<size_t>(k)]);
      }
    }
  }

  static std::pair<int, int> output_range(const Op& op, int num_outputs, int arg) {
    if (!op.signature().has_output_lists) return {arg, arg + 1};
    return {0, num_outputs};  // TensorFlow's ops with an output list have no other output
  }

  void keep_shapes(Entry& e, const Call& call) {
    const Op& op = *call.op;
    e.reduces = op.has(Trait::kBroadcasts);
    bool wanted = false;
    for (const Saved& s : op.saves()) wanted = wanted || s.what == Saved::What::kInputShape;
    bool unknown = false;
    if (e.reduces) {
      bool differ = false;
      for (const Tensor* t : call.inputs) {
        differ = differ || !(t->partial_shape() == call.outputs[0].partial_shape());
        unknown = unknown || !t->partial_shape().fully_known();
      }
      e.reduces = differ || unknown;
    }
    if (!wanted && !e.reduces) return;
    e.shapes = static_cast<int32_t>(shapes_.size());
    for (const Tensor* t : call.inputs) {
      shapes_.push_back(t->partial_shape());
      unknown = unknown || !t->partial_shape().fully_known();
    }
    if (unknown && call.symbolic) {
      // Their shapes are known only when the graph runs: gradients ask the tensors themselves (which have no bytes).
      e.symbolic_inputs = static_cast<int32_t>(saved_.size());
      for (const Tensor* t : call.inputs) saved_.push_back(*t);
    }
  }

  void seed_targets(std::span<const Tensor> targets, std::span<const Tensor> seeds, std::vector<Tensor>& grads) {
    for (size_t i = 0; i < targets.size(); ++i) {
      const Tensor& y = targets[i];
      if (!differentiable(y.dtype())) {
        invalid("target: expected a floating or complex tensor, got {}", dtype_name(y.dtype()));
      }
      const bool seeded = i < seeds.size() && seeds[i].defined();
      if (seeded && (seeds[i].dtype() != y.dtype() || !seeds[i].partial_shape().compatible_with(y.partial_shape()))) {
        invalid("seed: expected {}{}, got {}{}", dtype_name(y.dtype()), y.partial_shape().to_string(),
                dtype_name(seeds[i].dtype()), seeds[i].partial_shape().to_string());
      }
      const int32_t slot = table_.find(y.id());
      if (slot == kNone) continue;
      accumulate(grads[static_cast<size_t>(slot)], seeded ? seeds[i] : ones_like(y));
    }
  }

  // Slots that lead back to a source. Recorded calls are in order, so that one pass does.
  std::vector<uint8_t> mark_useful(std::span<const int32_t> sources) const {
    std::vector<uint8_t> useful(static_cast<size_t>(num_slots_), 0);
    for (int32_t s : sources) {
      if (s != kNone) useful[static_cast<size_t>(s)] = 1;
    }
    for (const Entry& e : entries_) {
      const int32_t* slots = slots_.data() + e.slots;
      uint8_t any = 0;
      for (uint32_t i = 0; i < e.num_inputs; ++i) {
        if (slots[i] != kNone) any |= useful[static_cast<size_t>(slots[i])];
      }
      if (any == 0) continue;
      for (uint32_t k = 0; k < e.num_outputs; ++k) {
        const int32_t slot = slots[e.num_inputs + k];
        if (slot != kNone) useful[static_cast<size_t>(slot)] = 1;
      }
    }
    return useful;
  }

  static void accumulate(Tensor& sum, Tensor more) {
    sum = sum.defined() ? add(std::move(sum), std::move(more)) : std::move(more);
  }

  // What `back` needs for one entry. Made once for all entries, so that the memory is taken once.
  struct Scratch {
    std::vector<int32_t> slots;
    std::vector<Tensor> dys, inputs, outputs, shaped;
    std::vector<uint8_t> needed;
    std::vector<AttrSlot> attrs;
    std::vector<DType> types;
    std::vector<PartialShape> shapes;
  };

  void back(const Entry& recorded, Scratch& s, std::vector<Tensor>& grads, const std::vector<uint8_t>& useful,
            const std::vector<uint8_t>& is_source) {
    const size_t num_inputs = recorded.num_inputs;
    const size_t num_outputs = recorded.num_outputs;
    const int32_t* first_slot = slots_.data() + recorded.slots;
    bool reached = false;
    s.dys.assign(num_outputs, Tensor());
    for (size_t k = 0; k < num_outputs; ++k) {
      const int32_t slot = first_slot[num_inputs + k];
      if (slot == kNone) continue;
      Tensor& g = grads[static_cast<size_t>(slot)];
      if (!g.defined()) continue;
      reached = true;
      // The last use of an inner value's gradient, unless somebody asked for it.
      s.dys[k] = is_source[static_cast<size_t>(slot)] != 0 ? g : std::move(g);
    }
    if (!reached) return;
    bool any = false;
    s.needed.assign(num_inputs, 0);
    for (size_t i = 0; i < num_inputs; ++i) {
      const int32_t slot = first_slot[i];
      s.needed[i] = slot != kNone && useful[static_cast<size_t>(slot)] != 0;
      any = any || s.needed[i] != 0;
    }
    if (!any) return;
    // A copy: while gradients are computed, a persistent tape records and its pools move. The same below.
    s.slots.assign(first_slot, first_slot + num_inputs);
    const auto add_to_inputs = [&](std::span<Tensor> dxs) {
      for (size_t i = 0; i < dxs.size() && i < num_inputs; ++i) {
        if (s.needed[i] != 0 && dxs[i].defined()) {
          accumulate(grads[static_cast<size_t>(s.slots[i])], std::move(dxs[i]));
        }
      }
    };
    if (recorded.op == nullptr) {
      const std::shared_ptr<CustomBackward> custom = recorded.custom;
      std::vector<Tensor> dxs = custom->gradient(s.dys);
      add_to_inputs(dxs);
      return;
    }
    const Op& op = *recorded.op;
    if (op.gradient() == nullptr) {
      failf(Code::kUnimplemented, "gradient of {}: expected its block to have one, got none", op.name());
    }
    GradRecord record;
    restore(recorded, s, record);
    const bool reduces = recorded.reduces;
    with_context([&] { return "in the gradient of " + op.name(); },
                 [&] {
                   GradContext context(record);
                   op.gradient()(context);
                   auto& dxs = context.gradients();
                   if (reduces) {
                     for (size_t i = 0; i < dxs.size(); ++i) {
                       if (!dxs[i].defined() || s.needed[i] == 0) continue;
                       dxs[i] = sum_to(std::move(dxs[i]), s.shapes[i], s.shaped.empty() ? Tensor() : s.shaped[i]);
                     }
                   }
                   add_to_inputs({dxs.data(), dxs.size()});
                 });
  }

  // Fills `s` with what was kept of a call.
  void restore(const Entry& e, Scratch& s, GradRecord& record) {
    const Op& op = *e.op;
    const auto* attrs = attrs_.data() + e.attrs;
    s.attrs.assign(attrs, attrs + op.signature().attrs.size());
    s.types.assign(types_.begin() + e.types, types_.begin() + e.types + e.num_inputs);
    s.shapes.clear();
    if (e.shapes != kNone) s.shapes.assign(shapes_.begin() + e.shapes, shapes_.begin() + e.shapes + e.num_inputs);
    s.inputs.assign(e.num_inputs, Tensor());
    s.outputs.assign(e.num_outputs, Tensor());
    restore_saved(e, s);
    s.shaped.clear();  // tensors whose shapes the inputs' gradients must have, where those are unknown
    if (e.symbolic_inputs != kNone) {
      s.shaped.assign(saved_.begin() + e.symbolic_inputs, saved_.begin() + e.symbolic_inputs + e.num_inputs);
      for (size_t i = 0; i < s.inputs.size(); ++i) {
        if (!s.inputs[i].defined()) s.inputs[i] = s.shaped[i];
      }
    }
    record = {&op, s.attrs, s.inputs, s.outputs, s.shapes, s.types, s.dys, s.needed};
  }

  void restore_saved(const Entry& e, Scratch& s) {
    Call call;
    call.op = e.op;
    call.attrs = s.attrs;
    const CallView view(call);
    size_t next = e.saved;
    // A tape that is used once gives its tensors away, so that gradients may write over them.
    auto take = [&]() { return options_.persistent ? saved_[next++] : std::move(saved_[next++]); };
    for (const Saved& what : e.op->saves()) {
      if (what.what == Saved::What::kInput) {
        const auto [first, last] = view.list(what.index);
        for (int i = first; i < last; ++i) s.inputs[static_cast<size_t>(i)] = take();
      } else if (what.what == Saved::What::kOutput) {
        const auto [first, last] = output_range(*e.op, static_cast<int>(e.num_outputs), what.index);
        for (int k = first; k < last; ++k) s.outputs[static_cast<size_t>(k)] = take();
      }
    }
  }

  void release() {
    entries_.clear();
    saved_.clear();
    owned_attrs_.clear();
    shapes_.clear();
  }

  Options options_;
  std::thread::id owner_;
  bool recording_ = true;
  bool used_ = false;
  int32_t num_slots_ = 0;
  SlotTable table_;
  std::vector<Entry> entries_;
  std::vector<int32_t> slots_;
  std::vector<AttrSlot> attrs_;
  std::vector<std::unique_ptr<AttrValue>> owned_attrs_;
  std::vector<DType> types_;
  std::vector<Tensor> saved_;
  std::vector<PartialShape> shapes_;
};

GradientTape::GradientTape() : GradientTape(Options{}) {}
GradientTape::GradientTape(const Options& options) : impl_(std::make_unique<Impl>(options)) {}
GradientTape::~GradientTape() = default;

void GradientTape::watch(const GradSource& source) { impl_->watch(source); }
void GradientTape::stop() { impl_->stop(); }
size_t GradientTape::size() const { return impl_->size(); }

std::vector<Tensor> GradientTape::gradients(std::span<const Tensor> targets, std::span<const GradSource> sources,
                                            std::span<const Tensor> seeds, std::source_location where) {
  return with_context([&] { return fmt::format("at {}:{}", where.file_name(), where.line()); },
                      [&] { return impl_->gradients(targets, sources, seeds); });
}

std::vector<Tensor> GradientTape::gradient(const Tensor& target, std::span<const GradSource> sources,
                                           const Tensor& seed, std::source_location where) {
  return gradients({&target, 1}, sources, {&seed, 1}, where);
}

std::vector<Tensor> GradientTape::gradient(const Tensor& target, std::initializer_list<GradSource> sources,
                                           const Tensor& seed, std::source_location where) {
  return gradient(target, std::span(sources.begin(), sources.size()), seed, where);
}

Tensor GradientTape::gradient(const Tensor& target, const GradSource& source, const Tensor& seed,
                              std::source_location where) {
  return std::move(gradient(target, std::span(&source, 1), seed, where)[0]);
}

Tensor detail::own_argument(const Tensor& t) { return identity(t); }

}  // namespace panto
