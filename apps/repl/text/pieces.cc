#include "panto/apps/repl/text/pieces.h"

#include <algorithm>
#include <array>

#include "panto/apps/repl/text/python.h"

namespace panto::repl {
namespace {

template <size_t N>
bool one_of(const Token& t, const std::array<std::string_view, N>& words) {
  return t.kind != Token::Kind::kText && std::ranges::find(words, t.text) != words.end();
}

// A line that ends with one of these continues on the next line.
bool goes_on_after(const Token& t) {
  static constexpr std::array<std::string_view, 45> kWords = {
      "+",  "-",      "*",   "/",    "%",     "=",        "==",       "!=",   "<=", ">=",  "<=>", "&&",
      "||", "&",      "|",   "^",    "!",     "~",        "?",        ":",    "::", ",",   ".",   "->",
      "<<", "+=",     "-=",  "*=",   "/=",    "%=",       "&=",       "|=",   "^=", "<<=", ">>=", "(",
      "[",  "return", "new", "auto", "const", "typename", "operator", "else", "do"};
  return one_of(t, kWords);
}

// A line that begins with one of these continues the previous line. Marks that may begin a statement are not included:
// * & - ( [ {.
bool goes_on_with(const Token& t) {
  static constexpr std::array<std::string_view, 30> kWords = {
      "<<", ">>", ".", "->", "?",  ":",  "||", "&&", "=", "==", "!=", "<=", ">=", "+",   "/",
      "%",  "|",  "^", ",",  "+=", "-=", "*=", "/=", ")", "]",  "}",  "<",  ">",  "and", "or"};
  return one_of(t, kWords);
}

bool begins_declaration(const Token& t) {
  static constexpr std::array<std::string_view, 10> kWords = {
      "class", "struct", "union", "enum", "namespace", "template", "using", "typedef", "static_assert", "concept"};
  return one_of(t, kWords);
}

bool begins_control(const Token& t) {
  static constexpr std::array<std::string_view, 6> kWords = {"if", "for", "while", "do", "switch", "try"};
  return one_of(t, kWords);
}

bool no_type(const Token& t) {
  static constexpr std::array<std::string_view, 12> kWords = {
      "return", "new", "delete", "throw", "else", "case", "sizeof", "co_await", "co_yield", "goto", "not", "co_return"};
  return one_of(t, kWords);
}

constexpr std::string_view kNameCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";

class Cutter {
 public:
  Cutter(std::string_view text, bool whole) : text_(text), whole_(whole) {}

  Pieces run() {
    while (at_ < text_.size() && !pieces_.incomplete) {
      if (!command()) code();
    }
    return std::move(pieces_);
  }

 private:
  static constexpr size_t kNone = static_cast<size_t>(-1);

  // True for ":help", but not for "::f()" or the ": b" of a condition; and for commands of other prompts: "!ls",
  // "%timeit f()", "?matmul", "matmul?".
  bool command_at(size_t at) const {
    const char next = at + 1 < text_.size() ? text_[at + 1] : '\0';
    const std::string_view line = text_.substr(at, std::min(text_.find('\n', at), text_.size()) - at);
    if (text_[at] == ':') return (next >= 'a' && next <= 'z') || next == '?';
    if (text_[at] == '!') {  // "!isnan(x)", "!a[0]", "!std::any" and "!(a)" are C++
      const size_t end = std::min(line.find_first_not_of(kNameCharacters, 1), line.size());
      if (end == 1) return next == '.' || next == '/' || next == '~';
      const char after = end < line.size() ? line[end] : '\0';
      return after != '(' && after != '[' && !line.substr(end).starts_with("::");
    }
    if (text_[at] == '%') {
      const size_t end = std::min(line.find_first_not_of(kNameCharacters, 1), line.size());
      const std::string_view word = line.substr(1, end - 1);
      return word == "timeit" || word == "time" || word == "who" || word == "whos";
    }
    return !help_topic(line).empty();
  }

  // Takes a command line at the beginning of a piece.
  bool command() {
    const size_t begin = text_.find_first_not_of(" \t\n\r", at_);
    if (begin == std::string::npos) {
      pieces_.used = at_ = text_.size();
      return true;
    }
    if (!command_at(begin)) return false;
    const size_t end = std::min(text_.find('\n', begin), text_.size());
    add(Piece::Kind::kCommand, begin, end, false);
    at_ = pieces_.used = end;
    return true;
  }

