// _ScalarLoop: iterations of a loop whose values are all scalars (lib/ops/control/scalar_loop.h).
//
// A round calls the inner loops of its ops one after the other on values in fixed cells. An executor's work between two
// ops (finding inputs, making tensors) takes ten times as long as an addition.
#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <vector>

#include "panto/device/cpu/fused/fused_program.h"
#include "panto/device/cpu/kernel.h"
#include "panto/lib/core/collections/tensor_list.h"
#include "panto/lib/core/tensor/tensor_alloc.h"
#include "panto/lib/ops/control/scalar_loop.h"

namespace panto {
namespace {

struct LoopProgram : KernelState {
  explicit LoopProgram(const CallView& call) : loop(parse_scalar_round(call)) {
    for (const ElementwiseStep& step : loop.program.steps)
      kernels.push_back(cpu::inner_loop_kernel(loop.program, step));
  }
  ScalarRound loop;
  std::vector<cpu::InnerLoopKernel> kernels;  // one per step
};

// The memory of a value.
struct alignas(16) Cell {
  std::byte bytes[16];
};

void copy_element(void* to, const void* from, size_t size) {
  switch (size) {
    case 4: std::memcpy(to, from, 4); return;
    case 8: std::memcpy(to, from, 8); return;
    default: std::memcpy(to, from, size);
  }
}

Shape rows_of(int64_t count, const Shape& element) {
  std::vector<int64_t> dims(element.dims().begin(), element.dims().end());
  dims.insert(dims.begin(), count);
  return Shape(dims);
}

// A list from which each round takes the last element.
struct ReadList {
  const TensorList* list;
  Tensor rows;
  const std::byte* end;  // the end of the next element
  size_t size;           // bytes per element
  Cell* to;
};

// A list to which each round appends an element.
class WrittenList {
 public:
  WrittenList(const TensorList& list, DType type, const Shape& shape, const Cell* from)
      : list_(list), type_(type), shape_(shape), size_(dtype_size(type)), from_(from) {}

  // How many elements can be appended. 0 unless the list is empty: only then are rows made for it.
  int64_t room() const {
    if (list_.size() != 0 || list_.element_dtype() != type_ || !list_.element_shape().compatible_with(shape_)) {
      return 0;
    }
    return list_.most() < 0 ? std::numeric_limits<int64_t>::max() : list_.most();
  }
  void push(int64_t i) {
    if (i >= capacity_) [[unlikely]]
      grow(i);
    copy_element(data_ + static_cast<size_t>(i) * size_, from_, size_);
  }
  Tensor finish(int64_t count) {
    return count == 0 ? list_tensor(list_) : list_tensor(list_.with_rows(std::move(rows_), count));
  }

 private:
  void grow(int64_t count) {
    capacity_ = std::max<int64_t>(64, 2 * capacity_);
    Tensor more = allocate_tensor(cpu_device(), type_, rows_of(capacity_, shape_));
    auto* data = static_cast<std::byte*>(more.impl()->data);
    if (count > 0) std::memcpy(data, data_, static_cast<size_t>(count) * size_);
    rows_ = std::move(more);
    data_ = data;
  }

  const TensorList& list_;
  DType type_;
  const Shape& shape_;  // of an element
  size_t size_;
  const Cell* from_;
  Tensor rows_;
  std::byte* data_ = nullptr;
  int64_t capacity_ = 0;
};

// A step with the addresses of its values.
struct PlacedStep {
  InnerLoopFn run;
  unsigned moves;
  Cell* result;
  const void* in[cpu::kMaxInnerLoopInputs];
};

class Rounds {
 public:
  Rounds(const LoopProgram& p, KernelContext& c)
      : c_(c), loop_(p.loop), cells_(static_cast<size_t>(loop_.program.num_values())) {
    const auto values = static_cast<size_t>(loop_.num_values());
    for (size_t i = 0; i < values; ++i) {
      copy_element(&cells_[i], c.in(static_cast<int>(i)).impl()->data, dtype_size(loop_.program.inputs[i]));
      const auto next = static_cast<size_t>(loop_.carried[i]);
      if (next != i) carried_.push_back({&cells_[i], &cells_[next]});
      crossed_ = crossed_ || (next != i && next < values);
    }
    for (size_t s = 0; s < p.kernels.size(); ++s) {
      const cpu::InnerLoopKernel& kernel = p.kernels[s];
      PlacedStep step{kernel.run, (1u << kernel.inputs) - 1, &cell(loop_.program.value_of_step(s)), {}};
      for (size_t k = 0; k < static_cast<size_t>(kernel.inputs); ++k) {
        step.in[k] = &cell(loop_.program.steps[s].operands[k]);
      }
      steps_.push_back(step);
    }
    place_lists();
    condition_ = &cell(loop_.program.outputs[0]);
  }

  void run() {
    while (more_ && rounds_ < most_) {
      if (!run_some(std::min(most_, rounds_ + kBetweenLooks)) || is_stopped(c_.step())) break;
    }
  }

