// Sources in memory: slices of tensors, numbers, and generators.
#include <span>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/step/cancel.h"
#include "panto/lib/core/tensor/tensor_alloc.h"
#include "panto/nn/data/stages/stage.h"

namespace panto::data {
namespace {

// A pass over a stage with indexed elements.
class IndexedPass final : public Source {
 public:
  IndexedPass(std::string_view name, const Stage& stage) : name_(name), stage_(stage), size_(stage.size()) {}
  bool next(Element& element) override {
    if (at_ == size_) return false;
    element = stage_.at(at_++);
    return true;
  }
  void save(StateWriter& to) override {
    to.stage(name_);
    to.number(static_cast<uint64_t>(size_));
    to.number(static_cast<uint64_t>(at_));
  }
  void restore(StateReader& from) override {
    from.stage(name_);
    from.expect("number of elements", static_cast<uint64_t>(size_));
    at_ = from.count(size_);
  }

 private:
  std::string_view name_;
  const Stage& stage_;
  int64_t size_, at_ = 0;
};

class Slices final : public Stage {
 public:
  explicit Slices(std::vector<Tensor> tensors) : tensors_(std::move(tensors)) {
    for (const Tensor& t : tensors_) {
      const std::span<const int64_t> dims = t.shape().dims();
      shapes_.emplace_back(dims.subspan(1));
    }
  }
  std::unique_ptr<Source> start(uint64_t /*pass*/) const override {
    return std::make_unique<IndexedPass>("from_tensors", *this);
  }
  int64_t size() const override { return tensors_[0].dim(0); }
  bool indexed() const override { return true; }
  Element at(int64_t i) const override {
    if (tensors_.size() == 1) return Element(slice(0, i));  // the commonest case needs no vector
    std::vector<Tensor> slices;
    slices.reserve(tensors_.size());
    for (size_t k = 0; k < tensors_.size(); ++k) slices.push_back(slice(k, i));
    return Element(std::move(slices));
  }

 private:
  Tensor slice(size_t k, int64_t i) const { return view_tensor(tensors_[k], shapes_[k], i * shapes_[k].numel()); }

  std::vector<Tensor> tensors_;
  std::vector<Shape> shapes_;
};

class Numbers final : public Stage {
 public:
  Numbers(int64_t start, int64_t count, int64_t step) : start_(start), count_(count), step_(step) {}
  std::unique_ptr<Source> start(uint64_t /*pass*/) const override {
    return std::make_unique<IndexedPass>("range", *this);
  }
  int64_t size() const override { return count_; }
  bool indexed() const override { return true; }
  Element at(int64_t i) const override { return Element(tensor(start_ + i * step_)); }

 private:
  int64_t start_, count_, step_;
};

class Streams final : public Stage {
 public:
  Streams(Callable<ElementStream()> begin, int64_t size) : begin_(std::move(begin)), size_(size) {}
  std::unique_ptr<Source> start(uint64_t /*pass*/) const override { return std::make_unique<Pass>(begin_); }
  int64_t size() const override { return size_; }

 private:
  class Pass final : public Source {
   public:
    explicit Pass(const Callable<ElementStream()>& begin) : begin_(begin) {}
    bool next(Element& element) override {
      if (!stream_) stream_ = begin_();
      for (; dropped_ < to_drop_; ++dropped_) {
        Element dropped;
        if (!stream_(dropped)) {
          invalid("state: expected a generator of at least {} elements, got one of {}", to_drop_, dropped_);
        }
        throw_if_cancelled();
      }
      if (!stream_(element)) return false;
      ++given_;
      if (element.size() == 0) invalid("from_generator: expected elements of tensors, got one of none");
      for (const Tensor& t : element) {
        if (!t.defined() || t.is_meta()) invalid("from_generator: expected tensors with values, got one without");
      }
      return true;
    }
    void save(StateWriter& to) override {
      to.stage("from_generator");
      to.number(static_cast<uint64_t>(given_));
    }
    // A generator has no saved state: runs it again and drops what it gave before.
    void restore(StateReader& from) override {
      from.stage("from_generator");
      given_ = to_drop_ = from.count();
    }

   private:
    const Callable<ElementStream()>& begin_;
    ElementStream stream_;
    int64_t given_ = 0, to_drop_ = 0, dropped_ = 0;
  };

  Callable<ElementStream()> begin_;
  int64_t size_;
};

}  // namespace

StagePtr slices(std::vector<Tensor> tensors) { return std::make_shared<Slices>(std::move(tensors)); }
StagePtr numbers(int64_t start, int64_t count, int64_t step) { return std::make_shared<Numbers>(start, count, step); }
StagePtr streams(Callable<ElementStream()> begin, int64_t size) {
  return std::make_shared<Streams>(std::move(begin), size);
}

}  // namespace panto::data
