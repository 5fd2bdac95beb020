// _FusedElementwise: an interpreter whose instructions are the rows of the separate kernels (device/cpu/rows.h).
//
// The output is treated in tiles that are small enough for all the program's values to stay in the first-level cache;
// for each tile every step runs once. So a program moves its inputs and outputs through memory once, and needs no
// memory for what lies between. The rows are those of the separate kernels: so are the results, bit by bit.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>

#include "panto/device/broadcast.h"
#include "panto/device/cpu/cast.h"
#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/loops.h"
#include "panto/device/cpu/onednn.h"
#include "panto/lib/base/format.h"
#include "panto/lib/ops/elementwise_program.h"
#include "panto/lib/ops/ops.h"

namespace panto {
namespace {

constexpr int64_t kTileBytes = 24 * 1024;  // of all values of a tile: most of a first-level cache
constexpr int64_t kShortestTile = 64, kLongestTile = 2048;
constexpr int64_t kLongRow = 256;  // rows of a broadcast input from here on are read in place
constexpr size_t kScalarBytes = 16;

// Where a value of a tile is: so many bytes behind one of a few bases, which are memory of the tile's own (base 0), the
// inputs and the outputs.
struct Address {
  uint32_t base = 0;
  uint32_t offset = 0;
};

struct Instruction {
  cpu::RowKernel kernel;
  std::array<int, 3> operands{};  // values
  int slot = -1;                  // where the result is kept for a tile: memory that is used again, ...
  int output = -1;                // ... or an output
};

// ---- What is known before the program runs -------------------------------------------------------------------------

// How a value is spread over the output's elements.
enum class Spread : uint8_t {
  kFull,       // it has as many
  kOne,        // it has one
  kBroadcast,  // an input that is repeated in another way
};

// An instruction with addresses.
struct Ready {
  RowFn row;
  uint32_t moves;  // operands that are not kOne
  uint32_t step;
  Address result;
  Address operands[3];
};

// What the program does with inputs of given shapes.
struct Layout {
  bool tiled = true;  // every step has as many elements as the outputs, or one
  std::vector<Spread> inputs;
  std::vector<Ready> once;       // steps with one element
  std::vector<Ready> each_tile;  // the others
};

struct Program {
  ElementwiseProgram text;
  std::vector<Instruction> code;
  std::vector<int> last_use;  // of each value: an instruction
  int slots = 0;
  int64_t tile = 0;        // elements
  uint32_t widest = 1;     // bytes of an element
  int64_t work = 0;        // of an element
  std::vector<Shape> fit;  // input shapes for which `layout` is made; empty: none are known
  Layout layout;

