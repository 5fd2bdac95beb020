#include "panto/nn/data/csv.h"

#include <algorithm>
#include <new>

#include "panto/lib/base/file.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/tensor/tensor_alloc.h"
#include "panto/nn/data/files/csv_fields.h"
#include "panto/nn/data/stages/stage.h"

namespace panto {
namespace {

// The text that empty fields of each column stand for. Throws InvalidArgument for columns that do not exist and for
// text that is not a value of the type.
std::vector<std::optional<std::string>> defaults_of(const CsvOptions& options, const std::vector<std::string>& names,
                                                    size_t label) {
  std::vector<std::optional<std::string>> defaults(names.size());
  for (const auto& [column, text] : options.defaults) {
    const size_t i = csv::find_column(names, column);
    const DType dtype = i == label ? options.label_dtype : options.dtype;
    if (!csv::values_of(dtype, std::nullopt)->add(text)) {
      invalid("csv: expected a default of column '{}' that is {}, got '{}'", column, dtype_name(dtype), text);
    }
    defaults[i] = text;
  }
  return defaults;
}

// Sorts the class names, and replaces the labels by class numbers.
void number_classes(CsvTable& table) {
  const std::vector<std::string> labels = table.labels.to_vector<std::string>();
  table.classes = labels;
  std::ranges::sort(table.classes);
  const auto doubles = std::ranges::unique(table.classes);
  table.classes.erase(doubles.begin(), doubles.end());
  const Tensor numbers = allocate_tensor(cpu_device(), kInt32, table.labels.shape());
  std::ranges::transform(labels, mutable_data<int32_t>(numbers), [&](const std::string& label) {
    return static_cast<int32_t>(std::ranges::lower_bound(table.classes, label) - table.classes.begin());
  });
  table.labels = numbers;
}

// `where`: the context of error messages.
CsvTable parse_table(std::string_view text, const CsvOptions& options, const std::string& where) {
  csv::check_separator(options.separator);
  if (options.classes && options.label.empty())
    invalid("csv: expected a label, whose classes are to be numbered, got none");
  const DType label_dtype = options.classes ? kString : options.label_dtype;
  const std::unique_ptr<csv::Values> values = csv::values_of(options.dtype, options.missing);
  const std::unique_ptr<csv::Values> labels =
      options.label.empty() ? nullptr : csv::values_of(label_dtype, options.missing);

  csv::LineReader lines(text, options.separator);
  std::vector<csv::Field> fields;
  bool more = lines.read(fields);
  std::vector<std::string> names;
  const size_t first_row = options.header ? lines.position() : 0;
  if (more) {
    for (const csv::Field& f : fields) names.push_back(options.header ? f.text : std::to_string(names.size()));
  } else if (options.header) {
    invalid("csv: expected a line with the columns' names, got none");
  }

  const size_t label = labels != nullptr ? csv::find_column(names, options.label) : names.size();
  std::vector<size_t> chosen;
  for (const std::string& name : options.columns) chosen.push_back(csv::find_column(names, name));
  for (size_t i = 0; i < names.size() && options.columns.empty(); ++i) {
    if (i != label) chosen.push_back(i);
  }
  CsvOptions typed = options;
  typed.label_dtype = label_dtype;
  const std::vector<std::optional<std::string>> defaults = defaults_of(typed, names, label);

  const data::BadInputs bad("csv", options.skip_bad, options.on_bad);
  int64_t rows = 0;
  for (bool first = first_row == 0;; first = false) {
    bool whole_row = false;
    try {
      if (!(first ? more : lines.read(fields))) break;
      whole_row = true;
      if (fields.size() != names.size()) {
        invalid("csv: expected {} fields, got {} [line {}]", names.size(), fields.size(), fields[0].line);
      }
      for (const size_t i : chosen) csv::add(*values, fields[i], options.dtype, names[i], defaults[i]);
      if (labels != nullptr) csv::add(*labels, fields[label], label_dtype, names[label], defaults[label]);
      ++rows;
    } catch (Error& error) {
      if (!options.skip_bad) throw;
      if (!where.empty()) error.add_context(where);
      if (!bad.left_out(error)) throw;
      values->truncate(static_cast<size_t>(rows) * chosen.size());
      if (labels != nullptr) labels->truncate(static_cast<size_t>(rows));
      if (!whole_row) lines.recover();
    }
  }

  CsvTable table;
  table.values = values->finish(Shape{rows, static_cast<int64_t>(chosen.size())});
  if (labels != nullptr) table.labels = labels->finish(Shape{rows});
  if (options.classes) number_classes(table);
  for (const size_t i : chosen) table.columns.push_back(names[i]);
  return table;
}

CsvTable parse_text(std::string_view text, const CsvOptions& options, const std::string& where) {
  try {
    return parse_table(text, options, where);
  } catch (const std::bad_alloc&) {
    failf(Code::kResourceExhausted, "csv: expected room for the values of {} bytes, got none", text.size());
  }
}

}  // namespace

CsvTable parse_csv(std::string_view text, const CsvOptions& options) { return parse_text(text, options, {}); }

CsvTable read_csv(const std::string& path, const CsvOptions& options) {
  const std::string text = read_file(path);
  const std::string where = fmt::format("in file '{}'", printable(path));
  return with_context([&] { return std::string(where); }, [&] { return parse_text(text, options, where); });
}

}  // namespace panto
