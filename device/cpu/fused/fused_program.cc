#include "panto/device/cpu/fused/fused_program.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "panto/device/cpu/conv/onednn.h"
#include "panto/device/cpu/elementwise/cast.h"
#include "panto/device/cpu/fused/fused_join.h"
#include "panto/device/cpu/stream.h"
#include "panto/lib/base/text/format.h"

namespace panto::cpu {
namespace {

constexpr int64_t kTileBytes = 24 * 1024;  // of all values of a tile: most of a first-level cache
constexpr int64_t kShortestTile = 64, kLongestTile = 2048;
// Loops over few elements take longer to start than to compute. So tiles have at least kShortTile elements as long as
// the second-level cache holds them: the gradient of 20 multiplications of 200x1000 took 6.5 ms on two Zen 4 cores in
// tiles of 64 elements, and takes 3.4 in tiles of 512.
constexpr int64_t kShortTile = 512, kSecondLevelBytes = 256 * 1024;
// The most elements of a tile whose outputs are written past the caches, while the next tile's inputs are prefetched:
// kStreamedTile; kBriefTile for programs that compute little. When the next tile begins, this much data is still on its
// way to memory, and the processor must wait until most of it has left. Measured for 16M floats on two Zen 4 cores, 512
// and 128: x * y + z 7.3 and 5.0 ms.
constexpr int64_t kStreamedTile = 512, kBriefTile = 128;
// The tile's own memory is addressed by 32 bits, and every thread has its own.
constexpr size_t kMostTileMemory = size_t{16} << 20;

bool is_float_row(const Program& p, size_t step) {
  const ElementwiseStep& s = p.text.steps[step];
  return s.result == kFloat32 && std::ranges::all_of(s.operands, [&](int v) { return p.text.type_of(v) == kFloat32; });
}

// Finds the values that are scalars for all calls. An input is one if its shape is known to have one element.
std::vector<bool> single_numbers(const Program& p, const CallView& call) {
  std::vector<bool> single;
  for (int i = 0; i < call.num_inputs(); ++i) {
    const PartialShape& shape = call.in(i).partial_shape();
    single.push_back(shape.fully_known() && shape.numel() == 1);
  }
  for (const ElementwiseStep& s : p.text.steps) {
    single.push_back(std::ranges::all_of(s.operands, [&](int v) { return single[static_cast<size_t>(v)]; }));
  }
  return single;
}

// Joins instruction `at` with the instruction that makes one of its operands, if that has no other consumer.
bool join_operand(Program& p, size_t at, const std::vector<bool>& single, const std::vector<int>& readers) {
  Instruction& second = p.code[at];
  const size_t inputs = p.text.inputs.size();
  for (int k = 0; k < second.kernel.inputs; ++k) {
    const int value = second.operands[static_cast<size_t>(k)];
    if (p.text.is_input(value) || readers[static_cast<size_t>(value)] != 1 || single[static_cast<size_t>(value)])
      continue;
    const size_t made_by = static_cast<size_t>(value) - inputs;
    Instruction& first = p.code[made_by];
    if (first.output >= 0 || !is_float_row(p, made_by)) continue;
    std::array<int, kMaxInnerLoopInputs> operands = first.operands;
    if (commutes(first.kernel.run) && single[static_cast<size_t>(operands[0])]) std::swap(operands[0], operands[1]);
    const Joined joined = join(first.kernel.run, second.kernel.run, k, second.kernel.inputs);
    if (joined.run == nullptr || (joined.one_operand && second.operands[0] != operands[0])) continue;
    int count = first.kernel.inputs;
    for (int i = joined.one_operand ? 1 : 0; i < second.kernel.inputs; ++i) {
      if (i != k) operands[static_cast<size_t>(count++)] = second.operands[static_cast<size_t>(i)];
    }
    bool fits = true;
    for (int i = 0; i < count; ++i) {
      fits = fits && ((joined.numbers >> i & 1u) == 0 || single[static_cast<size_t>(operands[static_cast<size_t>(i)])]);
    }
    if (!fits) continue;
    second.kernel.run = joined.run;
    second.kernel.inputs = count;
    std::ranges::fill(second.kernel.in_size, uint32_t{sizeof(float)});
    second.operands = operands;
    first.joined = true;
    return true;
  }
  return false;
}

void join_instructions(Program& p, const CallView& call) {
  const std::vector<bool> single = single_numbers(p, call);
  std::vector<int> readers(static_cast<size_t>(p.text.num_values()), 0);
  for (const ElementwiseStep& s : p.text.steps) {
    for (int value : s.operands) ++readers[static_cast<size_t>(value)];
  }
  for (size_t s = 0; s < p.code.size(); ++s) {
    if (single[p.text.inputs.size() + s] || !is_float_row(p, s)) continue;
    while (join_operand(p, s, single, readers)) {
    }
  }
}

// Assigns slots to results that are not outputs: as few slots as the lifetimes of values allow.
void assign_slots(Program& p) {
  std::vector<int> free;
  std::vector<uint8_t> ended(p.last_use.size(), 0);  // so that an operand that is used twice is freed once
  for (size_t s = 0; s < p.code.size(); ++s) {
    Instruction& i = p.code[s];
    if (i.joined) continue;
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
    // A loop may overwrite an operand with its result element for element, if both have the same element size.
    end_operands(true);
    if (i.output < 0) {
      if (free.empty()) free.push_back(p.slots++);
      i.slot = free.back();
      free.pop_back();
    }
    end_operands(false);
  }
}

// The cost of an element if all values except the program's inputs and outputs stay in the first-level cache.
int64_t work_in_tile(const InnerLoopKernel& kernel) {
  constexpr int64_t kThere = 4;
  return kernel.work - kernel.out_size - std::accumulate(kernel.in_size, kernel.in_size + kernel.inputs, int64_t{0}) +
         kThere;
}

}  // namespace

InnerLoopKernel inner_loop_kernel(const ElementwiseProgram& program, const ElementwiseStep& step) {
  const KernelLoop* loop = loop_of(step.op->kernel(DeviceKind::kCpu, step.type));
  InnerLoopKernel result{nullptr, static_cast<int>(step.operands.size()), {}, 0, 0};
  if (loop != nullptr) {
    result.run = loop->run;
    result.work = loop->work;
  }
  for (size_t k = 0; k < step.operands.size(); ++k) {
    result.in_size[k] = static_cast<uint32_t>(dtype_size(program.type_of(step.operands[k])));
  }
  result.out_size = static_cast<uint32_t>(dtype_size(step.result));
  if (step.op->is(OpKind::kCast)) {
    result.run = cast_inner_loop(step.type, program.type_of(step.operands[0]));
    result.work = result.in_size[0] + result.out_size;
  }
  if (result.run == nullptr) {
    failf(Code::kUnimplemented, "ops: expected ones whose CPU kernels can be fused, got {} of {}", step.op->name(),
          dtype_name(step.type));
  }
  return result;
}

Program compile(const CallView& call, int64_t tile) {
  Program p;
  p.text = parse_elementwise_program(call);
  p.last_use.assign(static_cast<size_t>(p.text.num_values()), -1);
  for (size_t s = 0; s < p.text.steps.size(); ++s) {
    const ElementwiseStep& step = p.text.steps[s];
    Instruction instruction{.kernel = inner_loop_kernel(p.text, step)};
    std::ranges::copy(step.operands, instruction.operands.begin());
    p.work += work_in_tile(instruction.kernel);
    p.widest = std::max(p.widest, instruction.kernel.out_size);
    p.code.push_back(instruction);
  }
  for (size_t i = 0; i < p.text.inputs.size(); ++i) {
    const uint32_t size = p.size_of(static_cast<int>(i));
    p.widest = std::max(p.widest, size);
    if (call.in(static_cast<int>(i)).partial_shape().numel() != 1) p.work += size;
  }
  for (size_t k = 0; k < p.text.outputs.size(); ++k) {
    p.work += p.size_of(p.text.outputs[k]);
    p.code[static_cast<size_t>(p.text.outputs[k]) - p.text.inputs.size()].output = static_cast<int>(k);
  }
  join_instructions(p, call);
  p.may_be_single = static_cast<size_t>(p.text.num_values()) <= Program::kMostSingle &&
                    std::ranges::none_of(p.code, &Instruction::joined);
  for (size_t s = 0; s < p.code.size(); ++s) {
    const Instruction& i = p.code[s];
    for (int k = 0; k < i.kernel.inputs && !i.joined; ++k) {
      p.last_use[static_cast<size_t>(i.operands[static_cast<size_t>(k)])] = static_cast<int>(s);
    }
  }
  assign_slots(p);
  const auto values = static_cast<int64_t>(p.text.inputs.size() + p.text.outputs.size()) + p.slots;
  const auto fitting = [&](int64_t bytes) { return bytes / (values * p.widest) / 64 * 64; };
  const int64_t shortest = std::clamp(fitting(kSecondLevelBytes), kShortestTile, kShortTile);
  p.tile = tile > 0 ? tile : std::clamp(fitting(kTileBytes), shortest, kLongestTile);
  p.streamed = std::min(p.tile, std::clamp(p.work / 16 * 64, kBriefTile, kStreamedTile));
  return p;
}

Layout make_layout(const Program& p, std::span<const Shape* const> shapes, const PartialShape& out, int64_t n) {
  Layout l;
  std::vector<Spread> spread;
  std::vector<Address> address;
  for (const Shape* shape : shapes) {
    const int64_t numel = shape->numel();
    spread.push_back(numel == n ? Spread::kFull : numel == 1 ? Spread::kOne : Spread::kBroadcast);
    address.push_back({static_cast<uint32_t>(p.base_of_input(address.size())), 0});
    // An input that no output depends on may have any shape.
    l.tiled = l.tiled && broadcasts_to(*shape, out);
  }
  l.inputs = spread;
  l.tiled = l.tiled && p.repeated_at() < kMostTileMemory;
  if (!l.tiled) return l;
  for (size_t s = 0; s < p.code.size(); ++s) {
    const Instruction& i = p.code[s];
    if (i.joined) {  // its address is never read
      spread.push_back(Spread::kFull);
      address.push_back({});
      continue;
    }
    Ready ready{i.kernel.run, 0, static_cast<uint32_t>(s), {}, {}};
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
    // A result of broadcast inputs only may still have the output's number of elements, if they broadcast along
    // different axes.
    if (repeated && !full && shape.numel() != n) l.tiled = false;
    const bool one = !full && !repeated;
    if (one) {
      ready.result = {0, static_cast<uint32_t>(p.ones_at() + s * Program::kOneBytes)};
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
  // A program of one step prefetches its inputs itself, line by line.
  for (int k = 0; l.one_step() && k < kMaxInnerLoopInputs; ++k) {
    Ready& step = l.each_tile.front();
    const size_t i = step.operands[k].base - p.base_of_input(0);
    if (i < l.inputs.size() && l.inputs[i] == Spread::kFull) step.moves |= 1u << (kPrefetch + k);
  }
  return l;
}

void prepare_layout(Program& p, const KernelContext& c, const PartialShape& out) {
  if (!out.fully_known()) return;
  std::vector<const Shape*> shapes;
  for (int i = 0; i < c.num_inputs(); ++i) {
    if (!c.in(i).partial_shape().fully_known()) return p.fit.clear();
    p.fit.push_back(c.shape(i));
  }
  for (const Shape& shape : p.fit) shapes.push_back(&shape);
  p.layout = make_layout(p, shapes, out, out.numel());
}

const Layout& layout_of(const Program& p, const KernelContext& c, const PartialShape& out, Layout& made) {
  bool fits = !p.fit.empty();
  for (size_t i = 0; fits && i < p.fit.size(); ++i) fits = c.shape(static_cast<int>(i)) == p.fit[i];
  if (fits) return p.layout;
  std::vector<const Shape*> shapes;
  for (int i = 0; i < c.num_inputs(); ++i) shapes.push_back(&c.shape(i));
  made = make_layout(p, shapes, out, out.numel());
  return made;
}

std::vector<BroadcastInput> broadcast_inputs(const Program& p, const Layout& l, const KernelContext& c,
                                             const PartialShape& out) {
  std::vector<BroadcastInput> repeated;
  for (int i = 0; i < c.num_inputs(); ++i) {
    if (l.inputs[static_cast<size_t>(i)] != Spread::kBroadcast) continue;
    BroadcastInput& r = repeated.emplace_back();
    r.input = i;
    r.size = p.size_of(i);
    r.data = static_cast<const std::byte*>(c.in(i).impl()->data);
    make_broadcast_map<1>(out, {&c.shape(i)}, r.map);
  }
  return repeated;
}

// ---- Range ---------------------------------------------------------------------------------------------------------

Range::Range(const Program& p, const Layout& l, const KernelContext& c, std::span<const BroadcastInput> repeated,
             std::span<std::byte* const> outputs, bool stream)
    : p_(p),
      l_(l),
      broadcast_(repeated),
      bases_(p.num_bases()),
      now_(p.num_bases()),
      stream_(stream),
      filled_size_(p.size_of(p.text.outputs[0])) {
  memory_ = static_cast<std::byte*>(dnnl_scratchpad(p.repeated_at() + repeated.size() * broadcast_bytes()));
  bases_[0] = {memory_, 0};
  for (size_t i = 0; i < p.text.inputs.size(); ++i) {
    const int input = static_cast<int>(i);
    bases_[p.base_of_input(i)] = {static_cast<std::byte*>(c.in(input).impl()->data),
                                  l.inputs[i] == Spread::kFull ? p.size_of(input) : 0};
  }
  for (size_t k = 0; k < outputs.size(); ++k) {
    const uint32_t size = p.size_of(p.text.outputs[k]);
    bases_[p.base_of_output(k)] = {outputs[k], size};
    const int made_by = p.text.outputs[k] - static_cast<int>(p.text.inputs.size());
    const int last_reader = this->last_reader(outputs[k]);
    const bool streamed = stream && last_reader < 0;
    if (streamed && p.last_use[static_cast<size_t>(p.text.outputs[k])] < 0) {
      bases_[p.base_of_output(k)].how = kNontemporal;
      continue;
    }
    if (outputs[k] != nullptr && !streamed && last_reader <= made_by) continue;
    // If the output's memory is an input that is read later in the tile, the output is staged and copied at the end of
    // the tile.
    std::byte* staged = memory_ + p.staged_at() + k * p.slot_bytes();
    bases_[p.base_of_output(k)] = {staged, 0};
    if (outputs[k] != nullptr) copied_.push_back({outputs[k], staged, size, streamed});
  }
  for (size_t r = 0; r < repeated.size(); ++r) {
    if (repeated[r].in_place()) {
      in_place_.push_back({&repeated[r], p.base_of_input(static_cast<size_t>(repeated[r].input)), {}});
    } else if (repeated[r].periodic()) {
      repeated[r].write_out(0, p.tile + BroadcastInput::kLongRow, buffer(r));
    }
  }
  for (size_t b = 0; b < bases_.size(); ++b) now_[b] = bases_[b].data;
  steps(l_.once, 1, 0, false);
}

// A periodic input needs one period more than a tile.
size_t Range::broadcast_bytes() const { return (static_cast<size_t>(p_.tile) + BroadcastInput::kLongRow) * p_.widest; }

int Range::last_reader(const std::byte* data) const {
  int last = -1;
  for (size_t i = 0; i < p_.text.inputs.size(); ++i) {
    if (bases_[p_.base_of_input(i)].data == data) last = std::max(last, p_.last_use[i]);
  }
  return last;
}

int64_t Range::together(int64_t begin, int64_t most) {
  int64_t n = std::min(stream_ && !l_.one_step() ? p_.streamed : p_.tile, most);
  for (InPlace& i : in_place_) {
    i.row.seek(*i.input, begin);
    n = std::min(n, i.row.begin() + i.input->map.size[0] - begin);
  }
  return n;
}

void Range::run(int64_t begin, int64_t end) {
  while (begin < end) {
    const int64_t n = together(begin, end - begin);
    compute(begin, n, 0);
    for (const Copied& o : copied_) {
      const size_t bytes = static_cast<size_t>(n) * o.size;
      if (o.stream) {
        stream_copy(o.to + begin * o.size, o.from, bytes);
      } else {
        std::memcpy(o.to + begin * o.size, o.from, bytes);
      }
    }
    begin += n;
  }
  if (stream_) stream_fence();
}

void Range::fill(int64_t begin, int64_t n) {
  for (int64_t at = 0; at < n;) {
    const int64_t count = together(begin + at, n - at);
    compute(begin + at, count, at);
    at += count;
  }
}

// `n`: what together() returned. `at`: the position of output 0 within its tile, if it is in the tile's own memory.
void Range::compute(int64_t begin, int64_t n, int64_t at) {
  for (size_t b = 0; b < bases_.size(); ++b) now_[b] = bases_[b].data + begin * bases_[b].advance;
  now_[p_.base_of_output(0)] += at * filled_size_;
  uint64_t still = 0;  // inputs that are a single element here
  for (const InPlace& i : in_place_) {
    const int64_t stride = i.input->map.stride[0][0];
    const int64_t offset = i.row.offset() + stride * (begin - i.row.begin());
    now_[i.base] = const_cast<std::byte*>(i.input->data) + offset * i.input->size;  // NOLINT(*-const-cast): only read
    if (stride == 0) still |= uint64_t{1} << (i.base - 1);
  }
  if (in_place_.size() < broadcast_.size()) {
    for (size_t r = 0; r < broadcast_.size(); ++r) write_out_rows(r, begin, n);
  }
  steps(l_.each_tile, n, still, stream_ && !l_.one_step());
}

// Writes short rows of a broadcast input out for elements [begin, begin + n).
void Range::write_out_rows(size_t r, int64_t begin, int64_t n) {
  const BroadcastInput& from = broadcast_[r];
  if (from.in_place()) return;
  if (!from.periodic()) from.write_out(begin, n, buffer(r));
  now_[p_.base_of_input(static_cast<size_t>(from.input))] =
      buffer(r) + (from.periodic() ? begin % from.map.size[0] * from.size : 0);
}

// Prefetches a step's share of the inputs' next tile: memory could not take the requests for all of it at once.
void Range::read_next(int64_t n, int64_t step, int64_t steps) {
  for (size_t i = 0; i < p_.text.inputs.size(); ++i) {
    if (l_.inputs[i] != Spread::kFull) continue;
    const Base& base = bases_[p_.base_of_input(i)];
    const int64_t first = n * step / steps, last = n * (step + 1) / steps;
    prefetch(now_[p_.base_of_input(i)] + (n + first) * base.advance, (last - first) * base.advance);
  }
}

void Range::steps(const std::vector<Ready>& code, int64_t n, uint64_t still, bool ahead) {
  for (const Ready& i : code) {
    if (ahead) read_next(n, &i - code.data(), static_cast<int64_t>(code.size()));
    const void* in[kMaxInnerLoopInputs];
    for (int k = 0; k < kMaxInnerLoopInputs; ++k) in[k] = now_[i.operands[k].base] + i.operands[k].offset;
    uint32_t moves = i.moves;
    if (still != 0) [[unlikely]]
      moves &= ~standing(i, still);
    const uint32_t fault = i.run(moves | bases_[i.result.base].how, now_[i.result.base] + i.result.offset, n, in);
    if (fault != 0) [[unlikely]]
      fault_ = static_cast<uint64_t>(i.step) << 32 | fault;
  }
}

// Returns the operands of an instruction that are a single element of a broadcast input.
uint32_t Range::standing(const Ready& i, uint64_t still) {
  uint32_t result = 0;
  for (int k = 0; k < kMaxInnerLoopInputs; ++k) {
    const uint32_t input = i.operands[k].base - 1;  // more than 63 for the tile's own memory
    if (input < 64 && (still >> input & 1u) != 0) result |= 1u << k;
  }
  return result;
}

// ---- Without tiles -------------------------------------------------------------------------------------------------

std::vector<Tensor> run_steps(const Program& p, const KernelContext& c) {
  std::vector<Tensor> values;
  for (int i = 0; i < c.num_inputs(); ++i) values.push_back(c.in(i));
  for (size_t s = 0; s < p.code.size(); ++s) {
    const Instruction& i = p.code[s];
    if (i.joined) {
      values.emplace_back();
      continue;
    }
    PartialShape shape;
    InnerLoopInput in[kMaxInnerLoopInputs];
    for (int k = 0; k < i.kernel.inputs; ++k) {
      const Tensor& t = values[static_cast<size_t>(i.operands[static_cast<size_t>(k)])];
      shape = k == 0 ? t.partial_shape() : broadcast_shapes(shape, t.partial_shape());
      in[k] = {t.impl()->data, &t.partial_shape(), t.numel()};
    }
    values.push_back(allocate_tensor(c.device(), p.text.steps[s].result, Shape(shape)));
    run_inner_loops(i.kernel, in, shape, values.back().impl()->data, values.back().numel());
  }
  std::vector<Tensor> outputs;
  for (int value : p.text.outputs) outputs.push_back(values[static_cast<size_t>(value)]);
  return outputs;
}

void throw_found(const Program& p, uint64_t found) {
  try {
    throw_fault(static_cast<Fault>(found & UINT32_MAX));
  } catch (Error& error) {
    error.add_context("in " + p.text.steps[found >> 32].op->name());
    throw;
  }
}

}  // namespace panto::cpu
