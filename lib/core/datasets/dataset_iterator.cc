#include "panto/lib/core/datasets/dataset_iterator.h"

#include <charconv>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <utility>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/collections/handle.h"
#include "panto/lib/core/step/cancel.h"
#include "panto/lib/core/step/step.h"
#include "panto/lib/core/step/stop.h"

namespace panto {
namespace {

using namespace std::chrono_literals;

// Waiting calls check this often whether their step was stopped.
constexpr auto kLookEvery = 20ms;

// Visits all datasets that `last` is made of, and `last` itself, inputs first. A dataset that is used several times is
// visited several times.
void each_stage(const DatasetValue& last, const Callable<void(const DatasetValue&)>& visit) {
  for (const DatasetHandle& input : last.inputs()) each_stage(*input, visit);
  visit(last);
}

std::vector<std::shared_ptr<datasets::SeedGenerator>> generators_of(const DatasetValue& dataset) {
  std::vector<std::shared_ptr<datasets::SeedGenerator>> all;
  each_stage(dataset, [&](const DatasetValue& stage) {
    if (auto seeds = stage.seeds()) all.push_back(std::move(seeds));
  });
  return all;
}
std::vector<datasets::SeedGenerator::State> seeds_of(const DatasetValue& dataset) {
  std::vector<datasets::SeedGenerator::State> all;
  for (const auto& seeds : generators_of(dataset)) all.push_back(seeds->state());
  return all;
}
std::string stages_of(const DatasetValue& dataset) {
  std::string all;
  each_stage(dataset, [&](const DatasetValue& stage) { all += (all.empty() ? "" : ", ") + stage.name(); });
  return all;
}

// A pass that is shared by threads: one call at a time makes an element.
class SharedPass {
 public:
  explicit SharedPass(DatasetHandle dataset)
      : seeds_(seeds_of(*dataset)), dataset_(dataset), pass_(std::move(dataset)) {}

  bool next(ElementTensors& element) {
    const Turn turn(*this);
    ++calls_;
    return pass_.next(element);
  }

  const DatasetHandle& dataset() const { return dataset_; }
  IteratorState state() {
    const Turn turn(*this);
    return {stages_of(*dataset_), calls_, seeds_};
  }
  // Repeats calls up to number `calls`, and drops their elements and errors, which an earlier pass returned already.
  void skip(uint64_t calls) {
    for (ElementTensors element; calls_ < calls;) {
      try {
        if (!next(element)) calls_ = calls;
      } catch (const Error& error) {
        if (is_stop(error)) throw;
      }
    }
  }

 private:
  class Turn {
   public:
    explicit Turn(SharedPass& pass) : pass_(pass) {
      std::unique_lock lock(pass.mutex_);
      while (pass.busy_) {
        throw_if_cancelled();
        pass.free_.wait_for(lock, kLookEvery);
      }
      pass.busy_ = true;
    }
    ~Turn() {
      {
        const std::lock_guard lock(pass_.mutex_);
        pass_.busy_ = false;
      }
      pass_.free_.notify_one();
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    SharedPass& pass_;
  };

  std::mutex mutex_;
  std::condition_variable free_;
  bool busy_ = false;
  std::vector<datasets::SeedGenerator::State> seeds_;  // as they were before the pass began
  DatasetHandle dataset_;
  DatasetPass pass_;
  uint64_t calls_ = 0;
};

// Iterators by number, to find them by their texts.
class Texts {
 public:
  static Texts& get() {
    static auto* texts = new Texts;
    return *texts;
  }
  uint64_t enter(std::weak_ptr<DatasetIterator> iterator) {
    const std::lock_guard lock(mutex_);
    all_.emplace(++last_, std::move(iterator));
    return last_;
  }
  void leave(uint64_t number) {
    const std::lock_guard lock(mutex_);
    all_.erase(number);
  }
  std::shared_ptr<DatasetIterator> find(uint64_t number) {
    const std::lock_guard lock(mutex_);
    const auto found = all_.find(number);
    return found == all_.end() ? nullptr : found->second.lock();
  }