  uint32_t size_of(int value) const { return static_cast<uint32_t>(dtype_size(text.type_of(value))); }
  // Bases: the tile's own memory, inputs, outputs.
  size_t base_of_input(size_t i) const { return 1 + i; }
  size_t base_of_output(size_t k) const { return 1 + text.inputs.size() + k; }
  size_t num_bases() const { return 1 + text.inputs.size() + text.outputs.size(); }
  // The tile's own memory: slots, then single elements, then outputs that are copied out, then repeated inputs.
  size_t slot_bytes() const { return static_cast<size_t>(tile) * widest; }
  size_t ones_at() const { return static_cast<size_t>(slots) * slot_bytes(); }
  size_t staged_at() const { return ones_at() + (code.size() * kScalarBytes + 63) / 64 * 64; }
  size_t repeated_at() const { return staged_at() + text.outputs.size() * slot_bytes(); }
};

cpu::RowKernel row_kernel(const ElementwiseProgram& program, const ElementwiseStep& step) {
  const Kernel& kernel = step.op->kernel(DeviceKind::kCpu, step.type);
  cpu::RowKernel result{kernel.row, static_cast<int>(step.operands.size()), {}, 0, kernel.row_work};
  for (size_t k = 0; k < step.operands.size(); ++k) {
    result.in_size[k] = static_cast<uint32_t>(dtype_size(program.type_of(step.operands[k])));
  }
  result.out_size = static_cast<uint32_t>(dtype_size(step.result));
  if (step.op->has(Trait::kConverts)) {
    result.row = cpu::cast_row(step.type, program.type_of(step.operands[0]));
    result.work = result.in_size[0] + result.out_size;
  }
  if (result.row == nullptr) {
    failf(Code::kUnimplemented, "ops: expected ones whose CPU kernels can be fused, got {} of {}", step.op->name(),
          dtype_name(step.type));
  }
  return result;
}

// Memory for results that are not given out: as few slots as their lives allow.
void assign_slots(Program& p) {
  std::vector<int> free;
  std::vector<uint8_t> ended(p.last_use.size(), 0);  // an operand that is named twice is freed once
  for (size_t s = 0; s < p.code.size(); ++s) {
    Instruction& i = p.code[s];
    const auto end_operands = [&](bool of_result_size) {
      for (size_t k = 0; k < static_cast<size_t>(i.kernel.inputs); ++k) {
        const auto value = static_cast<size_t>(i.operands[k]);
        if ((i.kernel.in_size[k] == i.kernel.out_size) != of_result_size || p.text.is_input(i.operands[k]) ||
            p.last_use[value] != static_cast<int>(s) || std::exchange(ended[value], uint8_t{1}) != 0) {
          continue;
        }
        if (const int slot = p.code[value - p.text.inputs.size()].slot; slot >= 0) free.push_back(slot);
      }
    };
    // A row may write its result over an operand, element for element: so their elements must be of one size.
    end_operands(true);
    if (i.output < 0) {
      if (free.empty()) free.push_back(p.slots++);
      i.slot = free.back();
      free.pop_back();
    }
    end_operands(false);
  }
}

Program compile(const CallView& call) {
  Program p;
  p.text = parse_elementwise_program(call);
  p.last_use.assign(static_cast<size_t>(p.text.num_values()), -1);
  for (size_t s = 0; s < p.text.steps.size(); ++s) {
    const ElementwiseStep& step = p.text.steps[s];
    Instruction instruction{.kernel = row_kernel(p.text, step)};
    for (size_t k = 0; k < step.operands.size(); ++k) {
      instruction.operands[k] = step.operands[k];
      p.last_use[static_cast<size_t>(step.operands[k])] = static_cast<int>(s);
    }
    p.work += instruction.kernel.work;
    p.widest = std::max(p.widest, instruction.kernel.out_size);
    p.code.push_back(instruction);
  }
  for (size_t i = 0; i < p.text.inputs.size(); ++i) p.widest = std::max(p.widest, p.size_of(static_cast<int>(i)));
  for (size_t k = 0; k < p.text.outputs.size(); ++k) {
    p.code[static_cast<size_t>(p.text.outputs[k]) - p.text.inputs.size()].output = static_cast<int>(k);
  }
  assign_slots(p);
  const auto values = static_cast<int64_t>(p.text.inputs.size() + p.text.outputs.size()) + p.slots;
  p.tile = std::clamp(kTileBytes / (values * p.widest) / 64 * 64, kShortestTile, kLongestTile);
  return p;
}

// Memory of a tile's own is addressed by 32 bits, and part of every thread's.
constexpr size_t kMostTileMemory = size_t{16} << 20;

// The layout for inputs of these shapes and `n` elements of each output, all of shape `out`.
Layout make_layout(const Program& p, std::span<const Shape* const> shapes, const Shape& out, int64_t n) {
  Layout l;
  std::vector<Spread> spread;
  std::vector<Address> address;
  for (const Shape* shape : shapes) {
    const int64_t numel = shape->numel();
    spread.push_back(numel == n ? Spread::kFull : numel == 1 ? Spread::kOne : Spread::kBroadcast);
    address.push_back({static_cast<uint32_t>(p.base_of_input(address.size())), 0});
    // What nothing given out depends on may have any shape.
    l.tiled = l.tiled && broadcasts_to(*shape, out);
  }
  l.inputs = spread;
  l.tiled = l.tiled && p.repeated_at() < kMostTileMemory;
  if (!l.tiled) return l;
  for (size_t s = 0; s < p.code.size(); ++s) {
    const Instruction& i = p.code[s];
    Ready ready{i.kernel.row, 0, static_cast<uint32_t>(s), {}, {}};
    bool full = false, repeated = false;
    PartialShape shape = Shape{};
    for (int k = 0; k < i.kernel.inputs; ++k) {
      const auto value = static_cast<size_t>(i.operands[static_cast<size_t>(k)]);
      ready.operands[k] = address[value];
      if (spread[value] == Spread::kOne) continue;
      ready.moves |= 1u << k;
      full = full || spread[value] == Spread::kFull;
      if (spread[value] != Spread::kBroadcast) continue;
      repeated = true;
      shape = broadcast_shapes(shape, *shapes[value]);
    }
    // Of repeated inputs only: as many elements as the output all the same, if they are repeated in several directions.
    if (repeated && !full && shape.numel() != n) l.tiled = false;
    const bool one = !full && !repeated;
    if (one) {
      ready.result = {0, static_cast<uint32_t>(p.ones_at() + s * kScalarBytes)};
    } else if (i.output >= 0) {
      ready.result = {static_cast<uint32_t>(p.base_of_output(static_cast<size_t>(i.output))), 0};
    } else {
      ready.result = {0, static_cast<uint32_t>(static_cast<size_t>(i.slot) * p.slot_bytes())};
    }
    if (one && i.output >= 0) l.tiled = false;
    spread.push_back(one ? Spread::kOne : Spread::kFull);
    address.push_back(ready.result);
    (one ? l.once : l.each_tile).push_back(ready);
  }
  return l;
}

// ---- Inputs that are repeated --------------------------------------------------------------------------------------

struct Repeated {
  int input = -1;
  uint32_t size = 0;
  const std::byte* data = nullptr;
  BroadcastMap<1> map;
  // Short rows that follow one another unchanged, however often: written out once.
  bool periodic() const { return map.rank == 2 && map.stride[0][0] == 1 && map.stride[1][0] == 0; }
  bool in_place() const { return map.size[0] >= kLongRow; }
};

// Elements [begin, begin + n), spread out.
void write_out(const Repeated& r, int64_t begin, int64_t n, std::byte* to) {
  const int64_t row = r.map.size[0];
  int64_t column = begin % row;
  int64_t offset = 0;
  int64_t index[kMaxRank];
  for (int64_t rest = begin / row, d = 1; d < r.map.rank; ++d) {
    index[d] = rest % r.map.size[d];
    rest /= r.map.size[d];
    offset += index[d] * r.map.stride[d][0];
  }
  while (n > 0) {
    const int64_t count = std::min(row - column, n);
    const std::byte* from = r.data + offset * r.size;
    if (r.map.stride[0][0] != 0) {
      std::memcpy(to, from + column * r.size, static_cast<size_t>(count) * r.size);
    } else {
      for (int64_t i = 0; i < count; ++i) std::memcpy(to + i * r.size, from, r.size);
    }
    to += count * r.size;
    n -= count;
    column = 0;
    for (int d = 1; d < r.map.rank; ++d) {
      offset += r.map.stride[d][0];
      if (++index[d] < r.map.size[d]) break;
      index[d] = 0;
      offset -= r.map.size[d] * r.map.stride[d][0];
    }
  }
}

// ---- Running -------------------------------------------------------------------------------------------------------

// One thread's share of the output.
class Range {
 public:
  Range(const Program& p, const Layout& l, KernelContext& c, std::span<const Repeated> repeated)
      : p_(p), l_(l), repeated_(repeated), bases_(p.num_bases()) {
    memory_ = static_cast<std::byte*>(cpu::dnnl_scratchpad(p.repeated_at() + repeated.size() * repeated_bytes()));
    bases_[0] = {memory_, 0};
    for (size_t i = 0; i < p.text.inputs.size(); ++i) {
      const int input = static_cast<int>(i);
      bases_[p.base_of_input(i)] = {static_cast<std::byte*>(c.in(input).impl()->data),
                                    l.inputs[i] == Spread::kFull ? p.size_of(input) : 0};
    }
    for (size_t k = 0; k < p.text.outputs.size(); ++k) {
      auto* data = static_cast<std::byte*>(c.out(static_cast<int>(k)).impl()->data);
      const uint32_t size = p.size_of(p.text.outputs[k]);
      bases_[p.base_of_output(k)] = {data, size};
      if (!is_read_later(p.text.outputs[k], data)) continue;
      // The output lies where an input does that is still needed afterwards: it is copied there at the end of a tile.
      std::byte* staged = memory_ + p.staged_at() + k * p.slot_bytes();
      bases_[p.base_of_output(k)] = {staged, 0};
      copied_.push_back({data, staged, size});
    }
    for (size_t r = 0; r < repeated.size(); ++r) {
      if (!repeated[r].in_place() && repeated[r].periodic()) write_out(repeated[r], 0, p.tile + kLongRow, buffer(r));
    }
  }

