#include "panto/nn/data/dataset.h"

#include <atomic>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/recorder.h"
#include "panto/lib/core/tensor/print.h"
#include "panto/lib/ops/random/random.h"
#include "panto/nn/data/stage.h"

namespace panto {

// ---- Element -------------------------------------------------------------------------------------------------------

std::vector<Tensor>::const_iterator Element::begin() const { return tensors_.begin(); }
std::vector<Tensor>::const_iterator Element::end() const { return tensors_.end(); }
Element detail::to_element(std::vector<Tensor> tensors) { return Element(std::move(tensors)); }
Element::Element(std::vector<Tensor> tensors) : tensors_(std::move(tensors)) {}
Element::Element(std::initializer_list<Tensor> tensors) : tensors_(tensors) {}
Element::Element(Tensor tensor) { tensors_.push_back(std::move(tensor)); }

const Tensor& Element::operator[](size_t i) const {
  if (i >= tensors_.size()) failf(Code::kOutOfRange, "element: expected a tensor in [0, {}), got {}", size(), i);
  return tensors_[i];
}

void Element::expect_size(size_t count) const {
  if (size() != count) invalid("element: expected one of {} tensors, got {}", count, to_string());
}

Element::operator Tensor() const {
  expect_size(1);
  return tensors_[0];
}

Tensor& Element::of_pair(size_t i) {
  expect_size(2);
  return tensors_[i];
}

const Tensor& Element::of_pair(size_t i) const {
  expect_size(2);
  return tensors_[i];
}

std::string Element::to_string() const {
  std::string text = "(";
  for (const Tensor& t : tensors_) {
    text += fmt::format("{}{}", text.size() > 1 ? ", " : "",
                        t.defined() ? type_text(t.dtype(), t.partial_shape()) : "undefined");
  }
  return text + ")";
}

// ---- Dataset -------------------------------------------------------------------------------------------------------

struct Dataset::Impl {
  explicit Impl(data::StagePtr made) : stage(std::move(made)) {}
  data::StagePtr stage;
  std::atomic<uint64_t> passes{0};
};

class Dataset::Iterator::Pass {
 public:
  Pass(std::shared_ptr<const Impl> impl, uint64_t number)
      : impl_(std::move(impl)), source_(impl_->stage->start(number)) {}
  bool next(Element& element) {
    const RecorderPause pause;
    return source_->next(element);
  }

 private:
  std::shared_ptr<const Impl> impl_;  // outlives the source
  std::unique_ptr<data::Source> source_;
};

Dataset::Dataset(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

Dataset Dataset::from_tensors(std::vector<Tensor> tensors) {
  if (tensors.empty()) invalid("from_tensors: expected at least one tensor, got none");
  const RecorderPause pause;
  for (Tensor& t : tensors) {
    if (t.is_meta()) {
      failf(Code::kFailedPrecondition, "from_tensors: expected tensors with values, got symbolic {}",
            type_text(t.dtype(), t.partial_shape()));
    }
    if (!is_plain(t.dtype()) && t.dtype() != kString) {
      invalid("from_tensors: expected numbers, bools or strings, got {}", dtype_name(t.dtype()));
    }
    if (t.rank() < 1) invalid("from_tensors: expected tensors of rank 1 or more, got a scalar");
    if (t.dim(0) != tensors[0].dim(0)) {
      invalid("from_tensors: expected the same first dimension, got shapes {} and {}", tensors[0].shape().to_string(),
              t.shape().to_string());
    }
    t = t.cpu();
  }
  return Dataset(std::make_shared<Impl>(data::slices(std::move(tensors))));
}

Dataset Dataset::from_csv(const std::string& path, const CsvOptions& options) {
  CsvTable table = read_csv(path, options);
  std::vector<Tensor> tensors = {std::move(table.values)};
  if (table.labels.defined()) tensors.push_back(std::move(table.labels));
  return from_tensors(std::move(tensors));
}

Dataset Dataset::map_elements(ElementFunction function, MapOptions options) const {
  constexpr int kMaxThreads = 1024;
  if (!function) invalid("map: expected a function, got an empty one");
  if (options.threads < 1 || options.threads > kMaxThreads) {
    invalid("map: expected 1 to {} threads, got {}", kMaxThreads, options.threads);
  }
  data::StagePtr stage;
  if (options.threads == 1) {
    stage = data::map(impl_->stage, std::move(function));
  } else {
    stage = data::parallel_map(impl_->stage, std::move(function), options.threads);
  }
  return Dataset(std::make_shared<Impl>(std::move(stage)));
}

Dataset Dataset::shuffle(int64_t buffer) const {
  const RecorderPause pause;
  const auto halves = random_uniform({2}, {.dtype = kFloat64}).cpu().to_vector<double>();
  const auto part = [](double x) { return static_cast<uint64_t>(x * 0x1p32); };
  return shuffle(buffer, part(halves[0]) << 32 | part(halves[1]));
}

Dataset Dataset::shuffle(int64_t buffer, uint64_t seed) const {
  if (buffer < 1) invalid("shuffle: expected a positive buffer, got {}", buffer);
  return Dataset(std::make_shared<Impl>(data::shuffle(impl_->stage, buffer, seed)));
}

Dataset Dataset::batch(int64_t size, BatchOptions options) const {
  if (size < 1) invalid("batch: expected a positive size, got {}", size);
  return Dataset(std::make_shared<Impl>(data::batch(impl_->stage, size, options.drop_remainder)));
}

Dataset Dataset::repeat() const { return Dataset(std::make_shared<Impl>(data::repeat(impl_->stage, std::nullopt))); }

Dataset Dataset::repeat(int64_t times) const {
  if (times < 0) invalid("repeat: expected a number of times of at least 0, got {}", times);
  return Dataset(std::make_shared<Impl>(data::repeat(impl_->stage, times)));
}

Dataset Dataset::take(int64_t count) const {
  if (count < 0) invalid("take: expected a count of at least 0, got {}", count);
  return Dataset(std::make_shared<Impl>(data::part(impl_->stage, 0, count)));
}

Dataset Dataset::skip(int64_t count) const {
  if (count < 0) invalid("skip: expected a count of at least 0, got {}", count);
  return Dataset(std::make_shared<Impl>(data::part(impl_->stage, count, INT64_MAX)));
}

Dataset Dataset::prefetch(int64_t count) const {
  if (count < 1) invalid("prefetch: expected a positive count, got {}", count);
  return Dataset(std::make_shared<Impl>(data::prefetch(impl_->stage, count)));
}

std::optional<int64_t> Dataset::size() const { return impl_->stage->size(); }

std::string Dataset::to_string() const {
  const std::optional<int64_t> n = size();
  return n ? fmt::format("Dataset of {} element{}", *n, *n == 1 ? "" : "s") : "Dataset without end";
}

Dataset::Iterator::Iterator(std::shared_ptr<Pass> pass) : pass_(std::move(pass)) { ++*this; }

Dataset::Iterator& Dataset::Iterator::operator++() {
  if (pass_ == nullptr) fail(Code::kOutOfRange, "dataset: expected an iterator before the end, got one at the end");
  // Also where it throws: the pass is over.
  const SharedImpl<Pass> pass = std::move(pass_);
  Element next;
  if (!pass->next(next)) {
    element_ = Element();
    return *this;
  }
  element_ = std::move(next);
  pass_ = pass;
  return *this;
}

Dataset::Iterator Dataset::begin() const {
  return Iterator(std::make_shared<Iterator::Pass>(impl_.shared(), impl_->passes.fetch_add(1)));
}

}  // namespace panto
