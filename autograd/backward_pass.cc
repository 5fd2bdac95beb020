#include "panto/autograd/backward_pass.h"

#include <algorithm>

#include "panto/autograd/broadcast.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/step/stop.h"
#include "panto/lib/ops/tangents.h"

namespace panto {
namespace {

// Whether rows may flow through this call: its input's gradient equals its output's gradient.
bool passes_rows(const Entry& e) {
  return e.op != nullptr && e.num_inputs == 1 && e.num_outputs == 1 &&
         (e.op->has(Trait::kIdentity) || e.op->is(OpKind::kReadVariable));
}

void accumulate(Tensor& sum, Tensor&& more) {
  if (sum.defined()) {
    sum = add_tangents(std::move(sum), std::move(more));
  } else {  // the usual case, without the call of add_tangents, which would do the same
    sum = std::move(more);
  }
}

}  // namespace

BackwardPass::BackwardPass(const std::vector<Entry*>& entries, size_t num_slots, bool* stopped)
    : entries_(entries), num_entries_(entries.size()), stopped_(stopped), grads_(num_slots), is_source_(num_slots) {}

void BackwardPass::add(int32_t slot, Tensor gradient) {
  accumulate(grads_[static_cast<size_t>(slot)], std::move(gradient));
}

void BackwardPass::run(const Options& options) {
  useful_ = mark_useful();
  if (options.sparse) {
    takes_slices_ = mark_rows();
    rows_.resize(grads_.size());
  }
  for (size_t i = num_entries_; i-- > 0;) {
    back(*entries_[i]);
    if (options.forget) entries_[i]->forget_values();
  }
}

// Slots that depend on a source. Recorded calls are in order, so one pass suffices.
BackwardPass::Flags BackwardPass::mark_useful() const {
  Flags useful = is_source_;
  for (const Entry* e : recorded()) {
    uint8_t any = 0;
    for (uint32_t i = 0; i < e->num_inputs; ++i) {
      if (e->slots[i] != kNoSlot) any |= useful[static_cast<size_t>(e->slots[i])];
    }
    if (any == 0) continue;
    for (uint32_t k = e->num_inputs; k < e->num_inputs + e->num_outputs; ++k) {
      if (e->slots[k] != kNoSlot) useful[static_cast<size_t>(e->slots[k])] = 1;
    }
  }
  return useful;
}

// Slots whose gradients may be rows: sources, and values passed on from them. Not values that other ops computed from a
// source, as their gradient functions take whole tensors.
BackwardPass::Flags BackwardPass::mark_rows() const {
  Flags takes = is_source_;
  for (const Entry* e : recorded()) {
    uint8_t any = 0;
    for (uint32_t i = 0; i < e->num_inputs; ++i) {
      if (e->slots[i] != kNoSlot) any |= useful_[static_cast<size_t>(e->slots[i])];
    }
    if (any == 0) continue;
    const uint8_t pass = passes_rows(*e) ? takes[static_cast<size_t>(e->slots[0])] : uint8_t{0};
    for (uint32_t k = e->num_inputs; k < e->num_inputs + e->num_outputs; ++k) {
      if (e->slots[k] != kNoSlot) takes[static_cast<size_t>(e->slots[k])] = pass;
    }
  }
  return takes;
}

// Passes the rows of a call's output on to its input, if passes_rows(e).
void BackwardPass::pass_rows(const Entry& e) {
  if (!passes_rows(e) || e.slots[0] == kNoSlot || e.slots[1] == kNoSlot) return;
  std::vector<IndexedSlices>& from = rows_[static_cast<size_t>(e.slots[1])];
  std::vector<IndexedSlices>& to = rows_[static_cast<size_t>(e.slots[0])];
  to.insert(to.end(), from.begin(), from.end());
  if (is_source_[static_cast<size_t>(e.slots[1])] == 0) from.clear();
}

void BackwardPass::back(const Entry& e) {
  if (!rows_.empty()) pass_rows(e);
  bool reached = false;
  dys_.resize(e.num_outputs);
  for (size_t k = 0; k < e.num_outputs; ++k) {
    dys_[k] = Tensor();
    const int32_t slot = e.slots[e.num_inputs + k];
    if (slot == kNoSlot) continue;
    Tensor& g = grads_[static_cast<size_t>(slot)];
    if (!g.defined()) continue;
    reached = true;
    // This is the last use of an inner value's gradient, unless it was asked for.
    dys_[k] = is_source_[static_cast<size_t>(slot)] != 0 ? g : std::move(g);
  }
  if (!reached) return;
  bool any = false;
  needed_.resize(e.num_inputs);
  for (size_t i = 0; i < e.num_inputs; ++i) {
    const int32_t slot = e.slots[i];
    needed_[i] = slot != kNoSlot && useful_[static_cast<size_t>(slot)] != 0;
    any = any || needed_[i] != 0;
  }
  if (!any) return;
  if (stopped_ == nullptr) return differentiate(e);
  try {
    differentiate(e);
  } catch (const Error& error) {
    if (is_stop(error)) throw;
    *stopped_ = true;
    differentiate_by_parts(e);
  }
}

// If the op's gradient function fails as a whole, computes what is possible: the gradient of each output with respect
// to each input.
void BackwardPass::differentiate_by_parts(const Entry& e) {
  const auto dys = dys_;
  const auto needed = needed_;
  for (size_t k = 0; k < dys.size(); ++k) {
    if (!dys[k].defined()) continue;
    std::ranges::fill(dys_, Tensor());
    dys_[k] = dys[k];
    for (size_t i = 0; i < needed.size(); ++i) {
      if (needed[i] == 0) continue;
      std::ranges::fill(needed_, uint8_t{0});
      needed_[i] = 1;
      try {
        differentiate(e);
      } catch (const Error& error) {
        if (is_stop(error)) throw;
      }
    }
  }
}

// Adds the gradients with respect to the needed inputs to `grads_`.
void BackwardPass::differentiate(const Entry& e) {
  const auto add_to_inputs = [&](std::span<Tensor> dxs) {
    for (size_t i = 0; i < dxs.size() && i < e.num_inputs; ++i) {
      if (needed_[i] != 0 && dxs[i].defined()) {
        accumulate(grads_[static_cast<size_t>(e.slots[i])], std::move(dxs[i]));
      }
    }
  };
  if (e.op == nullptr) {
    std::vector<Tensor> dxs = e.custom->gradient(dys_, needed_);
    add_to_inputs(dxs);
    return;
  }
  const Op& op = *e.op;
  if (op.gradient() == nullptr) {
    failf(Code::kUnimplemented, "gradient of {}: expected its block to have one, got none", op.name());
  }
  const GradRecord record{
      .op = &op,
      .attrs = {e.attrs, e.num_attrs},
      .inputs = {e.values, e.num_inputs},
      .outputs = {e.values + e.num_inputs, e.num_outputs},
      .input_shapes = {e.shapes, e.shapes == nullptr ? 0 : e.num_inputs},
      .input_types = {e.types, e.num_inputs},
      .output_gradients = dys_,
      .needed = needed_,
      .takes_slices = !takes_slices_.empty() && needed_[0] != 0 && takes_slices_[static_cast<size_t>(e.slots[0])] != 0};
  with_context([&] { return "in the gradient of " + op.name(); },
               [&] {
                 GradContext context(record);
                 op.gradient()(context);
                 auto& dxs = context.gradients();
                 if (e.reduces) {
                   for (size_t i = 0; i < dxs.size(); ++i) {
                     if (!dxs[i].defined() || needed_[i] == 0) continue;
                     dxs[i] = sum_to(std::move(dxs[i]), e.shapes[i], e.symbolic ? e.values[i] : Tensor());
                   }
                 }
                 add_to_inputs({dxs.data(), dxs.size()});
                 if (IndexedSlices* rows = context.rows()) {
                   rows_[static_cast<size_t>(e.slots[0])].push_back(std::move(*rows));
                 }
               });
}

}  // namespace panto
