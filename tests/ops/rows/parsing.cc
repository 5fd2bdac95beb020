// Samples of ops that parse records, lines and bytes. TensorFlow's own answers are in
// tests/reference/values/parsing.json.
#include <boost/test/unit_test.hpp>
#include <cstring>
#include <string>
#include <vector>

#include "panto/lib/core/io/example.h"
#include "panto/lib/ops/ops.h"
#include "panto/ops/parsing.h"
#include "panto/tests/expect.h"
#include "panto/tests/ops/reference.h"
#include "panto/tests/ops/table.h"

namespace panto::test::parsing_rows {
namespace {

// ---- Records --------------------------------------------------------------------------------------------------------

std::string field(int number, const std::string& content) {
  return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(content.size())} + content;
}
std::string floats(const std::vector<float>& values) {
  std::string packed(values.size() * sizeof(float), '\0');
  std::memcpy(packed.data(), values.data(), packed.size());
  return field(2, field(1, packed));
}
std::string integers(const std::string& values) { return field(3, field(1, values)); }  // below 128
std::string strings(const std::vector<std::string>& values) {
  std::string list;
  for (const std::string& value : values) list += field(1, value);
  return field(1, list);
}
std::string entry(const std::string& key, const std::string& value) {
  return field(1, field(1, key) + field(2, value));
}
std::string steps(const std::vector<std::string>& features) {
  std::string list;
  for (const std::string& feature : features) list += field(1, feature);
  return list;
}

const std::string kFull =
    field(1, entry("f", floats({1.5f, -2})) + entry("i", integers("\3\4\5")) + entry("s", strings({"a", ""})));
const std::string kOther = field(1, entry("s", strings({"q"})) + entry("i", integers("\7")));
const std::string kEmpty;
const std::string kSequence = field(1, entry("c", floats({1, 2}))) +
                              field(2, entry("x", steps({floats({1, 2}), floats({3, 4})})) +
                                           entry("y", steps({integers("\1"), integers(""), integers("\2\3")})));
const std::string kShort = field(2, entry("x", steps({floats({5, 6})})));

Attr shapes(const char* name, std::vector<PartialShape> values) {
  Attr attr(name, 0);
  attr.value = AttrValue(std::move(values));
  return attr;
}
Attr types(const char* name, std::vector<DType> values) { return {name, std::move(values)}; }
Array reals(std::vector<int64_t> dims, std::vector<double> values) {
  return array(std::move(dims), std::move(values)).as(kFloat32);
}
Array longs(std::vector<int64_t> dims, std::vector<double> values) {
  return array(std::move(dims), std::move(values)).as(kInt64);
}
Array words(const std::vector<std::string>& values) { return texts({static_cast<int64_t>(values.size())}, values); }

const Array kNone = texts({0}, {}), kDefault = reals({2}, {9, 10});
const Attrs kExampleAttrs = {{"num_sparse", 1},
                             types("sparse_types", {kInt64}),
                             types("Tdense", {kFloat32}),
                             types("ragged_value_types", {kString}),
                             types("ragged_split_types", {kInt32}),
                             shapes("dense_shapes", {Shape{2}})};
Sample example(const Array& records, std::vector<Array> out) {
  return {.in = {records, kNone, words({"i"}), words({"f"}), words({"s"}), kDefault},
          .attrs = kExampleAttrs,
          .out = std::move(out)};
}
ErrorSample bad_example(const Array& records, const Array& names, const Array& standard, const std::string& text) {
  return {
      .in = {records, names, words({"i"}), words({"f"}), words({"s"}), standard}, .attrs = kExampleAttrs, .text = text};
}
const std::vector<Sample> kExamples = {
    example(words({kFull, kOther}),
            {longs({4, 2}, {0, 0, 0, 1, 0, 2, 1, 0}), longs({4}, {3, 4, 5, 7}), longs({2}, {2, 3}),
             reals({2, 2}, {1.5, -2, 9, 10}), words({"a", "", "q"}), list({0, 2, 3}).as(kInt32)}),
    example(texts({}, {kFull}), {longs({3, 1}, {0, 1, 2}), longs({3}, {3, 4, 5}), longs({1}, {3}),
                                 reals({2}, {1.5, -2}), words({"a", ""}), array({0}, {}).as(kInt32)}),
    example(kNone,
            {longs({0, 2}, {}), longs({0}, {}), longs({2}, {0, 0}), reals({0, 2}, {}), kNone, list({0}).as(kInt32)})};
const std::vector<ErrorSample> kExampleErrors = {
    bad_example(words({kFull, "garbage"}), kNone, kDefault,
                "example: expected the bytes of a message, got others [in record 1]"),
    bad_example(words({kFull, field(1, entry("i", floats({1})))}), words({"a", "b"}), kDefault,
                "feature: expected int64, got float32 [feature 'i' of record 1 ('b')]"),
    bad_example(words({field(1, entry("f", floats({1})))}), kNone, kDefault,
                "feature: expected 2 values for shape [2], got 1 [feature 'f' of record 0]"),
    bad_example(words({kEmpty}), kNone, reals({0}, {}),
                "feature: expected float32 of it, since there is no default, got none [feature 'f' of record 0]"),
    bad_example(words({field(1, entry("i", integers("\x80")))}), kNone, kDefault, "example: expected the bytes"),
    bad_example(words({field(1, entry("f", field(2, field(1, "abc"))))}), kNone, kDefault,
                "example: expected the bytes"),
    bad_example(words({kFull.substr(0, kFull.size() - 1)}), kNone, kDefault, "example: expected the bytes"),
    bad_example(texts({1, 1}, {kFull}), kNone, kDefault, "serialized: expected a scalar or a vector, got shape [1,1]"),
    bad_example(words({kFull}), words({"a", "b"}), kDefault, "names: expected none or 1, one for each record, got 2"),
    bad_example(words({kFull}), kNone, reals({3}, {1, 2, 3}),
                "default of dense feature 0: expected shape [2], got shape [3]")};

// The features of one record, and of lists.
const Attrs kSingleAttrs = {{"num_sparse", 1},
                            {"sparse_keys", std::vector<std::string>{"s"}},
                            {"dense_keys", std::vector<std::string>{"i"}},
                            types("sparse_types", {kString}),
                            types("Tdense", {kInt64}),
                            shapes("dense_shapes", {PartialShape{-1}})};
const Attrs kSequenceAttrs = {{"Ncontext_sparse", 0},
                              types("Tcontext_dense", {kFloat32}),
                              types("context_ragged_value_types", {kFloat32}),
                              types("context_ragged_split_types", {kInt64}),
                              shapes("context_dense_shapes", {Shape{2}}),
                              {"Nfeature_list_sparse", 1},
                              {"Nfeature_list_dense", 1},
                              types("feature_list_dense_types", {kFloat32}),
                              types("feature_list_sparse_types", {kInt64}),
                              types("feature_list_ragged_value_types", {kInt64}),
                              types("feature_list_ragged_split_types", {kInt32}),
                              shapes("feature_list_dense_shapes", {Shape{2}})};
Sample sequence(const Array& records, std::vector<Array> out, bool may_miss = true) {
  return {.in = {records, kNone, kNone, words({"c"}), words({"c"}), words({"y"}), words({"x"}), words({"y"}),
                 list({may_miss ? 1.0 : 0.0}), kDefault},
          .attrs = kSequenceAttrs,
          .out = std::move(out)};
}
ErrorSample bad_sequence(const Array& records, const std::string& text) {
  Sample sample = sequence(records, {}, false);
  return {.in = sample.in, .attrs = sample.attrs, .text = text};
}
const Attrs kFirstSequenceAttrs = {{"feature_list_dense_missing_assumed_empty", std::vector<std::string>{}},
                                   {"context_sparse_keys", std::vector<std::string>{"c"}},
                                   {"context_dense_keys", std::vector<std::string>{}},
                                   {"feature_list_sparse_keys", std::vector<std::string>{"y"}},
                                   {"feature_list_dense_keys", std::vector<std::string>{"x"}},
                                   {"Ncontext_sparse", 1},
                                   {"Nfeature_list_sparse", 1},
                                   {"Nfeature_list_dense", 1},
                                   types("context_sparse_types", {kFloat32}),
                                   types("feature_list_sparse_types", {kInt64}),
                                   types("feature_list_dense_types", {kFloat32}),
                                   shapes("feature_list_dense_shapes", {Shape{2}})};
const Attrs kOneSequenceAttrs = {{"Ncontext_sparse", 1},
                                 {"Ncontext_dense", 0},
                                 {"Nfeature_list_sparse", 1},
                                 {"Nfeature_list_dense", 1},
                                 types("context_sparse_types", {kFloat32}),
                                 types("feature_list_sparse_types", {kInt64}),
                                 types("feature_list_dense_types", {kFloat32}),
                                 shapes("feature_list_dense_shapes", {Shape{2}})};

// Whatever bytes are changed, parsing ends in tensors or an error.
void damaged() {
  const std::string both[] = {kFull, kSequence};
  unsigned seed = 1;
  for (int round = 0; round < 3000; ++round) {
    std::string bytes = both[round % 2];
    for (int changes = 0; changes < 1 + round % 3; ++changes) {
      seed = seed * 1664525 + 1013904223;
      bytes[(seed >> 8) % bytes.size()] = static_cast<char>(seed >> 24);
    }
    if (round % 5 == 0) bytes.resize((seed >> 4) % bytes.size());
    const Tensor records = tensor_from_strings(Shape{2}, {both[round % 2], bytes}), none = tensor_from_strings({0}, {});
    try {
      if (round % 2 == 0) {
        parse_example_v2(records, none, tensor({"i"}), tensor({"f"}), tensor({"s"}), {tensor({9.f, 10.f})}, 1, {kInt64},
                         {kString}, {kInt32}, {Shape{2}});
        read_example(bytes);
      } else {
        parse_sequence_example_v2(records, none, none, tensor({"c"}), none, tensor({"y"}), tensor({"x"}), tensor({"y"}),
                                  tensor(std::vector<bool>{true}), {tensor({9.f, 10.f})},
                                  {.context_dense_shapes = {Shape{2}},
                                   .Nfeature_list_sparse = 1,
                                   .Nfeature_list_dense = 1,
                                   .feature_list_dense_types = {kFloat32},
                                   .feature_list_sparse_types = {kInt64},
                                   .feature_list_ragged_value_types = {kInt64},
                                   .feature_list_ragged_split_types = {kInt32},
                                   .feature_list_dense_shapes = {Shape{2}}});
        read_sequence_example(bytes);
      }
    } catch (const Error& error) {
      BOOST_TEST((error.code() == Code::kInvalidArgument), error.what());
    }
  }
}

// ---- Bytes and lines ------------------------------------------------------------------------------------------------

Sample csv(const std::vector<std::string>& lines, std::vector<Array> out, Attrs attrs = {}) {
  attrs.push_back(types("OUT_TYPE", {kInt32, kString}));
  return {.in = {words(lines), list({7}).as(kInt32), texts({1}, {"-"})}, .attrs = attrs, .out = std::move(out)};
}
ErrorSample bad_csv(const std::string& line, const std::string& text, Attrs attrs = {}, bool has_default = true) {
  attrs.push_back(types("OUT_TYPE", {kInt32, kString}));
  return {.in = {words({line}), (has_default ? list({7}) : array({0}, {})).as(kInt32), texts({1}, {"-"})},
          .attrs = attrs,
          .text = text};
}

// "panto", three times.
const std::string kZlib("\x78\x9c\x2b\x48\xcc\x2b\xc9\x2f\x80\x13\x00\x33\x0c\x06\x67", 15);

void json() {
  const Tensor bytes = decode_json_example(
      tensor({R"({"features": {"feature": {"age": {"int64List": {"value": [7, "-1"]}}, "x": {"floatList": {"value": )"
              R"([1.5, "NaN"]}}, "s": {"bytesList": {"value": ["aGk="]}}, "none": {}}}})"}));
  const std::vector<NamedTensor> features = read_example(bytes.to_vector<std::string>()[0]);
  BOOST_REQUIRE(features.size() == 3U);
  BOOST_TEST(features[0].second.to_string() == "[ 7 -1]");
  BOOST_TEST(features[1].second.to_string() == "[b'hi']");
  BOOST_TEST(features[2].second.to_string() == "[1.5 nan]");
  for (const char* text : {"", "{", "[]", R"({"features": 7})", R"({"other": {}})"}) {
    expect_error_begins([&] { decode_json_example(tensor({text})); }, "InvalidArgument: json: expected an Example");
  }
  std::string nested;
  for (int i = 0; i < 100000; ++i) nested += R"({"features":)";
  expect_error_begins([&] { decode_json_example(tensor({nested})); }, "InvalidArgument: json: expected an Example");
}

// A kilobyte that would become a megabyte, and one that says so of more.
void bombs() {
  BOOST_TEST(decode_compressed(tensor(""), {.compression_type = "GZIP"}).item<std::string>().empty());
  for (const std::string& bytes : {std::string("plain"), kZlib.substr(0, 12), kZlib + "x", std::string(3, '\0')}) {
    expect_error_begins([&] { decode_compressed(tensor(bytes), {.compression_type = "ZLIB"}); },
                        "DataLoss: compressed bytes: expected ");
  }
}

const Family parsing(
    "parsing",
    {
        {"ParseExampleV2",
         {.samples = kExamples,
          .errors = kExampleErrors,
          .own = {{"damaged", damaged}},
          .fixed = {0, 1, 2, 3, 4, 5},
          .data_dependent_shape = true}},
        {"ParseExample",
         {.samples = {{.in = {words({kFull, kEmpty}), kNone, texts({}, {"s"}), texts({}, {"i"}), longs({}, {-1})},
                       .attrs = {{"Nsparse", 1},
                                 {"Ndense", 1},
                                 types("sparse_types", {kString}),
                                 types("Tdense", {kInt64}),
                                 shapes("dense_shapes", {PartialShape{-1}})},
                       .out = {longs({2, 2}, {0, 0, 0, 1}), words({"a", ""}), longs({2}, {2, 2}),
                               longs({2, 3}, {3, 4, 5, -1, -1, -1})}}},
          .errors = {{.in = {words({kFull}), kNone, texts({}, {"s"}), texts({}, {"i"}), longs({0}, {})},
                      .attrs = {{"Nsparse", 1},
                                {"Ndense", 1},
                                types("sparse_types", {kString}),
                                types("Tdense", {kInt64}),
                                shapes("dense_shapes", {PartialShape{-1}})},
                      .text = "default of dense feature 0: expected one element to fill up with, got none"},
                     {.in = {words({kFull}), kNone, texts({}, {"s"}), texts({}, {"i"}), longs({}, {0})},
                      .attrs = {{"Nsparse", 1},
                                {"Ndense", 1},
                                types("sparse_types", {kInt32}),
                                types("Tdense", {kInt64}),
                                shapes("dense_shapes", {PartialShape{-1}})},
                      .text = "sparse_types[0]: expected float32, int64 or string, got int32"},
                     {.in = {words({kFull}), kNone, texts({}, {"s"}), texts({}, {"i"}), longs({}, {0})},
                      .attrs = {{"Nsparse", 1},
                                {"Ndense", 1},
                                types("sparse_types", {kString}),
                                types("Tdense", {kInt64}),
                                shapes("dense_shapes", {PartialShape{2, -1}})},
                      .text = "dense_shapes[0]: expected a known shape"}},
          .fixed = {0, 1, 2, 3, 4},
          .data_dependent_shape = true}},
        {"ParseSingleExample",
         {.samples = {{.in = {texts({}, {kFull}), longs({}, {0})},
                       .attrs = kSingleAttrs,
                       .out = {longs({2, 1}, {0, 1}), words({"a", ""}), longs({1}, {2}), longs({3}, {3, 4, 5})}},
                      {.in = {texts({}, {kEmpty}), longs({}, {7})},
                       .attrs = kSingleAttrs,
                       .out = {longs({0, 1}, {}), kNone, longs({1}, {0}), longs({0}, {})}}},
          .errors = {{.in = {texts({}, {"?"}), longs({}, {0})}, .attrs = kSingleAttrs, .text = "example: expected"},
                     {.in = {words({kFull}), longs({}, {0})}, .attrs = kSingleAttrs, .text = "serialized"},
                     {.in = {texts({}, {kFull}), longs({0}, {})},
                      .attrs = kSingleAttrs,
                      .text = "default of dense feature 0: expected one element to fill up with, got none"}},
          .fixed = {0, 1},
          .data_dependent_shape = true}},
        {"ParseSequenceExampleV2",
         {.samples = {sequence(words({kSequence, kShort}),
                               {reals({2, 2}, {1, 2, 9, 10}), reals({2}, {1, 2}), longs({3}, {0, 2, 2}),
                                longs({3, 3}, {0, 0, 0, 0, 2, 0, 0, 2, 1}), longs({3}, {1, 2, 3}),
                                longs({3}, {2, 3, 2}), reals({2, 2, 2}, {1, 2, 3, 4, 5, 6, 0, 0}), longs({2}, {2, 1}),
                                longs({3}, {1, 2, 3}), list({0, 3, 3}).as(kInt32), list({0, 1, 1, 3}).as(kInt32)}),
                      sequence(texts({}, {kSequence}),
                               {reals({2}, {1, 2}), reals({2}, {1, 2}), longs({}, {0}),
                                longs({3, 2}, {0, 0, 2, 0, 2, 1}), longs({3}, {1, 2, 3}), longs({2}, {3, 2}),
                                reals({2, 2}, {1, 2, 3, 4}), longs({}, {2}), longs({3}, {1, 2, 3}),
                                scalar(0).as(kInt32), list({0, 1, 1, 3}).as(kInt32)})},
          .errors = {bad_sequence(words({kEmpty}),
                                  "feature: expected a list of float32, got none [feature 'x' of record 0]"),
                     bad_sequence(words({field(2, entry("x", steps({floats({1})})))}),
                                  "feature 0 of the list: expected 2 values for shape [2], got 1"),
                     bad_sequence(words({field(2, entry("y", steps({floats({1})})))}),
                                  "feature: expected int64, got float32"),
                     bad_sequence(words({"\x12"}), "example: expected the bytes of a message")},
          .fixed = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9},
          .data_dependent_shape = true}},
        {"ParseSequenceExample",
         {.samples = {{.in = {words({kSequence}), kNone},
                       .attrs = kFirstSequenceAttrs,
                       .out = {longs({2, 2}, {0, 0, 0, 1}), reals({2}, {1, 2}), longs({2}, {1, 2}),
                               longs({3, 3}, {0, 0, 0, 0, 2, 0, 0, 2, 1}), longs({3}, {1, 2, 3}), longs({3}, {1, 3, 2}),
                               reals({1, 2, 2}, {1, 2, 3, 4}), longs({1}, {2})}}},
          .errors =
              {{.in = {words({kEmpty}), kNone}, .attrs = kFirstSequenceAttrs, .text = "feature: expected a list"}},
          .fixed = {0, 1},
          .data_dependent_shape = true}},
        {"ParseSingleSequenceExample",
         {.samples = {{.in = {texts({}, {kSequence}), kNone, texts({}, {"c"}), texts({}, {"y"}), texts({}, {"x"}),
                              texts({}, {""})},
                       .attrs = kOneSequenceAttrs,
                       .out = {longs({2, 1}, {0, 1}), reals({2}, {1, 2}), longs({1}, {2}),
                               longs({3, 2}, {0, 0, 2, 0, 2, 1}), longs({3}, {1, 2, 3}), longs({2}, {3, 2}),
                               reals({2, 2}, {1, 2, 3, 4})}}},
          .errors = {{.in = {texts({}, {kEmpty}), words({"z"}), texts({}, {"c"}), texts({}, {"y"}), texts({}, {"x"}),
                             texts({}, {"the name"})},
                      .attrs = kOneSequenceAttrs,
                      .text = "feature: expected a list of float32, got none [feature 'x' of record ('the name')]"}},
          .fixed = {0, 1, 2, 3, 4, 5, 6, 7},
          .data_dependent_shape = true}},
        {"DecodeRaw",
         {.samples = {{.in = {texts({2}, {"abcdefgh01234567", "ABCDEFGH76543210"})},
                       .out = {array({2, 16}, {97, 98, 99, 100, 101, 102, 103, 104, 48, 49, 50, 51, 52, 53, 54, 55,
                                               65, 66, 67, 68,  69,  70,  71,  72,  55, 54, 53, 52, 51, 50, 49, 48})}},
                      {.in = {texts({0}, {})}, .out = {array({0, 0}, {})}}},
          .errors = {{.in = {words({"ab", "a"})},
                      .text = "bytes[1]: expected a string of 2 bytes, as the first is, got 1"},
                     {.in = {words({"abc"})}, .text = "bytes: expected a multiple of 2 bytes, got 3", .type = kInt16}},
          .types = {kInt8},
          .data_dependent_shape = true}},
        {"DecodePaddedRaw",
         {.samples = {{.in = {words({"ab", "abcdef", ""}), scalar(4)},
                       .out = {array({3, 4}, {97, 98, 0, 0, 97, 98, 99, 100, 0, 0, 0, 0})}}},
          .errors = {{.in = {words({"ab"}), scalar(3)},
                      .text = "fixed_length: expected a positive multiple of 2, the bytes of int16, got 3",
                      .type = kInt16},
                     {.in = {words({"ab"}), scalar(0)}, .text = "fixed_length: expected a positive multiple"}},
          .types = {kInt8}}},
        {"DecodeCompressed",
         {.samples = {{.in = {words({kZlib, ""})},
                       .attrs = {{"compression_type", "ZLIB"}},
                       .out = {words({"pantopantopanto", ""})}},
                      {.in = {texts({1, 1}, {"abc"})}, .out = {texts({1, 1}, {"abc"})}}},
          .errors = {{.in = {words({"x"})}, .attrs = {{"compression_type", "BZIP"}}, .text = "compression: expected"}},
          .own = {{"damaged", bombs}}}},
        {"DecodeCSV",
         {.samples = {csv({"1,a", ",\"b,\"\"\n\"", "3,"}, {list({1, 7, 3}).as(kInt32), words({"a", "b,\"\n", "-"})}),
                      csv({"1;x;NA", "NA;x;y"}, {list({1, 7}).as(kInt32), words({"-", "y"})},
                          {{"field_delim", ";"}, {"na_value", "NA"}, {"select_cols", std::vector<int64_t>{0, 2}}})},
          .errors = {bad_csv("1", "records: expected 2 fields, got 1 [in records[0]]"),
                     bad_csv("1,2,3", "records: expected 2 fields, got 3"),
                     bad_csv("", "records: expected 2 fields, got 0"),
                     bad_csv("x,2", "field: expected int32, got 'x' [in field 0]"),
                     bad_csv("99999999999,2", "field: expected int32, got '99999999999'"),
                     bad_csv("1,\"a", "records: expected a quote at the end of a field"),
                     bad_csv("1,\"a\"b", "records: expected a quote inside of a field twice"),
                     bad_csv("1,a\"", "records: expected fields in quotes that have quotes or line ends, got 'a\"'"),
                     bad_csv(",2", "field: expected one, since there is no default, got none", {}, false),
                     bad_csv("1,2", "field_delim: expected one character, got ''", {{"field_delim", ""}}),
                     bad_csv("1,2", "select_cols[1]: expected at least 1, in ascending order, got 0",
                             {{"select_cols", std::vector<int64_t>{0, 0}}}),
                     bad_csv("1,2", "select_cols: expected 2", {{"select_cols", std::vector<int64_t>{0}}})}}},
        {"SerializeTensor",
         {.samples = {{.in = {array({2}, {1, 2})},
                       .out = {texts({}, {std::string("\x08\6\x12\4\x12\2\x08\2\"\2\1\2", 12)})}}},
          .types = {kInt8}}},
        {"ParseTensor",
         {.samples = {{.in = {texts({}, {std::string("\x08\6\x12\4\x12\2\x08\2\"\2\1\2", 12)})},
                       .out = {array({2}, {1, 2})}}},
          .errors = {{.in = {texts({}, {"\x08\1"})},
                      .text = "serialized: expected a tensor of int8, got one of float32"},
                     {.in = {texts({}, {"x"})}, .text = ""},
                     {.in = {words({"x"})}, .text = "serialized"}},
          .types = {kInt8},
          .data_dependent_shape = true}},
        {"DecodeJSONExample",
         {.samples = {{.in = {words({"{}", R"({"features": {"feature": {"s": {"bytesList": {"value": ["aGk="]}}}}})"})},
                       .out = {words({"", field(1, entry("s", strings({"hi"})))})}}},
          .errors = {{.in = {words({"7"})}, .text = "json: expected an Example"}},
          .own = {{"kinds", json}}}},
    });

}  // namespace
}  // namespace panto::test::parsing_rows
