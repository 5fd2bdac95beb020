// The non-template parts of panto/repl.h.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>
#include <typeinfo>

#include "panto/lib/base/export.h"
#include "panto/lib/base/text/quote.h"

namespace panto::repl {

// The fewest digits that identify the number among all of its type.
PANTO_EXPORT std::string number_text(double value);
PANTO_EXPORT std::string number_text(float value);
PANTO_EXPORT std::string address_text(const void* p);
// A readable type name such as "std::vector<int>", as far as the compiler's name can be demangled.
PANTO_EXPORT std::string type_name(const std::type_info& type);
// Prints a line to standard output.
PANTO_EXPORT void print_line(std::string_view text);
// The text that `write` puts into a stream.
PANTO_EXPORT std::string streamed(void (*write)(std::ostream&, const void*), const void* value);
// Builds "[a, b]" on one line, or with one line per item if items are long; shows at most 100 items.
class PANTO_EXPORT ListText {
 public:
  bool wants_more() const { return count_ < kShown; }
  void add(std::string item);
  void skip() { ++count_; }
  std::string finish(char open, char close) const;

 private:
  static constexpr size_t kShown = 100;
  std::string one_line_, lines_;
  size_t count_ = 0;
  bool multi_line_ = false;
};

}  // namespace panto::repl
