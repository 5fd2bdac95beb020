#include "panto/apps/repl/text/tokens.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

namespace panto::repl {
namespace {

bool begins_name(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_' || (c & 0x80) != 0; }
bool in_name(char c) { return begins_name(c) || std::isdigit(static_cast<unsigned char>(c)) != 0; }

// Returns true if the name is one of `words`, which are separated, preceded and followed by blanks.
bool one_of(const Token& t, std::string_view words) {
  if (!t.is_name()) return false;
  for (size_t at = 0; (at = words.find(t.text, at)) != std::string_view::npos; at += t.text.size()) {
    if (words[at - 1] == ' ' && words[at + t.text.size()] == ' ') return true;
  }
  return false;
}

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  Tokens run() {
    while (skip_blanks(), at_ < text_.size()) one();
    return std::move(tokens_);
  }

 private:
  char peek(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }

  void skip_blanks() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\n') {
        first_ = true;
        ++at_;
      } else if (std::isspace(static_cast<unsigned char>(c)) != 0) {
        ++at_;
      } else if (c == '\\' && (peek(1) == '\n' || at_ + 1 == text_.size())) {
        if (at_ + 1 == text_.size()) tokens_.open = true;
        ++at_;
      } else if (c == '/' && peek(1) == '/') {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (c == '/' && peek(1) == '*') {
        const size_t end = text_.find("*/", at_ + 2);
        tokens_.open = tokens_.open || end == std::string::npos;
        at_ = end == std::string::npos ? text_.size() : end + 2;
      } else {
        return;
      }
    }
  }

  void add(Token::Kind kind, size_t end) {
    tokens_.list.push_back({kind, text_.substr(at_, end - at_), at_, first_});
    first_ = false;
    at_ = end;
  }

  void one() {
    const char c = text_[at_];
    if (c == '#' && first_) return directive();
    if (begins_name(c)) return name_or_literal();
    if (std::isdigit(static_cast<unsigned char>(c)) != 0 ||
        (c == '.' && std::isdigit(static_cast<unsigned char>(peek(1))) != 0)) {
      return number();
    }
    if (c == '"' || c == '\'') return literal(at_);
    static constexpr std::array<std::string_view, 28> kLong = {
        "<=>", "...", "->*", "<<=", ">>=", "::", "->", "<<", ">>", "<=", ">=", "==", "!=", "&&",
        "||",  "++",  "--",  "+=",  "-=",  "*=", "/=", "%=", "&=", "|=", "^=", ".*", "##", "<:"};
    for (std::string_view mark : kLong) {
      if (text_.substr(at_).starts_with(mark)) return add(Token::Kind::kMark, at_ + mark.size());
    }
    add(Token::Kind::kMark, at_ + 1);
  }

  void directive() {
    size_t end = at_;
    while (true) {
      end = text_.find('\n', end);
      if (end == std::string::npos) {
        tokens_.open = tokens_.open || text_.ends_with('\\');
        end = text_.size();
        break;
      }
      if (text_[end - 1] != '\\') break;
      ++end;
    }
    add(Token::Kind::kDirective, end);
  }

  void name_or_literal() {
    size_t end = at_;
    while (end < text_.size() && in_name(text_[end])) ++end;
    const char next = end < text_.size() ? text_[end] : '\0';
    const std::string_view name = text_.substr(at_, end - at_);
    if (next == '"' && (name == "R" || name == "LR" || name == "uR" || name == "UR" || name == "u8R")) {
      return raw_literal(end);
    }
    if ((next == '"' || next == '\'') && (name == "L" || name == "u" || name == "U" || name == "u8"))
      return literal(end);
    add(Token::Kind::kName, end);
  }

  void number() {
    size_t end = at_;
    while (end < text_.size()) {
      const char c = text_[end];
      const char before = end > at_ ? text_[end - 1] : '\0';
      const bool exponent = (c == '+' || c == '-') &&
                            (before == 'e' || before == 'E' || before == 'p' || before == 'P') &&
                            !(text_.substr(at_).starts_with("0x") && (before == 'e' || before == 'E'));
      const bool separator = c == '\'' && end + 1 < text_.size() && in_name(text_[end + 1]);
      if (!in_name(c) && c != '.' && !exponent && !separator) break;
      ++end;
    }
    add(Token::Kind::kNumber, end);
  }

  // Ends at the quote or, if unterminated, at the end of the line; the compiler reports it.
  void literal(size_t quote) {
    size_t end = quote + 1;
    while (end < text_.size() && text_[end] != text_[quote] && text_[end] != '\n') end += text_[end] == '\\' ? 2 : 1;
    end = std::min(end, text_.size());
    if (end < text_.size() && text_[end] == text_[quote]) ++end;
    add(Token::Kind::kText, end);
  }

  void raw_literal(size_t quote) {
    const size_t paren = text_.find('(', quote);
    if (paren == std::string::npos || paren > quote + 17) return literal(quote);
    const std::string close = ")" + std::string(text_.substr(quote + 1, paren - quote - 1)) + "\"";
    const size_t end = text_.find(close, paren);
    tokens_.open = tokens_.open || end == std::string::npos;
    add(Token::Kind::kText, end == std::string::npos ? text_.size() : end + close.size());
  }

  std::string_view text_;
  size_t at_ = 0;
  bool first_ = true;
  Tokens tokens_;
};

}  // namespace

Tokens scan(std::string_view text) { return Scanner(text).run(); }

size_t closing(const std::vector<Token>& list, size_t begin) {
  int depth = 0;
  for (size_t i = begin; i < list.size(); ++i) {
    const Token& t = list[i];
    if (t.is("(") || t.is("[") || t.is("{")) ++depth;
    if ((t.is(")") || t.is("]") || t.is("}")) && --depth == 0) return i;
  }
  return list.size();
}

size_t closing_angle(const std::vector<Token>& list, size_t begin, size_t limit) {
  int depth = 0;
  for (size_t i = begin; i < limit; ++i) {
    const Token& t = list[i];
    if (t.is("(") || t.is("[") || t.is("{")) {
      i = closing(list, i);
    } else if (t.is("<")) {
      ++depth;
    } else if (t.is(">") || t.is(">>")) {
      depth -= t.is(">") ? 1 : 2;
      if (depth <= 0) return i;
    } else if (t.is(";") || t.is("=") || t.is("&&") || t.is("||") || t.is("<<") || t.is(")") || t.is("}")) {
      break;
    }
  }
  return list.size();
}

bool is_keyword(const Token& t) {
  return one_of(t,
                " return new delete throw else case sizeof co_await co_yield co_return goto not and or xor break "
                "continue default this true false nullptr operator alignof typeid noexcept requires static_cast "
                "const_cast dynamic_cast reinterpret_cast if for while do switch try catch using typedef "
                "template namespace public private protected friend asm ");
}

bool is_builtin_type(const Token& t) {
  return one_of(t, " unsigned signed long short int char bool float double void wchar_t char8_t char16_t char32_t ");
}

bool is_specifier(const Token& t) {
  return one_of(t, " const constexpr static inline volatile constinit thread_local extern register ");
}

}  // namespace panto::repl
