// An interpreter of programs of elementwise ops (lib/ops/math/elementwise_program.h) whose instructions are the inner
// loops of the separate kernels (device/cpu/elementwise/inner_loop.h).
//
// The output is computed in tiles, small enough for all values of the program to stay in the first-level cache; every
// instruction runs once per tile. So a program moves its inputs and outputs through memory once and needs no memory for
// intermediate results. The results are bit for bit those of the separate kernels, since the loops are the same.
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

// The location of a value within a tile: an offset in bytes from one of several bases. Base 0 is the tile's own memory,
// the others are the inputs and the outputs.
struct Address {
  uint32_t base = 0;
  uint32_t offset = 0;
};

struct Instruction {
  InnerLoopKernel kernel;
  std::array<int, kMaxInnerLoopInputs> operands{};  // value numbers
  int slot = -1;                                    // where the result is kept within a tile: reused memory, ...
  int output = -1;                                  // ... or an output
  bool joined = false;                              // done by a later instruction (device/cpu/fused/fused_join.h)
};

// How a value relates to the output's elements.
enum class Spread : uint8_t {
  kFull,       // it has as many elements
  kOne,        // it has one element
  kBroadcast,  // an input that broadcasts in another way
};

// An instruction with addresses filled in.
struct Ready {
  InnerLoopFn run;
  uint32_t moves;  // operands that are not kOne, and flags (device/cpu/elementwise/inner_loop.h)
  uint32_t step;
  Address result;
  Address operands[kMaxInnerLoopInputs];
};

// How the program runs for given input shapes.
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
  bool may_be_single = false;  // if all values have one element, steps may run one by one on the stack
  std::vector<int> last_use;   // of each value: the last instruction that reads it
  int slots = 0;
  int64_t tile = 0;        // elements
  int64_t streamed = 0;    // the tile size if outputs are written past the caches
  uint32_t widest = 1;     // bytes of the largest element type
  int64_t work = 0;        // cost per element, in bytes that could be moved meanwhile
  std::vector<Shape> fit;  // input shapes for which `layout` is made; empty if unknown
  Layout layout;

  // The work of a loop over n elements, for parallel_ranges. 0 if it is short: each thread has to construct a Range, so
  // sharing pays later than elsewhere. GELU of 4096 elements took 2.2 us on one thread and 3.0 on two; 8192: 3.9, 4.0.
  int64_t work_of(int64_t n) const { return n * work < 2 * kParallelBytes ? 0 : n * work; }

  uint32_t size_of(int value) const { return static_cast<uint32_t>(dtype_size(text.type_of(value))); }
  // Bases: the tile's own memory, inputs, outputs.
  size_t base_of_input(size_t i) const { return 1 + i; }
  size_t base_of_output(size_t k) const { return 1 + text.inputs.size() + k; }
  size_t num_bases() const { return 1 + text.inputs.size() + text.outputs.size(); }
  static constexpr size_t kOneBytes = 16;
  static constexpr size_t kMostSingle = 64;  // most values of a program with may_be_single
  // The tile's own memory: slots, then single elements, then staged outputs (copied out later), then broadcast inputs.
  size_t slot_bytes() const { return static_cast<size_t>(tile) * widest; }
  size_t ones_at() const { return static_cast<size_t>(slots) * slot_bytes(); }
  size_t staged_at() const { return ones_at() + (code.size() * kOneBytes + 63) / 64 * 64; }
  size_t repeated_at() const { return staged_at() + text.outputs.size() * slot_bytes(); }
};

// Returns the inner loop for a step. Throws Unimplemented if the op's kernel has none.
InnerLoopKernel inner_loop_kernel(const ElementwiseProgram& program, const ElementwiseStep& step);
// `tile`: elements per tile; 0 chooses a size that suits the cache. Throws what parse_elementwise_program throws, and
// Unimplemented for an op whose kernel has no inner loop.
Program compile(const CallView& call, int64_t tile = 0);
// Returns the layout for inputs of these shapes and `n` elements in each output, all of shape `out`.
Layout make_layout(const Program& p, std::span<const Shape* const> shapes, const PartialShape& out, int64_t n);
// Makes the layout for the shapes of a prepared call, if they are known.
void prepare_layout(Program& p, const KernelContext& c, const PartialShape& out);
// Returns the prepared layout, or fills and returns `made` if the call has other shapes.
const Layout& layout_of(const Program& p, const KernelContext& c, const PartialShape& out, Layout& made);

// Returns the program's inputs with spread kBroadcast.
std::vector<BroadcastInput> broadcast_inputs(const Program& p, const Layout& l, const KernelContext& c,
                                             const PartialShape& out);

// Computes one thread's share of the output's elements.
class Range {
 public:
  // `outputs`: the memory of each output; null for an output that only fill() computes, in parts. `stream`: inputs and
  // outputs exceed the caches (device/cpu/stream.h).
  Range(const Program& p, const Layout& l, const KernelContext& c, std::span<const BroadcastInput> repeated,
        std::span<std::byte* const> outputs, bool stream = false);
  // Runs all steps for elements [begin, end).
  void run(int64_t begin, int64_t end);
  // Computes n elements from `begin` on into output 0's tile memory, at most a tile.
  void fill(int64_t begin, int64_t n);
  const std::byte* filled() const { return bases_[p_.base_of_output(0)].data; }
  // The fault found and its step, as one number; 0 if there is none.
  uint64_t fault() const { return fault_; }

 private:
  struct Base {
    std::byte* data;
    int64_t advance;   // bytes per element; 0 for the tile's own memory and for single elements
    unsigned how = 0;  // flags for loops that write there (device/cpu/elementwise/inner_loop.h)
  };
  struct Copied {
    std::byte* to;
    const std::byte* from;
    uint32_t size;
    bool stream;
  };
  // A broadcast input that is read where it lies, row by row.
  struct InPlace {
    const BroadcastInput* input;
    size_t base;
    BroadcastRow row;  // of the last tile
  };
  using Addresses = SmallVector<std::byte*, 16>;

  size_t broadcast_bytes() const;
  std::byte* buffer(size_t r) const { return memory_ + p_.repeated_at() + r * broadcast_bytes(); }
  // The last instruction that reads an input at this address; -1 if none does.
  int last_reader(const std::byte* data) const;
  // How many elements from `begin` on, at most `most`, can be computed together.
  int64_t together(int64_t begin, int64_t most);
  void compute(int64_t begin, int64_t n, int64_t at);
  void read_next(int64_t n, int64_t step, int64_t steps);
  void write_out_rows(size_t r, int64_t begin, int64_t n);
  // `ahead`: prefetch the inputs' next tile meanwhile.
  void steps(const std::vector<Ready>& code, int64_t n, uint64_t still, bool ahead);
  static uint32_t standing(const Ready& i, uint64_t still);

  const Program& p_;
  const Layout& l_;
  std::span<const BroadcastInput> broadcast_;
  SmallVector<InPlace, 2> in_place_;
  SmallVector<Base, 16> bases_;
  Addresses now_;  // the bases for the current tile
  SmallVector<Copied, 2> copied_;
  bool stream_;
  int64_t filled_size_;  // bytes of an element of output 0
  std::byte* memory_ = nullptr;
  uint64_t fault_ = 0;
};

// Runs the program one step after the other, each with its own shape; returns the outputs.
std::vector<Tensor> run_steps(const Program& p, const KernelContext& c);
// Throws the fault that a range found, with the name of the op.
[[noreturn]] void throw_found(const Program& p, uint64_t found);

}  // namespace panto::cpu
