#include "panto/nn/data/dataset.h"

#include <algorithm>
#include <mutex>

#include "panto/lib/base/file.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/recorder.h"
#include "panto/lib/core/io/npy.h"
#include "panto/lib/core/tensor/print.h"
#include "panto/lib/ops/random/random.h"
#include "panto/nn/data/files/file_stages.h"
#include "panto/nn/data/stages/stage.h"
#include "panto/nn/data/stages/state.h"

namespace panto {

// ---- Sources -------------------------------------------------------------------------------------------------------

namespace {

std::string state_of(uint64_t number, data::Source& source) {
  data::StateWriter to;
  to.number(number);
  source.save(to);
  return to.finish();
}

// The state at the start of a pass.
std::string state_before(const data::Stage& stage, uint64_t number) { return state_of(number, *stage.start(number)); }

}  // namespace

class Dataset::Iterator::Pass {
 public:
  Pass(data::StagePtr stage, uint64_t number)
      : stage_(std::move(stage)), number_(number), source_(stage_->start(number)) {}
  // Continues at a saved state. Throws as data::StateReader.
  Pass(data::StagePtr stage, data::StateReader& state) : Pass(std::move(stage), state.number()) {
    source_->restore(state);
    state.finish();
  }

  uint64_t number() const { return number_; }
  // Returns false at the end. After it throws, the pass is over.
  bool next(Element& element);
  std::string state();

 private:
  data::StagePtr stage_;  // outlives the source
  uint64_t number_;

  std::mutex mutex_;                      // guards the members below: another thread may ask for the state
  std::unique_ptr<data::Source> source_;  // null when the pass is over
  bool failed_ = false;
};

struct Dataset::Impl {
  explicit Impl(data::StagePtr made) : stage(std::move(made)) {}

