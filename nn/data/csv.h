// CSV: tables as text (RFC 4180): fields between separators, in quotes where they hold separators, quotes (written
// twice) or line ends. Lines end with LF or CRLF; empty lines are skipped, as is a byte order mark. Numbers are written
// as in C++, whatever the locale, with blanks around them where one likes; "nan" and "inf" are numbers.
//
//   CsvTable iris = read_csv("iris.csv", {.label = "species", .label_dtype = kString});
//   iris.values                                          // float32 [rows, columns]
//
// Faults are Errors that name line and column: `csv: expected float32, got 'abc' [line 3, column 'age']`.
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
  std::vector<std::string> columns = {};  // which, and in which order; empty: all but the label
  std::string label = {};                 // the column of `labels`; empty: none
  DType dtype = kFloat32;                 // float32, float64, an integer type, or string
  DType label_dtype = kFloat32;           // the same
  std::optional<double> missing = {};     // the number in empty fields; none: an empty field is an error
  // Of single columns, before that: {{"age", "0"}, {"city", "unknown"}}, as text that stands for an empty field.
  std::vector<std::pair<std::string, std::string>> defaults = {};
  // The label's values are names of classes: `labels` has their numbers, int32, in the order of the names.
  bool classes = false;
  // Rows that are none, behind the first line, are left out: `on_bad` is told; without it, the first is logged as a
  // warning. What follows a quote that does not close is read again from the next line on.
  bool skip_bad = false;
  Callable<void(const Error&)> on_bad = {};
};

struct CsvTable {
  std::vector<std::string> columns;       // the names of those in `values`
  Tensor values;                          // [rows, columns], of options.dtype
  Tensor labels;                          // [rows], of options.label_dtype; undefined without options.label
  std::vector<std::string> classes = {};  // with options.classes: their names, in order
};

// The file is read as a whole, up to 2 GiB. Throw NotFound and as read_file; InvalidArgument for what is no such table
// (lines of different lengths, quotes that do not close, numbers that are none or do not fit their type), and for
// options that cannot be or name columns that the table lacks or has twice.
PANTO_EXPORT CsvTable read_csv(const std::string& path, const CsvOptions& options = {});
PANTO_EXPORT CsvTable parse_csv(std::string_view text, const CsvOptions& options = {});

}  // namespace panto
