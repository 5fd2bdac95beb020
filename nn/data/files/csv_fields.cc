#include "panto/nn/data/files/csv_fields.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/tensor/tensor_alloc.h"

namespace panto::csv {
namespace {

constexpr size_t kMaxColumns = size_t{1} << 20;

std::string shown(char c) { return fmt::format("'{}'", printable({&c, 1})); }

}  // namespace

// ---- Lines and fields ----------------------------------------------------------------------------------------------

LineReader::LineReader(std::string_view text, char separator, size_t first_line)
    : text_(text), separator_(separator), line_(first_line) {
  if (first_line == 1 && text_.starts_with("\xef\xbb\xbf")) at_ = 3;
}

bool LineReader::read(std::vector<Field>& fields) {
  while (at_ < text_.size() && take_line_end()) {
  }
  row_at_ = at_;
  row_line_ = line_;
  if (at_ >= text_.size()) return false;
  size_t count = 0;
  for (bool more = true; more; ++count) {
    if (count == kMaxColumns) fault("at most 1048576 columns", "more");
    if (fields.size() <= count) fields.emplace_back();
    more = read_field(fields[count]);
  }
  fields.resize(count);
  return true;
}

void LineReader::recover() {
  const size_t end = text_.find('\n', row_at_);
  at_ = end == std::string_view::npos ? text_.size() : end + 1;
  line_ = row_line_ + 1;
}

void LineReader::fault(std::string_view expected, std::string_view got) const {
  invalid("csv: expected {}, got {} [line {}]", expected, whole(got), line_);
}

bool LineReader::take_line_end() {
  if (text_[at_] == '\r' && at_ + 1 < text_.size() && text_[at_ + 1] == '\n') ++at_;
  if (text_[at_] != '\n') return false;
  ++at_;
  ++line_;
  return true;
}

// Returns true if another field follows on the line.
bool LineReader::read_field(Field& field) {
  field.line = line_;
  field.text.clear();
  const bool quoted = at_ < text_.size() && text_[at_] == '"';
  quoted ? read_quoted(field.text) : read_plain(field.text);
  if (at_ >= text_.size()) return false;
  if (text_[at_] == separator_) {
    ++at_;
    return true;
  }
  if (take_line_end()) return false;
  if (quoted) fault("a separator or the line's end behind the closing quote", shown(text_[at_]));
  fault(text_[at_] == '"' ? "quotes around the whole field" : "a line feed after a carriage return",
        text_[at_] == '"' ? "one inside it" : "something else");
}

void LineReader::read_plain(std::string& to) {
  const size_t begin = at_;
  while (at_ < text_.size() && text_[at_] != separator_ && text_[at_] != '\n' && text_[at_] != '\r' &&
         text_[at_] != '"') {
    ++at_;
  }
  to.assign(text_.substr(begin, at_ - begin));
}

void LineReader::read_quoted(std::string& to) {
  const size_t first = line_;
  for (++at_;; ++at_) {
    const size_t quote = text_.find('"', at_);
    if (quote == std::string_view::npos) {
      line_ = first;
      fault("a closing quote", "the end of the text");
    }
    const std::string_view part = text_.substr(at_, quote - at_);
    to.append(part);
    line_ += static_cast<size_t>(std::ranges::count(part, '\n'));
    at_ = quote + 1;
    if (at_ >= text_.size() || text_[at_] != '"') return;
    to += '"';  // the quote was doubled
  }
}

// ---- Values --------------------------------------------------------------------------------------------------------

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

namespace {

template <class T>
bool parse(std::string_view text, T& value) {
  if (text.starts_with('+') && !text.substr(1).starts_with('-')) text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end != text.data() + text.size()) return false;
  if (error == std::errc{}) return true;
  if constexpr (std::is_same_v<T, float>) {
    // Numbers too small for a float become zero or subnormal; only numbers too large for a float are refused.
    double wide;
    if (error == std::errc::result_out_of_range && parse(text, wide) &&
        std::fabs(wide) <= double{std::numeric_limits<float>::max()}) {
      value = static_cast<float>(wide);
      return true;
    }
  }
  return false;
}

template <class T>
class Numbers final : public Values {
 public:
  explicit Numbers(std::optional<double> missing) : has_missing_(missing.has_value()) {
    if (!missing) return;
    missing_ = static_cast<T>(0);
    // Compared before the conversion, which would be undefined behaviour for numbers out of range.
    constexpr double kLimit = static_cast<double>(std::numeric_limits<T>::max()) + 1.0;
    constexpr auto kLeast = static_cast<double>(std::numeric_limits<T>::lowest());
    if (std::is_integral_v<T> && !(*missing >= kLeast && *missing < kLimit && std::trunc(*missing) == *missing)) {
      invalid("csv: expected a number for missing fields that fits {}, got {}", dtype_name(dtype_of<T>), *missing);
    }
    missing_ = static_cast<T>(*missing);
  }
  bool add(std::string_view text) override {
    T value{};
    if (!parse(trimmed(text), value)) return false;
    values_.push_back(value);
    return true;
  }
  size_t size() const override { return values_.size(); }
  void truncate(size_t size) override { values_.resize(size); }
  bool add_missing() override {
    if (has_missing_) values_.push_back(missing_);
    return has_missing_;
  }
  Tensor finish(const Shape& shape) override {
    const Tensor t = allocate_tensor(cpu_device(), dtype_of<T>, shape);
    std::ranges::copy(values_, mutable_data<T>(t));
    values_.clear();
    return t;
  }

