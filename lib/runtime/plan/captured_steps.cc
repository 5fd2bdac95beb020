#include "panto/lib/runtime/plan/captured_steps.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "panto/lib/base/error.h"
#include "panto/lib/core/tensor/tensor_alloc.h"

namespace panto {
namespace {

// Launching a graph costs as much as launching a few kernels.
constexpr uint32_t kFewestSteps = 6;
// A copy of this size takes a GPU as long as its smallest kernel.
constexpr size_t kMostStagedBytes = size_t{4} << 20;
// Capturing costs about as much as running the steps this many times.
constexpr int64_t kLaunchesPerCapture = 8;
constexpr int64_t kFirstCaptures = 4;

class Finder {
 public:
  Finder(const Plan& whole, size_t part) : whole_(whole), plan_(whole.parts[part]) {
    for (const PlanSegment& segment : whole.segments) {
      if (segment.part == part) ends_.push_back(segment.end);
    }
  }

  std::vector<CapturableSteps> run() {
    std::vector<CapturableSteps> found;
    const auto count = static_cast<uint32_t>(plan_.steps.size());
    for (uint32_t first = 0; first < count;) {
      Device* device = plan_.steps[first].device;
      uint32_t end = first;
      const uint32_t limit = *std::ranges::upper_bound(ends_, first);
      while (end < limit && fits(plan_.steps[end], device)) ++end;
      if (end == first) {
        ++first;
        continue;
      }
      end = before_escapes(first, end);
      if (end - first >= kFewestSteps) found.push_back(with_surroundings(first, end));
      first = std::max(end, first + 1);
    }
    return found;
  }

 private:
  const PlanTemporary& temporary(uint32_t index) const { return plan_.temporaries[index]; }
  std::span<const PlanValue> inputs(const PlanStep& step) const {
    return {plan_.inputs.data() + step.first_input, step.num_inputs};
  }
  // Precondition: the value is not a constant.
  OutputInfo info(const PlanValue& value) const {
    if (value.kind == PlanValue::Kind::kFeed) return whole_.feeds[static_cast<size_t>(value.index)].info;
    const PlanTemporary& t = temporary(static_cast<uint32_t>(value.index));
    return {t.dtype, t.shape};
  }

  // Whether the step depends on nothing but the addresses of its inputs and outputs and the values there.
  bool fits(const PlanStep& step, const Device* device) const {
    if (step.prepared == nullptr || step.prepared->asynchronous() || step.device != device || !device->captures()) {
      return false;
    }
    const Op& op = step.prepared->op();
    // The only state allowed is variables, which are read or changed in place.
    if (op.has_effect(Effect::kRandom | Effect::kExternal | Effect::kAllocates)) return false;
    if (op.has_effect(Effect::kWrites) && !op.has_effect(Effect::kReads)) return false;
    if (!step.prepared->static_shapes()) return false;
    for (uint32_t k = 0; k < step.num_outputs; ++k) {
      if (&step.prepared->output_device(k) != device) return false;
    }
    return std::ranges::all_of(inputs(step), [&](const PlanValue& v) { return fits(v, device); });
  }

  bool fits(const PlanValue& value, const Device* device) const {
    if (value.kind == PlanValue::Kind::kConstant) return true;  // placed where it is read
    const OutputInfo what = info(value);
    if (what.dtype == kResource) return value.kind == PlanValue::Kind::kFeed;
    return value.device == device && what.shape.fully_known();
  }

  // Outputs that an op allocates itself have no fixed address, so they must not be read after the range. Returns the
  // largest end, at most `end`, for which that holds.
  uint32_t before_escapes(uint32_t first, uint32_t end) const {
    uint32_t good = first;
    uint32_t needed = 0;  // the end must not be below this, as earlier steps read outputs that an op allocated
    for (uint32_t s = first; s < end; ++s) {
      const PlanStep& step = plan_.steps[s];
      for (uint32_t t = step.first_output; step.makes_own && t < step.first_output + step.num_outputs; ++t) {
        needed = is_needed_from(t, end) ? end + 1 : std::max(needed, static_cast<uint32_t>(temporary(t).last_use) + 1);
      }
      if (needed <= s + 1) good = s + 1;
    }
    return good;
  }
  bool is_needed_from(uint32_t index, uint32_t step) const {
    const PlanTemporary& t = temporary(index);
    return t.fetched || t.last_use >= static_cast<int>(step);
  }

