#include "panto/apps/repl/text/variable.h"

#include <algorithm>

namespace panto::repl {
namespace {

using Words = std::vector<Token>;

// The head of a declaration of variables: specifiers, type, and where the (first) name is.
struct Head {
  bool specifiers = false;  // other than static and const
  bool constant = false;    // const in front of the type
  size_t type = 0, type_end = 0;
  bool pointer = false, reference = false;
  bool is_auto = false;
  size_t name = 0;
};

std::optional<Head> read_head(const Words& words) {
  Head head;
  size_t i = 0;
  while (i < words.size() && is_specifier(words[i])) {
    if (words[i].is("const")) {
      head.constant = true;
    } else if (!words[i].is("static")) {
      head.specifiers = true;
    }
    ++i;
  }
  head.type = i;
  if (i >= words.size() || !words[i].is_name() || is_keyword(words[i])) return std::nullopt;
  if (words[i].is("auto")) {
    head.is_auto = true;
    ++i;
  } else if (words[i].is("decltype")) {
    if (i + 1 >= words.size() || !words[i + 1].is("(")) return std::nullopt;
    i = closing(words, i + 1) + 1;
  } else if (is_builtin_type(words[i])) {
    while (i < words.size() && is_builtin_type(words[i])) ++i;
  } else {
    if (words[i].is("typename") || words[i].is("struct") || words[i].is("class") || words[i].is("enum")) ++i;
    while (true) {
      if (i >= words.size() || !words[i].is_name() || is_keyword(words[i])) return std::nullopt;
      ++i;
      if (i < words.size() && words[i].is("<")) {
        i = closing_angle(words, i, words.size());
        if (i == words.size()) return std::nullopt;
        ++i;
      }
      if (i >= words.size() || !words[i].is("::")) break;
      ++i;
    }
  }
  while (i < words.size() && (words[i].is("*") || words[i].is("&") || words[i].is("&&") || words[i].is("const"))) {
    if (words[i].is("*")) head.pointer = true;
    if (words[i].is("&") || words[i].is("&&")) head.reference = true;
    ++i;
  }
  head.type_end = i;
  head.name = i;
  if (i >= words.size()) return std::nullopt;
  if (words[i].is("[") && head.is_auto) return head;
  if (!words[i].is_name() || is_keyword(words[i]) || is_specifier(words[i])) return std::nullopt;
  if (i + 1 == words.size() && head.reference) return std::nullopt;  // `a && b`: a reference needs an initializer
  if (i + 1 < words.size()) {
    const Token& next = words[i + 1];
    const bool begins = next.is("=") || next.is("(") || next.is("{") || next.is(",") || next.is("[");
    if (!begins) return std::nullopt;
    // `a * b(c)`, `a & b[0]` are expressions, unless a is a built-in type or a const is declared.
    const bool expression = (head.pointer || head.reference) && !head.specifiers && !head.constant &&
                            !is_builtin_type(words[head.type]) && !words[head.type].is("auto") && !next.is("=") &&
                            !next.is("{");
    if (expression) return std::nullopt;
  }
  return head;
}

std::string between(std::string_view text, size_t begin, size_t end) {
  return std::string(text.substr(begin, end - begin));
}

// Returns true if there is a comma outside brackets.
bool has_comma(const Words& words, size_t begin) {
  for (size_t k = begin; k < words.size(); ++k) {
    if (words[k].is("(") || words[k].is("[") || words[k].is("{")) k = closing(words, k);
    if (k < words.size() && words[k].is("<")) {
      const size_t angle = closing_angle(words, k, words.size());
      if (angle < words.size()) k = angle;
    }
    if (k < words.size() && words[k].is(",")) return true;
  }
  return false;
}

void add_name(std::vector<std::string>& names, std::string_view name) {
  if (std::ranges::find(names, name) == names.end()) names.emplace_back(name);
}

}  // namespace

std::optional<Declaration> read_variable(std::string_view text) {
  const Words words = scan(text).list;
  const auto head = read_head(words);
  if (!head || head->specifiers || head->reference) return std::nullopt;
  Declaration v;
  v.pointer = head->pointer;
  v.constant = head->constant;
  v.type = between(text, words[head->type].offset, words[head->type_end - 1].end());
  size_t i = head->name;
  if (words[i].is("[")) {
    const size_t end = closing(words, i);
    for (size_t k = i + 1; k < end; ++k) {
      if (words[k].is_name()) v.names.emplace_back(words[k].text);
    }
    i = end;
    if (i == words.size() || v.names.empty() || i + 1 >= words.size() || !words[i + 1].is("=")) return std::nullopt;
  } else {
    v.names.emplace_back(words[i].text);
  }
  if (i + 1 == words.size()) {
    if (head->is_auto || head->constant) return std::nullopt;
    v.init_offset = text.size();
    return v;
  }
  const Token& next = words[i + 1];
  size_t begin = i + 2, end = words.size();
  if (next.is("=")) {
    v.form = Declaration::Form::kEquals;
    if (begin == end) return std::nullopt;
    if (has_comma(words, begin)) return std::nullopt;                // `a = 1, b = 2` declares two
    if (head->is_auto && words[begin].is("{")) return std::nullopt;  // an initializer_list
  } else if (next.is("(") || next.is("{")) {
    v.form = next.is("(") ? Declaration::Form::kParentheses : Declaration::Form::kBraces;
    end = closing(words, i + 1);
    if (end + 1 != words.size()) return std::nullopt;
    if (head->is_auto && v.form == Declaration::Form::kBraces) v.form = Declaration::Form::kParentheses;
  } else {
    return std::nullopt;
  }
  v.init_offset = begin < end ? words[begin].offset : words[i + 1].end();
  v.init = begin < end ? between(text, v.init_offset, words[end - 1].end()) : "";
  return v;
}

std::optional<Declaration> read_assignment(std::string_view text) {
  const Words words = scan(text).list;
  if (words.size() < 3 || !words[0].is_name() || !words[1].is("=") || words[2].is("{")) return std::nullopt;
  if (is_keyword(words[0]) || is_builtin_type(words[0]) || is_specifier(words[0]) || has_comma(words, 2)) {
    return std::nullopt;
  }
  Declaration v;
  v.names.emplace_back(words[0].text);
  v.type = "auto";
  v.form = Declaration::Form::kEquals;
  v.init_offset = words[2].offset;
  v.init = between(text, v.init_offset, words.back().end());
  return v;
}

std::string result_name(int number) { return "Out_" + std::to_string(number) + "_"; }

ResultUses read_results(const std::string& text) {
  ResultUses uses;
  uses.text = text;
  const Words words = scan(text).list;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i > 0 && (words[i - 1].is(".") || words[i - 1].is("->") || words[i - 1].is("::"))) continue;
    if (words[i].is("_")) uses.last = true;
    if (!words[i].is("Out") || i + 3 >= words.size() || !words[i + 1].is("[") || !words[i + 3].is("]")) continue;
    const std::string digits(words[i + 2].text);
    const bool joined = words[i + 3].end() - words[i].offset == digits.size() + 5;
    if (!joined || digits.size() > 8 || digits.find_first_not_of("0123456789") != std::string::npos) continue;
    const int number = std::stoi(digits);
    if (result_name(number).size() != digits.size() + 5) continue;  // 03
    uses.numbers.push_back(number);
    uses.text.replace(words[i].offset, digits.size() + 5, result_name(number));
  }
  return uses;
}

