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
  size_t line = 0;  // where the field begins
};

class LineReader {
 public:
  // `first_line`: the number of the text's first line.
  LineReader(std::string_view text, char separator, size_t first_line = 1);

  // Reads the fields of the next line that is not empty; returns false at the end. A quoted field may span several
  // lines of text. Throws InvalidArgument for malformed text.
  bool read(std::vector<Field>& fields);
  // After an error: continues at the line of text after the one where the malformed row began.
  void recover();
  // The number of bytes read.
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
  size_t row_at_ = 0, row_line_ = 1;  // where the row read last began
};

// Returns the text without blanks around it.
std::string_view trimmed(std::string_view text);
// Throws InvalidArgument for a character that cannot be a separator.
void check_separator(char separator);
// The index of the column of that name. Throws InvalidArgument if there is none, or several.
size_t find_column(const std::vector<std::string>& names, const std::string& name);

// Collects the values of a part of a table while it is read.
class Values {
 public:
  virtual ~Values() = default;
  // Returns false if the text is not a value of the type.
  virtual bool add(std::string_view text) = 0;
  virtual bool add_missing() = 0;
  virtual size_t size() const = 0;
  // Drops the values after the first `size`.
  virtual void truncate(size_t size) = 0;
  // Moves the values out.
  virtual Tensor finish(const Shape& shape) = 0;
};
// Throws InvalidArgument for a type that a field cannot have, and if the type cannot represent `missing`.
std::unique_ptr<Values> values_of(DType dtype, std::optional<double> missing);
// Adds a field's value; `missing` if the field is empty. Throws InvalidArgument that names line and column.
void add(Values& values, const Field& field, DType dtype, const std::string& column,
         const std::optional<std::string>& missing);

}  // namespace panto::csv
