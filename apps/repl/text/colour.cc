#include "panto/apps/repl/text/colour.h"

#include <algorithm>

#include "panto/apps/repl/text/tokens.h"

namespace panto::repl {
namespace {

constexpr std::string_view kComment = "2";   // dim
constexpr std::string_view kWord = "1;34";   // bold blue: keywords
constexpr std::string_view kType = "36";     // cyan
constexpr std::string_view kText = "32";     // green: strings and characters
constexpr std::string_view kNumber = "35";   // magenta
constexpr std::string_view kCommand = "33";  // yellow: directives, and commands of the prompt

std::string_view colour_of(const Token& t) {
  switch (t.kind) {
    case Token::Kind::kNumber: return kNumber;
    case Token::Kind::kText: return kText;
    case Token::Kind::kDirective: return kCommand;
    case Token::Kind::kMark: return "";
    case Token::Kind::kName: break;
  }
  if (is_builtin_type(t) || t.is("auto")) return kType;
  const bool declares = t.is("class") || t.is("struct") || t.is("union") || t.is("enum") || t.is("typename") ||
                        t.is("concept") || t.is("decltype") || t.is("virtual") || t.is("override");
  return declares || is_keyword(t) || is_specifier(t) ? kWord : "";
}

class Painter {
 public:
  Painter(std::string_view text, size_t from) : text_(text), done_(from) {}

  void paint_until(size_t end, std::string_view colour) {
    if (end <= done_) return;
    const std::string_view part = text_.substr(done_, end - done_);
    if (colour.empty()) {
      out_ += part;
    } else {
      out_.append("\x1b[").append(colour).append("m").append(part).append("\x1b[0m");
    }
    done_ = end;
  }
  // Between tokens there are only blanks and comments.
  void paint_gap(size_t end) {
    const bool blank = text_.find_first_not_of(" \t\n\\", done_) >= end;
    paint_until(end, blank ? std::string_view() : kComment);
  }
  std::string take() { return std::move(out_); }

 private:
  std::string_view text_;
  size_t done_;
  std::string out_;
};

}  // namespace

std::string coloured(std::string_view before, std::string_view line) {
  const std::string text = std::string(before) + std::string(line);
  Painter painter(text, before.size());
  if (before.empty() && line.starts_with(":")) {
    painter.paint_until(std::min(line.find(' '), line.size()), kCommand);
    painter.paint_until(line.size(), "");
    return painter.take();
  }
  for (const Token& t : scan(text).list) {
    painter.paint_gap(t.offset);
    painter.paint_until(t.end(), colour_of(t));
  }
  painter.paint_gap(text.size());
  return painter.take();
}

}  // namespace panto::repl
