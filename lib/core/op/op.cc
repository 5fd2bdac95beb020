#include "panto/lib/core/op/op.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "panto/lib/base/text/closest_names.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/op/signature_grammar.h"
#include "panto/lib/core/step/async.h"

namespace panto {
namespace {

// The queue of definitions from static initializers. Constant-initialized, so it exists before any of them runs.
struct PendingOp {
  const char* signature;
  OpBlock block;
  std::vector<const char*> aliases;  // an initializer_list lives only until the end of the full expression
  std::vector<Saved> saves;
  std::vector<Effect> effects;
  Op* op;
};
struct PendingKernel {
  const char* op;
  const char* kind;
  DType primary;
  Kernel kernel;
};
struct Pending {
  std::mutex mutex;
  std::vector<PendingOp> ops;
  std::vector<PendingKernel> kernels;
};
std::atomic<bool> something_pending{false};

Pending& pending() {
  static auto* queue = new Pending;  // leaked on purpose: plug-ins may queue at any time
  return *queue;
}

}  // namespace

class OpRegistry {
 public:
  static OpRegistry& get() {
    static auto* registry = new OpRegistry;  // leaked on purpose (design decision 12)
    return *registry;
  }

  static Op* make() { return new Op; }

  void link() {
    const std::lock_guard lock(mutex_);
    std::vector<PendingOp> ops;
    std::vector<PendingKernel> kernels;
    {
      Pending& queue = pending();
      const std::lock_guard queue_lock(queue.mutex);
      ops.swap(queue.ops);
      kernels.swap(queue.kernels);
    }
    std::string faults;
    Code code = Code::kInvalidArgument;
    auto attempt = [&](auto&& step) {
      try {
        step();
      } catch (const Error& error) {
        if (faults.empty()) code = error.code();
        faults.append(faults.empty() ? "" : "; ").append(error.message());
      }
    };
    attempt([] { detail::check_device_kinds(); });
    std::vector<Op*> linked;
    for (const PendingOp& p : ops) {
      const size_t before = linked.size();
      attempt([&] {
        link_op(p);
        linked.push_back(p.op);
      });
      if (linked.size() == before) refused_.push_back(p.op);
    }
    for (const PendingKernel& k : kernels) attempt([&] { link_kernel(k); });
    // From now on other threads may use the op: it has its kernels.
    for (Op* op : linked) op->linked_.store(true, std::memory_order_release);
    {
      // Only now: threads that see pending definitions wait at the lock above until all are linked.
      Pending& queue = pending();
      const std::lock_guard queue_lock(queue.mutex);
      if (queue.ops.empty() && queue.kernels.empty()) something_pending = false;
    }
    if (!faults.empty()) fail(code, faults);
  }

  const Op* find(std::string_view name) const {
    const std::lock_guard lock(mutex_);
    const auto it = by_name_.find(name);
    return it == by_name_.end() ? nullptr : it->second;
  }

  std::vector<const Op*> all() const {
    const std::lock_guard lock(mutex_);
    std::vector<const Op*> ops;
    for (const auto& [name, op] : by_name_) {
      if (name == op->name()) ops.push_back(op);
    }
    std::ranges::sort(ops, {}, &Op::name);
    return ops;
  }

  std::string closest(std::string_view name) const {
    const std::lock_guard lock(mutex_);
    std::vector<std::string_view> names;
    for (const auto& [known, op] : by_name_) names.push_back(known);
    std::ranges::sort(names);
    return fmt::format("{}", fmt::join(closest_names(name, names, 2), ", "));
  }

