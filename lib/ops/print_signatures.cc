// Parses signatures for the generator of typed functions (generate.py), so that the library's parser is the only one.
//
//   printf 'Abs(x: T; T: real) -> (y: T)\0' | panto-signatures
//
// reads texts that each end with a zero byte and prints a JSON list with an object for each: the members of
// SignatureSyntax, or of the SignatureFault. Strings hold the bytes of the text, which need not be UTF-8.
#include <cstdio>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "panto/lib/core/op/signature_grammar.h"

namespace panto {
namespace {

std::string json(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20) {
      constexpr std::string_view digits = "0123456789abcdef";
      result.append("\\u00")
          .append(1, digits[static_cast<size_t>(c) / 16])
          .append(1, digits[static_cast<size_t>(c) % 16]);
    } else {
      if (c == '"' || c == '\\') result += '\\';
      result += c;
    }
  }
  return result + "\"";
}
std::string json(const std::string& text) { return json(std::string_view(text)); }
std::string json(bool value) { return value ? "true" : "false"; }

template <class T>
std::string json(const std::vector<T>& list);

using Members = std::initializer_list<std::pair<std::string_view, std::string>>;
std::string object(Members members) {
  std::string result = "{";
  for (const auto& [name, value] : members)
    result.append(result.size() > 1 ? ", " : "").append(json(name) + ": " + value);
  return result + "}";
}

std::string json(const ValueSyntax& value) { return value.is_list ? json(value.items) : json(value.items[0]); }
std::string json(const TypeTerm& t) {
  return object({{"sign", json(std::string_view(&t.sign, 1))}, {"word", json(t.word)}, {"is_set", json(t.is_set)}});
}
std::string json(const AttrSyntax& a) {
  return object({{"name", json(a.name)},
                 {"kind", json(a.kind)},
                 {"types", json(a.types)},
                 {"allowed_strings", json(a.allowed_strings)},
                 {"minimum", a.minimum ? std::to_string(*a.minimum) : "null"},
                 {"default", a.default_value ? json(*a.default_value) : "null"},
                 {"inferred", json(a.inferred)}});
}

template <class T>
std::string json(const std::vector<T>& list) {
  std::string result = "[";
  for (const T& item : list) result.append(result.size() > 1 ? ", " : "").append(json(item));
  return result + "]";
}

std::string json(const SignatureSyntax& s, const ArgSyntax& a) {
  const auto attr = [&s](int i) { return i < 0 ? std::string() : s.attrs[static_cast<size_t>(i)].name; };
  return object({{"name", json(a.name)},
                 {"type", a.type_attr < 0 ? json(dtype_name(a.dtype)) : json(attr(a.type_attr))},
                 {"number", json(attr(a.number_attr))},
                 {"is_list", json(a.is_list)},
                 {"host", json(a.host)},
                 {"default", a.cpp_default.empty() ? "null" : json(a.cpp_default)}});
}
std::string json(const SignatureSyntax& s, const std::vector<ArgSyntax>& args) {
  std::string result = "[";
  for (const ArgSyntax& a : args) result.append(result.size() > 1 ? ", " : "").append(json(s, a));
  return result + "]";
}

std::string parsed(std::string_view text) {
  try {
    const SignatureSyntax s = read_signature(text);
    return object({{"name", json(s.name)},
                   {"base_name", json(without_version(s.name))},
                   {"function_name", json(function_name(s.name))},
                   {"inputs", json(s, s.inputs)},
                   {"attrs", json(s.attrs)},
                   {"outputs", json(s, s.outputs)}});
  } catch (const SignatureFault& f) {
    return object({{"column", std::to_string(f.column)}, {"expected", json(f.expected)}, {"got", json(f.got)}});
  }
}

int run() {
  std::string text, printed;
  for (int c = std::getchar(); c != EOF; c = std::getchar()) {
    if (c != 0) {
      text += static_cast<char>(c);
      continue;
    }
    printed.append(printed.empty() ? "[" : ",\n").append(parsed(text));
    text.clear();
  }
  printed += printed.empty() ? "[]\n" : "]\n";
  const bool written = std::fwrite(printed.data(), 1, printed.size(), stdout) == printed.size();
  return written && std::fflush(stdout) == 0 ? 0 : 1;
}

}  // namespace
}  // namespace panto

int main() { return panto::run(); }
