#include "panto/nn/training/loop/batches.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "panto/lib/base/text/format.h"
#include "panto/lib/ops/arrays.h"

namespace panto {

TrainingData::TrainingData() = default;
TrainingData::TrainingData(Dataset batches) : batches_(std::move(batches)) {}
TrainingData::TrainingData(Tensor x) : tensors_{std::move(x)} {}
TrainingData::TrainingData(std::initializer_list<Tensor> tensors) : tensors_(tensors) {}
TrainingData::TrainingData(std::vector<Tensor> tensors) : tensors_(std::move(tensors)) {}

namespace loop {

const char* name_of(size_t i, const Layout& layout) {
  const auto at = static_cast<int64_t>(i);
  return at < layout.inputs ? "inputs" : at < layout.inputs + layout.targets ? "targets" : "weights";
}

namespace {

// Throws unless the number of tensors fits inputs, targets and weights (trailing ones may be missing).
void check_count(const char* what, int64_t count, bool needs_targets, const Layout& layout) {
  const auto [inputs, targets] = layout;
  if (count == 0) invalid("{}: expected data, got none", what);
  const bool fits =
      count == inputs || count == inputs + targets || count == inputs + targets + 1 || count == inputs + 2 * targets;
  if (inputs == 1 && targets == 1) {
    if (!fits) invalid("{}: expected inputs, targets and weights, got {} tensors", what, count);
    if (needs_targets && count < 2) {
      invalid("{}: expected inputs and targets, {{x, y}}, got inputs without targets", what);
    }
  } else if (!fits || (needs_targets && count == inputs)) {
    invalid("{}: expected {} inputs, {} targets and weights, none, one or {}, got {} tensors", what, inputs, targets,
            targets, count);
  }
}

// Returns the number of samples. Throws unless all tensors have the same number.
int64_t check_samples(const char* what, const std::vector<Tensor>& tensors, const Layout& layout) {
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& t = tensors[i];
    const char* name = name_of(i, layout);
    if (!t.defined()) invalid("{}: expected a tensor of {}, got an undefined one", what, name);
    if (t.is_meta()) failf(Code::kFailedPrecondition, "{}: expected values, got symbolic {}", what, name);
    if (t.shape().rank() < 1) invalid("{}: expected {} with a first dimension, of samples, got a scalar", what, name);
    if (t.shape()[0] != tensors[0].shape()[0]) {
      invalid("{}: expected as many {} as inputs, got {} beside {}", what, name, whole(t.shape().to_string()),
              whole(tensors[0].shape().to_string()));
    }
  }
  return tensors[0].shape()[0];
}

class OfTensors final : public Batches {
 public:
  OfTensors(std::vector<Tensor> tensors, int64_t samples, int64_t batch_size, bool shuffle)
      : tensors_(std::move(tensors)), samples_(samples), batch_size_(batch_size) {
    if (!shuffle) return;
    // Shuffles sample numbers, with the same generator as other data.
    std::vector<int64_t> numbers(static_cast<size_t>(samples));
    std::iota(numbers.begin(), numbers.end(), int64_t{0});
    orders_ = Dataset::from_tensors({tensor(numbers)}).shuffle(samples).batch(batch_size);
  }

  void restart() override {
    first_ = 0;
    if (orders_) order_.emplace(orders_->begin());
  }

  bool next(Batch& batch) override {
    if (first_ >= samples_) return false;
    const int64_t end = std::min(first_ + batch_size_, samples_);
    batch.tensors.clear();
    for (const Tensor& t : tensors_) {
      batch.tensors.push_back(order_ ? gather(t, (**order_)[0]) : t(Slice(first_, end)));
    }
    if (order_) ++*order_;
    first_ = end;
    return true;
  }

  std::optional<int64_t> size() const override { return (samples_ + batch_size_ - 1) / batch_size_; }

 private:
  std::vector<Tensor> tensors_;
  int64_t samples_, batch_size_;
  int64_t first_ = 0;
  std::optional<Dataset> orders_;
  std::optional<Dataset::Iterator> order_;
};

class OfDataset final : public Batches {
 public:
  OfDataset(const char* what, Dataset batches, bool needs_targets, Layout layout)
      : what_(what), batches_(std::move(batches)), needs_targets_(needs_targets), layout_(layout) {}

  void restart() override { at_.emplace(batches_.begin()); }

  bool next(Batch& batch) override {
    if (*at_ == Dataset::end()) return false;
    const Element& element = **at_;
    batch.tensors.assign(element.begin(), element.end());
    check_count(what_, std::ssize(batch.tensors), needs_targets_, layout_);
    if (check_samples(what_, batch.tensors, layout_) == 0)
      invalid("{}: expected batches with samples, got an empty one", what_);
    ++*at_;
    return true;
  }

  std::optional<int64_t> size() const override { return batches_.size(); }

 private:
  const char* what_;
  Dataset batches_;
  bool needs_targets_;
  Layout layout_;
  std::optional<Dataset::Iterator> at_;
};

}  // namespace

std::unique_ptr<Batches> batches_of(const char* what, const TrainingData& data, int64_t batch_size, bool shuffle,
                                    bool needs_targets, Layout layout) {
  if (data.batches()) {
    if (data.batches()->size() == 0) invalid("{}: expected batches, got an empty Dataset", what);
    return std::make_unique<OfDataset>(what, *data.batches(), needs_targets, layout);
  }
  check_count(what, std::ssize(data.tensors()), needs_targets, layout);
  const int64_t samples = check_samples(what, data.tensors(), layout);
  if (samples == 0) invalid("{}: expected samples, got none: {}", what, whole(data.tensors()[0].shape().to_string()));
  return std::make_unique<OfTensors>(data.tensors(), samples, batch_size, shuffle);
}

std::pair<TrainingData, TrainingData> split(const TrainingData& data, double share, Layout layout) {
  if (data.batches()) {
    invalid("validation_split: expected tensors, got a Dataset (take and skip divide it, and {{.validation = ...}})");
  }
  check_count("fit", std::ssize(data.tensors()), true, layout);
  const int64_t samples = check_samples("fit", data.tensors(), layout);
  const auto kept = static_cast<int64_t>(std::floor(static_cast<double>(samples) * (1 - share)));
  if (kept < 1 || kept >= samples) {
    invalid("validation_split: expected samples on both sides, got {} of {} for training", kept, samples);
  }
  std::vector<Tensor> first, last;
  for (const Tensor& t : data.tensors()) {
    first.push_back(t(Slice(0, kept)));
    last.push_back(t(Slice(kept, samples)));
  }
  return {TrainingData(std::move(first)), TrainingData(std::move(last))};
}

}  // namespace loop
}  // namespace panto
