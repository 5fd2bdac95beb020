// The kernel of DecodeCSV: splits lines into fields as TensorFlow does.
#include <string>
#include <string_view>
#include <vector>

#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/strings/parsed_number.h"
#include "panto/device/cpu/strings/strings.h"
#include "panto/lib/base/text/format.h"

namespace panto {
namespace {

class LineReader {
 public:
  explicit LineReader(const KernelContext& c)
      : delimiter_(c.text("field_delim")[0]), quotes_(c.flag("use_quote_delim")), columns_(c.integers("select_cols")) {}

  // Appends the selected fields of the line, in order.
  void read(std::string_view line, std::vector<std::string>& fields) const {
    fields.clear();
    int64_t number = 0;
    const auto wanted = [&] { return columns_.empty() || columns_[fields.size()] == number; };
    std::string field;
    size_t at = 0;
    while (at < line.size()) {
      if (line[at] == '\n' || line[at] == '\r') {  // ignored before a field
        ++at;
        continue;
      }
      field.clear();
      at = quotes_ && line[at] == '"' ? read_quoted(line, at + 1, field) : read_plain(line, at, field);
      if (wanted()) {
        fields.push_back(field);
        if (fields.size() == columns_.size()) return;
      }
      ++number;
    }
    // A trailing delimiter is followed by an empty field.
    if (!line.empty() && line.back() == delimiter_ && wanted()) fields.emplace_back();
  }

 private:
  // Each returns where the next field begins.
  size_t read_plain(std::string_view line, size_t at, std::string& field) const {
    const size_t end = std::min(line.find(delimiter_, at), line.size());
    field = line.substr(at, end - at);
    if (field.find_first_of(quotes_ ? "\"\n\r" : "\n\r") != std::string::npos) {
      invalid("records: expected fields in quotes that have quotes or line ends, got '{}'", field);
    }
    return end + 1;
  }
  size_t read_quoted(std::string_view line, size_t at, std::string& field) const {
    for (; at < line.size(); ++at) {
      if (line[at] != '"') {
        field += line[at];
      } else if (at + 1 == line.size() || line[at + 1] == delimiter_) {
        return at + 2;
      } else if (line[at + 1] == '"') {
        field += line[at++];
      } else {
        invalid("records: expected a quote inside of a field twice, got it once behind '{}'", field);
      }
    }
    invalid("records: expected a quote at the end of a field, got the end of the line behind '{}'", field);
  }

  char delimiter_;
  bool quotes_;
  std::span<const int64_t> columns_;
};

template <class T>
T number_in(const std::string& text) {
  T value{};
  if (!strings::parse_number(text, value)) invalid("field: expected {}, got '{}'", dtype_name(dtype_of<T>), text);
  return value;
}

void run_decode_csv(KernelContext& c) {
  const LineReader reader(c);
  const std::string_view missing = c.text("na_value");
  const auto* records = c.data<std::string>(0);
  const int columns = c.num_outputs();
  std::vector<std::string> fields;
  const auto set = [&](int k, int64_t i) {
    std::string& field = fields[static_cast<size_t>(k)];
    const bool absent = field.empty() || field == missing;
    const auto put = [&]<class T>(const auto& read) {
      if (absent && c.numel(1 + k) == 0) invalid("field: expected one, since there is no default, got none");
      c.out_data<T>(k)[i] = absent ? *c.data<T>(1 + k) : read();
    };
    switch (c.out(k).dtype()) {
      case kFloat32: return put.operator()<float>([&] { return number_in<float>(field); });
      case kFloat64: return put.operator()<double>([&] { return number_in<double>(field); });
      case kInt32: return put.operator()<int32_t>([&] { return number_in<int32_t>(field); });
      case kInt64: return put.operator()<int64_t>([&] { return number_in<int64_t>(field); });
      default: return put.operator()<std::string>([&] { return std::move(field); });
    }
  };
  strings::for_each_in_order(c.numel(0), [&](int64_t i) {
    with_context([&] { return fmt::format("in records[{}]", i); },
                 [&] {
                   reader.read(records[i], fields);
                   if (static_cast<int>(fields.size()) != columns) {
                     invalid("records: expected {} fields, got {}", columns, fields.size());
                   }
                   for (int k = 0; k < columns; ++k) {
                     with_context([&] { return fmt::format("in field {}", k); }, [&] { set(k, i); });
                   }
                 });
  });
}

const CpuKernel decode_csv_kernel("DecodeCSV", run_decode_csv);

}  // namespace
}  // namespace panto
