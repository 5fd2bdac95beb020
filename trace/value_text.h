// The parts of panto/repl.h that need no template.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>
#include <typeinfo>

#include "panto/lib/base/export.h"
#include "panto/lib/base/text/quote.h"

namespace panto::repl {

// The fewest digits that tell the number from all others of its type.
PANTO_EXPORT std::string number_text(double value);
PANTO_EXPORT std::string number_text(float value);
PANTO_EXPORT std::string address_text(const void* p);
// "std::vector<int>", as far as the compiler's name for it can be read.
PANTO_EXPORT std::string type_name(const std::type_info& type);
// To standard output.
PANTO_EXPORT void print_line(std::string_view text);
// What `write` puts into a stream.
PANTO_EXPORT std::string streamed(void (*write)(std::ostream&, const void*), const void* value);
// "[a, b]" on one line, or a line for each where they are long; more than 100 are summarised.
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