  // Returns a fault and the step that found it, as one number; 0 if there is none.
  uint64_t run(int64_t begin, int64_t end) {
    SmallVector<std::byte*, 16> now(bases_.size());
    for (size_t b = 0; b < bases_.size(); ++b) now[b] = bases_[b].data;
    run(l_.once, 1, now, 0);
    while (begin < end) {
      int64_t n = std::min(p_.tile, end - begin);
      for (const Repeated& r : repeated_) {
        if (r.in_place()) n = std::min(n, r.map.size[0] - begin % r.map.size[0]);
      }
      for (size_t b = 0; b < bases_.size(); ++b) now[b] = bases_[b].data + begin * bases_[b].advance;
      uint64_t still = 0;
      for (size_t r = 0; r < repeated_.size(); ++r) place(r, begin, n, now, still);
      run(l_.each_tile, n, now, still);
      for (const Copied& o : copied_) std::memcpy(o.to + begin * o.size, o.from, static_cast<size_t>(n) * o.size);
      begin += n;
    }
    return fault_;
  }

 private:
  struct Base {
    std::byte* data;
    int64_t advance;  // bytes from element to element; 0 for what is the tile's own, or has one element
  };
  struct Copied {
    std::byte* to;
    const std::byte* from;
    uint32_t size;
  };

