// Caches elements in memory, or in a file of records.
//
// Every pass yields the elements of the input's first pass, whether they are cached or recomputed. So it does not
// matter which pass fills the cache, or whether one was left early.
#include <functional>
#include <mutex>
#include <optional>

#include "panto/lib/base/file.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/io/record_file.h"
#include "panto/lib/core/step/cancel.h"
#include "panto/nn/data/stages/stage.h"

namespace panto::data {
namespace {

constexpr std::string_view kHead = "panto.cache.1", kElement = "+", kEnd = "=";

// The cached elements. At most one pass at a time fills the store.
class Store {
 public:
  virtual ~Store() = default;
  // Reads the cached elements from number `first` on; empty while the cache is not complete.
  virtual std::function<bool(Element&)> kept(int64_t first) = 0;
  // Stores the elements that it is called with; nullptr completes the cache.
  virtual std::function<void(const Element*)> keep() = 0;

  bool claim() { return !claimed_.exchange(true); }
  void release() { claimed_ = false; }

 private:
  std::atomic<bool> claimed_{false};
};

class MemoryStore final : public Store {
 public:
  std::function<bool(Element&)> kept(int64_t first) override {
    const std::lock_guard lock(mutex_);
    if (kept_ == nullptr) return {};
    if (first > static_cast<int64_t>(kept_->size())) {
      invalid("state: expected a position among {} elements, got {}", kept_->size(), first);
    }
    return [kept = kept_, at = static_cast<size_t>(first)](Element& element) mutable {
      if (at == kept->size()) return false;
      element = (*kept)[at++];
      return true;
    };
  }
  std::function<void(const Element*)> keep() override {
    return [this, made = std::make_shared<std::vector<Element>>()](const Element* element) {
      if (element != nullptr) {
        made->push_back(*element);
        return;
      }
      const std::lock_guard lock(mutex_);
      kept_ = made;
    };
  }

 private:
  std::mutex mutex_;
  std::shared_ptr<const std::vector<Element>> kept_;
};

class FileStore final : public Store {
 public:
  explicit FileStore(std::string path) : path_(std::move(path)) {}

  std::function<bool(Element&)> kept(int64_t first) override {
    if (!is_file(path_)) return {};
    auto file = std::make_shared<RecordReader>(path_);
    std::string record;
    if (!file->read(record) || record != kHead) damaged("a cache of elements", "another file");
    for (int64_t i = 0; i < first; ++i) {
      if (!file->read(record) || !record.starts_with(kElement)) {
        invalid("state: expected a position among {} elements of file '{}', got {}", i, path_, first);
      }
    }
    return [this, file](Element& element) {
      std::string bytes;
      if (!file->read(bytes)) damaged("a record that ends it", "the end of the file");
      if (bytes == kEnd) return false;
      if (!bytes.starts_with(kElement)) damaged("a record of an element", "another one");
      with_context([&] { return fmt::format("in file '{}'", printable(path_)); },
                   [&] {
                     StateReader from(std::string_view(bytes).substr(kElement.size()));
                     element = from.element();
                     from.finish();
                   });
      return true;
    };
  }
  std::function<void(const Element*)> keep() override {
    auto file = std::make_shared<RecordWriter>(path_);
    file->write(kHead);
    return [file](const Element* element) {
      if (element == nullptr) {
        file->write(kEnd);
        file->close();
        return;
      }
      StateWriter to;
      to.element(*element);
      file->write(std::string(kElement) + to.finish());
    };
  }

 private:
  [[noreturn]] void damaged(std::string_view expected, std::string_view got) const {
    failf(Code::kDataLoss, "file '{}': expected {}, got {}", path_, expected, got);
  }
  std::string path_;
};

class Cache final : public Stage {
 public:
  Cache(StagePtr input, std::unique_ptr<Store> store) : input_(std::move(input)), store_(std::move(store)) {}
  std::unique_ptr<Source> start(uint64_t /*pass*/) const override { return std::make_unique<Pass>(*this); }
  int64_t size() const override { return input_->size(); }

 private:
  class Pass final : public Source {
   public:
    explicit Pass(const Cache& stage) : stage_(stage), input_(stage.input_->start(0)) {}
    ~Pass() override {
      if (keep_) stage_.store_->release();
    }
    bool next(Element& element) override {
      if (!begun_) begin();
      if (kept_) {
        if (!kept_(element)) return false;
        ++at_;
        return true;
      }
      if (!make(element)) return false;
      ++at_;
      return true;
    }
    // Saves a number and the input's initial state: the elements are cached, or are computed again.
    void save(StateWriter& to) override {
      to.stage("cache");
      to.number(static_cast<uint64_t>(at_));
      fresh().save(to);
    }
    void restore(StateReader& from) override {
      from.stage("cache");
      at_ = from.count();
      input_->restore(from);
    }

   private:
    // The input's state before its first element in its first pass, which includes seeds that were drawn.
    Source& fresh() {
      if (begun_) first_ = stage_.input_->start(0);
      return begun_ ? *first_ : *input_;
    }
    void begin() {
      begun_ = true;
      kept_ = stage_.store_->kept(at_);
      if (kept_) {
        input_.reset();
        return;
      }
      if (stage_.store_->claim()) {
        try {
          keep_ = stage_.store_->keep();
        } catch (...) {
          stage_.store_->release();
          throw;
        }
      }
      for (int64_t i = 0; i < at_; ++i) {
        Element again;
        if (!make(again)) invalid("state: expected a position among {} elements, got {}", i, at_);
        throw_if_cancelled();
      }
    }
    bool make(Element& element) {
      const bool made = input_->next(element);
      if (keep_) keep_(made ? &element : nullptr);
      if (!made && keep_) {
        keep_ = {};
        stage_.store_->release();
      }
      return made;
    }

    const Cache& stage_;
    std::unique_ptr<Source> input_, first_;
    std::function<bool(Element&)> kept_;
    std::function<void(const Element*)> keep_;  // set while this pass has the claim
    int64_t at_ = 0;
    bool begun_ = false;
  };

  StagePtr input_;
  std::unique_ptr<Store> store_;
};

}  // namespace

StagePtr cache(StagePtr input) { return std::make_shared<Cache>(std::move(input), std::make_unique<MemoryStore>()); }
StagePtr cache(StagePtr input, const std::string& file) {
  return std::make_shared<Cache>(std::move(input), std::make_unique<FileStore>(file));
}

}  // namespace panto::data
