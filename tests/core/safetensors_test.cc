// .safetensors: files put together byte by byte from the format's description are read, ours are what it describes,
// and nothing in a file can harm. tests/interop/files/test_safetensors.py compares with the format's own library.
#include "panto/lib/core/io/safetensors.h"

#include <complex>
#include <cstring>
#include <random>

#include "panto/lib/base/file.h"
#include "panto/lib/core/tensor/tensor_alloc.h"
#include "panto/tests/expect.h"
#include "panto/tests/folder.h"

namespace panto {
namespace {

bool same(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() &&
         std::memcmp(a.impl()->data, b.impl()->data, a.nbytes()) == 0;
}

std::string file_of(std::string_view header, std::string_view elements = "") {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(header.size() >> (8 * i) & 0xff);
  return bytes.append(header).append(elements);
}

void expect_fault(std::string_view header, std::string_view text, std::string_view elements = "") {
  expect_error([&] { (void)parse_safetensors(file_of(header, elements)); }, text);
}

// A header with one tensor "a" of this description.
std::string one(std::string_view description) { return "{\"a\":{" + std::string(description) + "}}"; }

std::vector<NamedTensor> samples() {
  return {{"bytes", tensor(std::vector<uint8_t>{1, 2, 3})},
          {"a/kernel", tensor({{1.f, 2.f, 3.f}, {4.f, 5.f, 6.f}})},
          {"scalar", tensor(2.5)},
          {"none", tensor(std::vector<int64_t>{}, Shape{0, 3})},
          {"flags", tensor({true, false})},
          {"complex", tensor(std::vector<std::complex<float>>{{1, 2}, {3, 4}})},
          {"half", tensor(std::vector<Half>{Half(1.F), Half(0.5F)})}};
}

template <class Body>
void survives(Body&& body, int& errors) {
  try {
    body();
  } catch (const Error& error) {
    ++errors;
    const Code code = error.code();
    BOOST_TEST((code == Code::kDataLoss || code == Code::kInvalidArgument || code == Code::kUnimplemented),
               error.what());
  }
}

BOOST_AUTO_TEST_SUITE(safetensors)

BOOST_AUTO_TEST_CASE(a_file_byte_by_byte) {
  // Length 136 in 8 bytes, the header with blanks behind it, 8 + 4 + 2 bytes of elements.
  const std::string header = R"({"__metadata__":{"format":"pt"},"b":{"dtype":"I32","shape":[],"data_offsets":[8,12]},)"
                             R"("a":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},)"
                             R"("c":{"shape":[1],"data_offsets":[12,14],"dtype":"BF16"}}  )";
  const std::string bytes = file_of(header, std::string("\x00\x00\x80\x3f\x00\x00\x20\xc0"
                                                        "\xfe\xff\xff\xff"
                                                        "\x80\x3f",
                                                        14));
  const auto tensors = parse_safetensors(bytes);
  BOOST_REQUIRE(tensors.size() == 3U);
  BOOST_TEST(tensors[0].first == "b");
  BOOST_TEST(tensors[1].first == "a");
  BOOST_TEST(tensors[2].first == "c");
  BOOST_TEST(same(tensors[0].second, tensor(-2)));
  BOOST_TEST(same(tensors[1].second, tensor({{1.f}, {-2.5f}})));
  BOOST_TEST(same(tensors[2].second, tensor(std::vector<BFloat16>{BFloat16(1.F)})));
  const TestFolder folder;
  write_file(folder / "t.safetensors", bytes);
  BOOST_TEST((read_safetensors_metadata(folder / "t.safetensors") == Metadata{{"format", "pt"}}));
  BOOST_TEST(read_safetensors(folder / "t.safetensors").size() == 3U);
}

BOOST_AUTO_TEST_CASE(our_bytes) {
  // Wide elements first; the header in the order that was given, padded to a multiple of 8.
  const std::vector<NamedTensor> tensors = {{"a", tensor(std::vector<uint8_t>{7})}, {"\xc3\xa9\"", tensor({1.f})}};
  const std::string header = R"({"__metadata__":{"k":"v"},"a":{"dtype":"U8","shape":[1],"data_offsets":[4,5]},)"
                             "\"\xc3\xa9\\\"\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}";
  const std::string padded = header + std::string((8 - header.size() % 8) % 8, ' ');
  BOOST_TEST(safetensors_bytes(tensors, {.metadata = {{"k", "v"}}}) ==
             file_of(padded, std::string("\0\0\x80\x3f\7", 5)));
  BOOST_TEST(safetensors_bytes({}) == file_of("{}      "));
  BOOST_TEST(parse_safetensors(safetensors_bytes({})).empty());
}

BOOST_AUTO_TEST_CASE(types) {
  const std::pair<DType, const char*> table[] = {
      {kBool, "BOOL"},   {kInt8, "I8"},     {kInt16, "I16"},     {kInt32, "I32"},    {kInt64, "I64"},
      {kUint8, "U8"},    {kUint16, "U16"},  {kUint32, "U32"},    {kUint64, "U64"},   {kFloat16, "F16"},
      {kFloat32, "F32"}, {kFloat64, "F64"}, {kBFloat16, "BF16"}, {kComplex64, "C64"}};
  for (const auto& [dtype, text] : table) {
    const std::string data(dtype_size(dtype) * 3, '\1');
    const std::vector<NamedTensor> tensors = {{"t", tensor_from_bytes(dtype, Shape{3}, data.data(), data.size())}};
    const std::string bytes = safetensors_bytes(tensors);
    BOOST_TEST(bytes.find("\"" + std::string(text) + "\"") != std::string::npos, text);
    BOOST_TEST(same(parse_safetensors(bytes)[0].second, tensors[0].second), text);
  }
  for (const char* type : {"F8_E4M3", "F8_E5M2", "F4", "f32", "", "F32 "}) {
    expect_fault(one(R"("dtype":")" + std::string(type) + R"(","shape":[],"data_offsets":[0,1])"),
                 "Unimplemented: safetensors header: expected an element type of this library, got '" +
                     std::string(type) + "' [in tensor 'a']");
  }
}

BOOST_AUTO_TEST_CASE(bools_are_0_or_1) {
  const auto read = parse_safetensors(
      file_of(one(R"("dtype":"BOOL","shape":[3],"data_offsets":[0,3])"), std::string("\x02\x00\xff", 3)));
  BOOST_TEST(same(read[0].second, tensor({true, false, true})));
}

BOOST_AUTO_TEST_CASE(what_cannot_be_written) {
  const auto write = [](const std::string& name, const Tensor& t) {
    return [=] { (void)safetensors_bytes(std::vector<NamedTensor>{{name, t}}); };
  };
  expect_error(write("s", tensor("text")),
               "Unimplemented: safetensors: expected numbers up to 64 bits wide, bools or complex64, got string");
  expect_error(write("z", tensor(std::vector<std::complex<double>>{{1, 2}})),
               "Unimplemented: safetensors: expected numbers up to 64 bits wide, bools or complex64, got complex128");
  expect_error(write("r", resource_tensor(nullptr)),
               "Unimplemented: safetensors: expected numbers up to 64 bits wide, bools or complex64, got resource");
  expect_error(write("m", meta_tensor(kFloat32, {2})),
               "FailedPrecondition: copy: expected a tensor with a value, got symbolic float32[2]");
  expect_error(write("__metadata__", tensor(1.F)),
               "InvalidArgument: safetensors: expected other names than '__metadata__', got it");
  expect_error(write("\xff", tensor(1.F)), "InvalidArgument: safetensors: expected text that is UTF-8, got '\\xff'");
  expect_error([] { (void)safetensors_bytes(std::vector<NamedTensor>{{"x", tensor(1.F)}, {"x", tensor(2.F)}}); },
               "InvalidArgument: safetensors: expected each name once, got 'x' twice");
  expect_error([] { (void)safetensors_bytes({}, {.metadata = {{"k", "1"}, {"k", "2"}}}); },
               "InvalidArgument: safetensors: expected each metadata key once, got 'k' twice");
}

BOOST_AUTO_TEST_CASE(other_files) {
  expect_error([] { (void)parse_safetensors(""); }, "DataLoss: safetensors: expected at least 8 bytes, got 0");
  expect_error([] { (void)parse_safetensors("1234567"); }, "DataLoss: safetensors: expected at least 8 bytes, got 7");
  expect_error([] { (void)parse_safetensors(std::string("\5\0\0\0\0\0\0\0{}", 10)); },
               "DataLoss: safetensors header: expected 5 bytes, got 2");
  expect_error([] { (void)parse_safetensors(std::string(8, '\xff')); },
               "InvalidArgument: safetensors header: expected at most 100000000 bytes, got 18446744073709551615");
  expect_error([] { (void)parse_safetensors("PK\3\4 and more bytes"); },
               "InvalidArgument: safetensors header: expected at most 100000000 bytes, got 7236828441365138256");
  expect_fault("", "InvalidArgument: safetensors header: expected '{' first, got something else");
  expect_fault(" {}", "InvalidArgument: safetensors header: expected '{' first, got something else");
  expect_fault("[]", "InvalidArgument: safetensors header: expected '{' first, got something else");
}

BOOST_AUTO_TEST_CASE(faulty_headers) {
  expect_fault("{", "DataLoss: safetensors header: expected JSON, got '{' at byte 2");
  expect_fault("{}x", "DataLoss: safetensors header: expected JSON, got '{}x' at byte 3");
  expect_fault("{\"a\xff\"", "DataLoss: safetensors header: expected JSON, got '\"a\\xff' at byte 4");
  expect_fault(R"({"a":1e999})", "DataLoss: safetensors header: expected JSON, got '1e999' at byte 10");
  expect_fault(R"({"a":3})", "InvalidArgument: safetensors header: expected an object for 'a', got the number 3");
  expect_fault(R"({"a":[]})", "InvalidArgument: safetensors header: expected an object for 'a', got a list");
  expect_fault(R"({"__metadata__":null})",
               "InvalidArgument: safetensors header: expected an object for '__metadata__', got null");
  expect_fault(R"({"__metadata__":{"k":{}}})",
               "InvalidArgument: safetensors header: expected texts as metadata, got an object for 'k'");
  expect_fault(R"({"__metadata__":{"k":1.5}})",
               "InvalidArgument: safetensors header: expected texts as metadata, got the number 1.5 for 'k'");
  expect_fault(one(""),
               "InvalidArgument: safetensors header: expected the keys dtype, shape and data_offsets, got "
               "none called 'dtype' [in tensor 'a']");
  expect_fault(one(R"("dtype":"F32","shape":[])"),
               "InvalidArgument: safetensors header: expected the keys dtype, shape and data_offsets, got none called "
               "'data_offsets' [in tensor 'a']");
  expect_fault(one(R"("color":true)"),
               "InvalidArgument: safetensors header: expected the keys dtype, shape and data_offsets, got 'color' [in "
               "tensor 'a']");
  expect_fault(one(R"("dtype":4)"),
               "InvalidArgument: safetensors header: expected a text as dtype, got the number 4 [in tensor 'a']");
  expect_fault(one(R"("shape":{})"),
               "InvalidArgument: safetensors header: expected a list as shape, got an object [in tensor 'a']");
  for (const auto& [text, got] :
       {std::pair("-1", "the number -1"), std::pair("1.0", "the number 1.0"), std::pair("\"1\"", "the text '1'"),
        std::pair("[]", "a list"), std::pair("9223372036854775808", "the number 9223372036854775808")}) {
    expect_fault(one("\"shape\":[" + std::string(text) + "]"),
                 "InvalidArgument: safetensors header: expected at most 254 sizes below 2^63 as shape, got " +
                     std::string(got) + " [in tensor 'a']");
  }
  expect_fault(one(R"("dtype":"U8","shape":[],"data_offsets":[0])"),
               "InvalidArgument: safetensors header: expected two offsets, got 1 [in tensor 'a']");
  expect_fault(one(R"("dtype":"U8","shape":[],"data_offsets":[0,1,2])"),
               "InvalidArgument: safetensors header: expected two offsets, got 3 [in tensor 'a']");
  expect_fault(one(R"("dtype":"U8","dtype":"U8")"),
               "DataLoss: safetensors header: expected each key once, got 'dtype' twice [in tensor 'a']");
  const std::string a = R"("a":{"dtype":"U8","shape":[],"data_offsets":[0,1]})";
  expect_fault("{" + a + "," + a + "}", "DataLoss: safetensors header: expected each name once, got 'a' twice", "x");
  // However deep, and however long a name is.
  expect_error_begins([] { (void)parse_safetensors(file_of("{\"a\":" + std::string(1000000, '['))); },
                      "InvalidArgument: safetensors header: expected an object for 'a', got a list");
  const std::string text =
      error_text([] { (void)parse_safetensors(file_of("{\"" + std::string(1000000, '\x01') + "\":1}")); });
  BOOST_TEST(text.size() < 1000U);
  const std::string longer =
      error_text([] { (void)parse_safetensors(file_of("{\"" + std::string(1000000, 'n') + "\":1}")); });
  BOOST_TEST(longer.size() < 1000U);
}

BOOST_AUTO_TEST_CASE(sizes_that_lie) {
  const auto f32 = [](const std::string& shape, const std::string& offsets) {
    return one(R"("dtype":"F32","shape":[)" + shape + R"(],"data_offsets":[)" + offsets + "]");
  };
  expect_fault(f32("3", "0,8"),
               "DataLoss: safetensors header: expected 12 bytes for float32[3], got those from 0 to 8 [in tensor 'a']");
  expect_fault(f32("1", "4,0"),
               "DataLoss: safetensors header: expected 4 bytes for float32[1], got those from 4 to 0 [in tensor 'a']");
  expect_fault(f32("1", "0,4"), "DataLoss: safetensors: expected 4 bytes after the header, got 3", "123");
  expect_fault(f32("1", "0,4"), "DataLoss: safetensors: expected 4 bytes after the header, got 5", "12345");
  expect_fault("{}", "DataLoss: safetensors: expected 0 bytes after the header, got 1", "1");
  expect_fault(f32("1", "4,8"),
               "DataLoss: safetensors header: expected a tensor that begins at byte 0, got 'a' at byte 4", "12345678");
  expect_fault(f32("1000000000000", "0,4000000000000"),
               "DataLoss: safetensors: expected 4000000000000 bytes after the header, got 4", "1234");
  expect_fault(f32("2305843009213693952", "0,0"),
               "InvalidArgument: safetensors data: expected a product below 2^63, got 2305843009213693952 * 4 [in "
               "tensor 'a']");
  expect_error_begins([&] { (void)parse_safetensors(file_of(f32("0,4294967296,4294967296", "0,0"))); },
                      "InvalidArgument: shape: expected fewer than 2^63 elements");
  std::string dims = "1";
  for (int i = 1; i < 255; ++i) dims += ",1";
  expect_error_begins([&] { (void)parse_safetensors(file_of(f32(dims, "0,4"), "1234")); },
                      "InvalidArgument: shape: expected a rank of at most 254, got 255");
  expect_error_begins([&] { (void)parse_safetensors(file_of(f32(dims + "," + dims, "0,4"), "1234")); },
                      "InvalidArgument: safetensors header: expected at most 254 sizes below 2^63 as shape, got a list "
                      "of more than 254 numbers");
}

BOOST_AUTO_TEST_CASE(overlaps_and_holes) {
  const auto two = [](const std::string& first, const std::string& second) {
    return R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[)" + first +
           R"(]},"b":{"dtype":"U8","shape":[4],"data_offsets":[)" + second + "]}}";
  };
  BOOST_TEST(parse_safetensors(file_of(two("4,8", "0,4"), "abcdefgh"))[0].second.to_vector<uint8_t>()[0] == 'e');
  expect_fault(two("0,4", "0,4"),
               "DataLoss: safetensors header: expected a tensor that begins at byte 4, got 'b' at byte 0", "1234");
  expect_fault(two("0,4", "3,7"),
               "DataLoss: safetensors header: expected a tensor that begins at byte 4, got 'b' at byte 3", "1234567");
  expect_fault(two("5,9", "0,4"),
               "DataLoss: safetensors header: expected a tensor that begins at byte 4, got 'a' at byte 5", "123456789");
}

BOOST_AUTO_TEST_CASE(every_truncation_is_noticed) {
  const std::string bytes = safetensors_bytes(samples());
  int errors = 0;
  for (size_t n = 0; n < bytes.size(); ++n) {
    survives([&] { (void)parse_safetensors(std::string_view(bytes).substr(0, n)); }, errors);
  }
  BOOST_TEST(static_cast<size_t>(errors) == bytes.size());
}

BOOST_AUTO_TEST_CASE(every_changed_bit_is_survived) {
  const std::string bytes = safetensors_bytes(samples(), {.metadata = {{"a", "b"}}});
  int errors = 0;
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string changed = bytes;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << (bit % 8)));
    survives([&] { (void)parse_safetensors(changed); }, errors);
  }
  BOOST_TEST(errors > 1000);
}

