// The fields of CSV text and their values. Internal.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "panto/lib/core/tensor/tensor.h"

namespace panto::csv {

struct Field {
  std::string text;
  size_t line = 0;  // where it begins
};

class LineReader {
 public:
  // `first_line`: the number of the first.
  LineReader(std::string_view text, char separator, size_t first_line = 1);

  // The fields of the next line that is not empty; false at the end. A field in quotes may span several lines of text.
  // Throws InvalidArgument for what is none.
  bool read(std::vector<Field>& fields);
  // Behind a fault: goes on with the line of text after the one where the faulty row began.
  void recover();
  // How many bytes were read.
  size_t position() const { return at_; }

 private:
  [[noreturn]] void fault(std::string_view expected, std::string_view got) const;
  bool take_line_end();
  bool read_field(Field& field);
  void read_plain(std::string& to);
  void read_quoted(std::string& to);

  std::string_view text_;
  char separator_;
  size_t at_ = 0, line_ = 1;
  size_t row_at_ = 0, row_line_ = 1;  // where the row began that was read last
};

// Without blanks around it.
std::string_view trimmed(std::string_view text);
// Throws InvalidArgument for what cannot be one.
void check_separator(char separator);
// The number of the column of that name. Throws InvalidArgument where there is none, or several.
size_t find_column(const std::vector<std::string>& names, const std::string& name);

// The values of a part of a table, as they are read.
class Values {
 public:
  virtual ~Values() = default;
  // False where the text is no such value.
  virtual bool add(std::string_view text) = 0;
  virtual bool add_missing() = 0;
  virtual size_t size() const = 0;
  // Forgets those behind the first `size`.
  virtual void truncate(size_t size) = 0;
  // Gives them away.
  virtual Tensor finish(const Shape& shape) = 0;
};
// Throws InvalidArgument for types that no field has, and for a number for empty fields that the type has not.
std::unique_ptr<Values> values_of(DType dtype, std::optional<double> missing);
// Adds a field, or, where it is empty, `missing`. Throws InvalidArgument that names line and column.
void add(Values& values, const Field& field, DType dtype, const std::string& column,
         const std::optional<std::string>& missing);

}  // namespace panto::csv
