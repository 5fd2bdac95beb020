// Stages that combine several pipelines, or repeat one.
#include <algorithm>
#include <cstring>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/step/cancel.h"
#include "panto/nn/data/stages/stage.h"

namespace panto::data {
namespace {

class Repeat final : public Stage {
 public:
  Repeat(StagePtr input, int64_t times) : input_(std::move(input)), times_(times) {}
  std::unique_ptr<Source> start(uint64_t pass) const override { return std::make_unique<Pass>(*this, pass); }
  int64_t size() const override {
    const int64_t once = input_->size();
    if (times_ == 0 || once == 0) return 0;
    if (once == kEndless || (times_ == kWithoutEnd && once != kUnknown)) return kEndless;
    if (once == kUnknown) return kUnknown;
    int64_t all;
    return __builtin_mul_overflow(times_, once, &all) ? INT64_MAX : all;
  }

 private:
  class Pass final : public Source {
   public:
    Pass(const Repeat& stage, uint64_t pass) : stage_(stage), pass_(mixed(pass)) {}
    bool next(Element& element) override {
      for (;;) {
        if (input_ == nullptr) {
          if (stage_.times_ != kWithoutEnd && static_cast<uint64_t>(stage_.times_) <= begun_) return false;
          input_ = stage_.input_->start(pass_ + begun_++);
          gave_ = false;
        }
        if (input_->next(element)) return gave_ = true;
        // An empty pass will be empty again: without this check, endlessly repeating an empty input would not end.
        if (!gave_) return false;
        input_.reset();
      }
    }
    void save(StateWriter& to) override {
      to.stage("repeat");
      to.text(stage_.repetition());
      to.number(begun_);
      to.flag(gave_);
      // A source that has not begun is started for saving, since restoring needs the state of its stages.
      std::unique_ptr<Source> first;
      Source* input = input_.get();
      to.flag(input != nullptr);
      if (input == nullptr) {
        first = stage_.input_->start(pass_ + begun_);
        input = first.get();
      }
      input->save(to);
    }
    void restore(StateReader& from) override {
      from.stage("repeat");
      from.expect("repetition", stage_.repetition());
      begun_ = from.number();
      gave_ = from.flag();
      const bool begun = from.flag();
      input_ = stage_.input_->start(pass_ + begun_ - (begun ? 1 : 0));
      input_->restore(from);
      if (!begun) input_.reset();
    }

   private:
    const Repeat& stage_;
    uint64_t pass_, begun_ = 0;
    std::unique_ptr<Source> input_;
    bool gave_ = false;
  };

  std::string repetition() const { return times_ == kWithoutEnd ? "without end" : fmt::format("of {} times", times_); }

  StagePtr input_;
  int64_t times_;
};

class Concatenate final : public Stage {
 public:
  Concatenate(StagePtr first, StagePtr second) : first_(std::move(first)), second_(std::move(second)) {}
  std::unique_ptr<Source> start(uint64_t pass) const override { return std::make_unique<Pass>(*this, pass); }
  int64_t size() const override {
    const int64_t a = first_->size(), b = second_->size();
    if (a == kEndless || b == kEndless) return kEndless;
    if (a == kUnknown || b == kUnknown) return kUnknown;
    int64_t all;
    return __builtin_add_overflow(a, b, &all) ? INT64_MAX : all;
  }
  bool indexed() const override { return first_->indexed() && second_->indexed(); }
  Element at(int64_t i) const override {
    const int64_t n = first_->size();
    return i < n ? first_->at(i) : second_->at(i - n);
  }

 private:
  class Pass final : public Source {
   public:
    Pass(const Concatenate& stage, uint64_t pass)
        : first_(stage.first_->start(pass)), second_(stage.second_->start(pass)) {}
    bool next(Element& element) override {
      if (!in_second_) {
        if (first_->next(element)) return true;
        in_second_ = true;
      }
      return second_->next(element);
    }
    void save(StateWriter& to) override {
      to.stage("concatenate");
      to.flag(in_second_);
      first_->save(to);
      second_->save(to);
    }
    void restore(StateReader& from) override {
      from.stage("concatenate");
      in_second_ = from.flag();
      first_->restore(from);
      second_->restore(from);
    }

   private:
    std::unique_ptr<Source> first_, second_;
    bool in_second_ = false;
  };

  StagePtr first_, second_;
};

class Zip final : public Stage {
 public:
  explicit Zip(std::vector<StagePtr> inputs) : inputs_(std::move(inputs)) {}
  std::unique_ptr<Source> start(uint64_t pass) const override { return std::make_unique<Pass>(*this, pass); }
  int64_t size() const override {
    int64_t least = kEndless;
    bool known = true;
    for (const StagePtr& input : inputs_) {
      const int64_t n = input->size();
      if (n == 0) return 0;
      known = known && n != kUnknown;
      if (n > 0) least = least < 0 ? n : std::min(least, n);
    }
    return known ? least : kUnknown;
  }
  bool indexed() const override {
    return std::ranges::all_of(inputs_, [](const StagePtr& s) { return s->indexed(); });
  }
  Element at(int64_t i) const override {
    std::vector<Tensor> tensors;
    for (const StagePtr& input : inputs_) {
      const Element one = input->at(i);
      tensors.insert(tensors.end(), one.begin(), one.end());
    }
    return Element(std::move(tensors));
  }