 private:
  std::mutex mutex_;
  uint64_t last_ = 0;
  std::map<uint64_t, std::weak_ptr<DatasetIterator>> all_;
};

constexpr std::string_view kTextBegins = "panto-iterator-";

}  // namespace

struct DatasetIterator::Impl {
  std::mutex mutex;
  std::shared_ptr<SharedPass> pass;  // null: none was begun
  uint64_t number = 0;               // 0: it has no text yet
};

DatasetIterator::DatasetIterator(std::string container, std::string name, ElementSpec spec)
    : Resource(std::move(container), std::move(name)), spec_(std::move(spec)), impl_(std::make_unique<Impl>()) {}

DatasetIterator::~DatasetIterator() {
  if (impl_->number != 0) Texts::get().leave(impl_->number);
}

void DatasetIterator::begin(DatasetHandle dataset) {
  if (!spec_.types.empty()) expect_spec(spec_, dataset->spec());
  auto pass = std::make_shared<SharedPass>(std::move(dataset));
  const std::lock_guard lock(impl_->mutex);
  std::swap(impl_->pass, pass);  // the old pass is destroyed without the lock
}

void DatasetIterator::begin_first(DatasetHandle dataset) {
  if (!spec_.types.empty()) expect_spec(spec_, dataset->spec());
  auto pass = std::make_shared<SharedPass>(std::move(dataset));
  const std::lock_guard lock(impl_->mutex);
  if (impl_->pass == nullptr) std::swap(impl_->pass, pass);
}

bool DatasetIterator::begun() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->pass != nullptr;
}

bool DatasetIterator::next(ElementTensors& element) {
  std::shared_ptr<SharedPass> pass;
  {
    const std::lock_guard lock(impl_->mutex);
    pass = impl_->pass;
  }
  if (pass == nullptr) {
    fail(Code::kFailedPrecondition, "iterator: expected one that a MakeIterator has begun, got one that is not");
  }
  if (!pass->next(element)) return false;
  if (!spec_.types.empty()) expect_element(element, spec_);
  return true;
}

void DatasetIterator::end() {
  std::shared_ptr<SharedPass> pass;
  const std::lock_guard lock(impl_->mutex);
  std::swap(impl_->pass, pass);
}

IteratorState DatasetIterator::state() const {
  std::shared_ptr<SharedPass> pass;
  {
    const std::lock_guard lock(impl_->mutex);
    pass = impl_->pass;
  }
  if (pass == nullptr) {
    fail(Code::kFailedPrecondition, "iterator: expected one that a MakeIterator has begun, got one that is not");
  }
  each_stage(*pass->dataset(), [](const DatasetValue& stage) {
    if (stage.deterministic()) return;
    failf(Code::kFailedPrecondition,
          "iterator: expected stages whose order is the same each time, got {} with elements as they get ready",
          stage.name());
  });
  return pass->state();
}

void DatasetIterator::restore(const IteratorState& state) {
  DatasetHandle dataset;
  {
    const std::lock_guard lock(impl_->mutex);
    if (impl_->pass != nullptr) dataset = impl_->pass->dataset();
  }
  if (dataset == nullptr) {
    fail(Code::kFailedPrecondition, "iterator: expected one that a MakeIterator has begun, got one that is not");
  }
  const auto generators = generators_of(*dataset);
  if (stages_of(*dataset) != state.dataset() || generators.size() != state.seeds().size()) {
    invalid("serialized: expected that of a pass over {}, got one of {}", whole(stages_of(*dataset)),
            whole(state.dataset()));
  }
  for (size_t i = 0; i < generators.size(); ++i) generators[i]->restore(state.seeds()[i]);
  auto pass = std::make_shared<SharedPass>(std::move(dataset));
  pass->skip(state.calls());
  const std::lock_guard lock(impl_->mutex);
  std::swap(impl_->pass, pass);
}

IteratorState::IteratorState(std::string dataset, uint64_t calls, std::vector<datasets::SeedGenerator::State> seeds)
    : dataset_(std::move(dataset)), calls_(calls), seeds_(std::move(seeds)) {}
IteratorState::~IteratorState() = default;
std::string IteratorState::to_string() const { return fmt::format("a pass of {} after {} calls", dataset_, calls_); }

std::string DatasetIterator::handle_text() {
  const std::lock_guard lock(impl_->mutex);
  if (impl_->number == 0) impl_->number = Texts::get().enter(weak_from_this());
  return fmt::format("{}{}", kTextBegins, impl_->number);
}

std::shared_ptr<DatasetIterator> DatasetIterator::of_text(const std::string& text) {
  uint64_t number = 0;
  if (text.starts_with(kTextBegins)) {
    const char* end = text.data() + text.size();
    const auto [last, error] = std::from_chars(text.data() + kTextBegins.size(), end, number);
    if (error != std::errc() || last != end) number = 0;
  }
  if (number == 0) invalid("string_handle: expected what IteratorToStringHandle gives, got \"{}\"", text);
  auto found = Texts::get().find(number);
  if (found == nullptr) failf(Code::kNotFound, "string_handle: expected that of an iterator, got \"{}\"", text);
  return found;
}

std::shared_ptr<DatasetIterator> iterator_of(const Tensor& handle) {
  return resource_as<DatasetIterator>(handle, "iterator");
}

void expect_spec(const ElementSpec& expected, const ElementSpec& got) {
  bool same = expected.types == got.types;
  for (size_t k = 0; same && k < got.shapes.size(); ++k) {
    same = k >= expected.shapes.size() || got.shapes[k].compatible_with(expected.shapes[k]);
  }
  if (!same) invalid("dataset: expected elements of {}, got {}", whole(to_string(expected)), whole(to_string(got)));
}

}  // namespace panto