 private:
  void link_op(const PendingOp& p) {
    Op& op = *p.op;
    Signature signature = parse_signature(p.signature);
    const std::string name = signature.name;
    if (by_name_.contains(name)) failf(Code::kAlreadyExists, "op {}: expected one definition, got a second", name);
    if (p.block.shape == nullptr && p.block.body == nullptr) {
      invalid("op {}: expected a shape function or a body, got neither", name);
    }
    expect_at_most(name, "inputs", signature.inputs.size(), kMaxOpArguments);
    expect_at_most(name, "outputs", signature.outputs.size(), kMaxOpArguments);
    expect_at_most(name, "attributes", signature.attrs.size(), kMaxOpAttributes);
    op.primary_ = find_primary(signature, p.block.primary);
    op.signature_ = std::move(signature);
    for (AttrDef& a : op.signature_.attrs) a.default_slot = borrow(a.default_value);
    op.doc_ = p.block.doc;
    op.cpp_ = *p.block.cpp != '\0' ? p.block.cpp : function_name(name);
    op.no_gradient_ = p.block.no_gradient;
    op.types_reason_ = p.block.types_reason;
    op.traits_ = p.block.traits;
    op.kind_ = p.block.kind;
    for (const Effect& e : p.effects) {
      expect_resource(op.signature_, e);
      op.all_effects_ |= e.what;
    }
    op.effects_ = p.effects;
    for (size_t i = 0; i < op.signature_.inputs.size(); ++i) {
      if (op.signature_.inputs[i].dtype == kResource && op.effect_on(static_cast<int>(i)) == 0) {
        invalid("op {}: expected `effects` to say what it does to the resource of input {}, got nothing", name, i);
      }
    }
    op.shape_ = p.block.shape;
    op.body_ = p.block.body;
    op.units_from_body_ = p.block.units_from_body;
    op.in_tensorflow_ = p.block.in_tensorflow;
    op.gradient_ = p.block.gradient;
    op.flops_ = p.block.flops;
    op.batch_ = p.block.batch;
    op.jvp_ = p.block.jvp;
    op.saves_ = p.saves;
    op.aliases_.assign(p.aliases.begin(), p.aliases.end());
    for (const Saved& s : op.saves_) {
      const auto& args = s.what == Saved::What::kOutput ? op.signature_.outputs : op.signature_.inputs;
      if (s.index < 0 || static_cast<size_t>(s.index) >= args.size()) {
        invalid("op {}: expected `saves` to name one of {} arguments, got {}", name, args.size(), s.index);
      }
      if (s.flag != nullptr && op.signature_.find_attr(s.flag) < 0) {
        invalid("op {}: expected `saves` to name an attribute, got '{}'", name, s.flag);
      }
    }
    by_name_.emplace(op.name(), &op);
    for (const std::string& alias : op.aliases_) by_name_.emplace(alias, &op);
  }

  static void expect_resource(const Signature& signature, const Effect& effect) {
    if (effect.argument < 0) return;
    const auto& args = (effect.what & Effect::kAllocates) != 0 ? signature.outputs : signature.inputs;
    const auto at = static_cast<size_t>(effect.argument);
    // A list may contain resources, for functions that the op calls.
    if (at < args.size() && (args[at].dtype == kResource || args[at].type_list_attr >= 0)) return;
    invalid("op {}: expected `effects` to name an argument that is a resource, got {}", signature.name, at);
  }

  static void expect_at_most(const std::string& name, const char* what, size_t count, size_t most) {
    if (count > most) invalid("op {}: expected at most {} {}, got {}", name, most, what, count);
  }

  static int find_primary(const Signature& signature, const char* asked) {
    if (*asked != '\0') {
      const int found = signature.find_attr(asked);
      if (found < 0 || signature.attrs[static_cast<size_t>(found)].kind != AttrKind::kType) {
        invalid("op {}: expected `primary` to name a type attribute, got '{}'", signature.name, asked);
      }
      return found;
    }
    for (const auto& args : {signature.inputs, signature.outputs}) {
      for (const ArgDef& a : args) {
        if (a.type_attr >= 0) return a.type_attr;
      }
    }
    return -1;
  }

  void link_kernel(const PendingKernel& k) {
    const auto it = by_name_.find(k.op);
    if (it == by_name_.end()) {
      failf(Code::kNotFound, "kernel for {} on {}: expected an op of that name, got none", k.op, k.kind);
    }
    const DeviceKind kind = find_device_kind(k.kind);
    if (kind == DeviceKind::kUnknown || kind == DeviceKind::kMeta) {
      failf(Code::kNotFound, "kernel for {} on {}: expected a kind of devices that was entered, got another", k.op,
            k.kind);
    }
    Op& op = *it->second;
    if (op.shape_ == nullptr) {
      invalid("op {}: expected a shape function beside a kernel for {}, got a body only", op.name(), k.kind);
    }
    Kernel& slot = op.kernels_to_enter(kind).of_type[static_cast<size_t>(k.primary)];
    if (slot.run != nullptr) {
      failf(Code::kAlreadyExists, "kernel for {} on {} with {}: expected one, got a second", k.op, k.kind,
            dtype_name(k.primary));
    }
    slot = k.kernel;
  }