  void give_results() {
    int k = 0;
    for (size_t i = 0; i < loop_.carried.size(); ++i, ++k) {
      const DType type = loop_.program.inputs[i];
      Tensor value = allocate_tensor(c_.device(), type, loop_.shapes[i]);
      copy_element(value.impl()->data, &cells_[i], dtype_size(type));
      c_.set_out(k, std::move(value));
    }
    for (const ReadList& read : read_) {
      c_.set_out(k++, list_tensor(rounds_ == 0 ? *read.list : read.list->without_last(rounds_)));
    }
    for (WrittenList& written : written_) c_.set_out(k++, written.finish(rounds_));
    c_.set_out(k++, as_scalar<int64_t>(rounds_));
    c_.set_out(k, as_scalar<bool>(more_));
  }

 private:
  struct Carried {
    Cell* to;
    const Cell* from;
  };
  static constexpr int64_t kBetweenLooks = 1024;  // rounds between two checks for cancellation

  Cell& cell(int value) { return cells_[static_cast<size_t>(value)]; }

  void place_lists() {
    int at = loop_.num_values();
    const auto values = static_cast<size_t>(at);
    for (size_t i = values; i < loop_.program.inputs.size(); ++i, ++at) {
      const TensorList& list = list_of(c_.in(at));
      const DType type = loop_.program.inputs[i];
      ReadList read{&list, list.rows(), nullptr, dtype_size(type), &cells_[i]};
      const bool fits = read.rows.defined() && read.rows.dtype() == type &&
                        read.rows.shape() == rows_of(read.rows.shape().dim(0), loop_.read_shapes[i - values]);
      most_ = std::min(most_, fits ? list.size() : 0);
      if (fits) {
        read.end = static_cast<const std::byte*>(read.rows.impl()->data) + static_cast<size_t>(list.size()) * read.size;
      }
      read_.push_back(std::move(read));
    }
    for (size_t w = 0; w < loop_.pushed.size(); ++w) {
      const int value = loop_.pushed[w];
      written_.emplace_back(list_of(c_.in(at++)), loop_.program.type_of(value), loop_.pushed_shapes[w], &cell(value));
      most_ = std::min(most_, written_.back().room());
    }
  }

  // Runs until round `end`. Returns false after the loop's last round, and if a round would fail, before that round.
  bool run_some(int64_t end) {
    for (; rounds_ < end; ++rounds_) {
      for (ReadList& read : read_) copy_element(read.to, read.end - read.size, read.size);
      for (const PlacedStep& step : steps_) {
        if (step.run(step.moves, step.result, 1, step.in) != 0) [[unlikely]]
          return false;
      }
      for (ReadList& read : read_) read.end -= read.size;
      for (WrittenList& written : written_) written.push(rounds_);
      bool go_on = false;
      std::memcpy(&go_on, condition_, 1);
      carry();
      if (!go_on) {
        more_ = false;
        ++rounds_;
        return false;
      }
    }
    return true;
  }

  void carry() {
    if (crossed_) [[unlikely]] {  // copying in place would overwrite a value that another one still needs
      before_ = cells_;
      for (const Carried& c : carried_) *c.to = before_[static_cast<size_t>(c.from - cells_.data())];
      return;
    }
    for (const Carried& c : carried_) *c.to = *c.from;
  }

  static bool is_stopped(const Step& step) {
    try {
      step.throw_if_stopped();
    } catch (const Error&) {  // whoever continues the loop finds the same error
      return true;
    }
    return false;
  }

  template <class T>
  static Tensor as_scalar(T value) {
    Tensor t = allocate_tensor(cpu_device(), dtype_of<T>, Shape{});
    *mutable_data<T>(t) = value;
    return t;
  }

  KernelContext& c_;
  const ScalarRound& loop_;
  std::vector<Cell> cells_;  // one per value of the program
  std::vector<Cell> before_;
  std::vector<PlacedStep> steps_;
  std::vector<Carried> carried_;
  bool crossed_ = false;  // whether a carried value becomes another carried value
  std::vector<ReadList> read_;
  std::vector<WrittenList> written_;
  const Cell* condition_ = nullptr;
  int64_t most_ = std::numeric_limits<int64_t>::max();
  int64_t rounds_ = 0;
  bool more_ = true;
};

void run_scalar_loop(KernelContext& c) {
  std::unique_ptr<LoopProgram> once;
  const LoopProgram* program = c.state<LoopProgram>();
  if (program == nullptr) {
    once = std::make_unique<LoopProgram>(c);
    program = once.get();
  }
  Rounds rounds(*program, c);
  rounds.run();
  rounds.give_results();
}

std::shared_ptr<KernelState> prepare_scalar_loop(const KernelContext& c) { return std::make_shared<LoopProgram>(c); }

const CpuKernel scalar_loop_kernel("_ScalarLoop", run_scalar_loop, prepare_scalar_loop);

}  // namespace
}  // namespace panto
