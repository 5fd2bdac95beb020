// Rows of CSV files, read on demand.
#include <algorithm>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/io/input_stream.h"
#include "panto/lib/core/step/cancel.h"
#include "panto/nn/data/files/csv_fields.h"
#include "panto/nn/data/files/file_stages.h"

namespace panto::data {
namespace {

constexpr size_t kMaxRowBytes = size_t{1} << 26;
constexpr size_t kPieceBytes = size_t{1} << 16;

// The text of rows. A quoted field may span several lines.
class RowText {
 public:
  RowText(const std::string& path, Compression compression) : stream_(path, compression) {}

  // Returns the next row with its line end; false at the end. It returns the same row until `pass_row` or `pass_line`.
  bool read(std::string_view& row, size_t& line) {
    bool quoted = false;
    for (size_t at = begin_;; ++at) {
      if (at == text_.size()) {
        at -= begin_;
        const bool more = refill();
        at += begin_;
        if (!more) {
          if (at == begin_) return false;
          end_ = at;
          break;
        }
      }
      if (text_[at] == '"') quoted = !quoted;
      if (text_[at] == '\n' && !quoted) {
        end_ = at + 1;
        break;
      }
      if (at - begin_ >= kMaxRowBytes) {
        failf(Code::kInvalidArgument, "csv: expected a row of at most {} bytes, got more [line {}]", kMaxRowBytes,
              line_);
      }
    }
    row = std::string_view(text_).substr(begin_, end_ - begin_);
    line = line_;
    return true;
  }
  void pass_row() { pass(end_); }
  void pass_line() {
    const size_t found = text_.find('\n', begin_);
    pass(found == std::string::npos ? text_.size() : found + 1);
  }

  // The offset of the next row.
  uint64_t offset() const { return stream_.position() - (text_.size() - begin_); }
  size_t line() const { return line_; }
  void skip_to(uint64_t offset, size_t line) {
    line_ = line;
    const uint64_t here = this->offset();
    if (offset >= here && offset - here <= text_.size() - begin_) {
      begin_ += offset - here;
      return;
    }
    text_.clear();
    begin_ = 0;
    if (offset > stream_.position()) stream_.skip(offset - stream_.position());
    if (stream_.position() == offset) return;
    failf(Code::kDataLoss, "file '{}': expected byte {}, where a state says that it was read to, got {}",
          stream_.path(), offset, stream_.position());
  }

 private:
  void pass(size_t end) {
    line_ += static_cast<size_t>(std::count(text_.begin() + static_cast<std::ptrdiff_t>(begin_),
                                            text_.begin() + static_cast<std::ptrdiff_t>(end), '\n'));
    begin_ = end;
  }
  bool refill() {
    std::string piece;
    stream_.read(kPieceBytes, piece);
    text_.erase(0, begin_);
    begin_ = 0;
    text_ += piece;
    return !piece.empty();
  }

  InputStream stream_;
  std::string text_;
  size_t begin_ = 0, end_ = 0;  // of the row in `text_`
  size_t line_ = 1;             // of the row
};

class CsvRows {
 private:
  template <class Body>
  decltype(auto) in_file(Body body) {
    return with_context([&] { return fmt::format("in file '{}'", printable(path_)); }, body);
  }

 public:
  struct Options {
    std::vector<CsvColumn> columns;
    bool header;
    char separator;
    Compression compression;
    std::shared_ptr<const BadInputs> bad;
  };
  CsvRows(const std::string& path, const Options& options)
      : path_(path), text_(path, options.compression), options_(options) {
    for (const CsvColumn& c : options.columns) {
      values_.push_back(csv::values_of(c.dtype, std::nullopt));
    }
    in_file([&] {
      // Without a header the first row gives the number of columns, and is read again as data.
      std::vector<csv::Field> fields;
      std::vector<std::string> names;
      while (!read_row(fields)) {
        if (ended_ && options.header) invalid("csv: expected a line with the columns' names, got none");
        if (ended_) return;
        text_.pass_row();
      }
      for (const csv::Field& f : fields) names.push_back(options.header ? f.text : std::to_string(names.size()));
      if (options.header) text_.pass_row();
      count_ = names.size();
      for (const CsvColumn& c : options.columns) chosen_.push_back(csv::find_column(names, c.name));
    });
  }

  bool read(Element& element) {
    while (!ended_) {
      bool whole_row = false;
      try {
        if (in_file([&] { return read_one(element, whole_row); })) return true;
      } catch (const Error& error) {
        if (!options_.bad->left_out(error)) throw;
        for (const auto& v : values_) v->truncate(0);
        // After an unclosed quote, later lines of this text may be rows.
        whole_row ? text_.pass_row() : text_.pass_line();
      }
      throw_if_cancelled();
    }
    return false;
  }
  void save(StateWriter& to) const {
    to.number(text_.offset());
    to.number(text_.line());
  }
  void restore(StateReader& from) {
    const uint64_t offset = from.number();
    text_.skip_to(offset, from.number());
  }

 private:
  // Returns false for an empty line, and at the end.
  bool read_row(std::vector<csv::Field>& fields) {
    std::string_view row;
    size_t line = 0;
    ended_ = !text_.read(row, line);
    return !ended_ && csv::LineReader(row, options_.separator, line).read(fields);
  }
  bool read_one(Element& element, bool& whole_row) {
    if (!read_row(fields_)) {
      if (!ended_) text_.pass_row();
      return false;
    }
    whole_row = true;
    if (fields_.size() != count_) {
      invalid("csv: expected {} fields, got {} [line {}]", count_, fields_.size(), fields_[0].line);
    }
    for (size_t i = 0; i < values_.size(); ++i) {
      const CsvColumn& c = options_.columns[i];
      csv::add(*values_[i], fields_[chosen_[i]], c.dtype, c.name, c.missing);
    }
    std::vector<Tensor> tensors;
    tensors.reserve(values_.size());
    for (const auto& v : values_) tensors.push_back(v->finish(Shape()));
    element = Element(std::move(tensors));
    text_.pass_row();
    return true;
  }

  std::string path_;
  RowText text_;
  const Options& options_;
  std::vector<std::unique_ptr<csv::Values>> values_;
  std::vector<csv::Field> fields_;
  size_t count_ = 0;
  std::vector<size_t> chosen_;
  bool ended_ = false;
};

}  // namespace

StagePtr csv_rows(std::vector<std::string> files, std::vector<CsvColumn> columns, const CsvRowOptions& options) {
  csv::check_separator(options.separator);
  if (columns.empty()) invalid("csv: expected at least one column, got none");
  for (const CsvColumn& c : columns) {
    if (c.missing && !csv::values_of(c.dtype, std::nullopt)->add(*c.missing)) {
      invalid("csv: expected a default of column '{}' that is {}, got '{}'", c.name, dtype_name(c.dtype), *c.missing);
    }
  }
  return std::make_shared<Files<CsvRows>>(
      "from_csv_rows", std::move(files),
      CsvRows::Options{std::move(columns), options.header, options.separator, options.compression,
                       std::make_shared<const BadInputs>("from_csv_rows", options.skip_bad, options.on_bad)});
}

}  // namespace panto::data
