// Samples of ops with regular expressions. What comes out was also asked of TensorFlow 2.21.
#include "panto/tests/ops/reference.h"
#include "panto/tests/ops/table.h"

namespace panto::test::regex_rows {
namespace {

const Array kSome = texts({5}, {"ab", "", "a\nb", "\xff", "\xc3\xa4"});
const Array kOthers = texts({5}, {"aab", "", "cac",
                                  "\xc3\xa4"
                                  "a\xc3\xa4",
                                  "\xff"
                                  "a"});

const std::vector<std::pair<const char*, std::vector<double>>> kMatches = {
    {"a.*", {1, 0, 0, 0, 0}},     {"", {0, 1, 0, 0, 0}},         {"(a)(b)", {1, 0, 0, 0, 0}},
    {"\\C", {0, 0, 0, 1, 0}},     {"(?i)AB", {1, 0, 0, 0, 0}},   {"\\pL+", {1, 0, 0, 0, 1}},
    {".", {0, 0, 0, 0, 1}},       {"(?s)a.?b", {1, 0, 1, 0, 0}}, {"b|a", {0, 0, 0, 0, 0}},
    {"\xc3\xa4", {0, 0, 0, 0, 1}}};
// Without end, or more than RE2 takes.
const std::vector<const char*> kWrong = {"[a", "(a", "a{1001}", "((a{100}){100}){100}", "\\8", "*"};

struct Change {
  const char *pattern, *rewrite;
  std::vector<std::string> all, first;
};
const std::vector<Change> kChanges = {
    {"a",
     "b",
     {"bbb", "", "cbc", "\xc3\xa4\x62\xc3\xa4", "\xff\x62"},
     {"bab", "", "cbc", "\xc3\xa4\x62\xc3\xa4", "\xff\x62"}},
    {"a*",
     "-",
     {"-b-", "-", "-c-c-", "-\xc3\xa4-\xc3\xa4-", "-\xff-"},
     {"-b", "-", "-cac", "-\xc3\xa4\x61\xc3\xa4", "-\xff\x61"}},
    {"(a)(b)?",
     "\\2\\1",
     {"aba", "", "cac", "\xc3\xa4\x61\xc3\xa4", "\xff\x61"},
     {"aab", "", "cac", "\xc3\xa4\x61\xc3\xa4", "\xff\x61"}},
    {"a",
     "\\1",  // no such group
     {"aab", "", "cac", "\xc3\xa4\x61\xc3\xa4", "\xff\x61"},
     {"aab", "", "cac", "\xc3\xa4\x61\xc3\xa4", "\xff\x61"}},
    {"a", "\\", {"b", "", "cc", "\xc3\xa4\xc3\xa4", "\xff"}, {"aab", "", "cac", "\xc3\xa4\x61\xc3\xa4", "\xff\x61"}},
    {"a",
     "\\\\",
     {"\\\\b", "", "c\\c", "\xc3\xa4\\\xc3\xa4", "\xff\\"},
     {"\\ab", "", "c\\c", "\xc3\xa4\\\xc3\xa4", "\xff\\"}},
    {"",
     "x",
     {"xaxaxbx", "x", "xcxaxcx", "x\xc3\xa4xax\xc3\xa4x", "x\xffxax"},
     {"xaab", "x", "xcac", "x\xc3\xa4\x61\xc3\xa4", "x\xff\x61"}},
    {"(a)",
     "\\0\\0",
     {"aaaab", "", "caac", "\xc3\xa4\x61\x61\xc3\xa4", "\xff\x61\x61"},
     {"aaab", "", "caac", "\xc3\xa4\x61\x61\xc3\xa4", "\xff\x61\x61"}},
    {"a\\b", "", {"aab", "", "cac", "\xc3\xa4\xc3\xa4", "\xff"}, {"aab", "", "cac", "\xc3\xa4\xc3\xa4", "\xff"}}};

Array scalar_text(const char* text) { return texts({}, {text}); }

Details matches(bool is_static) {
  Details d;
  for (const auto& [pattern, out] : kMatches) {
    d.samples.push_back(is_static ? Sample{.in = {kSome}, .attrs = {{"pattern", pattern}}, .out = {list(out)}}
                                  : Sample{.in = {kSome, scalar_text(pattern)}, .out = {list(out)}});
  }
  for (const char* pattern : kWrong) {
    ErrorSample e{.in = {kSome}, .text = "pattern: expected a regular expression of RE2, got '" + std::string(pattern)};
    if (is_static) {
      e.attrs.emplace_back("pattern", pattern);
    } else {
      e.in.push_back(scalar_text(pattern));
    }
    d.errors.push_back(std::move(e));
  }
  std::string classes;
  for (int i = 0; i < 1001; ++i) classes += i % 2 == 0 ? "\\pL" : "\\PL";
  for (const auto& [pattern, text] : {std::pair(classes, "named classes, got 1001"),
                                      std::pair(std::string((1 << 20) + 1, 'a'), "bytes, got 1048577")}) {
    const bool long_one = pattern.size() > (1 << 20);
    ErrorSample e{.in = {kSome},
                  .text = std::string("pattern: expected at most ") + (long_one ? "1048576 " : "1000 ") + text};
    if (is_static) {
      e.attrs.emplace_back("pattern", pattern.c_str());
    } else {
      e.in.push_back(texts({}, {pattern}));
    }
    d.errors.push_back(std::move(e));
  }
  if (!is_static) d.errors.push_back({.in = {kSome, list({})}, .text = "pattern: expected a scalar, got shape [0]"});
  return d;
}

Details changes(bool is_static) {
  Details d;
  for (const Change& change : kChanges) {
    for (const bool all : {true, false}) {
      Sample s{
          .in = {kOthers}, .attrs = {{"replace_global", all}}, .out = {texts({5}, all ? change.all : change.first)}};
      if (is_static) {
        s.attrs.emplace_back("pattern", change.pattern);
        s.attrs.emplace_back("rewrite", change.rewrite);
      } else {
        s.in.push_back(scalar_text(change.pattern));
        s.in.push_back(scalar_text(change.rewrite));
      }
      d.samples.push_back(std::move(s));
    }
  }
  ErrorSample wrong{.in = {kOthers}, .text = "pattern: expected a regular expression of RE2, got '(a': missing )"};
  if (is_static) {
    wrong.attrs = {{"pattern", "(a"}, {"rewrite", ""}};
  } else {
    wrong.in = {kOthers, scalar_text("(a"), scalar_text("")};
    d.errors.push_back(
        {.in = {kOthers, scalar_text("a"), texts({1}, {"x"})}, .text = "rewrite: expected a scalar, got shape [1]"});
  }
  d.errors.push_back(std::move(wrong));
  return d;
}

const Family expressions("strings", {{"StaticRegexFullMatch", matches(true)},
                                     {"RegexFullMatch", matches(false)},
                                     {"StaticRegexReplace", changes(true)},
                                     {"RegexReplace", changes(false)}});

}  // namespace
}  // namespace panto::test::regex_rows