  void add(Piece::Kind kind, size_t begin, size_t end, bool semicolon) {
    while (end > begin && (text_[end - 1] == ' ' || text_[end - 1] == '\r' || text_[end - 1] == '\t')) --end;
    Piece p;
    p.kind = kind;
    p.text = std::string(text_.substr(begin, end - begin));
    p.line = 1 + static_cast<int>(std::ranges::count(text_.substr(0, begin), '\n'));
    const size_t line = text_.rfind('\n', begin);
    p.column = static_cast<int>(begin - (begin == 0 || line == std::string::npos ? 0 : line + 1)) + 1;
    p.semicolon = semicolon;
    if (begin < end) pieces_.list.push_back(std::move(p));
  }

  // Cuts the remaining text into pieces, up to a command or an incomplete piece.
  void code() {
    const size_t base = at_;
    const Tokens scanned = scan(text_.substr(base));
    list_ = scanned.list;
    for (Token& t : list_) t.offset += base;
    open_ = scanned.open;
    if (list_.empty()) {
      pieces_.incomplete = open_ && !whole_;
      at_ = text_.size();
      if (!pieces_.incomplete) pieces_.used = at_;
      return;
    }
    size_t begin = 0;
    while (begin < list_.size()) {
      if (list_[begin].first && command_at(list_[begin].offset)) {
        at_ = list_[begin].offset;  // behind comments
        return;
      }
      const size_t end = piece(begin);
      if (end == kNone) {
        if (!whole_) {
          pieces_.incomplete = true;
          at_ = text_.size();
          return;
        }
        add(kind_, list_[begin].offset, list_.back().end(), false);
        at_ = pieces_.used = text_.size();
        return;
      }
      begin = end;
    }
    at_ = pieces_.used = text_.size();
  }

  // Adds the piece that begins there. Returns the token after it, or kNone if it is incomplete.
  size_t piece(size_t begin) {
    const Token& head = list_[begin];
    if (head.kind == Token::Kind::kDirective) return directive(begin);
    if (const size_t end = after_python_line(list_, begin); end != begin) return take(begin, end, false);
    if (head.is(";")) return finish(Piece::Kind::kStatement, begin, begin + 1);
    if (head.is("{")) return finish(Piece::Kind::kStatement, begin, block(begin));
    if (begins_control(head)) return finish(Piece::Kind::kStatement, begin, statement(begin));
    const bool external = head.is("extern") && begin + 1 < list_.size() && list_[begin + 1].kind == Token::Kind::kText;
    const bool inline_namespace = head.is("inline") && begin + 1 < list_.size() && list_[begin + 1].is("namespace");
    if (begins_declaration(head) || external || inline_namespace) {
      return finish(Piece::Kind::kDeclaration, begin, declaration(begin));
    }
    return simple(begin);
  }

  size_t finish(Piece::Kind kind, size_t begin, size_t end) {
    kind_ = kind;
    if (end == kNone) return kNone;
    if (end == list_.size() && open_) return kNone;
    // A declaration may lack its semicolon, as a class at the end of a line; the generated code adds one.
    const bool semicolon = list_[end - 1].is(";");
    if (!(end - begin == 1 && semicolon)) add(kind, list_[begin].offset, list_[end - 1].end(), semicolon);
    at_ = pieces_.used = list_[end - 1].end();
    return end;
  }

  size_t directive(size_t begin) {
    kind_ = Piece::Kind::kDirective;
    const auto is = [&](size_t i, std::string_view word) {
      const std::string_view t = list_[i].text.substr(1);
      const size_t first = std::min(t.find_first_not_of(" \t"), t.size());
      return t.substr(first).starts_with(word);
    };
    size_t end = begin;
    if (is(begin, "if")) {  // up to its #endif
      int depth = 0;
      for (; end < list_.size(); ++end) {
        if (list_[end].kind != Token::Kind::kDirective) continue;
        if (is(end, "if")) ++depth;
        if (is(end, "endif") && --depth == 0) break;
      }
    }
    return finish(Piece::Kind::kDirective, begin, end == list_.size() ? kNone : end + 1);
  }

