// Stages that yield elements one by one: replaced, filtered or reordered.
#include <algorithm>
#include <deque>

#include "panto/lib/base/log.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/step/cancel.h"
#include "panto/nn/data/stages/stage.h"

namespace panto::data {
namespace {

class Map final : public Stage {
 public:
  Map(StagePtr input, ElementFunction function, const MapOptions& options)
      : input_(std::move(input)), function_(std::move(function)), bad_("map", options.skip_bad, options.on_bad) {}
  std::unique_ptr<Source> start(uint64_t pass) const override { return std::make_unique<Pass>(*this, pass); }
  int64_t size() const override { return bad_.skip() && input_->size() != kEndless ? kUnknown : input_->size(); }

 private:
  class Pass final : public Source {
   public:
    Pass(const Map& stage, uint64_t pass) : stage_(stage), input_(stage.input_->start(pass)) {}
    bool next(Element& element) override {
      for (;;) {
        if (!ahead_.empty()) {
          element = std::move(ahead_.front());
          ahead_.pop_front();
        } else if (ended_ || !input_->next(element)) {
          return false;
        }
        try {
          element = mapped(stage_.function_, element, number_++);
          return true;
        } catch (const Error& error) {
          if (!stage_.bad_.left_out(error)) throw;
        }
        throw_if_cancelled();
      }
    }
    void save(StateWriter& to) override {
      to.stage("map");
      to.number(static_cast<uint64_t>(number_));
      to.number(ahead_.size());
      for (const Element& e : ahead_) to.element(e);
      to.flag(ended_);
      input_->save(to);
    }
    void restore(StateReader& from) override {
      from.stage("map");
      number_ = from.count();
      for (int64_t left = from.count(); left > 0; --left) ahead_.push_back(from.element());
      ended_ = from.flag();
      input_->restore(from);
    }

   private:
    const Map& stage_;
    std::unique_ptr<Source> input_;
    int64_t number_ = 0;
    // Elements that threads had read when a state was saved; the number of threads may differ now.
    std::deque<Element> ahead_;
    bool ended_ = false;  // the input has ended
  };

  StagePtr input_;
  ElementFunction function_;
  BadInputs bad_;
};

class Filter final : public Stage {
 public:
  Filter(StagePtr input, ElementPredicate predicate) : input_(std::move(input)), predicate_(std::move(predicate)) {}
  std::unique_ptr<Source> start(uint64_t pass) const override { return std::make_unique<Pass>(*this, pass); }
  int64_t size() const override { return input_->size() == 0 ? 0 : kUnknown; }

 private:
  class Pass final : public Source {
   public:
    Pass(const Filter& stage, uint64_t pass) : stage_(stage), input_(stage.input_->start(pass)) {}
    bool next(Element& element) override {
      for (;;) {
        if (!input_->next(element)) return false;
        const int64_t number = number_++;
        if (with_context([&] { return fmt::format("in filter, element {}", number); },
                         [&] { return stage_.predicate_(element); })) {
          return true;
        }
        throw_if_cancelled();
      }
    }
    void save(StateWriter& to) override {
      to.stage("filter");
      to.number(static_cast<uint64_t>(number_));
      input_->save(to);
    }
    void restore(StateReader& from) override {
      from.stage("filter");
      number_ = from.count();
      input_->restore(from);
    }

   private:
    const Filter& stage_;
    std::unique_ptr<Source> input_;
    int64_t number_ = 0;
  };

  StagePtr input_;
  ElementPredicate predicate_;
};

class Enumerate final : public Stage {
 public:
  Enumerate(StagePtr input, int64_t first) : input_(std::move(input)), first_(first) {}
  std::unique_ptr<Source> start(uint64_t pass) const override { return std::make_unique<Pass>(*this, pass); }
  int64_t size() const override { return input_->size(); }
  bool indexed() const override { return input_->indexed(); }
  Element at(int64_t i) const override {
    return numbered(static_cast<uint64_t>(first_) + static_cast<uint64_t>(i), input_->at(i));
  }

 private:
  // After the largest int64 numbers continue with the negative ones.
  static Element numbered(uint64_t number, const Element& element) {
    std::vector<Tensor> tensors = {tensor(static_cast<int64_t>(number))};
    tensors.insert(tensors.end(), element.begin(), element.end());
    return Element(std::move(tensors));
  }

  class Pass final : public Source {
   public:
    Pass(const Enumerate& stage, uint64_t pass)
        : number_(static_cast<uint64_t>(stage.first_)), input_(stage.input_->start(pass)) {}
    bool next(Element& element) override {
      if (!input_->next(element)) return false;
      element = numbered(number_++, element);
      return true;
    }
    void save(StateWriter& to) override {
      to.stage("enumerate");
      to.number(number_);
      input_->save(to);
    }
    void restore(StateReader& from) override {
      from.stage("enumerate");
      number_ = from.number();
      input_->restore(from);
    }