bool declares_variables(std::string_view text) { return read_head(scan(text).list).has_value(); }

bool is_main_function(std::string_view text) {
  const Words words = scan(text).list;
  return words.size() > 3 && words[0].is("int") && words[1].is("main") && words[2].is("(");
}

std::vector<std::string> declared_names(const Piece& piece) {
  std::vector<std::string> names;
  const Words words = scan(piece.text).list;
  if (piece.kind == Piece::Kind::kSimple) {
    const auto head = read_head(words);
    if (!head) return names;
    // Takes each name before an initializer or a comma, outside brackets.
    for (size_t i = head->name; i < words.size(); ++i) {
      const bool ends = i + 1 == words.size() || words[i + 1].is("=") || words[i + 1].is(",") || words[i + 1].is("[") ||
                        words[i + 1].is("(") || words[i + 1].is("{");
      const bool begins = i == head->name || words[i - 1].is(",") || words[i - 1].is("*") || words[i - 1].is("&");
      if (words[i].is_name() && ends && begins) add_name(names, words[i].text);
      if (words[i].is("[") && i == head->name) {
        for (size_t k = i + 1; k < closing(words, i); ++k) {
          if (words[k].is_name()) add_name(names, words[k].text);
        }
      }
      if (words[i].is("(") || words[i].is("[") || words[i].is("{")) i = closing(words, i);
    }
    return names;
  }
  if (piece.kind != Piece::Kind::kDeclaration) return names;
  for (size_t i = 0; i < words.size(); ++i) {
    const Token& t = words[i];
    if (t.is("template") && i + 1 < words.size() && words[i + 1].is("<")) {
      i = closing_angle(words, i + 1, words.size());
      continue;
    }
    if (t.is("namespace") || t.is("static_assert")) return names;  // may be repeated
    if (t.is("class") || t.is("struct") || t.is("union") || t.is("enum") || t.is("concept") || t.is("using")) {
      size_t k = i + 1;
      while (k < words.size() && (words[k].is("class") || words[k].is("struct") || words[k].is("namespace"))) {
        if (words[k].is("namespace")) return names;
        ++k;
      }
      if (k + 1 < words.size() && words[k].is_name() && !words[k + 1].is("<")) add_name(names, words[k].text);
      return names;
    }
    if (t.is("(")) {
      if (i > 0 && words[i - 1].is_name() && !words[i - 1].is("operator")) add_name(names, words[i - 1].text);
      return names;
    }
  }
  return names;
}

std::string open_captures(const std::string& text, const std::vector<std::string>& variables) {
  const Words words = scan(text).list;
  std::string out;
  size_t copied = 0;
  for (size_t i = 0; i < words.size(); ++i) {
    if (!words[i].is("[")) continue;
    const size_t end = closing(words, i);
    // A capture list begins an expression; an index follows one.
    const bool index = i > 0 && ((words[i - 1].is_name() && !words[i - 1].is("return")) || words[i - 1].is(")") ||
                                 words[i - 1].is("]") || words[i - 1].kind == Token::Kind::kText);
    const bool attribute = i + 1 < words.size() && words[i + 1].is("[");
    if (index || attribute || end == words.size()) continue;
    for (size_t k = i + 1; k < end; ++k) {
      const bool begins = words[k - 1].is("[") || words[k - 1].is(",") || words[k - 1].is("&");
      const bool ends = words[k + 1].is("]") || words[k + 1].is(",");
      if (!words[k].is_name() || !begins || !ends) continue;
      if (std::ranges::find(variables, words[k].text) == variables.end()) continue;
      out.append(text, copied, words[k].end() - copied).append(" = ").append(words[k].text);
      copied = words[k].end();
    }
  }
  return out.append(text, copied);
}

}  // namespace panto::repl
