// Samples of ops that make text of numbers, and numbers of text.
#include <array>
#include <cstdio>
#include <limits>

#include "panto/tests/ops/reference.h"
#include "panto/tests/ops/table.h"

namespace panto::test::numbers_rows {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// What C's printf writes with these flags.
template <class T>
std::string printed(const std::string& format, T value) {
  std::array<char, 1000> text{};
  const int size = std::snprintf(text.data(), text.size(), format.c_str(), value);  // NOLINT(*-format-nonliteral)
  return {text.data(), static_cast<size_t>(size)};
}

std::string flags(const Given& g) {
  const int64_t width = g.integer("width");
  return "%" + g.text("fill") + (width > 0 ? std::to_string(width) : "");
}

std::vector<Array> reals(const Given& g) {
  const int64_t precision = g.integer("precision");
  const std::string format = flags(g) + (precision < 0 ? "" : "." + std::to_string(precision)) +
                             (g.flag("scientific") ? "e"
                              : g.flag("shortest") ? "g"
                                                   : "f");
  const Array& x = g.in[0];
  std::vector<std::string> result;
  for (size_t i = 0; i < x.values.size(); ++i) {
    const std::string real = printed(format, x.values[i]);
    const double imag = x.imag.empty() ? 0 : x.imag[i];
    result.push_back(dtypes::kComplex.contains(g.type) ? "(" + real + "," + printed(format, imag) + ")" : real);
  }
  return {texts(x.dims, result)};
}

std::vector<Array> integers_in_text(const Given& g) {
  const bool has_sign = dtypes::kSigned.contains(g.type);
  std::vector<std::string> result;
  for (const double v : g.in[0].values) {
    result.push_back(has_sign ? printed(flags(g) + "lld", static_cast<long long>(v))
                              : printed(flags(g) + "llu", static_cast<unsigned long long>(v)));
  }
  return {texts(g.in[0].dims, result)};
}

const Attr kFast = {"shortest", true};

const Family from_numbers(
    "strings",
    {
        {"AsString",
         {.samples = {{.in = {draw({2, 3}, -100, 100)}},
                      {.in = {list({0, -0.0, 1, -1.5, kInfinity, -kInfinity, kNan})}},
                      {.in = {list({0, -0.0, 0.1, 1e-5, 4096, kNan})}, .attrs = {kFast}},
                      {.in = {draw({5}, -1e-3, 1e-3)}, .attrs = {{"scientific", true}}},
                      {.in = {list({2.5, 0.5, 1.5, -2.5})}, .attrs = {{"precision", 0}}},
                      {.in = {list({2.5, 0, kInfinity})}, .attrs = {{"precision", 0}, {"fill", "#"}}},
                      {.in = {list({0.1, -3})}, .attrs = {{"precision", 40}}},
                      {.in = {list({0.1, -3})}, .attrs = {{"precision", 3}, kFast, {"width", 12}}},
                      {.in = {list({1, -1.5, kInfinity, kNan})}, .attrs = {{"width", 12}}},
                      {.in = {list({1, -1.5, -kInfinity, kNan})}, .attrs = {{"width", 12}, {"fill", "0"}}},
                      {.in = {list({1, -1.5, kInfinity, kNan})}, .attrs = {{"width", 12}, {"fill", "-"}}},
                      {.in = {list({1, -1.5, kInfinity, kNan})}, .attrs = {{"width", 12}, {"fill", "+"}}},
                      {.in = {list({1, -1.5, kInfinity, kNan})}, .attrs = {{"fill", " "}}},
                      {.in = {list({1, -1.5, 1000})}, .attrs = {{"width", 3}, {"fill", "0"}, {"precision", 1}}},
                      {.in = {list({1, -1.5})}, .attrs = {{"width", -3}, {"fill", "0"}, {"precision", -7}}},
                      {.in = {draw({})}},
                      {.in = {draw({0, 3})}}},
          .reference = reals,
          .errors =
              {{.in = {list({1})},
                .attrs = {{"scientific", true}, kFast},
                .text = "notation: expected one of scientific and shortest, got both"},
               {.in = {list({1})}, .attrs = {{"fill", "00"}}, .text = "fill: expected one character at most, got '00'"},
               {.in = {list({1})},
                .attrs = {{"fill", "x"}},
                .text = "fill: expected one of ' ', '+', '-', '0' and '#', got 'x'"},
               {.in = {list({1})}, .attrs = {{"width", 65537}}, .text = "width: expected at most 65536, got 65537"},
               {.in = {list({1})},
                .attrs = {{"precision", 1 << 30}},
                .text = "precision: expected at most 65536, got 1073741824"},
               {.in = {list({1})},
                .attrs = {{"precision", 2}},
                .text = "precision: expected -1 for int32, got 2",
                .type = kInt32},
               {.in = {list({1})},
                .attrs = {kFast},
                .text = "shortest: expected false for bool, got true",
                .type = kBool},
               {.in = {list({1})},
                .attrs = {{"scientific", true}},
                .text = "scientific: expected false for uint8, got true",
                .type = kUint8}},
          .types = dtypes::kFloating}},
        {"AsString",
         {.samples = {{.in = {complexes({2}, {{1, 2}, {-0.5, -1e3}})}},
                      {.in = {complexes({2}, {{1.5, 2}, {-0.5, kInfinity}})}, .attrs = {{"width", 10}, kFast}},
                      {.in = {draw_complex({2, 2})}, .attrs = {{"scientific", true}, {"precision", 3}, {"fill", "+"}}}},
          .reference = reals,
          .label = "complex",
          .types = dtypes::kComplex}},
        {"AsString",
         {.samples = {{.in = {list({0, 7, 100})}},
                      {.in = {draw({2, 3}, -100, 100)}},
                      {.in = {draw({4}, -100, 100)}, .attrs = {{"width", 6}}},
                      {.in = {draw({4}, -100, 100)}, .attrs = {{"width", 6}, {"fill", "0"}}},
                      {.in = {draw({4}, -100, 100)}, .attrs = {{"width", 6}, {"fill", "-"}}},
                      {.in = {draw({4}, -100, 100)}, .attrs = {{"width", 6}, {"fill", "+"}}},
                      {.in = {draw({4}, -100, 100)}, .attrs = {{"fill", " "}}},
                      {.in = {draw({4}, -100, 100)}, .attrs = {{"width", 1}, {"fill", "#"}}}},
          .reference = integers_in_text,
          .label = "integers",
          .types = dtypes::kInteger}},
        {"AsString",
         {.samples = {{.in = {wholes({2}, {INT64_MIN, INT64_MAX})},
                       .out = {texts({2}, {"-9223372036854775808", "9223372036854775807"})}}},
          .label = "int64",
          .types = {kInt64}}},
        {"AsString",
         {.samples = {{.in = {wholes({1}, {UINT64_MAX})}, .out = {texts({1}, {"18446744073709551615"})}}},
          .label = "uint64",
          .types = {kUint64}}},
        {"AsString",
         {.samples =
              {{.in = {list({1, 0})}, .out = {texts({2}, {"true", "false"})}},
               {.in = {list({1, 0})}, .attrs = {{"width", 9}, {"fill", "0"}}, .out = {texts({2}, {"true", "false"})}}},
          .label = "bool",
          .types = {kBool}}},
        {"AsString",
         {.samples =
              {{.in = {texts({2}, {"ab", ""})}, .out = {texts({2}, {"ab", ""})}},
               {.in = {texts({2}, {"ab", ""})},
                .attrs = {{"width", 3}, {"precision", 1}, kFast},
                .out = {texts({2}, {"  a", "   "})}},
               {.in = {texts({2}, {"ab", ""})}, .attrs = {{"precision", 1}}, .out = {texts({2}, {"ab", ""})}},
               {.in = {texts({1}, {"ab"})},
                .attrs = {{"width", 3}, {"precision", 0}, {"fill", "-"}},
                .out = {texts({1}, {"   "})}},
               {.in = {texts({2}, {"ab", "long"})},
                .attrs = {{"width", 3}, {"fill", "-"}},
                .out = {texts({2}, {"ab ", "long"})}},
               {.in = {texts({1}, {"ab"})}, .attrs = {{"width", 3}, {"fill", "0"}}, .out = {texts({1}, {" ab"})}}},
          .label = "strings",
          .types = {kString}}},
        {"StringToNumber",
         {.samples = {{.in = {texts({2, 2}, {"1", " 1.5\t", "+2", "-.5e-3"})},
                       .out = {array({2, 2}, {1, 1.5, 2, -0.5e-3})}},
                      {.in = {texts({6}, {"0x1A", "-0X1.8p1", "5.", "007", "1e400", "-1e400"})},
                       .out = {list({26, -3, 5, 7, kInfinity, -kInfinity})}},
                      {.in = {texts({6}, {"inf", "-Infinity", "NAN", "nan(1)", "1e-400", "0x1p-1080"})},
                       .out = {list({kInfinity, -kInfinity, kNan, kNan, 0, 0})}},
                      {.in = {texts({}, {"9007199254740993"})}, .out = {scalar(9007199254740992)}},
                      {.in = {texts({0}, {})}, .out = {list({})}}},
          .errors = {{.in = {texts({2}, {"1", ""})},
                      .text = "string_tensor[1]: expected a number that is float32, got ''"},
                     {.in = {texts({}, {"1_0"})}, .text = "string_tensor[0]: expected a number"},
                     {.in = {texts({}, {"1.5f"})}, .text = "string_tensor[0]: expected a number"},
                     {.in = {texts({}, {"1e"})}, .text = "string_tensor[0]: expected a number"},
                     {.in = {texts({}, {"+-1"})}, .text = "string_tensor[0]: expected a number"},
                     {.in = {texts({}, {"- 1"})}, .text = "string_tensor[0]: expected a number"},
                     {.in = {texts({}, {"0x"})}, .text = "string_tensor[0]: expected a number"},
                     {.in = {texts({}, {"infinit"})}, .text = "string_tensor[0]: expected a number"},
                     {.in = {texts({}, {std::string("1\0", 2)})}, .text = "string_tensor[0]: expected a number"}},
          .types = {kFloat32, kFloat64}}},
        // A tie between two numbers of float32, and its neighbour; the largest one, and what is beyond.
        {"StringToNumber",
         {.samples = {{.in = {texts({4}, {"7.006492321624085e-46", "7.006492321624086e-46", "3.4028235677973366e38",
                                          "3.4028236e38"})},
                       .out = {list({0, 0x1p-149, 0x1.fffffep127, kInfinity})}}},
          .label = "rounding",
          .types = {kFloat32}}},
        {"StringToNumber",
         {.samples = {{.in = {texts({4}, {"1", " 12\n", "+3", "007"})}, .out = {list({1, 12, 3, 7})}}},
          .errors = {{.in = {texts({}, {"1.0"})},
                      .text = "string_tensor[0]: expected a number that is int32, got '1.0'"},
                     {.in = {texts({}, {"2147483648"})}, .text = "string_tensor[0]: expected a number that is int32"},
                     {.in = {texts({}, {"-2147483649"})}, .text = "string_tensor[0]: expected a number that is int32"},
                     {.in = {texts({}, {"0x10"})}, .text = "string_tensor[0]: expected a number"},
                     {.in = {texts({}, {"1 2"})}, .text = "string_tensor[0]: expected a number"},
                     {.in = {texts({}, {"+"})}, .text = "string_tensor[0]: expected a number"},
                     {.in = {texts({}, {"+-1"})}, .text = "string_tensor[0]: expected a number"},
                     {.in = {texts({}, {"4294967296"})},
                      .text = "string_tensor[0]: expected a number that is uint32",
                      .type = kUint32},
                     {.in = {texts({}, {"-0"})},
                      .text = "string_tensor[0]: expected a number that is uint32, got '-0'",
                      .type = kUint32},
                     {.in = {texts({}, {"9223372036854775808"})},
                      .text = "string_tensor[0]: expected a number that is int64",
                      .type = kInt64},
                     {.in = {texts({}, {"18446744073709551616"})},
                      .text = "string_tensor[0]: expected a number that is uint64",
                      .type = kUint64}},
          .label = "integers",
          .types = {kInt32, kInt64, kUint32, kUint64}}},
        {"StringToNumber",
         {.samples = {{.in = {texts({3}, {"-9223372036854775808", "9223372036854775807", "-0"})},
                       .out = {wholes({3}, {INT64_MIN, INT64_MAX, 0})}}},
          .label = "int64",
          .types = {kInt64}}},
        {"StringToNumber",
         {.samples = {{.in = {texts({1}, {"18446744073709551615"})}, .out = {wholes({1}, {UINT64_MAX})}}},
          .label = "uint64",
          .types = {kUint64}}},
        // What TensorFlow 2.21 shows.
        {"StringFormat",
         {.samples =
              {{.in = {array({4, 2}, {0, 1, 2, 3, 4, 5, 6, 7}).as(kInt32), scalar(3).as(kInt64)},
                .attrs = {{"template", "a %s b %s c"}},
                .out = {texts({}, {"a [[0 1]\n [2 3]\n [4 5]\n [6 7]] b 3 c"})}},
               {.in = {}, .attrs = {{"template", "abc"}}, .out = {texts({}, {"abc"})}},
               {.in = {scalar(1).as(kInt8), scalar(200).as(kUint8)},
                .attrs = {{"template", "{}{}"}, {"placeholder", "{}"}},
                .out = {texts({}, {"1200"})}},
               {.in = {iota({7}).as(kInt64)}, .out = {texts({}, {"[0 1 2 ... 4 5 6]"})}},
               {.in = {iota({8}).as(kInt64)}, .attrs = {{"summarize", 4}}, .out = {texts({}, {"[0 1 2 3 4 5 6 7]"})}},
               {.in = {iota({8}).as(kInt64)}, .attrs = {{"summarize", 1}}, .out = {texts({}, {"[0 ... 7]"})}},
               {.in = {iota({8}).as(kInt64)}, .attrs = {{"summarize", 0}}, .out = {texts({}, {"[ ...]"})}},
               {.in = {iota({8}).as(kInt64)}, .attrs = {{"summarize", -1}}, .out = {texts({}, {"[0 1 2 3 4 5 6 7]"})}},
               {.in = {iota({3, 3, 3}).as(kInt32)},
                .attrs = {{"summarize", 1}},
                .out = {texts({},
                              {"[[[0 ... 2]\n  ...\n  [6 ... 8]]\n\n ...\n\n [[18 ... 20]\n  ...\n  [24 ... 26]]]"})}},
               {.in = {iota({5, 1, 2}).as(kInt64)},
                .attrs = {{"summarize", 2}},
                .out = {texts({}, {"[[[0 1]]\n\n [[2 3]]\n\n ...\n\n [[6 7]]\n\n [[8 9]]]"})}},
               {.in = {array({2, 0}, {})}, .out = {texts({}, {"[\n ...]"})}},
               {.in = {array({3, 0, 2}, {})}, .out = {texts({}, {"[\n\n ...]"})}},
               {.in = {list({})}, .attrs = {{"summarize", -1}}, .out = {texts({}, {"[]"})}},
               {.in = {list({1.0 / 3, 16777216, 3e38, 123456789, 999999986991104, -0.0, 0.1}).as(kFloat32)},
                .attrs = {{"summarize", 9}},
                .out = {texts({}, {"[0.333333343 16777216 3e+38 123456792 1e+15 -0 0.1]"})}},
               {.in =
                    {list({1.5, kNan, -kInfinity, 1e-5, 1e10, 123456.7, 1.0 / 3, 1.2345678901234568e17}).as(kFloat64)},
                .attrs = {{"summarize", 9}},
                .out = {texts({}, {"[1.5 nan -inf 1e-05 10000000000 123456.7 0.33333333333333331 "
                                   "1.2345678901234568e+17]"})}},
               {.in = {list({0.1, 1}).as(kFloat16), list({0.1, 1}).as(kBFloat16)},
                .attrs = {{"template", "%s %s"}},
                .out = {texts({}, {"[0.0999755859 1] [0.100097656 1]"})}},
               {.in = {list({1, 0}).as(kBool), complexes({2}, {{1, 2}, {0.1, 0}}).as(kComplex64)},
                .attrs = {{"template", "%s %s"}},
                .out = {texts({}, {"[1 0] [? ?]"})}},
               {.in = {texts({2}, {"a", "b\n\""}), texts({}, {"%s"})},
                .attrs = {{"template", "%s %s"}},
                .out = {texts({}, {"[\"a\" \"b\\n\\\"\"] \"%s\""})}},
               {.in = {texts({}, {std::string("a'b\\c\x01\x7f\t\r\0d\xc3\xa4\x80?\x1b"
                                              "9",
                                              17)})},
                .out = {texts({}, {"\"a\\'b\\\\c\\001\\177\\t\\r\\000d\xc3\xa4\x80?\\0339\""})}},
               {.in = {scalar(1).as(kInt32)},
                .attrs = {{"template", "%s"}, {"placeholder", ""}},
                .out = {texts({}, {"%1s"})}},
               {.in = {scalar(1).as(kInt32)}, .attrs = {{"template", "%%s"}}, .out = {texts({}, {"%1"})}}},
          .errors = {{.in = {scalar(1)},
                      .attrs = {{"template", "%s %s"}},
                      .text = "template: expected as many placeholders as there are inputs, 1, got 2"},
                     {.in = {scalar(1)},
                      .attrs = {{"template", "no"}},
                      .text = "template: expected as many placeholders as there are inputs, 1, got 0"}}}},
    });

}  // namespace
}  // namespace panto::test::numbers_rows