   private:
    uint64_t number_;
    std::unique_ptr<Source> input_;
  };

  StagePtr input_;
  int64_t first_;
};

// At most `count` elements, starting at `first`.
class Part final : public Stage {
 public:
  Part(StagePtr input, int64_t first, int64_t count) : input_(std::move(input)), first_(first), count_(count) {}
  std::unique_ptr<Source> start(uint64_t pass) const override { return std::make_unique<Pass>(*this, pass); }
  int64_t size() const override {
    const int64_t all = input_->size();
    if (all >= 0) return std::min(count_, std::max<int64_t>(all - first_, 0));
    if (count_ == 0) return 0;
    return all == kEndless && count_ < INT64_MAX ? count_ : all;
  }
  bool indexed() const override { return input_->indexed(); }
  Element at(int64_t i) const override { return input_->at(first_ + i); }

 private:
  class Pass final : public Source {
   public:
    Pass(const Part& stage, uint64_t pass)
        : stage_(stage), skip_(stage.first_), take_(stage.count_), input_(stage.input_->start(pass)) {}
    bool next(Element& element) override {
      for (; skip_ > 0; --skip_) {
        if (!input_->next(element)) return false;
        throw_if_cancelled();
      }
      if (take_ == 0 || !input_->next(element)) return false;
      --take_;
      return true;
    }
    void save(StateWriter& to) override {
      to.stage("take or skip");
      to.number(static_cast<uint64_t>(stage_.first_));
      to.number(static_cast<uint64_t>(stage_.count_));
      to.number(static_cast<uint64_t>(skip_));
      to.number(static_cast<uint64_t>(take_));
      input_->save(to);
    }
    void restore(StateReader& from) override {
      from.stage("take or skip");
      from.expect("number of elements to skip", static_cast<uint64_t>(stage_.first_));
      from.expect("number of elements to take", static_cast<uint64_t>(stage_.count_));
      skip_ = from.count(stage_.first_);
      take_ = from.count(stage_.count_);
      input_->restore(from);
    }

   private:
    const Part& stage_;
    int64_t skip_, take_;
    std::unique_ptr<Source> input_;
  };

  StagePtr input_;
  int64_t first_, count_;
};

class Shard final : public Stage {
 public:
  Shard(StagePtr input, int64_t count, int64_t index) : input_(std::move(input)), count_(count), index_(index) {}
  std::unique_ptr<Source> start(uint64_t pass) const override { return std::make_unique<Pass>(*this, pass); }
  int64_t size() const override {
    const int64_t all = input_->size();
    return all < 0 ? all : all / count_ + (index_ < all % count_ ? 1 : 0);
  }
  bool indexed() const override { return input_->indexed(); }
  Element at(int64_t i) const override { return input_->at(i * count_ + index_); }

 private:
  class Pass final : public Source {
   public:
    Pass(const Shard& stage, uint64_t pass) : stage_(stage), input_(stage.input_->start(pass)) {}
    bool next(Element& element) override {
      for (;;) {
        if (!input_->next(element)) return false;
        const bool own = number_ == stage_.index_;
        number_ = (number_ + 1) % stage_.count_;
        if (own) return true;
        throw_if_cancelled();
      }
    }
    void save(StateWriter& to) override {
      to.stage("shard");
      to.number(static_cast<uint64_t>(stage_.count_));
      to.number(static_cast<uint64_t>(stage_.index_));
      to.number(static_cast<uint64_t>(number_));
      input_->save(to);
    }
    void restore(StateReader& from) override {
      from.stage("shard");
      from.expect("number of shards", static_cast<uint64_t>(stage_.count_));
      from.expect("shard", static_cast<uint64_t>(stage_.index_));
      number_ = from.count(stage_.count_ - 1);
      input_->restore(from);
    }

   private:
    const Shard& stage_;
    std::unique_ptr<Source> input_;
    int64_t number_ = 0;  // of the input's next element, modulo the number of shards
  };

  StagePtr input_;
  int64_t count_, index_;
};

class Shuffle final : public Stage {
 public:
  Shuffle(StagePtr input, int64_t buffer, uint64_t seed, bool chosen, bool reshuffle)
      : input_(std::move(input)),
        buffer_(static_cast<size_t>(buffer)),
        seed_(seed),
        chosen_(chosen),
        reshuffle_(reshuffle) {}
  std::unique_ptr<Source> start(uint64_t pass) const override { return std::make_unique<Pass>(*this, pass); }
  int64_t size() const override { return input_->size(); }

