#include "panto/autograd/tape.h"

#include <algorithm>
#include <thread>
#include <vector>

#include "panto/autograd/backward_pass.h"
#include "panto/autograd/entries.h"
#include "panto/autograd/rows.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/recorder.h"
#include "panto/lib/core/call/thread_state.h"
#include "panto/lib/core/op/function_body.h"
#include "panto/ops/array.h"

namespace panto {
namespace {

bool saves_shapes(const Op& op) {
  for (const Saved& s : op.saves()) {
    if (s.what == Saved::What::kInputShape) return true;
  }
  return false;
}

}  // namespace

class GradientTape::Impl final : public Recorder {
 public:
  explicit Impl(const Options& options) : options_(options), owner_(std::this_thread::get_id()) { push_recorder(this); }
  ~Impl() override { release(); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  size_t size() const { return entries_.size(); }

  void watch(const GradSource& source) {
    check_thread();
    const DType t = source.variable().defined() ? source.variable().dtype() : source.tensor().dtype();
    if (!differentiable(t)) invalid("watched: expected a floating or complex tensor, got {}", dtype_name(t));
    if (table_.find(source.tensor().id()) == kNoSlot) new_slot(source.tensor().id());
  }

  bool computes_gradients() const override { return true; }
  bool hears_own_gradients() const override { return options_.persistent; }
  bool keeps(const Call& call) override { return !call.op->saves().empty() && tracks_any(call); }
  bool looks_inside(const Call& call) const override {
    if (ends_gradients(*call.op)) return false;
    const bool function_inside =
        calls_functions(*call.op) && gradient_orders(call) < (runs_now(call) ? 1 : wanted_gradient_orders());
    if (call.op->gradient() != nullptr && !function_inside) return false;
    return tracks_any(call) || (options_.watch_variables && call.op->has_effect(Effect::kReads));
  }

  void record(const Call& call) override {
    const Op& op = *call.op;
    if (options_.watch_variables && op.has_effect(Effect::kReads)) watch_read_variables(call);
    if (num_slots_ == 0) return;
    const size_t num_inputs = call.inputs.size();
    const bool tracked = find_slots(num_inputs, [&](size_t i) { return call.inputs[i]->impl()->id; });
    if (!tracked) return;
    if (ends_gradients(op)) return;
    const std::span<const Tensor> outputs(call.outputs.data(), call.outputs.size());
    if (!carries_gradient(outputs)) return;

    const bool reduces = op.has(Trait::kBroadcasts) && !call.one_shape && shapes_differ(call);
    const bool with_shapes = reduces || saves_shapes(op);
    Entry& e = *Entry::make(arena_, &op, nullptr, num_inputs, outputs.size(), call.attrs.size(), with_shapes);
    entries_.push_back(&e);
    e.reduces = reduces;
    connect(e, outputs, [](size_t) { return true; });
    keep_attrs(op, call.attrs, e.attrs);
    for (size_t i = 0; i < num_inputs; ++i) e.types[i] = call.inputs[i]->impl()->dtype;
    keep_saved(e, call);
    if (with_shapes) keep_shapes(e, call);
  }

  void record_custom(std::span<const Tensor> inputs, std::span<const Tensor> outputs,
                     std::shared_ptr<CustomBackward> backward) override {
    for (const Tensor& t : inputs) {
      if (options_.watch_variables && t.dtype() == kResource && table_.find(t.id()) == kNoSlot) new_slot(t.id());
    }
    const bool tracked = find_slots(inputs.size(), [&](size_t i) { return inputs[i].id(); });
    if (!tracked || !carries_gradient(outputs)) return;
    std::vector<uint8_t> tracks;
    for (const int32_t slot : found_) tracks.push_back(slot != kNoSlot ? 1 : 0);
    customs_.push_back(std::move(backward));
    const CustomBackward& custom = *customs_.back();
    Entry& e = *Entry::make(arena_, nullptr, customs_.back().get(), inputs.size(), outputs.size(), 0, false);
    entries_.push_back(&e);
    connect(e, outputs, [&](size_t k) { return custom.depends(k, tracks); });
  }

  // `sparse`: as rows where possible. `stopped` as in detail::graph_gradients.
  std::vector<Gradient> gradients(std::span<const Tensor> targets, std::span<const GradSource> sources,
                                  std::span<const Tensor> seeds, bool sparse, bool* stopped = nullptr) {
    check_thread();
    if (used_ && !options_.persistent) {
      fail(Code::kFailedPrecondition,
           "tape: expected one call of gradient, got a second (make the tape with {.persistent = true})");
    }
    if (!options_.persistent) {
      used_ = true;
      remove_recorder(this);
    }
    // Release even if a gradient fails: a used tape is of no further use.
    struct Release {
      Impl* tape;
      ~Release() {
        if (!tape->options_.persistent) tape->release();
      }
    } release_at_end{this};
    const LibraryScope inside;
    BackwardPass back(entries_, static_cast<size_t>(num_slots_), stopped);
    SmallVector<int32_t, 8> source_slots;
    for (const GradSource& s : sources) {
      source_slots.push_back(table_.find(s.tensor().id()));
      if (source_slots.back() != kNoSlot) back.ask_for(source_slots.back());
    }
    seed_targets(targets, seeds, back);
    // A tape that is used once frees its values as early as possible.
    back.run({.sparse = sparse, .forget = !options_.persistent});
    std::vector<Gradient> result;
    for (size_t i = 0; i < sources.size(); ++i) {
      const int32_t slot = source_slots[i];
      Gradient g;
      if (slot != kNoSlot) {
        g.whole = back.gradient(slot);
        if (sparse) add_rows(g, back.rows(slot));
      }
      if (!g.defined() && options_.unconnected_zero) {
        const Variable& v = sources[i].variable();
        g.whole = zeros_like(v.defined() ? v.value() : sources[i].tensor());
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

  // Whether the call runs now: no input is symbolic, and no symbolic recorder is active.
  static bool runs_now(const Call& call) {
    return symbolic_recorder() == nullptr &&
           std::ranges::none_of(call.inputs, [](const Tensor* t) { return t->is_meta(); });
  }

  bool tracks_any(const Call& call) const {
    if (num_slots_ == 0) return false;
    for (const Tensor* t : call.inputs) {
      if (table_.find(t->id()) != kNoSlot) return true;
    }
    return false;
  }

  void watch_read_variables(const Call& call) {
    for (size_t i = 0; i < call.inputs.size(); ++i) {
      const Tensor& t = *call.inputs[i];
      if (t.dtype() != kResource || table_.find(t.id()) != kNoSlot) continue;
      for (const Tensor& o : call.outputs) {
        if (differentiable(o.dtype())) {
          new_slot(t.id());
          break;
        }
      }
    }
  }

  static bool carries_gradient(std::span<const Tensor> outputs) {
    for (const Tensor& o : outputs) {
      if (differentiable(o.impl()->dtype)) return true;
    }
    return false;
  }

  // Writes the slots of `count` inputs to found_. Returns whether one of them is tracked.
  template <class IdOf>
  bool find_slots(size_t count, const IdOf& id_of) {
    found_.resize(count);
    bool tracked = false;
    for (size_t i = 0; i < count; ++i) {
      found_[i] = table_.find(id_of(i));
      tracked = tracked || found_[i] != kNoSlot;
    }
    return tracked;
  }

  // Stores found_ as the inputs' slots, and assigns slots to the outputs that depend on tracked inputs.
  template <class Depends>
  void connect(Entry& e, std::span<const Tensor> outputs, const Depends& depends) {
    std::ranges::copy(found_, e.slots);
    for (size_t k = 0; k < outputs.size(); ++k) {
      const TensorImpl& o = *outputs[k].impl();
      e.slots[e.num_inputs + k] = differentiable(o.dtype) && depends(k) ? new_slot(o.id) : kNoSlot;
    }
  }

  // Copies attributes. Plain ones are copied as they are; for others the tape owns a copy of the borrowed data.
  void keep_attrs(const Op& op, std::span<const AttrSlot> attrs, AttrSlot* kept) {
    const auto& defs = op.signature().attrs;
    for (size_t i = 0; i < attrs.size(); ++i) {
      const AttrKind kind = defs[i].kind;
      kept[i] = attrs[i];
      if (kind > AttrKind::kType && attrs[i].p != defs[i].default_slot.p) {
        owned_attrs_.push_back(std::make_unique<AttrValue>(to_value(attrs[i], kind)));
        kept[i] = borrow(*owned_attrs_.back());
      }
    }
  }

  [[gnu::always_inline]] static void keep_saved(Entry& e, const Call& call) {
    const CallView view(call);
    for (const Saved& s : call.op->saves()) {
      if (s.flag != nullptr && !view.is_saved(s)) continue;
      if (s.what == Saved::What::kInput) {
        const auto [first, last] = view.list(s.index);
        for (int i = first; i < last; ++i) e.values[i] = *call.inputs[static_cast<size_t>(i)];
      } else if (s.what == Saved::What::kOutput) {
        const auto [first, last] = output_range(call, s.index);
        for (size_t k = first; k < last; ++k) e.values[e.num_inputs + k] = call.outputs[k];
      }
    }
  }

  static std::pair<size_t, size_t> output_range(const Call& call, int arg) {
    const auto at = static_cast<size_t>(arg);
    if (!call.op->signature().has_output_lists) return {at, at + 1};
    return {0, call.outputs.size()};  // TensorFlow's ops with an output list have no other output
  }

  // Whether an input has, or may have, another shape than output 0.
  static bool shapes_differ(const Call& call) {
    const PartialShape& result = call.outputs[0].partial_shape();
    for (const Tensor* t : call.inputs) {
      const PartialShape& shape = t->partial_shape();
      if (!(shape == result) || (call.symbolic && !shape.fully_known())) return true;
    }
    return false;
  }

  static void keep_shapes(Entry& e, const Call& call) {
    bool unknown = false;
    for (size_t i = 0; i < call.inputs.size(); ++i) {
      e.shapes[i] = call.inputs[i]->partial_shape();
      unknown = unknown || !e.shapes[i].fully_known();
    }
    e.symbolic = unknown && call.symbolic;
    if (!e.symbolic) return;
    for (size_t i = 0; i < call.inputs.size(); ++i) e.values[i] = *call.inputs[i];
  }

  void seed_targets(std::span<const Tensor> targets, std::span<const Tensor> seeds, BackwardPass& back) {
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
      if (slot == kNoSlot) continue;
      if (!seeded && y.dtype() == kVariant) {
        fail(Code::kInvalidArgument, "seed: expected one for a target of type variant, got none");
      }
      back.add(slot, seeded ? seeds[i] : ones_like(y));
    }
  }

  void release() noexcept {
    for (Entry* e : entries_) e->destroy();
    entries_.clear();
    arena_.clear();
    customs_.clear();
    owned_attrs_.clear();
  }

  Options options_;
  std::thread::id owner_;
  bool used_ = false;
  int32_t num_slots_ = 0;
  SlotTable table_;
  SmallVector<int32_t, 8> found_;  // of the call being recorded; a member, to be allocated once
  Arena arena_;
  std::vector<Entry*> entries_;
  std::vector<std::shared_ptr<CustomBackward>> customs_;
  std::vector<std::unique_ptr<AttrValue>> owned_attrs_;
};

GradientTape::GradientTape() : GradientTape(Options{}) {}
GradientTape::GradientTape(const Options& options) : impl_(std::make_shared<Impl>(options)) {}
GradientTape::~GradientTape() { end_recorder(impl_.shared()); }

void GradientTape::watch(const GradSource& source) { impl_->watch(source); }
void GradientTape::stop() { end_recorder(impl_.shared()); }
size_t GradientTape::size() const { return impl_->size(); }

std::vector<Tensor> GradientTape::gradients(std::span<const Tensor> targets, std::span<const GradSource> sources,
                                            std::span<const Tensor> seeds, std::source_location where) {
  std::vector<Tensor> result;
  for (Gradient& g : gradients_at(where, targets, sources, seeds, false)) result.push_back(std::move(g.whole));
  return result;
}

std::vector<Gradient> GradientTape::gradients_at(const std::source_location& where, std::span<const Tensor> targets,
                                                 std::span<const GradSource> sources, std::span<const Tensor> seeds,
                                                 bool sparse) {
  return with_context([&] { return fmt::format("at {}:{}", where.file_name(), where.line()); },
                      [&] { return impl_->gradients(targets, sources, seeds, sparse); });
}

std::vector<Tensor> GradientTape::gradient(const Tensor& target, std::span<const GradSource> sources,
                                           const Tensor& seed, std::source_location where) {
  return gradients({&target, 1}, sources, {&seed, 1}, where);
}

std::vector<Tensor> GradientTape::gradient(const Tensor& target, std::initializer_list<GradSource> sources,
                                           const Tensor& seed, std::source_location where) {
  return gradient(target, std::span(sources.begin(), sources.size()), seed, where);
}

std::vector<Tensor> GradientTape::gradient_of(const Tensor& target, const std::vector<GradSource>& sources,
                                              const Tensor& seed, const std::source_location& where) {
  return gradient(target, std::span<const GradSource>(sources), seed, where);
}

Tensor GradientTape::gradient(const Tensor& target, const GradSource& source, const Tensor& seed,
                              std::source_location where) {
  return std::move(gradient(target, std::span(&source, 1), seed, where)[0]);
}

std::vector<Gradient> GradientTape::sparse_gradient(const Tensor& target, std::span<const GradSource> sources,
                                                    const Tensor& seed, std::source_location where) {
  return gradients_at(where, {&target, 1}, sources, {&seed, 1}, true);
}

std::vector<Gradient> GradientTape::sparse_gradient(const Tensor& target, std::initializer_list<GradSource> sources,
                                                    const Tensor& seed, std::source_location where) {
  return sparse_gradient(target, std::span(sources.begin(), sources.size()), seed, where);
}

std::vector<Gradient> GradientTape::sparse_gradient_of(const Tensor& target, const std::vector<GradSource>& sources,
                                                       const Tensor& seed, const std::source_location& where) {
  return sparse_gradient(target, std::span<const GradSource>(sources), seed, where);
}

Gradient GradientTape::sparse_gradient(const Tensor& target, const GradSource& source, const Tensor& seed,
                                       std::source_location where) {
  return std::move(sparse_gradient(target, std::span(&source, 1), seed, where)[0]);
}

std::vector<Gradient> detail::graph_gradients(GradientTape& tape, std::span<const Tensor> targets,
                                              std::span<const GradSource> sources, std::span<const Tensor> seeds,
                                              bool sparse, bool* stopped) {
  return tape.impl_->gradients(targets, sources, seeds, sparse, stopped);
}

Tensor detail::own_argument(const Tensor& t) { return identity(t); }

}  // namespace panto
