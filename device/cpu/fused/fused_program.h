// An interpreter of programs of elementwise ops (lib/ops/math/elementwise_program.h) whose instructions are the inner
// loops of the separate kernels (device/cpu/elementwise/inner_loop.h).
//
// The output is treated in tiles that are small enough for all the program's values to stay in the first-level cache;
// for each tile every step runs once. So a program moves its inputs and outputs through memory once, and needs no
// memory for what lies between. The loops are those of the separate kernels: so are the results, bit by bit.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "panto/device/cpu/elementwise/broadcast_input.h"
#include "panto/device/cpu/elementwise/loops.h"
#include "panto/device/cpu/parallel.h"
#include "panto/lib/base/small_vector.h"
#include "panto/lib/core/call/call.h"
#include "panto/lib/ops/math/elementwise_program.h"

namespace panto::cpu {

// Where a value of a tile is: so many bytes behind one of a few bases, which are memory of the tile's own (base 0), the
// inputs and the outputs.
struct Address {
  uint32_t base = 0;
  uint32_t offset = 0;
};

struct Instruction {
  InnerLoopKernel kernel;
  std::array<int, kMaxInnerLoopInputs> operands{};  // values
  int slot = -1;        // where the result is kept for a tile: memory that is used again, ...
  int output = -1;      // ... or an output
  bool joined = false;  // part of a later one (device/cpu/fused/fused_join.h), which does it
};

// How a value is spread over the output's elements.
enum class Spread : uint8_t {
  kFull,       // it has as many
  kOne,        // it has one
  kBroadcast,  // an input that is repeated in another way
};

// An instruction with addresses.
struct Ready {
  InnerLoopFn run;
  uint32_t moves;  // operands that are not kOne, and what else loops are told (device/cpu/elementwise/inner_loop.h)
  uint32_t step;
  Address result;
  Address operands[kMaxInnerLoopInputs];
};

// What the program does with inputs of given shapes.
struct Layout {
  bool tiled = true;  // every step has as many elements as the outputs, or one
  std::vector<Spread> inputs;
  std::vector<Ready> once;       // steps with one element
  std::vector<Ready> each_tile;  // the others
  bool one_step() const { return each_tile.size() == 1; }
};

struct Program : KernelState {
  ElementwiseProgram text;
  std::vector<Instruction> code;
  bool may_be_single = false;  // where each value is one element, its steps may run one by one on the stack
  std::vector<int> last_use;   // of each value: an instruction
  int slots = 0;
  int64_t tile = 0;        // elements
  int64_t streamed = 0;    // the same where outputs go past the caches
  uint32_t widest = 1;     // bytes of an element
  int64_t work = 0;        // of an element
  std::vector<Shape> fit;  // input shapes for which `layout` is made; empty: none are known
  Layout layout;

  // Of a loop over n elements, for parallel_ranges. None where it is short: each thread's share begins with a Range,
  // and sharing pays later than elsewhere. GELU of 4096 elements took 2.2 us on one thread and 3.0 on two;
  // 8192: 3.9, 4.0.
  int64_t work_of(int64_t n) const { return n * work < 2 * kParallelBytes ? 0 : n * work; }

