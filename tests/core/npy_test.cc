// .npy and .npz: what NumPy wrote is read, what we write is what NumPy writes, and nothing in a file can harm.
#include "panto/lib/core/io/npy.h"

#include <sys/stat.h>

#include <complex>
#include <cstring>
#include <random>

#include "panto/lib/base/file.h"
#include "panto/lib/core/tensor/tensor_alloc.h"
#include "panto/tests/expect.h"
#include "panto/tests/folder.h"

namespace panto {
namespace {

const std::string kData = PANTO_TEST_SOURCE "/tests/core/data/";

bool same(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || !(a.shape() == b.shape())) return false;
  if (a.dtype() == kString) return a.to_vector<std::string>() == b.to_vector<std::string>();
  return std::memcmp(a.impl()->data, b.impl()->data, a.nbytes()) == 0;
}

std::string bytes_of(const Tensor& t) { return {static_cast<const char*>(t.impl()->data), t.nbytes()}; }

// A file of version 1.0 with this header and these elements.
std::string file_with(std::string_view header, std::string_view elements) {
  std::string bytes = std::string("\x93NUMPY\x01\x00", 8);
  bytes += static_cast<char>(header.size() & 0xff);
  bytes += static_cast<char>(header.size() >> 8);
  return bytes.append(header).append(elements);
}

std::string header_of(std::string_view type, std::string_view shape, std::string_view order = "False") {
  return "{'descr': '" + std::string(type) + "', 'fortran_order': " + std::string(order) +
         ", 'shape': " + std::string(shape) + ", }\n";
}

void expect_fault(std::string_view header, std::string_view text, std::string_view elements = "") {
  expect_error([&] { (void)parse_npy(file_with(header, elements)); }, text);
}

// A tensor or an Error, nothing else.
template <class Body>
void survives(Body&& body, int& errors) {
  try {
    body();
  } catch (const Error& error) {
    ++errors;
    const Code code = error.code();
    BOOST_TEST((code == Code::kDataLoss || code == Code::kInvalidArgument || code == Code::kUnimplemented ||
                code == Code::kResourceExhausted),
               error.what());
  }
}

std::vector<Tensor> samples() {
  return {tensor({{1.f, 2.f, 3.f}, {4.f, 5.f, 6.f}}),       tensor(2.5),
          tensor(std::vector<int64_t>{}, Shape{0, 3}),      tensor({true, false}),
          tensor(std::vector<std::string>{"abc", "", "d"}), tensor(std::vector<std::complex<float>>{{1, 2}, {3, 4}}),
          tensor(std::vector<Half>{Half(1.F), Half(0.5F)})};
}

BOOST_AUTO_TEST_SUITE(npy)

BOOST_AUTO_TEST_CASE(files_that_numpy_wrote) {
  const auto entries = read_npz(kData + "npy.npz");
  BOOST_TEST(entries.size() > 30U);
  for (size_t i = 0; i + 1 < entries.size(); i += 2) {
    const auto& [name, file] = entries[i];
    BOOST_TEST(entries[i + 1].first == name + ".held");
    BOOST_TEST(same(parse_npy(bytes_of(file)), entries[i + 1].second), name);
  }
}

BOOST_AUTO_TEST_CASE(our_bytes_are_numpys) {
  // tests/core/data/print.npz holds about 1,200 files that NumPy wrote, of every type.
  for (const auto& [name, value] : read_npz(kData + "print.npz")) {
    const std::string bytes = npy_bytes(value);
    BOOST_TEST(same(parse_npy(bytes), value), name);
  }
  // And one written out, padding and all.
  BOOST_TEST(npy_bytes(tensor({1.f, 2.f})) ==
             std::string("\x93NUMPY\x01\x00v\x00", 10) + "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }" +
                 std::string(60, ' ') + "\n" + std::string("\0\0\x80\x3f\0\0\0\x40", 8));
}

BOOST_AUTO_TEST_CASE(types) {
  const std::pair<DType, const char*> table[] = {
      {kBool, "|b1"},    {kInt8, "|i1"},    {kInt16, "<i2"},     {kInt32, "<i4"},       {kInt64, "<i8"},
      {kUint8, "|u1"},   {kUint16, "<u2"},  {kUint32, "<u4"},    {kUint64, "<u8"},      {kFloat16, "<f2"},
      {kFloat32, "<f4"}, {kFloat64, "<f8"}, {kComplex64, "<c8"}, {kComplex128, "<c16"}, {kBFloat16, "<V2"},
      {kQInt8, "|i1"},   {kQUint8, "|u1"},  {kQInt16, "<i2"},    {kQUint16, "<u2"},     {kQInt32, "<i4"}};
  for (const auto& [dtype, text] : table) {
    const std::string data(dtype_size(dtype) * 3, '\1');
    const Tensor t = tensor_from_bytes(dtype, Shape{3}, data.data(), data.size());
    const std::string bytes = npy_bytes(t);
    BOOST_TEST(bytes.find("'" + std::string(text) + "'") != std::string::npos, text);
    BOOST_TEST(same(parse_npy(bytes), t), text);
  }
}

BOOST_AUTO_TEST_CASE(shapes) {
  for (const Shape& shape :
       {Shape{}, Shape{0}, Shape{5}, Shape{2, 0, 3}, Shape{2, 3, 4}, Shape(std::vector<int64_t>(254, 1))}) {
    const Tensor t = tensor(std::vector<int32_t>(static_cast<size_t>(shape.numel()), 7), shape);
    BOOST_TEST(same(parse_npy(npy_bytes(t)), t), shape.to_string());
  }
}

BOOST_AUTO_TEST_CASE(strings) {
  const Tensor t = tensor_from_strings(Shape{2, 2}, {"", "abc", std::string("a\0b", 3), "\xff"});
  const std::string bytes = npy_bytes(t);
  BOOST_TEST(bytes.find("'|S3'") != std::string::npos);
  BOOST_TEST(same(parse_npy(bytes), t));
  BOOST_TEST(npy_bytes(tensor("")).find("'|S1'") != std::string::npos);
  expect_error(
      [] { (void)npy_bytes(tensor(std::vector<std::string>{"a", std::string("b\0", 2)})); },
      "InvalidArgument: npy: expected strings that do not end with a zero byte (NumPy strips those), got one at 1");
}

BOOST_AUTO_TEST_CASE(what_cannot_be_written) {
  expect_error([] { (void)npy_bytes(resource_tensor(nullptr)); },
               "Unimplemented: npy: expected a tensor of numbers, bools or strings, got resource");
  expect_error([] { (void)npy_bytes(meta_tensor(kFloat32, {2})); },
               "FailedPrecondition: copy: expected a tensor with a value, got symbolic float32[2]");
}

BOOST_AUTO_TEST_CASE(headers_in_other_words) {
  const std::string data(8, '\1');
  for (const char* header : {
           "{'descr':'<f4','fortran_order':False,'shape':(2,)}",
           "  {\"shape\": (2L,), \"fortran_order\": True, \"descr\": \"<f4\"}  \n",
           "{ 'shape' : ( 2 , ) ,\n 'descr' : '=f4' , 'fortran_order' : False , }",
           "{'descr': 'f4', 'fortran_order': False, 'shape': (2)}",
       }) {
    BOOST_TEST(parse_npy(file_with(header, data)).shape().to_string() == "[2]", header);
  }
}

BOOST_AUTO_TEST_CASE(faulty_headers) {
  expect_fault("", "InvalidArgument: npy header: expected '{' at position 0, got its end");
  expect_fault("{", "InvalidArgument: npy header: expected a quoted word at position 1, got its end");
  expect_fault(
      "{}", "InvalidArgument: npy header: expected the keys descr, fortran_order and shape, got none called 'descr'");
  expect_fault(
      "{'descr': '<f4'}",
      "InvalidArgument: npy header: expected the keys descr, fortran_order and shape, got none called 'fortran_order'");
  expect_fault("{'descr': '<f4', 'descr': '<f4'}",
               "InvalidArgument: npy header: expected each key once, got 'descr' twice");
  expect_fault("{'colour': 'red'}",
               "InvalidArgument: npy header: expected the keys descr, fortran_order and shape, got 'colour'");
  expect_fault("{'descr' '<f4'}", "InvalidArgument: npy header: expected ':' at position 9, got byte 0x27");
  expect_fault("{'shape': (2 3)}", "InvalidArgument: npy header: expected ',' or ')' at position 13, got byte 0x33");
  expect_fault("{'shape': (-2,)}", "InvalidArgument: npy header: expected a dimension at position 11, got byte 0x2d");
  expect_fault("{'shape': (99999999999999999999,)}",
               "InvalidArgument: npy header: expected a dimension at position 11, got byte 0x39");
  expect_fault("{'fortran_order': 0}",
               "InvalidArgument: npy header: expected True or False at position 18, got byte 0x30");
  expect_fault(header_of("<f4", "()") + "x",
               "InvalidArgument: npy header: expected nothing after '}' at position 56, got byte 0x78");
  expect_fault("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': ()}",
               "Unimplemented: npy header: expected a plain element type, got a structured one");
  for (const char* type :
       {"|O", "<M8[ns]", "<f16", "<c32", "|V8", "<i3", "<f", "f4x", "", "<", "<f99999999999", "|b2", "<x4"}) {
    expect_fault(header_of(type, "()"), "Unimplemented: npy header: expected an element type of this library, got '" +
                                            std::string(type) + "'");
  }
}

BOOST_AUTO_TEST_CASE(sizes_that_lie) {
  expect_fault(header_of("<f4", "(3,)"), "DataLoss: npy data: expected 12 bytes for float32[3], got 8",
               std::string(8, '\0'));
  expect_fault(header_of("<f4", "(1,)"), "DataLoss: npy data: expected 4 bytes for float32[1], got 5",
               std::string(5, '\0'));
  expect_fault(header_of("<f4", "(1000000000000,)"),
               "DataLoss: npy data: expected 4000000000000 bytes for float32[1000000000000], got 4",
               std::string(4, '\0'));
  expect_fault(header_of("<f8", "(2305843009213693952,)"),
               "InvalidArgument: npy data: expected a product below 2^63, got 2305843009213693952 * 8");
  expect_fault(header_of("|S0", "(9223372036854775807,)"),
               "InvalidArgument: npy data: expected at most 1048576 strings without bytes, got 9223372036854775807");
  expect_error_begins([] { (void)parse_npy(file_with(header_of("<f4", "(0, 4294967296, 4294967296)"), "")); },
                      "InvalidArgument: shape: expected fewer than 2^63 elements");
  // 255 dimensions.
  std::string dims = "(";
  for (int i = 0; i < 255; ++i) dims += "1,";
  expect_fault(header_of("|i1", dims + ")"), "InvalidArgument: shape: expected a rank of at most 254, got 255", "x");
}

BOOST_AUTO_TEST_CASE(text_that_is_no_text) {
  expect_fault(header_of("<U1", "()"), "DataLoss: text: expected Unicode characters, got the number 0x110000",
               std::string("\0\0\x11\0", 4));
  expect_fault(header_of("<U1", "()"), "DataLoss: text: expected Unicode characters, got the number 0xd800",
               std::string("\0\xd8\0\0", 4));
}

BOOST_AUTO_TEST_CASE(other_files) {
  expect_error([] { (void)parse_npy(""); }, "DataLoss: npy: expected a header of at least 10 bytes, got 0");
  expect_error([] { (void)parse_npy("PK\3\4 and more bytes"); },
               "InvalidArgument: npy: expected the first bytes \\x93NUMPY, got others");
  expect_error([] { (void)parse_npy(std::string("\x93NUMPY\x04\x00\x01\x00{}", 12)); },
               "Unimplemented: npy: expected version 1.0, 2.0 or 3.0, got 4.0");
  expect_error([] { (void)parse_npy(std::string("\x93NUMPY\x01\x00\xff\xff{}", 12)); },
               "DataLoss: npy header: expected 65535 bytes, got 2");
  expect_error([] { (void)parse_npy(std::string("\x93NUMPY\x02\x00\xff\xff\xff\xff", 12)); },
               "InvalidArgument: npy header: expected at most 65536 bytes, got 4294967295");
  expect_error([] { (void)parse_npy(std::string("\x93NUMPY\x02\x00\x01\x00", 10)); },
               "DataLoss: npy: expected the header's length, got the end");
}

BOOST_AUTO_TEST_CASE(every_truncation_is_noticed) {
  for (const Tensor& t : samples()) {
    const std::string bytes = npy_bytes(t);
    int errors = 0;
    for (size_t n = 0; n < bytes.size(); ++n) {
      survives([&] { (void)parse_npy(std::string_view(bytes).substr(0, n)); }, errors);
    }
    BOOST_TEST(static_cast<size_t>(errors) == bytes.size());
  }
}

BOOST_AUTO_TEST_CASE(every_changed_bit_is_survived) {
  for (const Tensor& t : samples()) {
    const std::string bytes = npy_bytes(t);
    int errors = 0;
    for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
      std::string changed = bytes;
      changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << (bit % 8)));
      survives([&] { (void)parse_npy(changed).to_string(); }, errors);
    }
    BOOST_TEST(errors > 0);
  }
}

