// Samples of ops on the characters of strings. What comes out was also asked of TensorFlow 2.21.
#include <algorithm>

#include "panto/tests/ops/reference.h"
#include "panto/tests/ops/table.h"

namespace panto::test::text_rows {
namespace {

// Of UTF-8 and not; the last ones break off.
const Array kMixed = texts({7}, {"", "abc", "\xc3\xa4\xc3\x9f\xe2\x82\xac\xf0\x9f\x98\x80", "\xff\xfe",
                                 "a\x80"
                                 "b",
                                 "\xe2\x82", std::string("a\0B", 3)});
const Attr kCharacters = {"unit", "UTF8_CHAR"};
const Attr kUtf8 = {"encoding", "utf-8"};
const Array kHello = texts({}, {"hello"});
const Array kWide = texts({}, {"h\xc3\xa4\xe2\x82\xaco\xf0\x9f\x98\x80"});  // 5 characters, 11 bytes

Sample part(Array text, double pos, double len, const char* unit, const char* result) {
  return {.in = {std::move(text), scalar(pos), scalar(len)}, .attrs = {{"unit", unit}}, .out = {texts({}, {result})}};
}

// Rows and columns, pieces, shape.
std::vector<Array> split_into(const std::vector<std::vector<std::string>>& rows) {
  Array indices, shape = list({static_cast<double>(rows.size()), 0});
  std::vector<std::string> pieces;
  for (size_t row = 0; row < rows.size(); ++row) {
    for (size_t column = 0; column < rows[row].size(); ++column) {
      indices.values.push_back(static_cast<double>(row));
      indices.values.push_back(static_cast<double>(column));
      pieces.push_back(rows[row][column]);
      shape.values[1] = std::max(shape.values[1], static_cast<double>(column + 1));
    }
  }
  indices.dims = {static_cast<int64_t>(pieces.size()), 2};
  return {indices, texts({static_cast<int64_t>(pieces.size())}, pieces), shape};
}

using Texts = std::vector<std::string>;
Sample split(const Texts& in, const char* separator, int most, const std::vector<Texts>& out) {
  return {.in = {texts({static_cast<int64_t>(in.size())}, in), texts({}, {separator})},
          .attrs = {{"maxsplit", most}},
          .out = split_into(out)};
}
Sample split_by_bytes(const Texts& in, const char* delimiter, bool skip_empty, const std::vector<Texts>& out) {
  return {.in = {texts({static_cast<int64_t>(in.size())}, in), texts({}, {delimiter})},
          .attrs = {{"skip_empty", skip_empty}},
          .out = split_into(out)};
}

const Texts kWords = {"a b  c", "", "  ", " x\ty\n"};

const Family characters(
    "strings",
    {
        {"StringLength",
         {.samples = {{.in = {kMixed}, .out = {list({0, 3, 11, 2, 3, 2, 3})}},
                      {.in = {kMixed}, .attrs = {kCharacters}, .out = {list({0, 3, 4, 2, 2, 1, 3})}},
                      {.in = {texts({0, 2}, {})}, .out = {array({0, 2}, {})}}},
          .errors = {{.in = {kHello}, .attrs = {{"unit", "WORD"}}, .text = "unit: expected"}}}},
        {"StringLower",
         {.samples = {{.in = {texts({2}, {"aBZ\xc3\x84@[", "a\xff\xe2\x82Q"})},
                       .out = {texts({2}, {"abz\xc3\x84@[", "a\xff\xe2\x82q"})}},
                      // Ä İ; a sigma between letters and one at the end.
                      {.in = {texts({2}, {"aB\xc3\x84\xc4\xb0", "\xce\xa3\xce\x91\xce\xa3 "})},
                       .attrs = {kUtf8},
                       .out = {texts({2}, {"ab\xc3\xa4i\xcc\x87", "\xcf\x83\xce\xb1\xcf\x82 "})}},
                      {.in = {texts({4}, {"a\xff"
                                          "B\xe2\x82zQ\xc3",
                                          "\xed\xa0\x80"
                                          "A",
                                          "\xf0\x9f\x98"
                                          "A",
                                          "\xe0\x80"
                                          "A"})},
                       .attrs = {kUtf8},
                       .out = {texts({4}, {"a\xef\xbf\xbd"
                                           "b\xef\xbf\xbdzq\xef\xbf\xbd",
                                           "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"
                                           "a",
                                           "\xef\xbf\xbd"
                                           "a",
                                           "\xef\xbf\xbd\xef\xbf\xbd"
                                           "a"})}},
                      {.in = {texts({1}, {std::string("A\0\xc3\x84", 4)})},
                       .attrs = {kUtf8},
                       .out = {texts({1}, {std::string("a\0\xc3\xa4", 4)})}},
                      {.in = {texts({0}, {})}, .attrs = {kUtf8}, .out = {texts({0}, {})}}},
          .errors = {{.in = {kHello},
                      .attrs = {{"encoding", "UTF-8"}},
                      .text = "encoding: expected utf-8 or none, got 'UTF-8'"}}}},
        {"StringUpper",
         {.samples = {{.in = {texts({2}, {"aBz\xc3\xa4`{", "a\xff\xe2\x82q"})},
                       .out = {texts({2}, {"ABZ\xc3\xa4`{", "A\xff\xe2\x82Q"})}},
                      // ß, ı, the ligature fi.
                      {.in = {texts({3}, {"a\xc3\x9f", "\xc4\xb1\xce\xa3", "\xef\xac\x81"})},
                       .attrs = {kUtf8},
                       .out = {texts({3}, {"ASS", "I\xce\xa3", "FI"})}},
                      {.in = {texts({1}, {"\xc0\x80q"})},
                       .attrs = {kUtf8},
                       .out = {texts({1}, {"\xef\xbf\xbd\xef\xbf\xbdQ"})}}},
          .errors = {{.in = {kHello},
                      .attrs = {{"encoding", "latin"}},
                      .text = "encoding: expected utf-8 or none, got 'latin'"}}}},
        {"StringStrip",
         {.samples = {{.in = {texts({5}, {" \t\n\v\f\r a b \t",
                                          "\xc2\xa0"
                                          "a",
                                          "", "   ",
                                          "\x1c"
                                          "a "})},
                       .out = {texts({5}, {"a b",
                                           "\xc2\xa0"
                                           "a",
                                           "", "",
                                           "\x1c"
                                           "a"})}}}}},
        {"Substr",
         {.samples = {part(kHello, 0, 2, "BYTE", "he"),
                      part(kHello, -3, 2, "BYTE", "ll"),
                      part(kHello, 5, 1, "BYTE", ""),
                      part(kHello, -5, 9, "BYTE", "hello"),
                      part(kHello, 2, 0, "BYTE", ""),
                      part(kHello, 2, -1, "BYTE", "llo"),
                      part(kWide, 1, 1, "BYTE", "\xc3"),
                      part(kWide, -6, 2, "BYTE", "\xaco"),
                      part(kWide, 0, 2, "UTF8_CHAR", "h\xc3\xa4"),
                      part(kWide, 2, 100, "UTF8_CHAR", "\xe2\x82\xaco\xf0\x9f\x98\x80"),
                      part(kWide, -1, 1, "UTF8_CHAR", "\xf0\x9f\x98\x80"),
                      part(kWide, -5, 1, "UTF8_CHAR", "h"),
                      part(kWide, 5, 1, "UTF8_CHAR", ""),
                      part(kWide, 2, -1, "UTF8_CHAR", ""),
                      part(texts({}, {""}), 0, 1, "UTF8_CHAR", ""),
                      part(texts({}, {"\x80\x80"
                                      "a"}),
                           1, 1, "UTF8_CHAR", "a"),
                      part(texts({}, {"\x80\x80"
                                      "a"}),
                           -2, 1, "UTF8_CHAR", "\x80\x80"),
                      {.in = {texts({2, 2}, {"abcd", "efgh", "ijkl", "mnop"}), scalar(1), scalar(2)},
                       .out = {texts({2, 2}, {"bc", "fg", "jk", "no"})}},
                      {.in = {texts({2, 2}, {"abcd", "efgh", "ijkl", "mnop"}), list({0, 1}), list({1, 2})},
                       .out = {texts({2, 2}, {"a", "fg", "i", "no"})}},
                      {.in = {texts({2, 1}, {"abcd", "efgh"}), array({1, 2}, {0, -1}), array({1, 2}, {1, 2})},
                       .out = {texts({2, 2}, {"a", "d", "e", "h"})}},
                      {.in = {texts({}, {"abcd"}), list({0, 1}), list({1, 2})}, .out = {texts({2}, {"a", "bc"})}},
                      {.in = {texts({0}, {}), list({}), list({})}, .out = {texts({0}, {})}}},
          .errors = {{.in = {kHello, scalar(6), scalar(1)}, .text = "pos: expected one in string 0, 'hello', got 6"},
                     {.in = {kHello, scalar(-6), scalar(1)}, .text = "pos: expected one in string 0, 'hello', got -6"},
                     {.in = {texts({2}, {"a", ""}), scalar(1), scalar(1)},
                      .text = "pos: expected one in string 1, '', got 1"},
                     {.in = {kWide, scalar(6), scalar(1)}, .attrs = {kCharacters}, .text = "pos: expected one in"},
                     {.in = {kWide, scalar(-6), scalar(1)}, .attrs = {kCharacters}, .text = "pos: expected one in"},
                     {.in = {kWide, wholes({}, {INT64_MIN}), wholes({}, {INT64_MAX})},
                      .attrs = {kCharacters},
                      .text = "pos: expected one in",
                      .type = kInt64},
                     {.in = {kHello, wholes({}, {INT64_MIN}), wholes({}, {INT64_MAX})},
                      .text = "pos: expected one in",
                      .type = kInt64},
                     {.in = {kHello, list({0, 1}), scalar(1)}, .text = "len: expected the shape [2] of pos, got []"},
                     {.in = {texts({3}, {"a", "b", "c"}), list({0, 1}), list({1, 1})},
                      .text = "shapes: expected ones that broadcast, got [3] and [2]"}}}},
        {"Substr",
         {.samples = {{.in = {kHello, scalar(1), wholes({}, {INT64_MAX})}, .out = {texts({}, {"ello"})}},
                      {.in = {kWide, scalar(1), wholes({}, {INT64_MAX})},
                       .attrs = {kCharacters},
                       .out = {texts({}, {"\xc3\xa4\xe2\x82\xaco\xf0\x9f\x98\x80"})}}},
          .label = "long",
          .types = {kInt64}}},
        {"StringSplitV2",
         {.samples = {split(kWords, "", -1, {{"a", "b", "c"}, {}, {}, {"x", "y"}}),
                      split(kWords, "", 0, {{"a b  c"}, {""}, {"  "}, {" x\ty\n"}}),
                      split(kWords, "", 1, {{"a", "b  c"}, {}, {}, {"x", "y\n"}}),
                      split(kWords, "", 2, {{"a", "b", "c"}, {}, {}, {"x", "y", ""}}),
                      split(kWords, " ", -1, {{"a", "b", "", "c"}, {""}, {"", "", ""}, {"", "x\ty\n"}}),
                      split(kWords, " ", 1, {{"a", "b  c"}, {""}, {"", " "}, {"", "x\ty\n"}}),
                      split(kWords, "  ", -5, {{"a b", "c"}, {""}, {"", ""}, {" x\ty\n"}}),
                      split({"<><>a<>b<>", "aaa"}, "<>", -1, {{"", "", "a", "b", ""}, {"aaa"}}),
                      split({"aaa", "aaaab"}, "aa", 1, {{"", "a"}, {"", "aab"}}), split({}, " ", -1, {})},
          .errors = {{.in = {kHello, texts({}, {" "})}, .text = "input: expected a vector, got shape []"},
                     {.in = {texts({1}, {"a"}), texts({1}, {" "})}, .text = "sep: expected a scalar, got shape [1]"}},
          .data_dependent_shape = true}},
        {"StringSplit",
         {.samples = {split_by_bytes({"a bc", "  d"}, " ", true, {{"a", "bc"}, {"d"}}),
                      split_by_bytes({"a b,c", ",,d"}, " ,", false, {{"a", "b", "c"}, {"", "", "d"}}),
                      split_by_bytes({"ab", "a\xc3\xa4"}, "", true, {{"a", "b"}, {"a", "\xc3", "\xa4"}}),
                      split_by_bytes({"", "a,"}, ",", false, {{}, {"a", ""}}), split_by_bytes({}, ",", true, {})},
          .errors = {{.in = {kHello, texts({}, {" "})}, .text = "input: expected a vector, got shape []"}},
          .data_dependent_shape = true}},
        // The examples of RFC 4648, and the two letters that other alphabets have otherwise.
        {"EncodeBase64",
         {.samples = {{.in = {texts({7}, {"", "f", "fo", "foo", "foob", "fooba", "foobar"})},
                       .out = {texts({7}, {"", "Zg", "Zm8", "Zm9v", "Zm9vYg", "Zm9vYmE", "Zm9vYmFy"})}},
                      {.in = {texts({7}, {"", "f", "fo", "foo", "foob", "fooba", "foobar"})},
                       .attrs = {{"pad", true}},
                       .out = {texts({7}, {"", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"})}},
                      {.in = {texts({}, {std::string("\xff\xef\0", 3)})}, .out = {texts({}, {"_-8A"})}}}}},
        {"DecodeBase64",
         {.samples = {{.in = {texts({7}, {"", "Zg", "Zm8", "Zm9v", "Zm9vYg", "Zm9vYmE", "Zm9vYmFy"})},
                       .out = {texts({7}, {"", "f", "fo", "foo", "foob", "fooba", "foobar"})}},
                      {.in = {texts({4}, {"Zg==", "Zm8=", "Zm9vYg==", "Zm9vYmE="})},
                       .out = {texts({4}, {"f", "fo", "foob", "fooba"})}},
                      {.in = {texts({2}, {"_-8A", "YR"})}, .out = {texts({2}, {std::string("\xff\xef\0", 3), "a"})}}},
          .errors = {{.in = {texts({2}, {"", "Y"})},
                      .text = "input[1]: expected a length that is no multiple of 4 and 1, got 1"},
                     {.in = {texts({}, {"YWJjY"})}, .text = "input[0]: expected a length"},
                     {.in = {texts({}, {"YWJj="})}, .text = "input[0]: expected a length"},
                     {.in = {texts({}, {"Y Q"})}, .text = "input[0]: expected letters of Base64, got 'Y Q'"},
                     {.in = {texts({}, {"/+8A"})}, .text = "input[0]: expected letters of Base64"},
                     {.in = {texts({}, {"YQ="})}, .text = "input[0]: expected letters of Base64"},
                     {.in = {texts({}, {"Y==="})}, .text = "input[0]: expected letters of Base64"},
                     {.in = {texts({}, {"Y=Q="})}, .text = "input[0]: expected letters of Base64"},
                     {.in = {texts({}, {"YWJj===="})}, .text = "input[0]: expected letters of Base64"},
                     {.in = {texts({}, {"YQ==YQ=="})}, .text = "input[0]: expected letters of Base64"},
                     {.in = {texts({}, {"\xff\xff"})}, .text = "input[0]: expected letters of Base64"}}}},
    });

}  // namespace
}  // namespace panto::test::text_rows
