// Samples of ops that find numbers for strings. The numbers are TensorFlow 2.21's; SipHash's also those of its paper.
#include "panto/tests/ops/reference.h"
#include "panto/tests/ops/table.h"

namespace panto::test::hash_rows {
namespace {

const Array kSome = texts({2, 2}, {"", "a", "hello world", std::string(100, 'x')});
const Attr kMany = [] {
  Attr buckets("num_buckets", 0);
  buckets.value = AttrValue(int64_t{1} << 62);
  return buckets;
}();

Array bytes(std::vector<int64_t> dims, std::vector<double> values) { return array(std::move(dims), std::move(values)); }

const Family hashes(
    "strings",
    {
        {"StringToHashBucketFast",
         {.samples = {{.in = {kSome},
                       .attrs = {kMany},
                       .out = {wholes({2, 2}, {1936946117179621455, 3694432073954588131, 1769834696496558107,
                                               1978794067220662815})}},
                      {.in = {kSome}, .attrs = {{"num_buckets", 1000}}, .out = {array({2, 2}, {263, 939, 11, 719})}},
                      {.in = {texts({0}, {})}, .attrs = {{"num_buckets", 1}}, .out = {list({})}}},
          .errors =
              {{.in = {kSome}, .attrs = {{"num_buckets", 0}}, .text = "num_buckets: expected at least 1, got 0"}}}},
        {"StringToHashBucketStrong",
         {.samples = {{.in = {kSome},
                       .attrs = {kMany, {"key", std::vector<int64_t>{1, 2}}},
                       .out = {wholes({2, 2}, {443797209252341627, 546566331822570742, 1015233985318741638,
                                               1638981394980189463})}},
                      {.in = {kSome},
                       .attrs = {{"num_buckets", 10}, {"key", std::vector<int64_t>{-1, 2}}},
                       .out = {array({2, 2}, {0, 0, 4, 8})}},
                      // Key and text 00 01 02 ...: a129ca6149be45e5.
                      {.in = {texts({}, {std::string("\0\1\2\3\4\5\6\7\10\11\12\13\14\15\16", 15)})},
                       .attrs = {kMany, {"key", std::vector<int64_t>{0x0706050403020100, 0x0f0e0d0c0b0a0908}}},
                       .out = {wholes({}, {0x2129ca6149be45e5})}}},
          .errors = {{.in = {kSome},
                      .attrs = {{"num_buckets", 10}, {"key", std::vector<int64_t>{1}}},
                      .text = "key: expected two numbers, got 1"},
                     {.in = {kSome},
                      .attrs = {{"num_buckets", -1}, {"key", std::vector<int64_t>{1, 2}}},
                      .text = "num_buckets: expected at least 1, got -1"}}}},
        {"StringToHashBucket",
         {.samples = {{.in = {kSome}, .attrs = {{"num_buckets", 1000}}, .out = {array({2, 2}, {899, 868, 655, 807})}},
                      {.in = {texts({2}, {"abcdefghij", "12345678"})},
                       .attrs = {kMany},
                       .out = {wholes({2}, {1292175666208883751, 421129128932463287})}}},
          .errors =
              {{.in = {kSome}, .attrs = {{"num_buckets", 0}}, .text = "num_buckets: expected at least 1, got 0"}}}},
        {"Fingerprint",
         {.samples =
              {{.in = {array({2, 2}, {1, 2, 3, 4}), texts({}, {"farmhash64"})},
                .out = {bytes({2, 8}, {76, 18, 253, 133, 168, 204, 240, 10, 254, 162, 60, 240, 103, 244, 53, 255})}},
               {.in = {array({2, 0}, {}), texts({}, {"farmhash64"})},
                .out = {bytes({2, 8}, {79, 64, 144, 47, 59, 106, 225, 154, 79, 64, 144, 47, 59, 106, 225, 154})}},
               {.in = {array({0, 2}, {}), texts({}, {"farmhash64"})}, .out = {bytes({0, 8}, {})}}},
          .errors = {{.in = {list({1}), texts({}, {"md5"})}, .text = "method: expected farmhash64, got 'md5'"},
                     {.in = {scalar(1), texts({}, {"farmhash64"})}, .text = "data: expected"},
                     {.in = {list({1}), texts({1}, {"farmhash64"})}, .text = "method: expected a scalar"}},
          .types = {kInt32}}},
        {"Fingerprint",
         {.samples = {{.in = {list({1.5, -0.0}), texts({}, {"farmhash64"})},
                       .out = {bytes({2, 8},
                                     {179, 164, 179, 195, 72, 236, 82, 76, 26, 157, 198, 43, 164, 186, 45, 105})}}},
          .label = "float64",
          .types = {kFloat64}}},
        {"Fingerprint",
         {.samples = {{.in = {list({1, 0}), texts({}, {"farmhash64"})},
                       .out = {bytes({2, 8},
                                     {62, 88, 126, 177, 19, 76, 162, 71, 84, 75, 233, 245, 237, 86, 96, 190})}}},
          .label = "bool",
          .types = {kBool}}},
        {"Fingerprint",
         {.samples = {{.in = {list({1.5}), texts({}, {"farmhash64"})},
                       .out = {bytes({1, 8}, {31, 156, 182, 184, 177, 19, 54, 14})}}},
          .label = "complex",
          .types = {kComplex128}}},
        {"Fingerprint",
         {.samples =
              {{.in = {texts({2}, {"a", "hello world"}), texts({}, {"farmhash64"})},
                .out = {bytes({2, 8}, {227, 117, 223, 182, 101, 66, 69, 179, 27, 176, 214, 139, 71, 183, 143, 88})}},
               {.in = {texts({1, 2}, {"a", "b"}), texts({}, {"farmhash64"})},
                .out = {bytes({1, 8}, {122, 64, 59, 169, 136, 60, 55, 83})}},
               {.in = {texts({2, 2, 2}, {"a", "b", "c", "d", "a", "b", "c", "d"}), texts({}, {"farmhash64"})},
                .out = {bytes({2, 8}, {231, 192, 98, 129, 36, 133, 31, 178, 231, 192, 98, 129, 36, 133, 31, 178})}}},
          .label = "strings",
          .types = {kString}}},
    });

}  // namespace
}  // namespace panto::test::hash_rows
