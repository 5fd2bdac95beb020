// Stages that combine elements: batches, padded batches, buckets, windows; and unbatch.
#include <algorithm>
#include <deque>

#include "panto/lib/base/checked.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/step/cancel.h"
#include "panto/lib/core/tensor/tensor_alloc.h"
#include "panto/nn/data/stages/stage.h"

namespace panto::data {
namespace {

void save_all(StateWriter& to, const std::vector<Element>& elements) {
  to.number(elements.size());
  for (const Element& e : elements) to.element(e);
}
std::vector<Element> restore_all(StateReader& from) {
  std::vector<Element> elements;
  for (int64_t left = from.count(); left > 0; --left) elements.push_back(from.element());
  return elements;
}

// Combines each `size` elements with `make`.
class Batch final : public Stage {
 public:
  using Make = Callable<Element(const std::vector<Element>&)>;
  Batch(std::string_view name, StagePtr input, int64_t size, bool drop_remainder, Make make)
      : name_(name), input_(std::move(input)), size_(size), drop_remainder_(drop_remainder), make_(std::move(make)) {}
  std::unique_ptr<Source> start(uint64_t pass) const override { return std::make_unique<Pass>(*this, pass); }
  int64_t size() const override {
    const int64_t elements = input_->size();
    if (elements < 0) return elements;
    return drop_remainder_ ? elements / size_ : ceil_div(elements, size_);
  }

 private:
  class Pass final : public Source {
   public:
    Pass(const Batch& stage, uint64_t pass) : stage_(stage), input_(stage.input_->start(pass)) {}
    bool next(Element& element) override {
      elements_.clear();
      while (!ended_ && static_cast<int64_t>(elements_.size()) < stage_.size_) {
        ended_ = !input_->next(elements_.emplace_back());
        if (ended_) elements_.pop_back();
      }
      if (elements_.empty()) return false;
      if (stage_.drop_remainder_ && static_cast<int64_t>(elements_.size()) < stage_.size_) return false;
      element = stage_.make_(elements_);
      elements_.clear();  // their memory serves the next ones
      return true;
    }
    void save(StateWriter& to) override {
      to.stage(stage_.name_);
      to.number(static_cast<uint64_t>(stage_.size_));
      to.flag(ended_);
      input_->save(to);
    }
    void restore(StateReader& from) override {
      from.stage(stage_.name_);
      from.expect("size of batches", static_cast<uint64_t>(stage_.size_));
      ended_ = from.flag();
      input_->restore(from);
    }

   private:
    const Batch& stage_;
    std::unique_ptr<Source> input_;
    std::vector<Element> elements_;  // of the batch that is being made; kept for its capacity
    bool ended_ = false;
  };

  std::string_view name_;
  StagePtr input_;
  int64_t size_;
  bool drop_remainder_;
  Make make_;
};

class Buckets final : public Stage {
 public:
  Buckets(StagePtr input, ElementLength length, std::vector<int64_t> bounds, std::vector<int64_t> sizes,
          const BucketOptions& options)
      : input_(std::move(input)),
        length_(std::move(length)),
        bounds_(std::move(bounds)),
        sizes_(std::move(sizes)),
        options_(options) {
    sizes_.resize(bounds_.size() + 1, sizes_[0]);
  }
  std::unique_ptr<Source> start(uint64_t pass) const override { return std::make_unique<Pass>(*this, pass); }
  int64_t size() const override { return input_->size() == 0 ? 0 : kUnknown; }

 private:
  class Pass final : public Source {
   public:
    Pass(const Buckets& stage, uint64_t pass)
        : stage_(stage), input_(stage.input_->start(pass)), buckets_(stage.sizes_.size()) {}
    bool next(Element& element) override {
      while (!ended_) {
        Element one;
        ended_ = !input_->next(one);
        if (ended_) break;
        const size_t i = stage_.bucket_of(one, number_++);
        buckets_[i].push_back(std::move(one));
        if (static_cast<int64_t>(buckets_[i].size()) == stage_.sizes_[i]) return give(i, element);
        throw_if_cancelled();
      }
      if (stage_.options_.drop_remainder) return false;
      const auto left = std::ranges::find_if(buckets_, [](const auto& bucket) { return !bucket.empty(); });
      return left != buckets_.end() && give(static_cast<size_t>(left - buckets_.begin()), element);
    }
    void save(StateWriter& to) override {
      to.stage("bucket_by_length");
      to.number(buckets_.size());
      to.number(static_cast<uint64_t>(number_));
      to.flag(ended_);
      for (const std::vector<Element>& bucket : buckets_) save_all(to, bucket);
      input_->save(to);
    }
    void restore(StateReader& from) override {
      from.stage("bucket_by_length");
      from.expect("number of buckets", buckets_.size());
      number_ = from.count();
      ended_ = from.flag();
      for (size_t i = 0; i < buckets_.size(); ++i) {
        buckets_[i] = restore_all(from);
        if (static_cast<int64_t>(buckets_[i].size()) >= stage_.sizes_[i]) {
          invalid("state: expected fewer than {} elements in bucket {}, got {}", stage_.sizes_[i], i,
                  buckets_[i].size());
        }
      }
      input_->restore(from);
    }