BOOST_AUTO_TEST_CASE(files) {
  const TestFolder folder;
  for (const Tensor& t : samples()) {
    write_npy(folder / "t.npy", t);
    BOOST_TEST(same(read_npy(folder / "t.npy"), t));
  }
  BOOST_TEST(folder.files() == 1U);
  expect_error([&] { (void)read_npy(folder / "no.npy"); },
               "NotFound: cannot open file '" + (folder / "no.npy") + "': No such file or directory");
  write_file(folder / "bad.npy", "short");
  expect_error([&] { (void)read_npy(folder / "bad.npy"); },
               "DataLoss: npy: expected a header of at least 10 bytes, got 5 [in file '" + (folder / "bad.npy") + "']");
  expect_error([&] { (void)read_npy(folder.path().string()); },
               "InvalidArgument: cannot read file '" + folder.path().string() + "': Is a directory");
  expect_error([&] { write_npy(folder / "no/t.npy", tensor(1.F)); },
               "NotFound: cannot write file '" + (folder / "no/t.npy") + "': No such file or directory");
  // What cannot be written leaves what was there.
  expect_error_begins([&] { write_npy(folder / "t.npy", resource_tensor(nullptr)); }, "Unimplemented: npy: ");
  BOOST_TEST(same(read_npy(folder / "t.npy"), samples().back()));
  BOOST_TEST(folder.files() == 2U);
}