  CapturableSteps with_surroundings(uint32_t first, uint32_t end) const {
    CapturableSteps found{.first = first, .end = end, .device = plan_.steps[first].device};
    std::map<std::pair<int, int>, size_t> handles;  // (kind, index) -> in found.variables
    std::map<std::pair<int, int>, uint32_t> seen;
    for (uint32_t s = first; s < end; ++s) {
      const PlanStep& step = plan_.steps[s];
      const bool writes = step.prepared->op().has_effect(Effect::kWrites);
      for (uint32_t i = step.first_input; i < step.first_input + step.num_inputs; ++i) {
        const PlanValue& value = plan_.inputs[i];
        const std::pair<int, int> key(static_cast<int>(value.kind), value.index);
        const bool constant = value.kind == PlanValue::Kind::kConstant;
        if ((constant ? whole_.constants[static_cast<size_t>(value.index)].dtype() : info(value).dtype) == kResource) {
          const auto [at, is_new] = handles.emplace(key, found.variables.size());
          if (is_new) found.variables.push_back({.input = i});
          found.variables[at->second].written |= writes;
        } else if (!constant && may_move(value, first) && seen.emplace(key, i).second) {
          found.inputs.push_back(i);
        }
      }
      for (uint32_t k = 0; k < step.num_outputs; ++k) {
        const uint32_t t = step.first_output + k;
        if (!temporary(t).in_arena && is_needed_from(t, end)) found.outputs.push_back(t);
      }
    }
    return found;
  }

  bool may_move(const PlanValue& value, uint32_t first) const {
    if (value.kind == PlanValue::Kind::kFeed) return true;
    const PlanTemporary& t = temporary(static_cast<uint32_t>(value.index));
    return !t.in_arena && t.made_by < static_cast<int>(first);
  }

  const Plan& whole_;
  const PartPlan& plan_;
  std::vector<uint32_t> ends_;  // ends of segments, after which other parts' steps run
};

// Copies between two tensors of equal type, shape and device.
void copy_bytes(const Tensor& to, const Tensor& from) {
  if (from.nbytes() > 0) to.device().copy_within(to.impl()->data, from.impl()->data, from.nbytes());
}

const ResourceHandle& resource_of(const Tensor& handle) {
  return *static_cast<const ResourceHandle*>(handle.impl()->data);
}

bool is_same(const std::weak_ptr<Resource>& a, const ResourceHandle& b) {
  return !a.owner_before(b) && !b.owner_before(a);
}

// Precondition: the variable is locked.
bool is_usable(const VariableResource& variable, const CapturableSteps::Handle& handle, const Device& device) {
  if (handle.written) return variable.updated_in_place(device);
  return variable.value().defined() && &variable.value().device() == &device;
}

}  // namespace

std::vector<CapturableSteps> find_capturable(const Plan& plan, size_t part) { return Finder(plan, part).run(); }

// Locks all variables of the steps, each once, in an order that is the same for all threads.
class CapturedSteps::Locks {
 public:
  explicit Locks(std::vector<VariableResource*> variables) {
    std::ranges::sort(variables);
    const auto repeated = std::ranges::unique(variables);
    variables.erase(repeated.begin(), repeated.end());
    for (const VariableResource* v : variables) locks_.emplace_back(v->mutex());
  }