   private:
    bool give(size_t i, Element& element) {
      const std::vector<Element> elements = std::move(buckets_[i]);
      buckets_[i].clear();
      element = stage_.batch_of(elements, i);
      return true;
    }

    const Buckets& stage_;
    std::unique_ptr<Source> input_;
    std::vector<std::vector<Element>> buckets_;
    int64_t number_ = 0;
    bool ended_ = false;
  };

  size_t bucket_of(const Element& element, int64_t number) const {
    return with_context(
        [&] { return fmt::format("in bucket_by_length, element {}", number); },
        [&] {
          int64_t length = 0;
          if (length_) {
            length = length_(element);
          } else {
            if (element.size() == 0 || element[0].rank() == 0) {
              invalid("bucket_by_length: expected elements of a first dimension, got {}", element.to_string());
            }
            length = element[0].dim(0);
          }
          const auto above = std::ranges::upper_bound(bounds_, length);
          if (above == bounds_.end() && options_.pad_to_bound) {
            invalid("bucket_by_length: expected lengths below the last bound, {}, got {}", bounds_.back(), length);
          }
          return static_cast<size_t>(above - bounds_.begin());
        });
  }
  // With pad_to_bound, the first dimension of the first tensor is padded to the bucket's bound less one.
  Element batch_of(const std::vector<Element>& elements, size_t bucket) const {
    std::vector<std::vector<int64_t>> shapes;
    if (options_.pad_to_bound && elements[0][0].rank() > 0) {
      shapes.emplace_back(static_cast<size_t>(elements[0][0].rank()), -1)[0] = bounds_[bucket] - 1;
    }
    return padded("bucket_by_length", elements, shapes, options_.values);
  }

  StagePtr input_;
  ElementLength length_;
  std::vector<int64_t> bounds_, sizes_;
  BucketOptions options_;
};

class Window final : public Stage {
 public:
  Window(StagePtr input, int64_t size, int64_t shift, int64_t stride, bool drop_remainder)
      : input_(std::move(input)),
        size_(size),
        shift_(shift),
        stride_(stride),
        span_(checked_add(checked_mul(size - 1, stride, "window"), 1, "window")),
        drop_remainder_(drop_remainder) {}
  std::unique_ptr<Source> start(uint64_t pass) const override { return std::make_unique<Pass>(*this, pass); }
  int64_t size() const override {
    const int64_t n = input_->size();
    if (n < 0) return n;
    if (!drop_remainder_) return ceil_div(n, shift_);
    return n < span_ ? 0 : (n - span_) / shift_ + 1;
  }

 private:
  class Pass final : public Source {
   public:
    Pass(const Window& stage, uint64_t pass) : stage_(stage), input_(stage.input_->start(pass)) {}
    bool next(Element& element) override {
      for (; !ended_ && pass_over_ > 0; --pass_over_) {
        Element one;
        ended_ = !input_->next(one);
        throw_if_cancelled();
      }
      while (!ended_ && static_cast<int64_t>(ahead_.size()) < stage_.span_) {
        Element one;
        ended_ = !input_->next(one);
        if (!ended_) ahead_.push_back(std::move(one));
        throw_if_cancelled();
      }
      if (ahead_.empty() || (stage_.drop_remainder_ && static_cast<int64_t>(ahead_.size()) < stage_.span_)) {
        return false;
      }
      std::vector<Element> window;
      for (int64_t i = 0; i < std::min<int64_t>(stage_.span_, static_cast<int64_t>(ahead_.size()));
           i += stage_.stride_) {
        window.push_back(ahead_[static_cast<size_t>(i)]);
      }
      const int64_t drop = std::min<int64_t>(stage_.shift_, static_cast<int64_t>(ahead_.size()));
      ahead_.erase(ahead_.begin(), ahead_.begin() + drop);
      pass_over_ = stage_.shift_ - drop;
      element = stacked("window", window);
      return true;
    }
    void save(StateWriter& to) override {
      to.stage("window");
      for (const int64_t n : {stage_.size_, stage_.shift_, stage_.stride_, pass_over_}) {
        to.number(static_cast<uint64_t>(n));
      }
      to.flag(ended_);
      save_all(to, {ahead_.begin(), ahead_.end()});
      input_->save(to);
    }
    void restore(StateReader& from) override {
      from.stage("window");
      from.expect("size of windows", static_cast<uint64_t>(stage_.size_));
      from.expect("shift", static_cast<uint64_t>(stage_.shift_));
      from.expect("stride", static_cast<uint64_t>(stage_.stride_));
      pass_over_ = from.count();
      ended_ = from.flag();
      for (Element& e : restore_all(from)) ahead_.push_back(std::move(e));
      input_->restore(from);
    }