  mutable std::mutex mutex_;
  std::unordered_map<std::string_view, Op*> by_name_;  // also by alias; views into the ops, which are never freed
  std::vector<Op*> refused_;                           // also kept: their definers hold references
};

std::vector<std::string_view> TraitSet::names() const {
  static constexpr std::string_view kNames[] = {"elementwise", "broadcasts",    "commutative",    "contraction",
                                                "reduction",   "data movement", "reuses input 0", "allocates itself",
                                                "shape only",  "identity"};
  std::vector<std::string_view> result;
  for (size_t i = 0; i < std::size(kNames); ++i) {
    if (has(static_cast<Trait>(i))) result.push_back(kNames[i]);
  }
  return result;
}

std::string_view op_kind_name(OpKind kind) {
  static constexpr std::string_view kNames[] = {"ordinary",       "constant",
                                                "placeholder",    "no operation",
                                                "stop gradient",  "variable handle",
                                                "read variable",  "cast",
                                                "fused loop",     "custom gradient",
                                                "send",           "receive",
                                                "push back",      "pop back",
                                                "call",           "cond",
                                                "case",           "loop",
                                                "switch",         "merge",
                                                "enter",          "exit",
                                                "next iteration", "loop condition",
                                                "control trigger"};
  return kNames[static_cast<size_t>(kind)];
}

uint8_t Op::effect_on(int argument) const noexcept {
  uint8_t what = 0;
  for (const Effect& e : effects_) what |= e.argument == argument ? e.what & (Effect::kReads | Effect::kWrites) : 0;
  return what;
}

DTypeSet Op::kernel_types(DeviceKind kind) const noexcept {
  DTypeSet set;
  for (int t = 0; t < kDTypeSlots; ++t) {
    if (kernel(kind, static_cast<DType>(t)).run != nullptr) set = set | DTypeSet{static_cast<DType>(t)};
  }
  return set;
}

bool Op::has_kernel(DeviceKind kind) const noexcept {
  return std::ranges::any_of(kernels_[static_cast<size_t>(kind)]->of_type,
                             [](const Kernel& k) { return k.run != nullptr; });
}

constinit const Op::Kernels Op::kNoKernels = {};

Op::Op() { std::ranges::fill(kernels_, &kNoKernels); }

Op::Kernels& Op::kernels_to_enter(DeviceKind kind) {
  const Kernels*& there = kernels_[static_cast<size_t>(kind)];
  if (there == &kNoKernels) there = new Kernels;  // lives as long as the op, which is forever
  return const_cast<Kernels&>(*there);
}

const Op& define_op(const char* signature, const OpBlock& block) noexcept {
  Op* op = OpRegistry::make();
  Pending& queue = pending();
  const std::lock_guard lock(queue.mutex);
  queue.ops.push_back({signature, block, block.aliases, block.saves, block.effects, op});
  something_pending = true;
  return *op;
}

KernelEntry::KernelEntry(const char* op, const char* kind, DType primary, Kernel kernel) noexcept {
  Pending& queue = pending();
  const std::lock_guard lock(queue.mutex);
  if (kernel.start != nullptr && kernel.run == nullptr) kernel.run = start_and_wait;
  queue.kernels.push_back({op, kind, primary, kernel});
  something_pending = true;
}

void link_ops() {
  if (something_pending.load(std::memory_order_acquire)) return OpRegistry::get().link();
  detail::check_device_kinds();
}

const Op* find_op(std::string_view name) {
  link_ops();
  return OpRegistry::get().find(name);
}

const Op& get_op(std::string_view name) {
  const Op* op = find_op(name);
  if (op != nullptr) return *op;
  const std::string close = OpRegistry::get().closest(name);
  failf(Code::kUnimplemented, "op: expected one that is defined here, got '{}'{}", name,
        whole(close.empty() ? "" : " (similar: " + close + ")"));
}

std::vector<const Op*> all_ops() {
  link_ops();
  return OpRegistry::get().all();
}

}  // namespace panto