BOOST_AUTO_TEST_CASE(archives) {
  const TestFolder folder;
  std::vector<NamedTensor> arrays;
  for (const Tensor& t : samples()) arrays.emplace_back("a/b:" + std::to_string(arrays.size()), t);
  arrays.emplace_back("\xc3\xa9", tensor(std::vector<float>(100000, 1.5F)));
  write_npz(folder / "t.npz", arrays);
  const auto back = read_npz(folder / "t.npz");
  BOOST_TEST(back.size() == arrays.size());
  for (size_t i = 0; i < back.size(); ++i) {
    BOOST_TEST(back[i].first == arrays[i].first);
    BOOST_TEST(same(back[i].second, arrays[i].second));
  }
  // The same arrays give the same file.
  const std::string first = read_file(folder / "t.npz");
  write_npz(folder / "t.npz", back);
  BOOST_TEST((read_file(folder / "t.npz") == first));
  write_npz(folder / "t.npz", {});
  BOOST_TEST(read_npz(folder / "t.npz").empty());
  BOOST_TEST(folder.files() == 1U);
}

BOOST_AUTO_TEST_CASE(archives_that_cannot_be_written) {
  const TestFolder folder;
  write_npz(folder / "t.npz", std::vector<NamedTensor>{{"x", tensor(1.F)}});
  const std::string before = read_file(folder / "t.npz");
  expect_error([&] { write_npz(folder / "t.npz", std::vector<NamedTensor>{{"x", tensor(1.F)}, {"x", tensor(2.F)}}); },
               "InvalidArgument: npz: expected each name once, got 'x' twice");
  expect_error(
      [&] {
        write_npz(folder / "t.npz", std::vector<NamedTensor>{{"x", tensor(1.F)}, {"r", resource_tensor(nullptr)}});
      },
      "Unimplemented: npy: expected a tensor of numbers, bools or strings, got resource");
  expect_error([&] { write_npz(folder / "no/t.npz", std::vector<NamedTensor>{{"x", tensor(1.F)}}); },
               "NotFound: cannot write file '" + (folder / "no/t.npz") + "': No such file or directory");
  expect_error([] { write_npz("/dev/null", std::vector<NamedTensor>{{"x", tensor(1.F)}}); },
               "Unimplemented: npz: expected a file that can be replaced, got a pipe or device '/dev/null'");
  BOOST_TEST((read_file(folder / "t.npz") == before));
  BOOST_TEST(folder.files() == 1U);
}