   private:
    const Window& stage_;
    std::unique_ptr<Source> input_;
    std::deque<Element> ahead_;  // from the start of the next window on
    int64_t pass_over_ = 0;      // input elements to drop before that
    bool ended_ = false;
  };

  StagePtr input_;
  int64_t size_, shift_, stride_;
  int64_t span_;  // from the first element of a window to its last
  bool drop_remainder_;
};

class Unbatch final : public Stage {
 public:
  explicit Unbatch(StagePtr input) : input_(std::move(input)) {}
  std::unique_ptr<Source> start(uint64_t pass) const override { return std::make_unique<Pass>(*this, pass); }
  int64_t size() const override { return input_->size() == 0 ? 0 : kUnknown; }

 private:
  class Pass final : public Source {
   public:
    Pass(const Unbatch& stage, uint64_t pass) : input_(stage.input_->start(pass)) {}
    bool next(Element& element) override {
      for (; slices_ == nullptr || at_ == slices_->size(); at_ = 0) {
        Element batch;
        if (!input_->next(batch)) return false;
        begin(std::move(batch));
        throw_if_cancelled();
      }
      element = slices_->at(at_++);
      return true;
    }
    void save(StateWriter& to) override {
      to.stage("unbatch");
      const bool inside = slices_ != nullptr && at_ < slices_->size();
      to.flag(inside);
      if (inside) {
        to.element(batch_);
        to.number(static_cast<uint64_t>(at_));
      }
      input_->save(to);
    }
    void restore(StateReader& from) override {
      from.stage("unbatch");
      if (from.flag()) {
        begin(from.element());
        at_ = from.count(slices_->size());
      }
      input_->restore(from);
    }

   private:
    void begin(Element batch) {
      if (batch.size() == 0) invalid("unbatch: expected elements of tensors, got one of none");
      std::vector<Tensor> tensors;
      for (const Tensor& t : batch) {
        if (t.rank() == 0 || t.dim(0) != batch[0].dim(0)) {
          invalid("unbatch: expected tensors of the same first dimension, got {}", batch.to_string());
        }
        if (!is_plain(t.dtype()) && t.dtype() != kString) {
          invalid("unbatch: expected numbers, bools or strings, got {}", dtype_name(t.dtype()));
        }
        tensors.push_back(t.device().host_memory() ? t : copy_to_device(t, cpu_device()));
      }
      slices_ = slices(std::move(tensors));
      batch_ = std::move(batch);
    }

    std::unique_ptr<Source> input_;
    Element batch_;
    StagePtr slices_;  // of the batch; null before the first batch
    int64_t at_ = 0;
  };

  StagePtr input_;
};

}  // namespace

StagePtr batch(StagePtr input, int64_t size, bool drop_remainder) {
  return std::make_shared<Batch>("batch", std::move(input), size, drop_remainder,
                                 [](const std::vector<Element>& elements) { return stacked("batch", elements); });
}
StagePtr padded_batch(StagePtr input, int64_t size, const PaddedBatchOptions& options) {
  return std::make_shared<Batch>("padded_batch", std::move(input), size, options.drop_remainder,
                                 [options](const std::vector<Element>& elements) {
                                   return padded("padded_batch", elements, options.shapes, options.values);
                                 });
}
StagePtr bucket_by_length(StagePtr input, ElementLength length, std::vector<int64_t> bounds, std::vector<int64_t> sizes,
                          const BucketOptions& options) {
  return std::make_shared<Buckets>(std::move(input), std::move(length), std::move(bounds), std::move(sizes), options);
}
StagePtr window(StagePtr input, int64_t size, const WindowOptions& options) {
  return std::make_shared<Window>(std::move(input), size, options.shift == 0 ? size : options.shift, options.stride,
                                  options.drop_remainder);
}
StagePtr unbatch(StagePtr input) { return std::make_shared<Unbatch>(std::move(input)); }

}  // namespace panto::data
