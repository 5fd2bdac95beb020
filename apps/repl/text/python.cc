#include "panto/apps/repl/text/python.h"

#include <algorithm>
#include <array>

namespace panto::repl {
namespace {

using Words = std::vector<Token>;

template <size_t N>
bool one_of(const Token& t, const std::array<std::string_view, N>& words) {
  return t.is_name() && std::ranges::find(words, t.text) != words.end();
}

// Returns true for the bracket of an index, which follows a value, unlike captures, `auto [a, b]` and attributes.
bool is_index(const Words& list, size_t at) {
  if (at == 0 || !list[at].is("[")) return false;
  const Token& before = list[at - 1];
  if (before.is(")") || before.is("]")) return true;
  static constexpr std::array<std::string_view, 4> kNoValues = {"auto", "delete", "operator", "mutable"};
  return before.is_name() && !is_keyword(before) && !is_specifier(before) && !is_builtin_type(before) &&
         !one_of(before, kNoValues);
}

// A comma-separated part between brackets.
struct Part {
  size_t begin, end;  // tokens
};

std::vector<Part> parts_of(const Words& list, size_t open, size_t close) {
  std::vector<Part> parts{{open + 1, close}};
  for (size_t i = open + 1; i < close; ++i) {
    if (list[i].is("(") || list[i].is("[") || list[i].is("{")) i = closing(list, i);
    if (i < close && list[i].is("<")) {
      const size_t angle = closing_angle(list, i, close);
      if (angle < close) i = angle;
    }
    if (i >= close || !list[i].is(",")) continue;
    parts.back().end = i;
    parts.push_back({i + 1, close});
  }
  return parts;
}

class Index {
 public:
  Index(std::string_view text, const Words& list, size_t open, size_t close)
      : text_(text), list_(list), open_(open), close_(close), parts_(parts_of(list, open, close)) {}

  bool several() const { return parts_.size() > 1; }
  bool pythonic() const {
    return several() || std::ranges::any_of(parts_, [&](const Part& p) { return !plain(p); });
  }

  std::string written_here() const {
    std::string inside;
    for (const Part& p : parts_) {
      if (p.begin < p.end) inside.append(inside.empty() ? "" : ", ").append(written(p));
    }
    return std::string(receiver()) + "(" + inside + ")";
  }

 private:
  std::string_view between(size_t begin, size_t end) const {
    return begin < end ? text_.substr(list_[begin].offset, list_[end - 1].end() - list_[begin].offset) : "";
  }
  // True for a `::` that means two colons, not for that of std::x.
  bool two_colons(size_t i, const Part& p) const {
    return list_[i].is("::") && !(i > p.begin && list_[i - 1].is_name() && i + 1 < p.end && list_[i + 1].is_name());
  }
  bool is_range(const Part& p) const {
    bool condition = false, colon = false;
    for (size_t i = p.begin; i < p.end; ++i) {
      condition = condition || list_[i].is("?");
      colon = colon || list_[i].is(":") || two_colons(i, p);
    }
    return colon && !condition;
  }
  bool is_new_axis(const Part& p) const {
    return p.begin < p.end && (list_[p.end - 1].is("None") || list_[p.end - 1].is("newaxis"));
  }
  bool is_list(const Part& p) const { return p.begin < p.end && list_[p.begin].is("[") && !lambda(p); }
  bool lambda(const Part& p) const {
    const size_t end = closing(list_, p.begin);
    return end + 1 < p.end;
  }
  bool is_ellipsis(const Part& p) const { return p.end == p.begin + 1 && list_[p.begin].is("..."); }
  bool plain(const Part& p) const { return !is_range(p) && !is_new_axis(p) && !is_list(p) && !is_ellipsis(p); }

  std::string range(const Part& p) const {
    std::vector<std::string> ends(1);
    for (size_t i = p.begin; i < p.end; ++i) {
      if (list_[i].is(":") || two_colons(i, p)) {
        ends.resize(ends.size() + list_[i].text.size());
      } else {
        ends.back() += list_[i].text;
      }
    }
    const bool open = ends.size() == 2 && !ends[0].empty() && ends[1].empty();  // `1:` has an end that is left out
    while (!open && !ends.empty() && ends.back().empty()) ends.pop_back();
    std::string inside;
    for (const std::string& e : ends) inside.append(inside.empty() ? "" : ", ").append(e.empty() ? "{}" : e);
    return "Slice(" + inside + ")";
  }

  std::string written(const Part& p) const {
    if (is_range(p)) return range(p);
    if (is_ellipsis(p)) return "Ellipsis";
    if (is_new_axis(p)) return "NewAxis";
    if (is_list(p)) return "tensor({" + std::string(between(p.begin + 1, p.end - 1)) + "})";
    return std::string(between(p.begin, p.end));
  }

  // Returns the indexed expression.
  std::string_view receiver() const {
    size_t begin = open_;
    while (begin > 0) {
      const Token& t = list_[begin - 1];
      const bool joined = t.is(".") || t.is("::") || t.is("->");
      if (joined || (t.is_name() && (begin == open_ || !list_[begin].is_name()) && !is_keyword(t))) {
        --begin;
        continue;
      }
      if (!t.is(")") && !t.is("]")) break;
      size_t i = begin - 1;
      while (i > 0 && closing(list_, i) != begin - 1) --i;
      begin = i;
    }
    return between(begin, open_);
  }

  std::string_view text_;
  const Words& list_;
  size_t open_, close_;
  std::vector<Part> parts_;
};

// Calls f(index) for each index until f returns true.
template <class F>
void for_each_index(std::string_view text, F f) {
  const Words list = scan(text).list;
  for (size_t i = 0; i < list.size(); ++i) {
    if (!is_index(list, i)) continue;
    const size_t close = closing(list, i);
    if (close < list.size() && f(Index(text, list, i, close))) return;
  }
}

}  // namespace

size_t after_python_line(const Words& list, size_t begin) {
  size_t end = begin + 1;
  while (end < list.size() && !list[end].first) ++end;
  if (end - begin < 2) return begin;
  const Token& head = list[begin];
  const Token& next = list[begin + 1];
  const bool block = list[end - 1].is(":");
  static constexpr std::array<std::string_view, 6> kAlways = {"def", "with", "import", "from", "lambda", "elif"};
  if (one_of(head, kAlways) && (next.is_name() || block)) return end;
  static constexpr std::array<std::string_view, 4> kAlone = {"else", "try", "finally", "except"};
  if (one_of(head, kAlone) && block) return end;
  if (head.is("class")) {  // of C++, `class A :` has no parentheses
    return block && end - begin > 4 && next.is_name() && list[begin + 2].is("(") ? end : begin;
  }
  static constexpr std::array<std::string_view, 3> kControl = {"for", "if", "while"};
  if (!one_of(head, kControl)) return begin;
  if (!next.is("(")) {
    const bool ours = next.is("constexpr") || next.is("consteval") || next.is("!") || next.is("co_await");
    return ours ? begin : end;
  }
  // `if (a):` is Python; `for (auto x :` is C++ that continues on the next line.
  const bool whole = block && closing(list, begin + 1) == end - 2;
  return whole ? end : begin;
}

std::string python_index(std::string_view text) {
  std::string found;
  for_each_index(text, [&](const Index& index) {
    if (index.pythonic()) found = index.written_here();
    return !found.empty();
  });
  return found;
}

bool has_several_indices(std::string_view text) {
  bool found = false;
  for_each_index(text, [&](const Index& index) { return found = index.several(); });
  return found;
}

}  // namespace panto::repl
