// Op: one definition of one operation, and the registry of all of them.
//
//   const Op& kTanh = define_op("Tanh(x: T; T: floating|complex) -> (y: T)",
//                               {.doc = "Hyperbolic tangent of x, element by element.",
//                                .traits = {Trait::kElementwise},
//                                .shape = shapes::same_as_input,
//                                .saves = {out(0)},
//                                .gradient = [](GradContext& g) { g.set(0, g.dy() * (1 - square(g.conj_out(0)))); }});
//
// `define_op` and kernel objects only queue what they are given (a throwing static initializer would abort the
// process); the queue is linked by name and validated at first use, or by `load_library`, which throws.
// Thread-safety: definitions are immutable once linked; linking takes a lock.
#pragma once

#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/lib/core/op/kernel.h"
#include "panto/lib/core/op/signature.h"
#include "panto/lib/core/tensor/device.h"

namespace panto {

class ShapeContext;
class GradContext;
class CostContext;
class CompositeContext;
class BatchContext;
class JvpContext;

// The properties of an op that passes, the dispatcher and recorders use: its traits, its kind and its effects. Code
// must not compare op names.
enum class Trait : uint8_t {
  kElementwise,     // out[i] depends on in[i] only (after broadcasting); an input's buffer may become the output's
  kBroadcasts,      // inputs broadcast: gradients are summed to the inputs' shapes by the tape
  kCommutative,     // f(x, y) == f(y, x)
  kContraction,     // matrix product, convolution
  kReduction,       // input 1 holds the reduced axes
  kDataMovement,    // moves or copies elements without computing: works for every dtype
  kReusesInput0,    // not elementwise, yet may write output 0 over input 0
  kSelfAllocating,  // the kernel makes its outputs (views, or sizes only it knows)
  kShapeOnly,       // needs its inputs' shapes, not their values (Shape, Rank, ZerosLike ...)
  kIdentity,        // output i is input i
};

// Ops that graphs, tapes and loops treat specially. A kind has one op, or a few equivalent ones.
enum class OpKind : uint8_t {
  kOrdinary,
  kConstant,        // output 0 is attribute `value`
  kPlaceholder,     // output 0 is fed
  kNoOperation,     // no inputs, no outputs: for control edges
  kStopGradient,    // passes values, not gradients
  kVariableHandle,  // output 0 is a handle to a named resource
  kReadVariable,    // output 0 is the value of the variable that input 0 refers to
  kCast,            // elementwise: converts input 0, of any plain type, to the type that selects the kernel
  kFusedLoop,       // several elementwise ops in one: an input's buffer may become an output's
  kCustomGradient,  // outputs are the first inputs, with a gradient of their own
  kSend,            // leaves input 0 at the step's rendezvous
  kReceive,         // output 0 is what a kSend with the same attributes left there
  kPushBack,        // output 0 is the list of input 0 with one more element, input 1
  kPopBack,         // output 0 is the list of input 0 without its last element, which is output 1
  kCall,            // calls the function `f` with its inputs
  kCond,            // calls one of two functions, which input 0 chooses, with the others
  kCase,            // calls one of several functions, which input 0 chooses, with the others
  kLoop,            // calls `body` on its inputs, then on the results, while `cond` of them is true
  // TensorFlow 1's loops and conditionals, which an executor runs edge by edge (lib/runtime/dataflow). An output of a
  // branch that is not taken is dead; everything computed from a dead value is dead.
  kSwitch,          // input 0 at output 1 if input 1 is true, else at output 0
  kMerge,           // output 0 is its first input that is not dead
  kEnter,           // input 0 as the first round of a loop sees it
  kExit,            // input 0 as code behind the loop sees it
  kNextIteration,   // input 0 as the next round sees it
  kLoopCondition,   // whether there is a next round
  kControlTrigger,  // no inputs, no outputs; never dead
};
// True for kSwitch and the kinds after it.
constexpr bool is_control_flow(OpKind kind) noexcept { return kind >= OpKind::kSwitch; }
PANTO_EXPORT std::string_view op_kind_name(OpKind kind);

// The effects of a call besides its outputs. A call with an effect is never folded, merged with another, or dropped
// because its outputs are unused. Calls on one resource, and external calls, keep the program's order.
struct Effect {
  enum What : uint8_t { kReads = 1, kWrites = 2, kAllocates = 4, kRandom = 8, kExternal = 16 };
  uint8_t what;     // a combination of these bits
  int8_t argument;  // the input (for kAllocates: the output) that refers to the resource; -1: none
};
namespace effects {
constexpr Effect reads(int8_t input) { return {Effect::kReads, input}; }
constexpr Effect writes(int8_t input) { return {Effect::kWrites, input}; }
constexpr Effect updates(int8_t input) { return {Effect::kReads | Effect::kWrites, input}; }
// Output `output` is a handle to a resource that stays alive.
constexpr Effect allocates(int8_t output) { return {Effect::kAllocates, output}; }
// Draws from a generator that is kept by node or by process.
constexpr Effect random() { return {Effect::kRandom, -1}; }
// Visible outside (printing, files).
constexpr Effect external() { return {Effect::kExternal, -1}; }
}  // namespace effects

class PANTO_EXPORT TraitSet {
 public:
  constexpr TraitSet() = default;
  constexpr TraitSet(std::initializer_list<Trait> traits) {
    for (Trait t : traits) bits_ |= 1u << static_cast<unsigned>(t);
  }
  constexpr bool has(Trait t) const { return (bits_ >> static_cast<unsigned>(t)) & 1u; }
  std::vector<std::string_view> names() const;