BOOST_AUTO_TEST_CASE(archives_in_a_folder_of_others) {
  const OrdinaryUser user;
  if (user.skips("permissions of npz files")) return;
  const TestFolder folder;
  std::filesystem::permissions(folder.path(), std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
  expect_error([&] { write_npz(folder / "u.npz", std::vector<NamedTensor>{{"x", tensor(1.F)}}); },
               "PermissionDenied: cannot write file '" + (folder / "u.npz") + "': Permission denied");
}

BOOST_AUTO_TEST_CASE(archives_that_cannot_be_read) {
  const TestFolder folder;
  expect_error([&] { (void)read_npz(folder / "no.npz"); },
               "NotFound: cannot open file '" + (folder / "no.npz") + "': No such file or directory");
  write_file(folder / "bad.npz", "this is no archive");
  expect_error(
      [&] { (void)read_npz(folder / "bad.npz"); },
      "InvalidArgument: npz: expected a zip archive, got: Not a zip archive [in file '" + (folder / "bad.npz") + "']");
  expect_error([&] { (void)read_npz(folder.path().string()); },
               "InvalidArgument: cannot read file '" + folder.path().string() + "': Is a directory");
  // A changed element: the checksum tells.
  write_npz(folder / "t.npz", std::vector<NamedTensor>{{"x", tensor({1.f, 2.f})}});
  std::string bytes = read_file(folder / "t.npz");
  const size_t element = bytes.find("\x80\x3f");
  bytes[element] = 0;
  write_file(folder / "t.npz", bytes);
  expect_error([&] { (void)read_npz(folder / "t.npz"); },
               "DataLoss: npz: expected an undamaged entry, got: CRC error [in array 'x'] [in file '" +
                   (folder / "t.npz") + "']");
}

BOOST_AUTO_TEST_CASE(damaged_archives_are_survived) {
  const TestFolder folder;
  const std::string path = folder / "t.npz";
  std::vector<NamedTensor> arrays;
  for (const Tensor& t : samples()) arrays.emplace_back("a" + std::to_string(arrays.size()), t);
  write_npz(path, arrays);
  const std::string stored = read_file(path);
  const std::string deflated = read_file(kData + "npy.npz");
  std::mt19937 random(7);
  int errors = 0;
  for (const std::string& whole : {stored, deflated}) {
    for (int i = 0; i < 700; ++i) {
      std::string bytes = whole;
      const auto at = [&] { return random() % bytes.size(); };
      // The directory at the end decides most: damage it more often.
      const auto late = [&] { return bytes.size() - 1 - random() % std::min<size_t>(bytes.size(), 400); };
      switch (i % 4) {
        case 0: bytes[at()] ^= static_cast<char>(1 << random() % 8); break;
        case 1: bytes[late()] ^= static_cast<char>(1 << random() % 8); break;
        case 2: bytes.resize(at()); break;
        default: {
          const size_t from = at();
          bytes.replace(late() / 2, 50, bytes.substr(from, random() % 80));
        }
      }
      write_file(path, bytes);
      survives([&] { (void)read_npz(path); }, errors);
    }
  }
  BOOST_TEST(errors > 700);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