  data::StagePtr stage;
  std::mutex mutex;                                   // guards the members below
  uint64_t passes = 0;                                // that were begun
  std::weak_ptr<Dataset::Iterator::Pass> last;        // the last one begun
  std::shared_ptr<Dataset::Iterator::Pass> restored;  // the one to continue next
};

bool Dataset::Iterator::Pass::next(Element& element) {
  const std::lock_guard lock(mutex_);
  const RecorderPause pause;
  if (source_ == nullptr) return false;  // a copy of the iterator reached the end
  try {
    if (source_->next(element)) return true;
  } catch (...) {
    failed_ = true;
    source_ = nullptr;
    throw;
  }
  source_ = nullptr;
  return false;
}

std::string Dataset::Iterator::Pass::state() {
  const std::lock_guard lock(mutex_);
  const RecorderPause pause;
  if (failed_) fail(Code::kFailedPrecondition, "state: expected a pass that can go on, got one that failed");
  return source_ != nullptr ? state_of(number_, *source_) : state_before(*stage_, number_ + 1);
}

Dataset::Dataset(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

data::StagePtr data::StageAccess::stage(const Dataset& dataset) { return dataset.impl_->stage; }
Dataset data::StageAccess::dataset(StagePtr stage) {
  return Dataset(std::make_shared<Dataset::Impl>(std::move(stage)));
}

namespace {

Dataset made(data::StagePtr stage) { return data::StageAccess::dataset(std::move(stage)); }

}  // namespace

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
  return made(data::slices(std::move(tensors)));
}

Dataset Dataset::from_csv(const std::string& path, const CsvOptions& options) {
  CsvTable table = read_csv(path, options);
  std::vector<Tensor> tensors = {std::move(table.values)};
  if (table.labels.defined()) tensors.push_back(std::move(table.labels));
  return from_tensors(std::move(tensors));
}

Dataset Dataset::range(int64_t stop) { return range(0, stop); }

Dataset Dataset::range(int64_t start, int64_t stop, int64_t step) {
  if (step == 0) invalid("range: expected a step other than 0, got 0");
  const auto distance = static_cast<__int128>(stop) - start;
  const __int128 count =
      distance == 0 || (distance > 0) != (step > 0) ? 0 : distance / step + (distance % step != 0 ? 1 : 0);
  if (count > INT64_MAX) invalid("range: expected at most {} numbers, got more", INT64_MAX);
  return made(data::numbers(start, static_cast<int64_t>(count), step));
}

Dataset Dataset::from_streams(Callable<ElementStream()> begin, std::optional<int64_t> size) {
  if (!begin) invalid("from_streams: expected a function, got an empty one");
  if (size && *size < 0) invalid("from_streams: expected a size of at least 0, got {}", *size);
  return made(data::streams(std::move(begin), size.value_or(data::kUnknown)));
}

Dataset Dataset::from_lines(const FileNames& files, const LineOptions& options) {
  if (options.skip_lines < 0)
    invalid("from_lines: expected a number of lines of at least 0, got {}", options.skip_lines);
  return made(data::lines(files.names(), options));
}

Dataset Dataset::from_tfrecord(const FileNames& files, const RecordOptions& options) {
  return made(data::records(files.names(), options));
}

Dataset Dataset::from_fixed_records(const FileNames& files, int64_t bytes, const FixedRecordOptions& options) {
  if (bytes < 1) invalid("from_fixed_records: expected a positive number of bytes, got {}", bytes);
  constexpr auto kMost = static_cast<int64_t>(kMaxFileBytes);
  for (const int64_t n : {bytes, options.header_bytes, options.footer_bytes}) {
    if (n < 0 || n > kMost) invalid("from_fixed_records: expected 0 to {} bytes, got {}", kMost, n);
  }
  return made(data::fixed_records(files.names(), bytes, options));
}

Dataset Dataset::from_csv_rows(const FileNames& files, std::vector<CsvColumn> columns, const CsvRowOptions& options) {
  return made(data::csv_rows(files.names(), std::move(columns), options));
}

Dataset Dataset::from_npz(const std::string& path, const std::vector<std::string>& names) {
  const RecorderPause pause;
  std::vector<NamedTensor> arrays = read_npz(path);
  std::vector<Tensor> tensors;
  for (const std::string& name : names) {
    const auto found = std::ranges::find(arrays, name, &NamedTensor::first);
    if (found == arrays.end()) failf(Code::kNotFound, "file '{}': expected an array '{}', got none", path, name);
    tensors.push_back(found->second);
  }
  if (names.empty()) {
    for (NamedTensor& array : arrays) tensors.push_back(std::move(array.second));
  }
  return with_context([&] { return fmt::format("in file '{}'", printable(path)); },
                      [&] { return from_tensors(std::move(tensors)); });
}

Dataset Dataset::zip(const std::vector<Dataset>& datasets) {
  if (datasets.empty()) invalid("zip: expected at least one dataset, got none");
  std::vector<data::StagePtr> stages;
  for (const Dataset& d : datasets) stages.push_back(d.impl_->stage);
  return made(data::zip(std::move(stages)));
}

// ---- Stages --------------------------------------------------------------------------------------------------------

Dataset Dataset::map_elements(ElementFunction function, const MapOptions& options) const {
  constexpr int kMaxThreads = 1024;
  if (!function) invalid("map: expected a function, got an empty one");
  if (options.threads < 1 || options.threads > kMaxThreads) {
    invalid("map: expected 1 to {} threads, got {}", kMaxThreads, options.threads);
  }
  if (options.threads == 1) return made(data::map(impl_->stage, std::move(function), options));
  return made(data::parallel_map(impl_->stage, std::move(function), options));
}

Dataset Dataset::filter_elements(ElementPredicate predicate) const {
  if (!predicate) invalid("filter: expected a function, got an empty one");
  return made(data::filter(impl_->stage, std::move(predicate)));
}

Dataset Dataset::flat_map_elements(DatasetFunction function) const {
  if (!function) invalid("flat_map: expected a function, got an empty one");
  return made(data::interleave("flat_map", impl_->stage, std::move(function), 1, 1));
}

Dataset Dataset::interleave_elements(DatasetFunction function, InterleaveOptions options) const {
  if (!function) invalid("interleave: expected a function, got an empty one");
  if (options.cycle < 1) invalid("interleave: expected a positive cycle, got {}", options.cycle);
  if (options.block < 1) invalid("interleave: expected a positive block, got {}", options.block);
  return made(data::interleave("interleave", impl_->stage, std::move(function), options.cycle, options.block));
}

Dataset Dataset::concatenate(const Dataset& next) const {
  return made(data::concatenate(impl_->stage, next.impl_->stage));
}

Dataset Dataset::enumerate(int64_t first) const { return made(data::enumerate(impl_->stage, first)); }

Dataset Dataset::shuffle(int64_t buffer) const { return shuffle(buffer, ShuffleOptions()); }

Dataset Dataset::shuffle(int64_t buffer, uint64_t seed) const { return shuffle(buffer, ShuffleOptions{.seed = seed}); }

Dataset Dataset::shuffle(int64_t buffer, const ShuffleOptions& options) const {
  if (buffer < 1) invalid("shuffle: expected a positive buffer, got {}", buffer);
  uint64_t seed = options.seed.value_or(0);
  if (!options.seed) {
    const RecorderPause pause;
    const auto halves = random_uniform({2}, {.dtype = kFloat64}).cpu().to_vector<double>();
    const auto part = [](double x) { return static_cast<uint64_t>(x * 0x1p32); };
    seed = part(halves[0]) << 32 | part(halves[1]);
  }
  return made(data::shuffle(impl_->stage, buffer, seed, options.seed.has_value(), options.reshuffle_each_pass));
}

Dataset Dataset::batch(int64_t size, BatchOptions options) const {
  if (size < 1) invalid("batch: expected a positive size, got {}", size);
  return made(data::batch(impl_->stage, size, options.drop_remainder));
}

Dataset Dataset::padded_batch(int64_t size, const PaddedBatchOptions& options) const {
  if (size < 1) invalid("padded_batch: expected a positive size, got {}", size);
  for (const std::vector<int64_t>& shape : options.shapes) {
    for (const int64_t n : shape) {
      if (n < -1) invalid("padded_batch: expected sizes of at least 0, or -1 for the largest, got {}", n);
    }
  }
  return made(data::padded_batch(impl_->stage, size, options));
}

Dataset Dataset::bucket_by_length(std::vector<int64_t> bounds, std::vector<int64_t> sizes,
                                  const BucketOptions& options) const {
  return bucket_elements(nullptr, std::move(bounds), std::move(sizes), options);
}

Dataset Dataset::bucket_elements(ElementLength length, std::vector<int64_t> bounds, std::vector<int64_t> sizes,
                                 const BucketOptions& options) const {
  if (bounds.empty()) invalid("bucket_by_length: expected at least one bound, got none");
  for (size_t i = 0; i < bounds.size(); ++i) {
    const int64_t least = i == 0 ? 1 : bounds[i - 1] + 1;
    if (bounds[i] < least) invalid("bucket_by_length: expected a bound of at least {}, got {}", least, bounds[i]);
  }
  if (sizes.size() != 1 && sizes.size() != bounds.size() + 1) {
    invalid("bucket_by_length: expected 1 or {} sizes, got {}", bounds.size() + 1, sizes.size());
  }
  for (const int64_t n : sizes) {
    if (n < 1) invalid("bucket_by_length: expected positive sizes, got {}", n);
  }
  return made(data::bucket_by_length(impl_->stage, std::move(length), std::move(bounds), std::move(sizes), options));
}

Dataset Dataset::window(int64_t size, WindowOptions options) const {
  if (size < 1) invalid("window: expected a positive size, got {}", size);
  if (options.shift < 0) invalid("window: expected a shift of at least 0, got {}", options.shift);
  if (options.stride < 1) invalid("window: expected a positive stride, got {}", options.stride);
  return made(data::window(impl_->stage, size, options));
}

Dataset Dataset::unbatch() const { return made(data::unbatch(impl_->stage)); }

Dataset Dataset::repeat() const { return made(data::repeat(impl_->stage, data::kWithoutEnd)); }

Dataset Dataset::repeat(int64_t times) const {
  if (times < 0) invalid("repeat: expected a number of times of at least 0, got {}", times);
  return made(data::repeat(impl_->stage, times));
}

Dataset Dataset::take(int64_t count) const {
  if (count < 0) invalid("take: expected a count of at least 0, got {}", count);
  return made(data::part(impl_->stage, 0, count));
}

Dataset Dataset::skip(int64_t count) const {
  if (count < 0) invalid("skip: expected a count of at least 0, got {}", count);
  return made(data::part(impl_->stage, count, INT64_MAX));
}

Dataset Dataset::shard(int64_t count, int64_t index) const {
  if (count < 1) invalid("shard: expected a positive number of shards, got {}", count);
  if (index < 0 || index >= count) invalid("shard: expected one in [0, {}), got {}", count, index);
  return made(data::shard(impl_->stage, count, index));
}

Dataset Dataset::cache() const { return made(data::cache(impl_->stage)); }

Dataset Dataset::cache(const std::string& file) const { return made(data::cache(impl_->stage, file)); }

Dataset Dataset::prefetch(int64_t count) const {
  if (count < 1) invalid("prefetch: expected a positive count, got {}", count);
  return made(data::prefetch(impl_->stage, count));
}

std::optional<int64_t> Dataset::size() const {
  const int64_t n = impl_->stage->size();
  return n >= 0 ? std::optional(n) : std::nullopt;
}

bool Dataset::endless() const { return impl_->stage->size() == data::kEndless; }

std::string Dataset::to_string() const {
  const std::optional<int64_t> n = size();
  if (n) return fmt::format("Dataset of {} element{}", *n, *n == 1 ? "" : "s");
  return endless() ? "Dataset without end" : "Dataset of elements";
}

// ---- Passes --------------------------------------------------------------------------------------------------------

Dataset::Iterator::Iterator(std::shared_ptr<Pass> pass) : pass_(std::move(pass)), ended_(false) { ++*this; }

Dataset::Iterator& Dataset::Iterator::operator++() {
  if (ended_) fail(Code::kOutOfRange, "dataset: expected an iterator before the end, got one at the end");
  // Set first, so that the pass is also over if next() throws.
  ended_ = true;
  Element next;
  ended_ = !pass_->next(next);
  element_ = std::move(next);
  return *this;
}

std::string Dataset::Iterator::state() const { return pass_->state(); }

Dataset::Iterator Dataset::begin() const {
  std::shared_ptr<Iterator::Pass> pass;
  {
    const std::lock_guard lock(impl_->mutex);
    pass = std::move(impl_->restored);
    if (pass == nullptr) pass = std::make_shared<Iterator::Pass>(impl_->stage, impl_->passes);
    impl_->passes = pass->number() + 1;
    impl_->last = pass;
    impl_->restored = nullptr;
  }
  return Iterator(std::move(pass));
}

std::string Dataset::state() const {
  std::shared_ptr<Iterator::Pass> pass;
  uint64_t passes;
  {
    const std::lock_guard lock(impl_->mutex);
    pass = impl_->restored != nullptr ? impl_->restored : impl_->last.lock();
    passes = impl_->passes;
  }
  if (pass != nullptr) return pass->state();
  const RecorderPause pause;
  return state_before(*impl_->stage, passes);
}

void Dataset::restore(std::string_view state) const {
  const RecorderPause pause;
  data::StateReader from(state);
  auto pass = std::make_shared<Iterator::Pass>(impl_->stage, from);
  const std::lock_guard lock(impl_->mutex);
  impl_->restored = std::move(pass);
}

}  // namespace panto
