// The stages that run on the thread that asks for elements.
#include <algorithm>
#include <cstring>

#include "panto/lib/base/checked.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/step/cancel.h"
#include "panto/lib/core/tensor/print.h"
#include "panto/lib/core/tensor/tensor_alloc.h"
#include "panto/lib/ops/arrays.h"
#include "panto/nn/data/stage.h"

namespace panto::data {
namespace {

// SplitMix64 (Steele, Lea and Flood 2014): the standard library's distributions differ between implementations.
uint64_t mixed(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}
constexpr uint64_t kGamma = 0x9e3779b97f4a7c15u;

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  // Below n, without bias: numbers beyond the last full multiple of n are drawn again.
  size_t below(uint64_t n) {
    const uint64_t limit = UINT64_MAX - UINT64_MAX % n;
    uint64_t x = next();
    while (x >= limit) x = next();
    return static_cast<size_t>(x % n);
  }

 private:
  uint64_t next() { return mixed(state_ += kGamma); }
  uint64_t state_;
};

class Slices final : public Stage {
 public:
  explicit Slices(std::vector<Tensor> tensors) : tensors_(std::move(tensors)) {
    for (const Tensor& t : tensors_) {
      const std::span<const int64_t> dims = t.shape().dims();
      shapes_.emplace_back(dims.subspan(1));
    }
  }
  std::unique_ptr<Source> start(uint64_t /*pass*/) const override { return std::make_unique<Pass>(*this); }
  std::optional<int64_t> size() const override { return tensors_[0].dim(0); }

 private:
  class Pass final : public Source {
   public:
    explicit Pass(const Slices& stage) : stage_(stage), size_(*stage.size()) {}
    bool next(Element& element) override {
      if (at_ == size_) return false;
      std::vector<Tensor> slices;
      slices.reserve(stage_.tensors_.size());
      for (size_t i = 0; i < stage_.tensors_.size(); ++i) {
        const Shape& shape = stage_.shapes_[i];
        slices.push_back(view_tensor(stage_.tensors_[i], shape, at_ * shape.numel()));
      }
      element = Element(std::move(slices));
      ++at_;
      return true;
    }

   private:
    const Slices& stage_;
    int64_t size_, at_ = 0;
  };

  std::vector<Tensor> tensors_;
  std::vector<Shape> shapes_;
};

class Map final : public Stage {
 public:
  Map(StagePtr input, ElementFunction function) : input_(std::move(input)), function_(std::move(function)) {}
  std::unique_ptr<Source> start(uint64_t pass) const override { return std::make_unique<Pass>(*this, pass); }
  std::optional<int64_t> size() const override { return input_->size(); }

 private:
  class Pass final : public Source {
   public:
    Pass(const Map& stage, uint64_t pass) : stage_(stage), input_(stage.input_->start(pass)) {}
    bool next(Element& element) override {
      if (!input_->next(element)) return false;
      element = mapped(stage_.function_, element, number_++);
      return true;
    }

   private:
    const Map& stage_;
    std::unique_ptr<Source> input_;
    int64_t number_ = 0;
  };

  StagePtr input_;
  ElementFunction function_;
};

class Shuffle final : public Stage {
 public:
  Shuffle(StagePtr input, int64_t buffer, uint64_t seed)
      : input_(std::move(input)), buffer_(static_cast<size_t>(buffer)), seed_(seed) {}
  std::unique_ptr<Source> start(uint64_t pass) const override { return std::make_unique<Pass>(*this, pass); }
  std::optional<int64_t> size() const override { return input_->size(); }

 private:
  class Pass final : public Source {
   public:
    // Pass n draws by a generator whose seed is number n of the one that the user's seed begins.
    Pass(const Shuffle& stage, uint64_t pass)
        : size_(stage.buffer_), random_(mixed(stage.seed_ + kGamma * (pass + 1))), input_(stage.input_->start(pass)) {}
    bool next(Element& element) override {
      while (!ended_ && buffer_.size() < size_) {
        Element more;
        ended_ = !input_->next(more);
        if (!ended_) buffer_.push_back(std::move(more));
        throw_if_cancelled();
      }
      if (buffer_.empty()) return false;
      std::swap(buffer_[random_.below(buffer_.size())], buffer_.back());
      element = std::move(buffer_.back());
      buffer_.pop_back();
      return true;
    }

   private:
    size_t size_;
    Random random_;
    std::unique_ptr<Source> input_;
    std::vector<Element> buffer_;
    bool ended_ = false;
  };

  StagePtr input_;
  size_t buffer_;
  uint64_t seed_;
};

// Tensor number i of each element, side by side.
Tensor stacked(const std::vector<Element>& elements, size_t i) {
  const Tensor& first = elements[0][i];
  bool in_host_memory = true;
  for (const Element& e : elements) {
    if (e.size() != elements[0].size()) {
      invalid("batch: expected elements of {} tensors as the first one, got {}", elements[0].size(), e.size());
    }
    if (e[i].dtype() != first.dtype() || !(e[i].shape() == first.shape())) {
      invalid("batch: expected {} as of the first element, got {} [in tensor {}]",
              type_text(first.dtype(), first.partial_shape()), type_text(e[i].dtype(), e[i].partial_shape()), i);
    }
    in_host_memory = in_host_memory && e[i].device().host_memory();
  }
  if (!is_plain(first.dtype()) && first.dtype() != kString) {
    invalid("batch: expected numbers, bools or strings, got {} [in tensor {}]", dtype_name(first.dtype()), i);
  }
  if (!in_host_memory) {
    std::vector<Tensor> tensors;
    for (const Element& e : elements) tensors.push_back(e[i]);
    return stack(tensors);
  }
  std::vector<int64_t> dims = {static_cast<int64_t>(elements.size())};
  dims.insert(dims.end(), first.shape().dims().begin(), first.shape().dims().end());
  const Tensor t = allocate_tensor(cpu_device(), first.dtype(), Shape(dims));
  if (first.dtype() == kString) {
    auto* to = mutable_data<std::string>(t);
    for (const Element& e : elements) to = std::ranges::copy(e[i].data<std::string>(), to).out;
    return t;
  }
  auto* to = mutable_data<std::byte>(t);
  const size_t bytes = first.nbytes();
  for (const Element& e : elements) {
    if (bytes > 0) std::memcpy(to, e[i].impl()->data, bytes);
    to += bytes;
  }
  return t;
}

class Batch final : public Stage {
 public:
  Batch(StagePtr input, int64_t size, bool drop_remainder)
      : input_(std::move(input)), size_(size), drop_remainder_(drop_remainder) {}
  std::unique_ptr<Source> start(uint64_t pass) const override { return std::make_unique<Pass>(*this, pass); }
  std::optional<int64_t> size() const override {
    const std::optional<int64_t> elements = input_->size();
    if (!elements) return elements;
    return drop_remainder_ ? *elements / size_ : ceil_div(*elements, size_);
  }