  size_t repeated_bytes() const {
    return (static_cast<size_t>(p_.tile) + kLongRow) * p_.widest;  // a periodic input needs a period more than a tile
  }
  std::byte* buffer(size_t r) const { return memory_ + p_.repeated_at() + r * repeated_bytes(); }

  bool is_read_later(int output, const std::byte* data) const {
    const int made_by = output - static_cast<int>(p_.text.inputs.size());
    for (size_t i = 0; i < p_.text.inputs.size(); ++i) {
      if (bases_[p_.base_of_input(i)].data == data && p_.last_use[i] > made_by) return true;
    }
    return false;
  }

  // Makes an input that is repeated readable for elements [begin, begin + n). A bit of `still`: it is one element.
  void place(size_t r, int64_t begin, int64_t n, SmallVector<std::byte*, 16>& now, uint64_t& still) const {
    const Repeated& from = repeated_[r];
    const size_t base = p_.base_of_input(static_cast<size_t>(from.input));
    if (!from.in_place()) {
      if (!from.periodic()) write_out(from, begin, n, buffer(r));
      now[base] = buffer(r) + (from.periodic() ? begin % from.map.size[0] * from.size : 0);
      return;
    }
    int64_t offset = from.map.stride[0][0] * (begin % from.map.size[0]);
    for (int64_t rest = begin / from.map.size[0], d = 1; d < from.map.rank; ++d) {
      offset += rest % from.map.size[d] * from.map.stride[d][0];
      rest /= from.map.size[d];
    }
    now[base] = const_cast<std::byte*>(from.data) + offset * from.size;  // NOLINT(*-const-cast): never written to
    if (from.map.stride[0][0] == 0) still |= uint64_t{1} << from.input;
  }

  void run(const std::vector<Ready>& code, int64_t n, const SmallVector<std::byte*, 16>& now, uint64_t still) {
    for (const Ready& i : code) {
      const void* in[3];
      for (int k = 0; k < 3; ++k) in[k] = now[i.operands[k].base] + i.operands[k].offset;
      uint32_t moves = i.moves;
      if (still != 0) [[unlikely]]
        moves &= ~standing(i, still);
      const uint32_t fault = i.row(moves, now[i.result.base] + i.result.offset, n, in);
      if (fault != 0) [[unlikely]]
        fault_ = static_cast<uint64_t>(i.step) << 32 | fault;
    }
  }

  // The operands of an instruction that are one element of a repeated input.
  uint32_t standing(const Ready& i, uint64_t still) const {
    uint32_t result = 0;
    for (int k = 0; k < 3; ++k) {
      const uint32_t base = i.operands[k].base;
      const bool input = base >= 1 && base <= p_.text.inputs.size();
      if (input && (still >> (base - 1) & 1u) != 0) result |= 1u << k;
    }
    return result;
  }

