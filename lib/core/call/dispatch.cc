// The entrance of all op calls (design §6): bind, infer, allocate, run, tell recorders. A small eager call executes
// only code of this file and of call_steps.h.
#include "panto/lib/core/call/dispatch.h"

#include <algorithm>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/bind.h"
#include "panto/lib/core/call/call_steps.h"
#include "panto/lib/core/call/call_watch.h"
#include "panto/lib/core/call/composite.h"
#include "panto/lib/core/call/moved_inputs.h"
#include "panto/lib/core/call/thread_state.h"
#include "panto/lib/core/call/transform.h"
#include "panto/lib/core/step/step.h"
#include "panto/lib/core/tensor/resource.h"

namespace panto {

thread_local constinit CallWatch* call_watch = nullptr;

}  // namespace panto

namespace panto::dispatch {
namespace {

// The explicit device, else the scope's device, else the inputs' device, else the first CPU.
Device* place(const Call& call, const ThreadState& state, Device* asked) {
  if (asked != nullptr) return asked;
  if (state.device != nullptr) return state.device;
  if (state.device_missing) [[unlikely]]
    return &find_device(state.device_spec.to_string());  // throws, with a list of the devices
  if (has_accelerators()) [[unlikely]] {
    for (const Tensor* t : call.inputs) {
      Device& d = home_of(*t);
      if (d.kind() != DeviceKind::kCpu && !d.is_meta()) return &d;
    }
  }
  return call.inputs.empty() ? &cpu_device() : &call.inputs[0]->device();
}

void make_symbolic_outputs(Call& call) {
  for (size_t k = 0; k < call.specs.size(); ++k) {
    OutputSpec& spec = call.specs[k];
    call.outputs[k] = meta_tensor(spec.dtype, spec.shape, std::move(spec.values), nullptr, std::move(spec.handle));
  }
}

uint64_t without_kept(const Call& call, const ThreadState& state, uint64_t donated) {
  if (std::ranges::any_of(state.recorders, [](Recorder* r) { return r->reads_inputs(); })) return 0;
  const bool kept = std::ranges::any_of(state.recorders, [&](Recorder* r) { return r->keeps(call); });
  if (!kept) return donated;
  const CallView view(call);
  for (const Saved& s : call.op->saves()) {
    if (s.what != Saved::What::kInput || !view.is_saved(s)) continue;
    const auto [first, last] = view.list(s.index);
    for (int i = first; i < last && i < 64; ++i) donated &= ~(uint64_t{1} << i);
  }
  return donated;
}

// The device of all inputs; null if they are on several devices, or if there are none.
Device* common_device(const Call& call) {
  if (call.inputs.empty()) return nullptr;
  Device* device = call.inputs[0]->impl()->device;
  for (size_t i = 1; i < call.inputs.size(); ++i) {
    if (call.inputs[i]->impl()->device != device) return nullptr;
  }
  return device;
}

void infer_and_allocate(Call& call, uint64_t donated, const ThreadState& state) {
  const Op& op = *call.op;
  const bool recorded = !state.recorders.empty();
  if (donated != 0 && recorded) donated = without_kept(call, state, donated);
  call.donated = donated;
  if (op.has(Trait::kElementwise) && op.signature().outputs.size() == 1) {
    call.one_shape = same_known_shapes(call);
    const Tensor* const like = call.one_shape ? call.inputs[0] : beside_scalar(call);
    if (like != nullptr) {
      const ArgDef& a = op.signature().outputs[0];
      const DType t = a.type_attr >= 0 ? call.attrs[static_cast<size_t>(a.type_attr)].t : a.dtype;
      const TensorImpl& impl = *like->impl();
      call.outputs.resize(1);
      if (donated == 0 || !take_over(call, donated, recorded, t, impl.shape)) {
        call.outputs[0] = allocate_tensor(*call.device, t, impl.shape, impl.numel);
      }
      return;
    }
  }
  infer(call);
  if (!op.has(Trait::kSelfAllocating)) allocate(call, {call.specs.data(), call.specs.size()}, donated, recorded);
}

// The same with inputs on other devices. They are moved before the shape function runs, because it reads values.
[[gnu::noinline]] void run_moved(Call& call, const Kernel& kernel, uint64_t donated, const ThreadState& state) {
  const MovedInputs moved(call);
  infer_and_allocate(call, donated, state);
  run_kernel(call, kernel);
}

bool any_meta(const Call& call) {
  for (const Tensor* t : call.inputs) {
    if (t->is_meta()) return true;
  }
  return false;
}

// Refuses a call with a graph's tensor while no graph is being built: its result would belong to no graph, and an
// assignment would be lost. The library itself calls ops in this way to infer shapes.
[[gnu::noinline]] void expect_no_graph(const Call& call, const ThreadState& state) {
  if (state.library_depth > 0 || !state.paused.empty()) return;
  const bool any = std::ranges::any_of(
      call.inputs, [](const Tensor* t) { return t->is_meta() && t->impl()->meta->trace != nullptr; });
  if (!any) return;
  fail(Code::kFailedPrecondition,
       "symbolic tensor: expected the GraphScope or trace that it is of to be open, got it closed (open the graph "
       "again, or run it and use the values)");
}

// A call inside transforms; returns false if no transform takes it. Recorders that began inside the transform hear the
// call as it was written; recorders outside heard the calls that the transform made.
[[gnu::noinline]] bool execute_lifted(Call& call, ThreadState& state) {
  Transform* const transform = transform_of(call);
  if (transform == nullptr) return false;
  const int level = transform->level();
  // For a trace that began inside the transform, the transform's tensors are captured values like others.
  if (std::ranges::any_of(state.recorders, [&](Recorder* r) { return r->symbolic() && r->level() >= level; })) {
    return false;
  }
  call.symbolic = true;
  call.device = &meta_device();
  infer(call);
  run_transform(*transform, call);
  for (size_t i = state.recorders.size(); i-- > 0;) {
    if (i < state.recorders.size() && state.recorders[i]->level() >= level) state.recorders[i]->record(call);
  }
  return true;
}

// True if a composite must be replaced by the calls of its body here.
[[gnu::noinline]] bool expands(const Call& call, ThreadState& state, Device* asked) {
  if (must_expand(call, state)) return true;
  if (state.symbolic > 0 || any_meta(call)) return false;
  return call.op->kernel(place(call, state, asked)->kind(), primary_type(call)).run == nullptr;
}

// `call` has op, inputs, the given attributes and options. Afterwards it has outputs.
void execute(Call& call, BindStorage& storage, uint64_t donated, Device* asked) {
  const Op& op = *call.op;
  ThreadState& state = thread_state();
  call.step = innermost_step;
  bind_inputs(call, storage);
  if (op.is_composite() && expands(call, state, asked)) [[unlikely]] {
    bind_outputs(call);
    run_body(call);
    return;
  }
  look_at_recorders(state);
  Device* const common = common_device(call);
  const bool meta = common != nullptr ? common->is_meta() : any_meta(call);
  if (meta || !state.transforms.empty()) [[unlikely]] {
    if (execute_lifted(call, state)) return;
  }
  call.symbolic = (state.symbolic > 0 || meta) && !op.is(OpKind::kConstant);
  call.device = call.symbolic ? &meta_device() : place(call, state, asked);
  if (call.symbolic) {
    if (state.symbolic == 0) [[unlikely]]
      expect_no_graph(call, state);
    infer(call);
    make_symbolic_outputs(call);
  } else {
    const Kernel& kernel = find_kernel(call);
    if (common != call.device && any_elsewhere(call)) [[unlikely]] {
      run_moved(call, kernel, donated, state);
    } else {
      infer_and_allocate(call, donated, state);
      run_kernel(call, kernel);
    }
  }
  if (!state.recorders.empty()) {
    // By index: a recorder's `record` may remove or add recorders.
    for (size_t i = state.recorders.size(); i-- > 0;) {
      if (i < state.recorders.size()) state.recorders[i]->record(call);
    }
  }
}

std::string location_text(const std::source_location& where) {
  return fmt::format("at {}:{}", where.file_name(), where.line());
}

// `depth`: the library depth at which the call was made.
void add_call_context(Error& error, const Call& call, int depth) {
  thread_state().library_depth = depth;
  error.add_context("in " + describe(call));
  if (!call.node_name.empty()) error.add_context(fmt::format("node '{}'", call.node_name));
  const bool known = call.where != nullptr && call.where->line() != 0;
  if (known && depth == 0 && thread_state().caller == nullptr) error.add_context(location_text(*call.where));
}

[[gnu::noinline]] void execute_watched(Call& call, BindStorage& storage, uint64_t donated, Device* asked) {
  CallWatch* const watch = call_watch;
  const int64_t begun = watch->begin();
  execute(call, storage, donated, asked);
  watch->end(call, begun);
}

void execute_with_context(Call& call, BindStorage& storage, uint64_t donated, Device* asked) {
  const int depth = thread_state().library_depth;
  try {
    if (call_watch != nullptr) [[unlikely]] {
      execute_watched(call, storage, donated, asked);
    } else {
      execute(call, storage, donated, asked);
    }
  } catch (Error& error) {
    add_call_context(error, call, depth);
    throw;
  }
}

[[gnu::always_inline]] inline Call call_of(const Op& op, std::span<const Tensor* const> inputs,
                                           std::span<AttrSlot> slots, const CallOptions& options) {
  Call call;
  call.op = &op;
  call.inputs = inputs;
  call.attrs = slots;
  call.where = options.where;
  call.node_name = options.node_name;
  return call;
}

}  // namespace

void missing_kernel(const Op& op, DeviceKind kind, DType primary) {
  std::string have;
  for (const DeviceKind other : device_kinds()) {
    if (!op.has_kernel(other)) continue;
    have.append(have.empty() ? "" : "; ").append(device_kind_name(other));
    const std::string types = dtype_set_text(op.kernel_types(other));
    if (!types.empty()) have.append(": ").append(types);
  }
  failf(Code::kUnimplemented, "kernel on {}{}{}: expected one of ({}), got none", device_kind_name(kind),
        primary == DType::kInvalid ? "" : " for ", primary == DType::kInvalid ? "" : dtype_name(primary),
        whole(have.empty() ? "no kernel at all" : have));
}

void link(const Op& op) {
  link_ops();
  if (!op.linked()) fail(Code::kFailedPrecondition, "op: expected a definition that could be linked, got a faulty one");
}

Outputs call(const Op& op, std::span<const Tensor* const> inputs, std::span<const AttrSlot> attrs,
             const CallOptions& options) {
  ensure_linked(op);
  SmallVector<AttrSlot, 8> slots(attrs.begin(), attrs.end());
  slots.resize(op.signature().attrs.size());
  BindStorage storage;
  Call call = call_of(op, inputs, slots, options);
  execute_with_context(call, storage, options.donated, options.device);
  return std::move(call.outputs);
}

Outputs call_body(const Op& composite, std::span<const Tensor* const> inputs, std::span<const AttrSlot> attrs,
                  const CallOptions& options) {
  ensure_linked(composite);
  if (!composite.is_composite()) failf(Code::kInternal, "op {}: expected a composite, got none", composite.name());
  SmallVector<AttrSlot, 8> slots(attrs.begin(), attrs.end());
  slots.resize(composite.signature().attrs.size());
  BindStorage storage;
  Call call = call_of(composite, inputs, slots, options);
  call.step = innermost_step;
  const int depth = thread_state().library_depth;
  try {
    bind_inputs(call, storage);
    bind_outputs(call);
    run_body(call);
  } catch (Error& error) {
    add_call_context(error, call, depth);
    throw;
  }
  return std::move(call.outputs);
}

Outputs call(std::string_view name, std::span<const Tensor> inputs,
             std::span<const std::pair<std::string, AttrValue>> attrs) {
  const Op& op = get_op(name);
  SmallVector<AttrSlot, 8> slots(op.signature().attrs.size());
  for (const auto& [attr, value] : attrs) {
    const int at = op.signature().find_attr(attr);
    if (at < 0) invalid("attribute of {}: expected one of its signature, got '{}'", name, attr);
    const AttrDef& def = op.signature().attrs[static_cast<size_t>(at)];
    if (def.kind != value.kind()) {
      invalid("attribute {} of {}: expected {}, got {}", attr, name, attr_kind_name(def.kind),
              attr_kind_name(value.kind()));
    }
    slots[static_cast<size_t>(at)] = borrow(value);
  }
  return call(op, pointers_to(inputs), slots);
}

Tensor call_typed_1(const Op& op, std::span<Arg* const> args, std::span<AttrSlot> attrs) {
  ensure_linked(op);
  const Tensor* inputs[kMaxOpArguments];  // link_ops refuses ops with more
  uint64_t donated = 0;
  bool plain = true;     // neither literals nor variables
  bool one_type = true;  // then there are no types to promote
  for (size_t i = 0; i < args.size(); ++i) {
    Arg& a = *args[i];
    if (a.kind() > Arg::Kind::kOwned || !a.tensor().defined()) [[unlikely]] {
      plain = false;
      break;
    }
    inputs[i] = &a.tensor();
    one_type = one_type && inputs[i]->impl()->dtype == inputs[0]->impl()->dtype;
    if (a.is_owned()) donated |= uint64_t{1} << i;
  }
  Call call;
  call.op = &op;
  call.attrs = attrs;
  if (!args.empty()) call.where = &args[0]->where();
  if (!plain || (!one_type && types_differ(op, {inputs, args.size()}))) [[unlikely]] {
    donated = 0;
    try {
      resolve_arguments(op, args, attrs);
    } catch (Error& error) {
      error.add_context("in " + op.name());
      if (call.where != nullptr && thread_state().library_depth == 0) error.add_context(location_text(*call.where));
      throw;
    }
    for (size_t i = 0; i < args.size(); ++i) {
      inputs[i] = &args[i]->tensor();
      if (args[i]->is_owned()) donated |= uint64_t{1} << i;
    }
  }
  call.inputs = {inputs, args.size()};
  BindStorage storage;
  execute_with_context(call, storage, donated, nullptr);
  return std::move(call.outputs[0]);
}

Outputs call_typed(const Op& op, std::span<TypedArg> args, std::span<AttrSlot> attrs,
                   const std::source_location& where) {
  ensure_linked(op);
  SmallVector<Arg*, 8> singles;
  for (TypedArg& a : args) singles.push_back(a.arg);
  Call call;
  call.op = &op;
  call.attrs = attrs;
  call.where = &where;
  BindStorage storage;
  std::vector<Tensor> converted;          // list items that were cast to a common type
  std::vector<std::vector<DType>> types;  // dtypes of the items of lists with mixed types
  SmallVector<const Tensor*, 8> inputs;
  uint64_t donated = 0;
  try {
    resolve_list_arguments(op, args, attrs, converted);
    size_t used = 0;
    for (size_t a = 0; a < args.size(); ++a) {
      if (args[a].list == nullptr) {
        if (args[a].arg->is_owned() && inputs.size() < 64) donated |= uint64_t{1} << inputs.size();
        inputs.push_back(&args[a].arg->tensor());
        continue;
      }
      const ArgDef& def = op.signature().inputs[a];
      const size_t count = args[a].list->tensors().size();
      if (def.number_attr >= 0) attrs[static_cast<size_t>(def.number_attr)] = AttrSlot(static_cast<int64_t>(count));
      // If there are several lists, these attributes tell their lengths.
      if (def.type_list_attr >= 0) {
        std::vector<DType>& own = types.emplace_back();
        for (size_t i = used; i < used + count; ++i) {
          own.push_back(converted[i].defined() ? converted[i].dtype() : DType::kInvalid);
        }
        attrs[static_cast<size_t>(def.type_list_attr)] = AttrSlot(own);
      }
      for (size_t i = 0; i < count; ++i) inputs.push_back(&converted[used++]);
    }
  } catch (Error& error) {
    error.add_context("in " + op.name());
    if (thread_state().library_depth == 0) error.add_context(location_text(where));
    throw;
  }
  call.inputs = inputs;
  execute_with_context(call, storage, donated, nullptr);
  return std::move(call.outputs);
}

}  // namespace panto::dispatch