 private:
  uint32_t bits_ = 0;
};

// A tensor that the gradient needs: an argument, or only its shape.
struct Saved {
  enum class What : uint8_t { kInput, kOutput, kInputShape } what;
  int index;                   // argument position
  const char* flag = nullptr;  // a bool attribute: only saved in calls where it is true
  constexpr Saved where(const char* attribute) const { return {what, index, attribute}; }
};
constexpr Saved in(int i) { return {Saved::What::kInput, i}; }
constexpr Saved out(int i) { return {Saved::What::kOutput, i}; }
constexpr Saved shape_of(int i) { return {Saved::What::kInputShape, i}; }

using ShapeFn = void (*)(ShapeContext&);
using GradientFn = void (*)(GradContext&);
using CostFn = int64_t (*)(const CostContext&);
using BodyFn = void (*)(CompositeContext&);
using BatchFn = void (*)(BatchContext&);
using JvpFn = void (*)(JvpContext&);

// The definition of an op. Every member has a default; blocks name members in this order.
struct OpBlock {
  const char* doc = "";
  const char* cpp = "";                             // C++ name, if the snake case of the op's name does not fit
  std::initializer_list<const char*> aliases = {};  // older TensorFlow names with the same signature, for import
  OpKind kind = OpKind::kOrdinary;
  TraitSet traits = {};
  std::initializer_list<Effect> effects = {};
  const char* primary = "";  // the type attribute that selects the kernel; default: the first one
  ShapeFn shape = nullptr;
  // For a composite: its definition by other ops, instead of kernels and a gradient, or in addition to them
  // (lib/core/call/composite.h). If it has kernels, it must have a shape function.
  BodyFn body = nullptr;
  // By how many units in the last place a CPU kernel's result may differ from the body's. 0: the results are
  // bit-identical.
  double units_from_body = 0;
  // TensorFlow has this op, although it is a composite or its name begins with '_': exported files contain it as one
  // node.
  bool in_tensorflow = false;
  std::initializer_list<Saved> saves = {};
  GradientFn gradient = nullptr;
  const char* no_gradient = "";  // why there is none
  CostFn flops = nullptr;
  const char* types_reason = "";  // why some types that the signature allows have no kernel
  BatchFn batch = nullptr;        // inside vmap (lib/ops/batching.h); elementwise and shape-only ops need none
  JvpFn jvp = nullptr;            // tangents (lib/ops/tangents.h); elementwise and moving ops need none
};

// Limits of the dispatcher: ops with more are refused when they are linked. A list counts as one argument.
inline constexpr size_t kMaxOpArguments = 20;
inline constexpr size_t kMaxOpAttributes = 32;

class PANTO_EXPORT Op {
 public:
  const std::string& name() const noexcept { return signature_.name; }
  const Signature& signature() const noexcept { return signature_; }
  const std::string& doc() const noexcept { return doc_; }
  const std::string& cpp_name() const noexcept { return cpp_; }
  const std::vector<std::string>& aliases() const noexcept { return aliases_; }
  bool has(Trait t) const noexcept { return traits_.has(t); }
  const TraitSet& traits() const noexcept { return traits_; }
  OpKind kind() const noexcept { return kind_; }
  bool is(OpKind kind) const noexcept { return kind_ == kind; }
  const std::vector<Effect>& effects() const noexcept { return effects_; }
  // True if the op has one of these effects on any argument: `Effect::kReads | Effect::kWrites`.
  bool has_effect(uint8_t what) const noexcept { return (all_effects_ & what) != 0; }
  bool has_effects() const noexcept { return all_effects_ != 0; }
  // The effects on the resource that input `argument` refers to: bits of Effect::What.
  uint8_t effect_on(int argument) const noexcept;
  // True if two calls with the same inputs give the same outputs and have no other effect.
  bool is_pure() const noexcept {
    return all_effects_ == 0 && kind_ != OpKind::kPlaceholder && !is_control_flow(kind_);
  }
  // Position of the type attribute that selects the kernel; -1: kernels are not typed (slot kInvalid).
  int primary_attr() const noexcept { return primary_; }
  ShapeFn shape() const noexcept { return shape_; }
  BodyFn body() const noexcept { return body_; }
  bool is_composite() const noexcept { return body_ != nullptr; }
  double units_from_body() const noexcept { return units_from_body_; }
  bool in_tensorflow() const noexcept { return in_tensorflow_; }
  const std::vector<Saved>& saves() const noexcept { return saves_; }
  GradientFn gradient() const noexcept { return gradient_; }
  const std::string& no_gradient() const noexcept { return no_gradient_; }
  const std::string& types_reason() const noexcept { return types_reason_; }
  CostFn flops() const noexcept { return flops_; }
  BatchFn batch() const noexcept { return batch_; }
  JvpFn jvp() const noexcept { return jvp_; }
  // A kernel with a null `run` if there is none.
  const Kernel& kernel(DeviceKind kind, DType primary) const noexcept {
    return kernels_[static_cast<size_t>(kind)]->of_type[static_cast<size_t>(primary)];
  }
  DTypeSet kernel_types(DeviceKind kind) const noexcept;
  bool has_kernel(DeviceKind kind) const noexcept;
  bool linked() const noexcept { return linked_.load(std::memory_order_acquire); }