 private:
  std::vector<std::unique_lock<std::mutex>> locks_;
};

CapturedSteps::CapturedSteps(const PartPlan& plan, const CapturableSteps& steps)
    : plan_(plan),
      steps_(steps),
      places_(steps.inputs.size() + steps.outputs.size(), nullptr),
      staged_(places_.size()) {}

CapturedSteps::~CapturedSteps() = default;

void CapturedSteps::run(PartState& state, const Callable<void()>& one_by_one) {
  if (refused_) return one_by_one();
  const bool same = look(state);
  if (!same) captured_ = {};
  if (captured_.work == nullptr) {
    const bool pays = captures_ < kFirstCaptures || captures_ * kLaunchesPerCapture < launches_;
    if (!same || !pays || !capture(state, one_by_one)) return one_by_one();
  }
  if (!launch(state)) {
    captured_ = {};
    one_by_one();
  }
}

// Allocates the outputs. Returns whether every value that is not staged has the address that it had in the last run.
bool CapturedSteps::look(PartState& state) {
  const bool seen = std::exchange(looked_, true);
  bool same = seen;
  const auto look_at = [&](size_t i, const Tensor& t) {
    if (staged_[i].defined() || std::exchange(places_[i], t.impl()->data) == t.impl()->data) return;
    if (seen && stage(i, t)) {
      captured_ = {};
    } else {
      same = false;
    }
  };
  size_t i = 0;
  for (const uint32_t input : steps_.inputs) look_at(i++, *state.inputs[input]);
  for (const uint32_t output : steps_.outputs) {
    const PlanTemporary& t = plan_.temporaries[output];
    state.temporaries[output] = allocate_tensor(*t.device, t.dtype, static_cast<const Shape&>(t.shape));
    look_at(i++, state.temporaries[output]);
  }
  return same;
}

// Allocates a staged copy for a value that moves. Returns false if it is too large or memory is short.
bool CapturedSteps::stage(size_t i, const Tensor& like) {
  if (like.nbytes() > kMostStagedBytes) return false;
  try {
    staged_[i] = allocate_tensor(*steps_.device, like.dtype(), like.shape());
  } catch (const Error&) {
    return false;
  }
  return true;
}

// Returns false if nothing could be captured; nothing was done then.
bool CapturedSteps::capture(PartState& state, const Callable<void()>& one_by_one) {
  captured_.variables.clear();
  for (const CapturableSteps::Handle& handle : steps_.variables) {
    const Tensor& input = *state.inputs[handle.input];
    const VariableResource& variable = variable_of(input);
    const std::lock_guard lock(variable.mutex());
    // The shape must be fixed, as another shape would need other work.
    if (!variable.shape().fully_known() || !is_usable(variable, handle, *steps_.device)) return false;
    captured_.variables.push_back({resource_of(input), variable.value().impl()->data});
  }
  // Hold references, so that no step overwrites the buffers: they are needed again.
  const std::vector<Tensor> before = state.temporaries;
  const std::vector<Tensor> places = staged_;
  const PlanStep& last = plan_.steps[steps_.end - 1];
  const uint32_t first_input = plan_.steps[steps_.first].first_input;
  const std::span<const Tensor*> inputs(state.inputs.data() + first_input,
                                        last.first_input + last.num_inputs - first_input);
  const std::vector<const Tensor*> given(inputs.begin(), inputs.end());
  for (size_t i = 0; i < steps_.inputs.size(); ++i) {
    const Tensor* moves = state.inputs[steps_.inputs[i]];
    if (places[i].defined()) std::ranges::replace(inputs, moves, &places[i]);
  }
  for (size_t k = 0; k < steps_.outputs.size(); ++k) {
    const Tensor& place = places[steps_.inputs.size() + k];
    if (place.defined()) state.temporaries[steps_.outputs[k]] = place;
  }
  ++captures_;
  try {
    captured_.work = steps_.device->capture(one_by_one);
    refused_ = captured_.work == nullptr;
  } catch (const Error&) {
    // Memory is short, or a step does something that cannot be captured. A step's own error is thrown again when the
    // steps run one by one.
    captured_.work = nullptr;
  }
  std::ranges::copy(given, inputs.begin());
  std::ranges::copy(before, state.temporaries.begin());
  return captured_.work != nullptr;
}

// Returns false, having done nothing, if a variable was replaced or moved, or if the device refused.
bool CapturedSteps::launch(PartState& state) {
  std::vector<VariableResource*> variables;
  for (size_t v = 0; v < steps_.variables.size(); ++v) {
    const Tensor& input = *state.inputs[steps_.variables[v].input];
    if (!is_same(captured_.variables[v].variable, resource_of(input))) return false;
    variables.push_back(&variable_of(input));
  }
  for (size_t i = 0; i < steps_.inputs.size(); ++i) {
    if (staged_[i].defined()) copy_bytes(staged_[i], *state.inputs[steps_.inputs[i]]);
  }
  {
    const Locks locks(variables);
    for (size_t v = 0; v < variables.size(); ++v) {
      if (!is_usable(*variables[v], steps_.variables[v], *steps_.device) ||
          variables[v]->value().impl()->data != captured_.variables[v].value) {
        return false;
      }
    }
    try {
      captured_.work->launch();
    } catch (const Error&) {
      return false;  // running the steps one by one reports the error
    }
  }
  ++launches_;
  for (size_t k = 0; k < steps_.outputs.size(); ++k) {
    const Tensor& place = staged_[steps_.inputs.size() + k];
    if (place.defined()) copy_bytes(state.temporaries[steps_.outputs[k]], place);
  }
  const PlanStep& last = plan_.steps[steps_.end - 1];
  for (uint32_t d = plan_.steps[steps_.first].first_dropped; d < last.first_dropped + last.num_dropped; ++d) {
    state.temporaries[plan_.dropped[d]] = Tensor();
  }
  return true;
}

}  // namespace panto