BOOST_AUTO_TEST_CASE(changed_bytes_are_survived) {
  const std::string bytes = safetensors_bytes(samples());
  std::mt19937 random(5);
  int errors = 0;
  for (int i = 0; i < 5000; ++i) {
    std::string changed = bytes;
    for (int k = 0; k < 3; ++k) changed[random() % changed.size()] = "\"{}[],:0129eF\\ \xff"[random() % 16];
    survives([&] { (void)parse_safetensors(changed); }, errors);
  }
  BOOST_TEST(errors > 3000);
}

BOOST_AUTO_TEST_CASE(files) {
  const TestFolder folder;
  const std::string path = folder / "t.safetensors";
  write_safetensors(path, samples());
  const auto back = read_safetensors(path);
  BOOST_REQUIRE(back.size() == samples().size());
  for (size_t i = 0; i < back.size(); ++i) {
    BOOST_TEST(back[i].first == samples()[i].first);
    BOOST_TEST(same(back[i].second, samples()[i].second), back[i].first);
  }
  BOOST_TEST(read_safetensors_metadata(path).empty());
  // What cannot be written leaves what was there.
  const std::string before = read_file(path);
  expect_error_begins([&] { write_safetensors(path, {{"x", tensor(1.F)}, {"s", tensor("s")}}); }, "Unimplemented: ");
  BOOST_TEST((read_file(path) == before));
  BOOST_TEST(folder.files() == 1U);
  write_safetensors(path, {{"x", tensor(1.F)}, {"y", tensor(2.F)}});
  BOOST_TEST(read_safetensors(path).size() == 2U);
  expect_error([&] { (void)read_safetensors(folder / "no"); },
               "NotFound: cannot open file '" + (folder / "no") + "': No such file or directory");
  expect_error([&] { (void)read_safetensors(folder.path().string()); },
               "InvalidArgument: cannot read file '" + folder.path().string() + "': Is a directory");
  expect_error([] { (void)read_safetensors("/dev/zero"); },
               "InvalidArgument: cannot read file '/dev/zero': expected a file, got a pipe or device");
  write_file(folder / "bad", "short");
  expect_error([&] { (void)read_safetensors(folder / "bad"); },
               "DataLoss: safetensors: expected at least 8 bytes, got 5 [in file '" + (folder / "bad") + "']");
  expect_error([&] { write_safetensors(folder / "no/t", samples()); },
               "NotFound: cannot write file '" + (folder / "no/t") + "': No such file or directory");
}

// A tensor of 3 GiB that is not there: memory is taken only for what the file has.
BOOST_AUTO_TEST_CASE(memory_is_taken_for_what_is_there) {
  expect_fault(one(R"("dtype":"U8","shape":[3221225472],"data_offsets":[0,3221225472])"),
               "DataLoss: safetensors: expected 3221225472 bytes after the header, got 0");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