 private:
  class Pass final : public Source {
   public:
    Pass(const Zip& stage, uint64_t pass) {
      for (const StagePtr& input : stage.inputs_) inputs_.push_back(input->start(pass));
    }
    bool next(Element& element) override {
      std::vector<Tensor> tensors;
      for (const std::unique_ptr<Source>& input : inputs_) {
        Element one;
        if (!input->next(one)) return false;
        tensors.insert(tensors.end(), one.begin(), one.end());
      }
      element = Element(std::move(tensors));
      return true;
    }
    void save(StateWriter& to) override {
      to.stage("zip");
      to.number(inputs_.size());
      for (const std::unique_ptr<Source>& input : inputs_) input->save(to);
    }
    void restore(StateReader& from) override {
      from.stage("zip");
      from.expect("number of datasets", inputs_.size());
      for (const std::unique_ptr<Source>& input : inputs_) input->restore(from);
    }

   private:
    std::vector<std::unique_ptr<Source>> inputs_;
  };

  std::vector<StagePtr> inputs_;
};

// Takes elements in turn from datasets that a function makes. With a cycle of 1, one dataset after the other.
class Interleave final : public Stage {
 public:
  Interleave(std::string_view name, StagePtr input, DatasetFunction function, int64_t cycle, int64_t block)
      : name_(name), input_(std::move(input)), function_(std::move(function)), cycle_(cycle), block_(block) {}
  std::unique_ptr<Source> start(uint64_t pass) const override { return std::make_unique<Pass>(*this, pass); }
  int64_t size() const override { return input_->size() == 0 ? 0 : kUnknown; }

 private:
  // An open dataset.
  struct Slot {
    Element of;         // the input element from which it was made
    uint64_t pass = 0;  // number of its own pass
    StagePtr stage;     // null: the slot is empty
    std::unique_ptr<Source> source;
  };

  class Pass final : public Source {
   public:
    Pass(const Interleave& stage, uint64_t pass)
        : stage_(stage), pass_(mixed(pass)), input_(stage.input_->start(pass)) {}

    bool next(Element& element) override {
      for (;;) {
        if (at_ == slots_.size() && !ended_ && static_cast<int64_t>(slots_.size()) < stage_.cycle_) {
          slots_.emplace_back();
        }
        if (at_ >= slots_.size()) at_ = 0;
        if (slots_.empty()) return false;
        Slot& slot = slots_[at_];
        if (slot.stage == nullptr && !ended_ && !open(slot)) ended_ = true;
        if (slot.stage != nullptr) {
          if (slot.source->next(element)) {
            if (++in_block_ == stage_.block_) advance();
            return true;
          }
          slot = Slot();
          advance();
        } else {
          // The input has ended: the cycle gets one slot less.
          slots_.erase(slots_.begin() + static_cast<std::ptrdiff_t>(at_));
          in_block_ = 0;
          if (slots_.empty()) return false;
        }
        throw_if_cancelled();
      }
    }

    void save(StateWriter& to) override {
      to.stage(stage_.name_);
      to.number(static_cast<uint64_t>(stage_.cycle_));
      to.number(static_cast<uint64_t>(stage_.block_));
      to.number(opened_);
      to.number(at_);
      to.number(static_cast<uint64_t>(in_block_));
      to.flag(ended_);
      input_->save(to);
      to.number(slots_.size());
      for (const Slot& slot : slots_) {
        to.flag(slot.stage != nullptr);
        if (slot.stage == nullptr) continue;
        to.element(slot.of);
        to.number(slot.pass);
        slot.source->save(to);
      }
    }
    void restore(StateReader& from) override {
      from.stage(stage_.name_);
      from.expect("cycle", static_cast<uint64_t>(stage_.cycle_));
      from.expect("block", static_cast<uint64_t>(stage_.block_));
      opened_ = from.number();
      at_ = static_cast<size_t>(from.count(stage_.cycle_));
      in_block_ = from.count(stage_.block_);
      ended_ = from.flag();
      input_->restore(from);
      for (int64_t left = from.count(stage_.cycle_); left > 0; --left) {
        Slot& slot = slots_.emplace_back();
        if (!from.flag()) continue;
        slot.of = from.element();
        begin(slot, from.number());
        slot.source->restore(from);
      }
    }

   private:
    bool open(Slot& slot) {
      if (!input_->next(slot.of)) return false;
      begin(slot, pass_ + opened_++);
      return true;
    }
    void begin(Slot& slot, uint64_t pass) {
      slot.stage = with_context([&] { return fmt::format("in {}, element {}", stage_.name_, pass - pass_); },
                                [&] { return StageAccess::stage(stage_.function_(slot.of)); });
      slot.pass = pass;
      slot.source = slot.stage->start(pass);
    }
    void advance() {
      in_block_ = 0;
      ++at_;
    }

    const Interleave& stage_;
    uint64_t pass_, opened_ = 0;
    std::unique_ptr<Source> input_;
    std::vector<Slot> slots_;  // at most the size of the cycle
    size_t at_ = 0;            // the slot whose turn it is
    int64_t in_block_ = 0;
    bool ended_ = false;  // the input has ended
  };

  std::string_view name_;
  StagePtr input_;
  DatasetFunction function_;
  int64_t cycle_, block_;
};

}  // namespace

StagePtr repeat(StagePtr input, int64_t times) { return std::make_shared<Repeat>(std::move(input), times); }
StagePtr concatenate(StagePtr first, StagePtr second) {
  return std::make_shared<Concatenate>(std::move(first), std::move(second));
}
StagePtr zip(std::vector<StagePtr> inputs) { return std::make_shared<Zip>(std::move(inputs)); }
StagePtr interleave(std::string_view name, StagePtr input, DatasetFunction function, int64_t cycle, int64_t block) {
  return std::make_shared<Interleave>(name, std::move(input), std::move(function), cycle, block);
}

}  // namespace panto::data