 private:
  class Pass final : public Source {
   public:
    Pass(const Batch& stage, uint64_t pass) : stage_(stage), input_(stage.input_->start(pass)) {}
    bool next(Element& element) override {
      std::vector<Element> elements;
      while (!ended_ && static_cast<int64_t>(elements.size()) < stage_.size_) {
        Element one;
        ended_ = !input_->next(one);
        if (!ended_) elements.push_back(std::move(one));
      }
      if (elements.empty()) return false;
      if (stage_.drop_remainder_ && static_cast<int64_t>(elements.size()) < stage_.size_) return false;
      std::vector<Tensor> tensors;
      for (size_t i = 0; i < elements[0].size(); ++i) tensors.push_back(stacked(elements, i));
      element = Element(std::move(tensors));
      return true;
    }

   private:
    const Batch& stage_;
    std::unique_ptr<Source> input_;
    bool ended_ = false;
  };

  StagePtr input_;
  int64_t size_;
  bool drop_remainder_;
};

class Repeat final : public Stage {
 public:
  // No number: without end.
  Repeat(StagePtr input, std::optional<int64_t> times) : input_(std::move(input)), times_(times) {}
  std::unique_ptr<Source> start(uint64_t pass) const override { return std::make_unique<Pass>(*this, pass); }
  std::optional<int64_t> size() const override {
    const std::optional<int64_t> once = input_->size();
    if (times_ == 0 || once == 0) return 0;
    if (!times_ || !once) return std::nullopt;
    int64_t all;
    return __builtin_mul_overflow(*times_, *once, &all) ? INT64_MAX : all;
  }

 private:
  class Pass final : public Source {
   public:
    Pass(const Repeat& stage, uint64_t pass) : stage_(stage), pass_(mixed(pass)) {}
    bool next(Element& element) override {
      for (;;) {
        if (input_ == nullptr) {
          if (stage_.times_ && static_cast<uint64_t>(*stage_.times_) == begun_) return false;
          input_ = stage_.input_->start(pass_ + begun_++);
          gave_ = false;
        }
        if (input_->next(element)) return gave_ = true;
        // What is empty now is so the next time: without this an endless repetition of nothing would not end.
        if (!gave_) return false;
        input_.reset();
      }
    }

   private:
    const Repeat& stage_;
    uint64_t pass_, begun_ = 0;
    std::unique_ptr<Source> input_;
    bool gave_ = false;
  };

  StagePtr input_;
  std::optional<int64_t> times_;
};

// The elements from `first` on, at most `count` of them.
class Part final : public Stage {
 public:
  Part(StagePtr input, int64_t first, int64_t count) : input_(std::move(input)), first_(first), count_(count) {}
  std::unique_ptr<Source> start(uint64_t pass) const override { return std::make_unique<Pass>(*this, pass); }
  std::optional<int64_t> size() const override {
    const std::optional<int64_t> all = input_->size();
    if (all) return std::min(count_, std::max<int64_t>(*all - first_, 0));
    return count_ < INT64_MAX ? std::optional(count_) : std::nullopt;
  }

 private:
  class Pass final : public Source {
   public:
    Pass(const Part& stage, uint64_t pass)
        : skip_(stage.first_), take_(stage.count_), input_(stage.input_->start(pass)) {}
    bool next(Element& element) override {
      for (; skip_ > 0; --skip_) {
        if (!input_->next(element)) return false;
        throw_if_cancelled();
      }
      return take_-- > 0 && input_->next(element);
    }

   private:
    int64_t skip_, take_;
    std::unique_ptr<Source> input_;
  };

  StagePtr input_;
  int64_t first_, count_;
};

}  // namespace

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

StagePtr slices(std::vector<Tensor> tensors) { return std::make_shared<Slices>(std::move(tensors)); }
StagePtr map(StagePtr input, ElementFunction function) {
  return std::make_shared<Map>(std::move(input), std::move(function));
}
StagePtr shuffle(StagePtr input, int64_t buffer, uint64_t seed) {
  return std::make_shared<Shuffle>(std::move(input), buffer, seed);
}
StagePtr batch(StagePtr input, int64_t size, bool drop_remainder) {
  return std::make_shared<Batch>(std::move(input), size, drop_remainder);
}
StagePtr repeat(StagePtr input, std::optional<int64_t> times) {
  return std::make_shared<Repeat>(std::move(input), times);
}
StagePtr part(StagePtr input, int64_t first, int64_t count) {
  return std::make_shared<Part>(std::move(input), first, count);
}

}  // namespace panto::data