 private:
  class Pass final : public Source {
   public:
    // Pass n seeds its generator with the n-th number of the generator that the user's seed starts.
    Pass(const Shuffle& stage, uint64_t pass)
        : stage_(stage),
          size_(stage.buffer_),
          random_(mixed(stage.seed_ + kGamma * ((stage.reshuffle_ ? pass : 0) + 1))),
          input_(stage.input_->start(pass)) {}
    bool next(Element& element) override {
      while (!ended_ && buffer_.size() < size_) {
        Held more;
        ended_ = !input_->next(more.element);
        more.number = read_++;
        if (!ended_) buffer_.push_back(std::move(more));
        throw_if_cancelled();
      }
      if (buffer_.empty()) return false;
      std::swap(buffer_[random_.below(buffer_.size())], buffer_.back());
      element = std::move(buffer_.back().element);
      buffer_.pop_back();
      return true;
    }
    // Saves the buffer: only numbers if the input can yield elements by number, else the elements.
    void save(StateWriter& to) override {
      const bool indexed = stage_.input_->indexed();
      to.stage("shuffle");
      to.number(size_);
      to.number(stage_.seed_);
      to.number(random_.state());
      to.flag(ended_);
      to.number(static_cast<uint64_t>(read_));
      to.number(buffer_.size());
      for (const Held& held : buffer_) {
        indexed ? to.number(static_cast<uint64_t>(held.number)) : to.element(held.element);
      }
      input_->save(to);
    }
    void restore(StateReader& from) override {
      const bool indexed = stage_.input_->indexed();
      from.stage("shuffle");
      from.expect("buffer", size_);
      stage_.chosen_ ? from.expect("seed", stage_.seed_) : stage_.seed_.store(from.number());
      random_ = Random(from.number());
      ended_ = from.flag();
      read_ = from.count();
      std::vector<int64_t> numbers;
      for (int64_t left = from.count(); left > 0; --left) {
        if (indexed) {
          numbers.push_back(from.count());
        } else {
          buffer_.push_back({from.element(), 0});
        }
      }
      input_->restore(from);  // compares the number of elements
      const int64_t size = stage_.input_->size();
      for (const int64_t number : numbers) {
        if (number >= size) {
          failf(Code::kDataLoss, "state: expected the number of an element below {}, got {}", size, number);
        }
        buffer_.push_back({stage_.input_->at(number), number});
      }
    }

   private:
    struct Held {
      Element element;
      int64_t number = 0;  // index in the input
    };

    const Shuffle& stage_;
    size_t size_;
    Random random_;
    std::unique_ptr<Source> input_;
    std::vector<Held> buffer_;
    int64_t read_ = 0;
    bool ended_ = false;
  };

  StagePtr input_;
  size_t buffer_;
  mutable std::atomic<uint64_t> seed_;  // replaced by a restored state's seed if it was drawn
  bool chosen_, reshuffle_;
};

}  // namespace

uint64_t mixed(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

Element Stage::at(int64_t /*i*/) const {
  fail(Code::kInternal, "dataset: expected a stage whose elements have numbers");
}

bool BadInputs::left_out(const Error& error) const {
  if (!skip_) return false;
  switch (error.code()) {
    case Code::kCancelled:
    case Code::kDeadlineExceeded:
    case Code::kAborted:
    case Code::kUnavailable:
    case Code::kInternal: return false;
    default: break;
  }
  if (told_) {
    told_(error);
  } else if (!warned_.exchange(true)) {
    log_warn(fmt::format("{}: left out (the first; no others are logged): {}", stage_, error.what()));
  }
  return true;
}

Element mapped(const ElementFunction& function, const Element& element, int64_t number) {
  return with_context([&] { return fmt::format("in map, element {}", number); },
                      [&] {
                        Element made = function(element);
                        if (made.size() == 0) invalid("map: expected a function that returns tensors, got none");
                        for (const Tensor& t : made) {
                          if (!t.defined()) invalid("map: expected tensors with values, got an undefined one");
                          if (t.is_meta()) invalid("map: expected tensors with values, got a symbolic one");
                        }
                        return made;
                      });
}

StagePtr map(StagePtr input, ElementFunction function, const MapOptions& options) {
  return std::make_shared<Map>(std::move(input), std::move(function), options);
}
StagePtr filter(StagePtr input, ElementPredicate predicate) {
  return std::make_shared<Filter>(std::move(input), std::move(predicate));
}
StagePtr enumerate(StagePtr input, int64_t first) { return std::make_shared<Enumerate>(std::move(input), first); }
StagePtr part(StagePtr input, int64_t first, int64_t count) {
  return std::make_shared<Part>(std::move(input), first, count);
}
StagePtr shard(StagePtr input, int64_t count, int64_t index) {
  return std::make_shared<Shard>(std::move(input), count, index);
}
StagePtr shuffle(StagePtr input, int64_t buffer, uint64_t seed, bool chosen, bool reshuffle) {
  return std::make_shared<Shuffle>(std::move(input), buffer, seed, chosen, reshuffle);
}

}  // namespace panto::data