  size_t block(size_t brace) {
    const size_t end = closing(list_, brace);
    return end == list_.size() ? kNone : end + 1;
  }

  // Skips a nested statement; returns the token after it.
  size_t statement(size_t i) {
    if (i >= list_.size()) return kNone;
    const Token& t = list_[i];
    if (t.is("{")) return block(i);
    if (t.is("if") || t.is("for") || t.is("while") || t.is("switch")) {
      size_t paren = i + 1;
      while (paren < list_.size() && list_[paren].is_name()) ++paren;  // if constexpr
      if (paren >= list_.size()) return kNone;
      const size_t end = closing(list_, paren);
      if (end == list_.size()) return kNone;
      const size_t after = statement(end + 1);
      if (!t.is("if") || after == kNone || after >= list_.size() || !list_[after].is("else")) return after;
      return statement(after + 1);
    }
    if (t.is("do")) {
      const size_t after = statement(i + 1);
      if (after == kNone || after >= list_.size()) return kNone;
      if (!list_[after].is("while")) return after;  // the compiler says what is wrong
      return up_to_semicolon(after);
    }
    if (t.is("try")) {
      size_t after = statement(i + 1);
      while (after != kNone && after < list_.size() && list_[after].is("catch")) {
        const size_t end = after + 1 < list_.size() ? closing(list_, after + 1) : list_.size();
        after = end == list_.size() ? kNone : statement(end + 1);
      }
      return after;
    }
    return up_to_semicolon(i);
  }

  size_t up_to_semicolon(size_t i) {
    for (; i < list_.size(); ++i) {
      if (list_[i].is("(") || list_[i].is("[") || list_[i].is("{")) {
        i = closing(list_, i);
      } else if (list_[i].is(";")) {
        return i + 1;
      }
    }
    return kNone;
  }

  // Skips a class, template, using etc.; returns the token after it.
  size_t declaration(size_t begin) {
    size_t i = begin;
    bool braces_end = list_[begin].is("namespace") || list_[begin].is("extern") || list_[begin].is("inline");
    bool type = false;
    if (list_[i].is("template")) {
      while (i < list_.size() && list_[i].is("template")) {
        if (i + 1 >= list_.size() || !list_[i + 1].is("<")) break;  // an explicit instantiation
        const size_t angle = closing_angle(list_, i + 1, list_.size());
        if (angle == list_.size()) return kNone;
        i = angle + 1;
      }
    }
    for (; i < list_.size(); ++i) {
      const Token& t = list_[i];
      if (t.is(";")) return i + 1;
      if (t.is("class") || t.is("struct") || t.is("union") || t.is("enum")) type = true;
      if (t.is("(") && !type) braces_end = true;  // a function template
      if (t.is("=")) braces_end = false;
      if (t.is("(") || t.is("[")) {
        i = closing(list_, i);
      } else if (t.is("{")) {
        i = closing(list_, i);
        if (i == list_.size()) return kNone;
        if (braces_end) return i + 1 < list_.size() && list_[i + 1].is(";") ? i + 2 : i + 1;
        // `struct A { ... }` followed by a new line declares no variable.
        if (type && (i + 1 == list_.size() || list_[i + 1].first)) return i + 1;
      }
    }
    // `using namespace std` at a line's end.
    if (list_[begin].is("using") && !goes_on_after(list_.back())) return list_.size();
    return kNone;
  }

  // An expression, a variable or a function.
  size_t simple(size_t begin) {
    kind_ = Piece::Kind::kSimple;
    bool assigned = false;
    for (size_t i = begin; i < list_.size(); ++i) {
      const Token& t = list_[i];
      const bool apart = i > begin && t.first && (text_[t.offset] == ':' || !goes_on_after(list_[i - 1]));
      if (apart && command_at(t.offset)) return take(begin, i, false);
      if (i > begin && t.first && !t.is("{") && !goes_on_after(list_[i - 1]) && !goes_on_with(t)) {
        return take(begin, i, false);
      }
      if (i > begin && t.first && t.is("{") && !function_head(begin, i)) return take(begin, i, false);
      if (t.kind == Token::Kind::kDirective) return take(begin, i, false);
      if (t.is(";")) return take(begin, i, true);
      if (t.is("=")) assigned = true;
      const bool body = t.is("{") && !assigned && function_head(begin, i);
      if (t.is("(") || t.is("[") || t.is("{")) {
        i = closing(list_, i);
        if (i == list_.size()) return kNone;
      }
      if (body) {
        size_t end = i + 1;
        if (end < list_.size() && list_[end].is(";")) ++end;
        return finish(Piece::Kind::kDeclaration, begin, end);
      }
    }
    if (open_ || goes_on_after(list_.back())) return kNone;
    if (!whole_ && function_head(begin, list_.size()) && has_parameters(begin)) return kNone;
    return take(begin, list_.size(), false);
  }

