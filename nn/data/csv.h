// Reads CSV files: tables as text (RFC 4180). Fields lie between separators; a field is quoted if it holds separators,
// quotes (written twice) or line ends. Lines end with LF or CRLF; empty lines and a byte order mark are skipped.
// Numbers are written as in C++, whatever the locale, with optional blanks around them; "nan" and "inf" are numbers.
//
//   CsvTable iris = read_csv("iris.csv", {.label = "species", .label_dtype = kString});
//   iris.values                                          // float32 [rows, columns]
//
// Errors name line and column: `csv: expected float32, got 'abc' [line 3, column 'age']`.
// Thread-safety: plain functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "panto/lib/base/callable.h"
#include "panto/lib/base/error.h"
#include "panto/lib/base/export.h"
#include "panto/lib/core/tensor/tensor.h"

namespace panto {

struct CsvOptions {
  bool header = true;  // the first line has the columns' names; without it they are "0", "1", ...
  char separator = ',';
  std::vector<std::string> columns = {};  // the columns to read, in this order; empty: all but the label
  std::string label = {};                 // the column of `labels`; empty: none
  DType dtype = kFloat32;                 // float32, float64, an integer type, or string
  DType label_dtype = kFloat32;           // the same
  std::optional<double> missing = {};     // the value of empty fields; none: an empty field is an error
  // Per column, takes precedence over `missing`: {{"age", "0"}, {"city", "unknown"}}, the text that an empty field
  // stands for.
  std::vector<std::pair<std::string, std::string>> defaults = {};
  // The label's values are class names: `labels` has their numbers, int32, in the order of the names.
  bool classes = false;
  // Malformed rows after the first line are skipped and passed to `on_bad`; without `on_bad`, the first one is logged
  // as a warning. After an unclosed quote, reading continues at the next line.
  bool skip_bad = false;
  Callable<void(const Error&)> on_bad = {};
};

struct CsvTable {
  std::vector<std::string> columns;       // the names of the columns in `values`
  Tensor values;                          // [rows, columns], of options.dtype
  Tensor labels;                          // [rows], of options.label_dtype; undefined without options.label
  std::vector<std::string> classes = {};  // with options.classes: the class names, in order
};

// The file is read as a whole, up to 2 GiB. Throw NotFound and as read_file; InvalidArgument for a malformed table
// (lines of different lengths, unclosed quotes, fields that are not numbers or do not fit their type), for options out
// of range, and for a column name that the table lacks or has twice.
PANTO_EXPORT CsvTable read_csv(const std::string& path, const CsvOptions& options = {});
PANTO_EXPORT CsvTable parse_csv(std::string_view text, const CsvOptions& options = {});

}  // namespace panto
