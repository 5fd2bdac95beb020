// Sources that read files, one after the other. Internal.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "panto/nn/data/stages/stage.h"

namespace panto::data {

StagePtr lines(std::vector<std::string> files, const LineOptions& options);
StagePtr records(std::vector<std::string> files, const RecordOptions& options);
StagePtr fixed_records(std::vector<std::string> files, int64_t bytes, const FixedRecordOptions& options);
StagePtr csv_rows(std::vector<std::string> files, std::vector<CsvColumn> columns, const CsvRowOptions& options);

// A source whose elements a Reader reads from files. Reader has a type Options, is constructed from a path and these
// (which opens the file), and has `bool read(Element&)`, `save` and `restore` as a Source.
template <class Reader>
class Files final : public Stage {
 public:
  using Options = typename Reader::Options;
  Files(std::string_view name, std::vector<std::string> files, Options options)
      : name_(name), files_(std::move(files)), options_(std::move(options)) {}
  std::unique_ptr<Source> start(uint64_t /*pass*/) const override { return std::make_unique<Pass>(*this); }
  int64_t size() const override { return files_.empty() ? 0 : kUnknown; }

 private:
  class Pass final : public Source {
   public:
    explicit Pass(const Files& stage) : stage_(stage) {}
    bool next(Element& element) override {
      for (;;) {
        if (!reader_) {
          if (file_ == stage_.files_.size()) return false;
          reader_.emplace(stage_.files_[file_], stage_.options_);
        }
        if (reader_->read(element)) return true;
        reader_.reset();
        ++file_;
      }
    }
    void save(StateWriter& to) override {
      to.stage(stage_.name_);
      to.number(stage_.files_.size());
      to.number(file_);
      to.flag(reader_.has_value());
      if (reader_) reader_->save(to);
    }
    void restore(StateReader& from) override {
      from.stage(stage_.name_);
      from.expect("number of files", stage_.files_.size());
      file_ = static_cast<size_t>(from.count(static_cast<int64_t>(stage_.files_.size())));
      if (!from.flag()) return;
      if (file_ == stage_.files_.size()) StateReader::damaged("a file", "one more");
      reader_.emplace(stage_.files_[file_], stage_.options_);
      reader_->restore(from);
    }

   private:
    const Files& stage_;
    size_t file_ = 0;
    std::optional<Reader> reader_;
  };

  std::string_view name_;
  std::vector<std::string> files_;
  Options options_;
};

}  // namespace panto::data
