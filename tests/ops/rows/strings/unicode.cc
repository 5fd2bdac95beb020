// Samples of ops between encodings of text and numbers of characters, with what the Unicode standard says of them.
#include <boost/test/unit_test.hpp>
#include <string>
#include <utility>
#include <vector>

#include "panto/lib/ops/ops.h"
#include "panto/tests/expect.h"
#include "panto/tests/ops/reference.h"
#include "panto/tests/ops/table.h"

namespace panto::test::unicode_rows {
namespace {

std::string bytes(std::initializer_list<int> values) {
  std::string text;
  for (const int v : values) text.push_back(static_cast<char>(v));
  return text;
}

const std::string kEuro = bytes({0xE2, 0x82, 0xAC}), kFace = bytes({0xF0, 0x9F, 0x98, 0x80}),
                  kUnknown = bytes({0xEF, 0xBF, 0xBD});
// With bytes that are no UTF-8: one that never is, a character without its end, a surrogate.
const Array kBroken = texts({3}, {"a" + bytes({0xFF}) + "b", bytes({0xE2, 0x82}), bytes({0xED, 0xA0, 0x80})});

Attrs transcode(const char* from, const char* to, Attrs more = {}) {
  Attrs all = {{"input_encoding", from}, {"output_encoding", to}};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}
Attrs decode(const char* from, Attrs more = {}) {
  more.emplace_back("input_encoding", from);
  return more;
}
Attrs encode(const char* to, Attrs more = {}) {
  more.emplace_back("output_encoding", to);
  return more;
}

const Array kText = texts({2, 2}, {"", "a" + kEuro, kFace, std::string("\0\x1f ", 3)});
const Array kCharacters = list({'a', 0x20AC, 0x1F600, 0, 0x1F, ' '});
const Attr kControls = {"replace_control_characters", true}, kStrict = {"errors", "strict"},
           kIgnore = {"errors", "ignore"};

Sample decoded(Array text, Attrs attrs, std::vector<double> splits, std::vector<double> characters) {
  return {.in = {std::move(text)}, .attrs = std::move(attrs), .out = {list(std::move(splits)), list(characters)}};
}
Sample with_offsets(Sample sample, std::vector<double> offsets) {
  sample.out.push_back(list(std::move(offsets)));
  return sample;
}
Sample encoded(std::vector<double> characters, std::vector<double> splits, Attrs attrs, std::vector<std::string> out) {
  const auto count = static_cast<int64_t>(out.size());
  return {.in = {list(std::move(characters)), list(std::move(splits))},
          .attrs = std::move(attrs),
          .out = {texts({count}, std::move(out))}};
}
ErrorSample wrong(Array text, Attrs attrs, const char* message) {
  return {.in = {std::move(text)}, .attrs = std::move(attrs), .text = message};
}
ErrorSample wrong_splits(std::vector<double> splits, const char* message) {
  return {.in = {list({'a', 'b'}), list(std::move(splits))}, .attrs = encode("UTF-8"), .text = message};
}

const std::vector<double> kSplits = {0, 0, 2, 3, 6}, kNumbers = {'a', 0x20AC, 0x1F600, 0, 0x1F, ' '};
const Attr kStar = {"replacement_char", '*'};

// Each string is read from its beginning, whatever was before it: a mark of the order of bytes counts for one.
const Sample kMarked = decoded(texts({3}, {bytes({0xFF, 0xFE, 'a', 0}), bytes({0, 'b'}), bytes({0xFE, 0xFF, 0, 'c'})}),
                               decode("UTF-16"), {0, 1, 2, 3}, {'a', 'b', 'c'});

const Family family(
    "strings",
    {{"UnicodeTranscode",
      {.samples =
           {{.in = {kText}, .attrs = transcode("UTF-8", "UTF-8"), .out = {kText}},
            {.in = {kText},
             .attrs = transcode("utf8", "UTF-16-BE", {kStrict}),
             .out = {texts({2, 2}, {"", bytes({0, 'a', 0x20, 0xAC}), bytes({0xD8, 0x3D, 0xDE, 0x00}),
                                    bytes({0, 0, 0, 0x1F, 0, ' '})})}},
            {.in = {kText},
             .attrs = transcode("UTF-8", "UTF-32-BE"),
             .out = {texts({2, 2}, {"", bytes({0, 0, 0, 'a', 0, 0, 0x20, 0xAC}), bytes({0, 1, 0xF6, 0}),
                                    bytes({0, 0, 0, 0, 0, 0, 0, 0x1F, 0, 0, 0, ' '})})}},
            {.in = {texts({2}, {bytes({'a', 0xE9}), bytes({0x80})})},
             .attrs = transcode("windows-1252", "UTF-8"),
             .out = {texts({2}, {"a" + bytes({0xC3, 0xA9}), kEuro})}},
            {.in = {kText},
             .attrs = transcode("UTF-8", "UTF-8", {kControls, kStar}),
             .out = {texts({2, 2}, {"", "a" + kEuro, kFace, "** "})}},
            {.in = {kText},
             .attrs = transcode("UTF-8", "UTF-8", {kControls, kIgnore}),
             .out = {texts({2, 2}, {"", "a" + kEuro, kFace, " "})}},
            {.in = {kBroken},
             .attrs = transcode("UTF-8", "UTF-8"),
             .out = {texts({3}, {"a" + kUnknown + "b", kUnknown, kUnknown + kUnknown + kUnknown})}},
            {.in = {kBroken}, .attrs = transcode("UTF-8", "UTF-8", {kIgnore}), .out = {texts({3}, {"ab", "", ""})}},
            {.in = {kBroken},
             .attrs = transcode("UTF-8", "UTF-16-BE", {{"replacement_char", 0x1F600}}),
             .out = {texts({3}, {bytes({0, 'a', 0xD8, 0x3D, 0xDE, 0, 0, 'b'}), bytes({0xD8, 0x3D, 0xDE, 0}),
                                 bytes({0xD8, 0x3D, 0xDE, 0, 0xD8, 0x3D, 0xDE, 0, 0xD8, 0x3D, 0xDE, 0})})}},
            {.in = {kBroken},
             .attrs = transcode("UTF-8", "UTF-8", {{"replacement_char", 0xD800}}),
             .out = {texts({3}, {"a" + kUnknown + "b", kUnknown, kUnknown + kUnknown + kUnknown})}}},
       .errors = {wrong(kText, transcode("UTF-88", "UTF-8"),
                        "input_encoding: expected one that ICU knows, got 'UTF-88'"),
                  wrong(kText, transcode("", "UTF-8"), "input_encoding: expected one that ICU knows, got ''"),
                  wrong(kText, transcode("UTF-8", "UTF-16"), "output_encoding: expected"),
                  wrong(kText, transcode("UTF-8", "UTF-8", {{"replacement_char", 0x110000}}),
                        "replacement_char: expected 0 to 1114111, got 1114112"),
                  wrong(kText, transcode("UTF-8", "UTF-8", {{"replacement_char", -1}}),
                        "replacement_char: expected 0 to 1114111, got -1"),
                  wrong(kBroken, transcode("UTF-8", "UTF-8", {kStrict}),
                        "input[0]: expected characters in the encoding, got others"),
                  wrong(kText, transcode("UTF-8", "UTF-8", {kStrict, kControls}),
                        "input[3]: expected characters in the encoding, got others")}}},
     {"UnicodeDecode",
      {.samples = {decoded(kText, decode("UTF-8"), kSplits, kNumbers),
                   decoded(kText, decode("UTF-8", {kStrict}), kSplits, kNumbers),
                   decoded(kText, decode("UTF-8", {kStrict, kControls, kStar}), kSplits,
                           {'a', 0x20AC, 0x1F600, '*', '*', ' '}),
                   decoded(kText, decode("UTF-8", {kIgnore, kControls}), {0, 0, 2, 3, 4}, {'a', 0x20AC, 0x1F600, ' '}),
                   decoded(kBroken, decode("UTF-8"), {0, 3, 4, 7}, {'a', 0xFFFD, 'b', 0xFFFD, 0xFFFD, 0xFFFD, 0xFFFD}),
                   decoded(kBroken, decode("UTF-8", {kIgnore}), {0, 2, 2, 2}, {'a', 'b'}),
                   decoded(texts({}, {"ab"}), decode("US-ASCII"), {0, 2}, {'a', 'b'}),
                   decoded(texts({0}, {}), decode("UTF-8"), {0}, {}), kMarked},
       .errors = {wrong(kText, decode("nothing"), "input_encoding: expected one that ICU knows, got 'nothing'"),
                  wrong(kText, decode("UTF-8", {{"replacement_char", -1}}), "replacement_char: expected 0 to 1114111"),
                  wrong(kBroken, decode("UTF-8", {kStrict}), "input[0]: expected characters in the encoding")},
       .data_dependent_shape = true}},
     {"UnicodeDecodeWithOffsets",
      {.samples = {with_offsets(decoded(kText, decode("UTF-8"), kSplits, kNumbers), {0, 1, 0, 0, 1, 2}),
                   with_offsets(decoded(kBroken, decode("UTF-8", {kStar}), {0, 3, 4, 7},
                                        {'a', '*', 'b', '*', '*', '*', '*'}),
                                {0, 1, 2, 0, 0, 1, 2}),
                   with_offsets(decoded(kBroken, decode("UTF-8", {kIgnore}), {0, 2, 2, 2}, {'a', 'b'}), {0, 2}),
                   with_offsets(kMarked, {0, 0, 0})},
       .errors = {wrong(kBroken, decode("UTF-8", {kStrict}), "input[0]: expected characters in the encoding")},
       .data_dependent_shape = true}},
     {"UnicodeEncode",
      {.samples = {encoded(kNumbers, kSplits, encode("UTF-8"), kText.texts),
                   encoded(kNumbers, {0, 3, 6}, encode("UTF-16-BE", {kStrict}),
                           {bytes({0, 'a', 0x20, 0xAC, 0xD8, 0x3D, 0xDE, 0}), bytes({0, 0, 0, 0x1F, 0, ' '})}),
                   encoded(kNumbers, {0, 3, 6}, encode("UTF-32-BE"),
                           {bytes({0, 0, 0, 'a', 0, 0, 0x20, 0xAC, 0, 1, 0xF6, 0}),
                            bytes({0, 0, 0, 0, 0, 0, 0, 0x1F, 0, 0, 0, ' '})}),
                   encoded({'a', 0x110000, -1, 0xD800, 0xDC00, 'b'}, {0, 6}, encode("UTF-8", {kStar}), {"a****b"}),
                   encoded({'a', 0x110000, -1, 0xD800, 0xDC00, 'b'}, {0, 6}, encode("UTF-16-BE"),
                           {bytes({0, 'a', 0xFF, 0xFD, 0xFF, 0xFD, 0xFF, 0xFD, 0xFF, 0xFD, 0, 'b'})}),
                   encoded({'a', 0x110000, -1, 0xD800, 0xDC00, 'b'}, {0, 6}, encode("UTF-8", {kIgnore}), {"ab"}),
                   encoded({}, {0}, encode("UTF-8"), {}), encoded({}, {0, 0}, encode("UTF-8"), {""})},
       .errors = {wrong_splits({}, "input_splits: expected at least one, got none"),
                  wrong_splits({1, 2}, "input_splits: expected 0 first, got 1"),
                  wrong_splits({0, 3}, "input_splits: expected 2 last, got 3"),
                  wrong_splits({0, 2, 1, 2}, "input_splits: expected them in order, got 1 after 2"),
                  {.in = {list({'a', 0xD800}), list({0, 2})},
                   .attrs = encode("UTF-8", {kStrict}),
                   .text = "input_values[1]: expected the number of a character, got 55296"}}}},
     {"UnicodeScript",
      {.samples = {{.in = {array({2, 4}, {'A', 0x4E00, 0x3B1, 0x41F, 0x5D0, '1', -1, 0x110000})},
                    .out = {array({2, 4}, {25, 17, 14, 8, 19, 0, -1, -1})}},
                   {.in = {array({0}, {})}, .out = {array({0}, {})}}}}}});

}  // namespace
}  // namespace panto::test::unicode_rows
