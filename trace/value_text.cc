#include "panto/trace/value_text.h"

#include <algorithm>
#include <iostream>
#include <sstream>

#include "panto/lib/base/text/demangle.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/number_text.h"

namespace panto::repl {
namespace {

void replace_all(std::string& text, std::string_view what, std::string_view with) {
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size())) {
    text.replace(at, what.size(), with);
  }
}

}  // namespace

std::string number_text(double value) { return scalar_text(value); }
std::string number_text(float value) { return scalar_text(value); }

std::string address_text(const void* p) { return fmt::format("{}", p); }

std::string type_name(const std::type_info& type) {
  std::string name = demangled(type.name());
  replace_all(name, "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >", "std::string");
  replace_all(name, "std::__cxx11::", "std::");
  // A prompt's own namespaces: session::s1::Point is Point to the person who typed it.
  for (size_t at = name.find("session::"); at != std::string::npos; at = name.find("session::", at)) {
    size_t end = at + 9;
    while (end + 1 < name.size() && name[end] == 's' && name[end + 1] >= '0' && name[end + 1] <= '9') {
      end = std::min(name.find("::", end), name.size() - 2) + 2;
    }
    name.erase(at, end - at);
  }
  return name;
}

std::string streamed(void (*write)(std::ostream&, const void*), const void* value) {
  std::ostringstream out;
  write(out, value);
  return out.str();
}

void print_line(std::string_view text) { std::cout << text << '\n'; }

void ListText::add(std::string item) {
  multi_line_ = multi_line_ || item.find('\n') != std::string::npos;
  one_line_.append(count_ == 0 ? "" : ", ").append(item);
  replace_all(item, "\n", "\n ");
  lines_.append(count_ == 0 ? "" : ",\n ").append(item);
  ++count_;
}

std::string ListText::finish(char open, char close) const {
  constexpr size_t kLine = 110;
  const bool lines = multi_line_ || one_line_.size() > kLine;
  std::string rest = count_ > kShown ? fmt::format("{}... {} more", lines ? ",\n " : ", ", count_ - kShown) : "";
  // Short items, such as numbers, stay on one line.
  return open +
         (multi_line_                                                   ? lines_
          : lines && count_ <= kShown && one_line_.size() / count_ > 20 ? lines_
                                                                        : one_line_) +
         rest + close;
}

}  // namespace panto::repl