  const Program& p_;
  const Layout& l_;
  std::span<const Repeated> repeated_;
  SmallVector<Base, 16> bases_;
  SmallVector<Copied, 2> copied_;
  std::byte* memory_ = nullptr;
  uint64_t fault_ = 0;
};

[[noreturn]] void throw_found(const Program& p, uint64_t found) {
  try {
    throw_fault(static_cast<Fault>(found & UINT32_MAX));
  } catch (Error& error) {
    error.add_context("in " + p.text.steps[found >> 32].op->name());
    throw;
  }
}

void run_tiled(const Program& p, const Layout& l, KernelContext& c) {
  std::vector<Repeated> repeated;
  for (int i = 0; i < c.num_inputs(); ++i) {
    if (l.inputs[static_cast<size_t>(i)] != Spread::kBroadcast) continue;
    Repeated& r = repeated.emplace_back();
    r.input = i;
    r.size = p.size_of(i);
    r.data = static_cast<const std::byte*>(c.in(i).impl()->data);
    make_broadcast_map<1>(c.out_shape(0), {&c.shape(i)}, r.map);
  }
  std::atomic<uint64_t> found{0};
  const int64_t n = c.out_numel(0);
  cpu::parallel_ranges(n, n * p.work, [&](int64_t begin, int64_t end) {
    if (const uint64_t fault = Range(p, l, c, repeated).run(begin, end); fault != 0) [[unlikely]]
      found.store(fault, std::memory_order_relaxed);
  });
  if (const uint64_t fault = found.load(std::memory_order_relaxed); fault != 0) [[unlikely]]
    throw_found(p, fault);
}

// One step after the other, each with its own shape.
void run_steps(const Program& p, KernelContext& c) {
  std::vector<Tensor> values;
  for (int i = 0; i < c.num_inputs(); ++i) values.push_back(c.in(i));
  for (size_t s = 0; s < p.code.size(); ++s) {
    const Instruction& i = p.code[s];
    PartialShape shape;
    cpu::RowInput in[3];
    for (int k = 0; k < i.kernel.inputs; ++k) {
      const Tensor& t = values[static_cast<size_t>(i.operands[static_cast<size_t>(k)])];
      shape = k == 0 ? t.partial_shape() : broadcast_shapes(shape, t.partial_shape());
      in[k] = {t.impl()->data, &t.partial_shape(), t.numel()};
    }
    values.push_back(allocate_tensor(c.device(), p.text.steps[s].result, Shape(shape)));
    cpu::run_rows(i.kernel, in, shape, values.back().impl()->data, values.back().numel());
  }
  for (size_t k = 0; k < p.text.outputs.size(); ++k) {
    const Tensor& value = values[static_cast<size_t>(p.text.outputs[k])];
    std::memcpy(c.out(static_cast<int>(k)).impl()->data, value.impl()->data, value.nbytes());
  }
}

bool all_outputs_alike(const KernelContext& c) {
  for (int k = 1; k < c.num_outputs(); ++k) {
    if (!(c.out_shape(k) == c.out_shape(0))) return false;
  }
  return true;
}

std::shared_ptr<void> prepare_fused(const KernelContext& c) {
  auto p = std::make_shared<Program>(compile(c));
  std::vector<const Shape*> shapes;
  for (int i = 0; i < c.num_inputs(); ++i) {
    if (!c.in(i).partial_shape().fully_known()) return p;
    p->fit.push_back(c.shape(i));
  }
  for (const Shape& shape : p->fit) shapes.push_back(&shape);
  const PartialShape& out = c.spec(0).shape;
  p->layout = make_layout(*p, shapes, Shape(out), out.numel());
  return p;
}

void run_fused(KernelContext& c) {
  const Program* p = c.state<Program>();
  std::optional<Program> made;
  if (p == nullptr) p = &made.emplace(compile(c));
  if (c.out_numel(0) == 0 || !all_outputs_alike(c)) return run_steps(*p, c);
  bool fits = !p->fit.empty();
  for (size_t i = 0; fits && i < p->fit.size(); ++i) fits = c.shape(static_cast<int>(i)) == p->fit[i];
  if (fits && p->layout.tiled) return run_tiled(*p, p->layout, c);
  std::vector<const Shape*> shapes;
  for (int i = 0; i < c.num_inputs(); ++i) shapes.push_back(&c.shape(i));
  const Layout layout = make_layout(*p, shapes, c.out_shape(0), c.out_numel(0));
  if (layout.tiled) return run_tiled(*p, layout, c);
  run_steps(*p, c);
}

const CpuKernel fused_elementwise_kernel("_FusedElementwise", run_fused, prepare_fused);

}  // namespace
}  // namespace panto