 private:
  friend class OpRegistry;
  Op();

  std::atomic<bool> linked_ = false;
  int primary_ = -1;
  TraitSet traits_;
  OpKind kind_ = OpKind::kOrdinary;
  uint8_t all_effects_ = 0;
  bool in_tensorflow_ = false;
  double units_from_body_ = 0;
  std::vector<Effect> effects_;
  ShapeFn shape_ = nullptr;
  BodyFn body_ = nullptr;
  GradientFn gradient_ = nullptr;
  CostFn flops_ = nullptr;
  BatchFn batch_ = nullptr;
  JvpFn jvp_ = nullptr;
  // By device kind. An op has no kernels for most kinds.
  struct Kernels {
    Kernel of_type[kDTypeSlots];
  };
  static const Kernels kNoKernels;
  Kernels& kernels_to_enter(DeviceKind kind);
  const Kernels* kernels_[kMostDeviceKinds];
  Signature signature_;
  std::string doc_, cpp_, no_gradient_, types_reason_;
  std::vector<std::string> aliases_;
  std::vector<Saved> saves_;
};

// Queues a definition. The reference is valid forever; its members are set once the op is linked. Never throws.
PANTO_EXPORT const Op& define_op(const char* signature, const OpBlock& block) noexcept;

// Links and validates the queued definitions. Throws InvalidArgument for a malformed signature, a name taken twice, a
// block without shape function, or a kernel of an op that does not exist; AlreadyExists for a second kernel with the
// same key. Faulty definitions are dropped; the rest is linked.
PANTO_EXPORT void link_ops();
// Null if there is none. Finds aliases too. Links queued definitions first.
PANTO_EXPORT const Op* find_op(std::string_view name);
// Throws Unimplemented, with the closest existing names.
PANTO_EXPORT const Op& get_op(std::string_view name);
// Sorted by name, without aliases.
PANTO_EXPORT std::vector<const Op*> all_ops();

}  // namespace panto