  size_t take(size_t begin, size_t end, bool semicolon) {
    if (end == begin) return finish(Piece::Kind::kStatement, begin, begin + 1);  // a bracket too many
    add(Piece::Kind::kSimple, list_[begin].offset, list_[end - 1].end(), semicolon);
    at_ = pieces_.used = semicolon ? list_[end].end() : list_[end - 1].end();
    return semicolon ? end + 1 : end;
  }

  // Returns true for a function head before the token `end`, like `Tensor f(const Tensor& x) const -> T`.
  bool function_head(size_t begin, size_t end) const {
    size_t i = begin;
    while (i < end && !list_[i].is("(")) {
      if (list_[i].is("=") || list_[i].is("[") || list_[i].is("{") || no_type(list_[i])) return false;
      if (list_[i].is("operator")) {
        i += i + 1 < end && list_[i + 1].is("(") ? 2 : 1;
        break;
      }
      ++i;
    }
    while (i < end && !list_[i].is("(")) ++i;  // an operator's marks
    if (i >= end || i < begin + 2) return false;
    const Token& name = list_[i - 1];
    bool operator_name = false;
    for (size_t k = begin; k < i; ++k) operator_name = operator_name || list_[k].is("operator");
    if (!operator_name) {
      if (!name.is_name()) return false;
      size_t before = i - 2;
      while (before > begin && list_[before].is("::") && list_[before - 1].is_name()) before -= 2;  // S::f
      if (before < begin || before >= i) return false;
      const Token& t = list_[before];
      if (!t.is_name() && !t.is(">") && !t.is(">>") && !t.is("*") && !t.is("&") && !t.is("&&")) return false;
    }
    size_t after = closing(list_, i);
    if (after >= end) return false;
    for (++after; after < end; ++after) {
      const Token& t = list_[after];
      if (t.is("->")) return true;
      if (t.is("(")) {  // noexcept(...)
        after = closing(list_, after);
        continue;
      }
      if (!t.is("const") && !t.is("noexcept") && !t.is("override") && !t.is("&") && !t.is("&&") && !t.is("requires"))
        return false;
    }
    return true;
  }

  // Returns true if the first parentheses are empty or contain parameters like `int x`, `const Tensor& x`.
  bool has_parameters(size_t begin) const {
    size_t i = begin;
    while (i < list_.size() && !list_[i].is("(")) ++i;
    const size_t end = closing(list_, i);
    if (end == i + 1) return true;
    for (size_t k = i + 2; k < end; ++k) {
      const Token& a = list_[k - 1];
      if (list_[k].is_name() && (a.is_name() || a.is("&") || a.is("*") || a.is(">"))) return true;
    }
    return false;
  }

  std::string_view text_;
  bool whole_;
  size_t at_ = 0;
  std::vector<Token> list_;
  bool open_ = false;
  Piece::Kind kind_ = Piece::Kind::kSimple;  // of the current piece
  Pieces pieces_;
};

}  // namespace

std::string_view help_topic(std::string_view line) {
  const size_t end = line.find_last_not_of(" \t\r;");
  if (end == std::string_view::npos) return {};
  line = line.substr(0, end + 1);
  const bool before = line.starts_with('?'), after = line.ends_with('?');
  if (before == after) return {};
  while (line.starts_with('?')) line.remove_prefix(1);
  while (line.ends_with('?')) line.remove_suffix(1);
  for (char c : line) {
    if (c != ':' && c != '.' && kNameCharacters.find(c) == std::string_view::npos) return {};
  }
  return line;
}

Pieces cut(std::string_view text, bool whole) { return Cutter(text, whole).run(); }

}  // namespace panto::repl