 private:
  bool has_missing_;
  T missing_{};
  std::vector<T> values_;
};

class Texts final : public Values {
 public:
  bool add(std::string_view text) override {
    values_.emplace_back(text);
    return true;
  }
  bool add_missing() override { return add(""); }
  size_t size() const override { return values_.size(); }
  void truncate(size_t size) override { values_.resize(size); }
  Tensor finish(const Shape& shape) override { return tensor_from_strings(shape, std::exchange(values_, {})); }

 private:
  std::vector<std::string> values_;
};

}  // namespace

std::unique_ptr<Values> values_of(DType dtype, std::optional<double> missing) {
  switch (dtype) {
    case kFloat32: return std::make_unique<Numbers<float>>(missing);
    case kFloat64: return std::make_unique<Numbers<double>>(missing);
    case kInt8: return std::make_unique<Numbers<int8_t>>(missing);
    case kInt16: return std::make_unique<Numbers<int16_t>>(missing);
    case kInt32: return std::make_unique<Numbers<int32_t>>(missing);
    case kInt64: return std::make_unique<Numbers<int64_t>>(missing);
    case kUint8: return std::make_unique<Numbers<uint8_t>>(missing);
    case kUint16: return std::make_unique<Numbers<uint16_t>>(missing);
    case kUint32: return std::make_unique<Numbers<uint32_t>>(missing);
    case kUint64: return std::make_unique<Numbers<uint64_t>>(missing);
    case kString: return std::make_unique<Texts>();
    default: invalid("csv: expected float32, float64, an integer type or string, got {}", dtype_name(dtype));
  }
}

size_t find_column(const std::vector<std::string>& names, const std::string& name) {
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) {
    std::string all;
    for (const std::string& n : names) {
      all.append(all.empty() ? "" : ", ").append(printable(n));
      if (all.size() > kLongestShown) break;
    }
    invalid("csv: expected a column called '{}', got {}", name, all);
  }
  if (std::find(found + 1, names.end(), name) != names.end()) {
    invalid("csv: expected one column called '{}', got several", name);
  }
  return static_cast<size_t>(found - names.begin());
}

void check_separator(char separator) {
  if (std::string_view("\"\r\n").find(separator) == std::string_view::npos) return;
  invalid("csv: expected a separator that is neither a quote nor a line's end, got 0x{:02x}",
          static_cast<unsigned>(static_cast<unsigned char>(separator)));
}

void add(Values& values, const Field& field, DType dtype, const std::string& column,
         const std::optional<std::string>& missing) {
  const bool empty = trimmed(field.text).empty();
  if (empty && missing && values.add(*missing)) return;
  if (empty && dtype != kString ? values.add_missing() : values.add(field.text)) return;
  invalid("csv: expected {}, got {} [line {}, column '{}']", dtype_name(dtype),
          whole(empty ? "an empty field" : "'" + printable(field.text) + "'"), field.line, column);
}

}  // namespace panto::csv