  uint32_t size_of(int value) const { return static_cast<uint32_t>(dtype_size(text.type_of(value))); }
  // Bases: the tile's own memory, inputs, outputs.
  size_t base_of_input(size_t i) const { return 1 + i; }
  size_t base_of_output(size_t k) const { return 1 + text.inputs.size() + k; }
  size_t num_bases() const { return 1 + text.inputs.size() + text.outputs.size(); }
  static constexpr size_t kOneBytes = 16;
  static constexpr size_t kMostSingle = 64;  // values of a program that may be single
  // The tile's own memory: slots, then single elements, then outputs that are copied out, then repeated inputs.
  size_t slot_bytes() const { return static_cast<size_t>(tile) * widest; }
  size_t ones_at() const { return static_cast<size_t>(slots) * slot_bytes(); }
  size_t staged_at() const { return ones_at() + (code.size() * kOneBytes + 63) / 64 * 64; }
  size_t repeated_at() const { return staged_at() + text.outputs.size() * slot_bytes(); }
};

// The inner loop that does a step. Throws Unimplemented where the op's kernel has none.
InnerLoopKernel inner_loop_kernel(const ElementwiseProgram& program, const ElementwiseStep& step);
// `tile`: elements of one; 0: as many as suit the cache. Throws what parse_elementwise_program throws, and
// Unimplemented for an op whose kernel has no inner loop.
Program compile(const CallView& call, int64_t tile = 0);
// The layout for inputs of these shapes and `n` elements of each output, all of shape `out`.
Layout make_layout(const Program& p, std::span<const Shape* const> shapes, const PartialShape& out, int64_t n);
// For the shapes of a prepared call, where they are known.
void prepare_layout(Program& p, const KernelContext& c, const PartialShape& out);
// The prepared layout, or `made` for the shapes that the call has.
const Layout& layout_of(const Program& p, const KernelContext& c, const PartialShape& out, Layout& made);

// Those of the program's inputs that are spread in another way than kFull and kOne.
std::vector<BroadcastInput> broadcast_inputs(const Program& p, const Layout& l, const KernelContext& c,
                                             const PartialShape& out);

// One thread's share of the output's elements.
class Range {
 public:
  // `outputs`: where they lie; null: an output of which only `fill` makes a part. `stream`: there is more to read and
  // to write than caches hold (device/cpu/stream.h).
  Range(const Program& p, const Layout& l, const KernelContext& c, std::span<const BroadcastInput> repeated,
        std::span<std::byte* const> outputs, bool stream = false);
  // All steps for elements [begin, end).
  void run(int64_t begin, int64_t end);
  // For at most `most` elements from `begin`, to element `at` of output 0's memory for a tile. Returns for how many.
  int64_t fill(int64_t begin, int64_t most, int64_t at);
  const std::byte* filled() const { return bases_[p_.base_of_output(0)].data; }
  // A fault and the step that found it, as one number; 0 if there is none.
  uint64_t fault() const { return fault_; }

 private:
  struct Base {
    std::byte* data;
    int64_t advance;   // bytes from element to element; 0 for what is the tile's own, or has one element
    unsigned how = 0;  // what loops that write there are told (device/cpu/elementwise/inner_loop.h)
  };
  struct Copied {
    std::byte* to;
    const std::byte* from;
    uint32_t size;
    bool stream;
  };
  using Addresses = SmallVector<std::byte*, 16>;

  size_t broadcast_bytes() const;
  std::byte* buffer(size_t r) const { return memory_ + p_.repeated_at() + r * broadcast_bytes(); }
  // The last instruction that reads an input which lies there; -1: none does.
  int last_reader(const std::byte* data) const;
  // Elements from `begin` that can be computed together, at most `most`.
  int64_t together(int64_t begin, int64_t most) const;
  void compute(int64_t begin, int64_t n, int64_t at);
  void read_next(int64_t n, int64_t step, int64_t steps);
  void place(size_t r, int64_t begin, int64_t n, uint64_t& still);
  // `ahead`: the inputs' next tile is asked for meanwhile.
  void steps(const std::vector<Ready>& code, int64_t n, uint64_t still, bool ahead);
  uint32_t standing(const Ready& i, uint64_t still) const;

  const Program& p_;
  const Layout& l_;
  std::span<const BroadcastInput> broadcast_;
  SmallVector<Base, 16> bases_;
  Addresses now_;  // bases, of the tile
  SmallVector<Copied, 2> copied_;
  bool stream_;
  std::byte* memory_ = nullptr;
  uint64_t fault_ = 0;
};

// The program's outputs, one step after the other, each with its own shape.
std::vector<Tensor> run_steps(const Program& p, const KernelContext& c);
// Throws what a range found, with the name of the op.
[[noreturn]] void throw_found(const Program& p, uint64_t found);

}  // namespace panto::cpu
