// The IDX reader: every element type, plain and gzipped, and files that are not what they say.
#include <zlib.h>

#include <algorithm>
#include <fstream>
#include <functional>

#include "panto/lib/core/tensor/tensor_alloc.h"
#include "panto/lib/ops/ops.h"
#include "panto/nn/data/idx.h"
#include "panto/tests/expect.h"
#include "panto/tests/folder.h"
#include "panto/tests/near.h"

namespace panto {
namespace {

using Bytes = std::string;

Bytes big_endian(uint32_t v) {
  Bytes out;
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>((v >> shift) & 0xff);
  return out;
}

Bytes header(int type, const std::vector<uint32_t>& dims) {
  Bytes out{0, 0, static_cast<char>(type), static_cast<char>(dims.size())};
  for (uint32_t d : dims) out += big_endian(d);
  return out;
}

template <class T>
Bytes elements(const std::vector<T>& values) {
  Bytes out;
  for (T v : values) {
    const auto* bytes = reinterpret_cast<const char*>(&v);
    out.append(std::reverse_iterator(bytes + sizeof(T)), std::reverse_iterator(bytes));
  }
  return out;
}

void write(const std::string& path, const Bytes& bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

Bytes gzipped(const TestFolder& folder, const Bytes& bytes) {
  const std::string path = folder / "packed";
  gzFile file = gzopen(path.c_str(), "wb9");
  gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
  gzclose(file);
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

template <class T>
void expect_elements(int type, DType dtype, const std::vector<T>& values) {
  const TestFolder folder;
  const auto n = static_cast<uint32_t>(values.size());
  const Bytes bytes = header(type, {n / 2, 2}) + elements(values);
  write(folder / "plain", bytes);
  write(folder / "zipped.gz", gzipped(folder, bytes));
  for (const char* name : {"plain", "zipped.gz"}) {
    const Tensor t = read_idx(folder / name);
    BOOST_TEST(dtype_name(t.dtype()) == dtype_name(dtype));
    BOOST_TEST(t.shape().to_string() == Shape({n / 2, 2}).to_string());
    BOOST_TEST((t.to_vector<T>() == values));
  }
}

// What reading these bytes as a file gives: the error's text with the path as PATH, or "".
std::string fault(const Bytes& bytes, const TestFolder& folder) {
  const std::string path = folder / "x.idx";
  write(path, bytes);
  try {
    read_idx(path);
  } catch (const Error& error) {
    std::string text = error.what();
    const size_t at = text.find(path);
    if (at != std::string::npos) text.replace(at, path.size(), "PATH");
    return text;
  }
  return "";
}

BOOST_AUTO_TEST_SUITE(nn)
BOOST_AUTO_TEST_SUITE(idx)

BOOST_AUTO_TEST_CASE(all_types) {
  expect_elements<uint8_t>(0x08, kUint8, {0, 1, 254, 255});
  expect_elements<int8_t>(0x09, kInt8, {-128, -1, 0, 127});
  expect_elements<int16_t>(0x0B, kInt16, {-32768, -2, 258, 32767});
  expect_elements<int32_t>(0x0C, kInt32, {INT32_MIN, -2, 66051, INT32_MAX});
  expect_elements<float>(0x0D, kFloat32, {-1.5F, 0.F, 3.25F, 1e30F});
  expect_elements<double>(0x0E, kFloat64, {-1.5, 0., 3.25, 1e300});
}

BOOST_AUTO_TEST_CASE(all_ranks) {
  const TestFolder folder;
  for (const std::vector<uint32_t>& dims :
       std::vector<std::vector<uint32_t>>{{}, {3}, {1, 2, 3}, {0}, {0, 5}, {5, 0}, {1, 1, 1, 1, 1, 2, 1, 1}}) {
    size_t n = 1;
    for (uint32_t d : dims) n *= d;
    write(folder / "x", header(0x08, dims) + Bytes(n, '\7'));
    const Tensor t = read_idx(folder / "x");
    BOOST_TEST(t.rank() == static_cast<int>(dims.size()));
    BOOST_TEST((t.to_vector<uint8_t>() == std::vector<uint8_t>(n, 7)));
  }
}

BOOST_AUTO_TEST_CASE(missing_files) {
  const TestFolder folder;
  expect_error([&] { read_idx(folder / "none"); }, "NotFound: " + folder / "none" +
                                                       ": expected a file that can be read, got: No such file or "
                                                       "directory");
  BOOST_CHECK_THROW(read_idx(folder.path().string()), Error);
}

BOOST_AUTO_TEST_CASE(no_idx_files) {
  const TestFolder folder;
  BOOST_TEST(fault("", folder) == "DataLoss: PATH: expected 4 bytes for its magic number, got 0");
  BOOST_TEST(fault("PK\3\4 a zip file", folder) ==
             "DataLoss: PATH: expected an IDX file (two zero bytes first), got something else");
  for (int type : {0x00, 0x07, 0x0A, 0x0F, 0xFF}) {
    BOOST_TEST(fault(header(type, {1}) + "x", folder).starts_with("DataLoss: PATH: expected an IDX element type, got"));
  }
}

BOOST_AUTO_TEST_CASE(too_much) {
  const TestFolder folder;
  BOOST_TEST(fault(header(0x08, {2}) + "abc", folder) ==
             "DataLoss: PATH: expected nothing after the elements, got something else");
}

BOOST_AUTO_TEST_CASE(cut_off_anywhere) {
  const TestFolder folder;
  const Bytes bytes = header(0x0B, {2, 3}) + elements<int16_t>({1, 2, 3, 4, 5, 6});
  BOOST_REQUIRE(fault(bytes, folder).empty());
  for (size_t n = 0; n < bytes.size(); ++n) {
    const std::string text = fault(bytes.substr(0, n), folder);
    BOOST_TEST(text.starts_with("DataLoss: PATH: expected "), n << " bytes: " << text);
  }
  const Bytes packed = gzipped(folder, bytes);
  BOOST_REQUIRE(fault(packed, folder).empty());
  for (size_t n = 0; n < packed.size(); ++n) {
    const std::string text = fault(packed.substr(0, n), folder);
    BOOST_TEST(text.starts_with("DataLoss: PATH: expected "), n << " packed bytes: " << text);
  }
}

// A small header must not make us take gigabytes.
BOOST_AUTO_TEST_CASE(headers_that_promise_too_much) {
  const TestFolder folder;
  const int64_t before = cpu_device().memory_stats().bytes_in_use;
  BOOST_TEST(fault(header(0x08, {0x7fffffff}), folder).starts_with("DataLoss: PATH: expected 16777216 bytes for its"));
  BOOST_TEST(fault(header(0x08, {0x10000, 0x8001}), folder) ==
             "InvalidArgument: PATH: expected at most 2147483648 bytes of data, got 2147549184");
  BOOST_TEST(fault(header(0x0E, {0xffffffff, 0x7fffffff}), folder).starts_with("InvalidArgument: "));
  BOOST_TEST(fault(header(0x08, {0xffffffff, 0xffffffff, 0xffffffff}), folder).starts_with("InvalidArgument: "));
  BOOST_TEST(fault(header(0x08, std::vector<uint32_t>(255, 1)) + "x", folder).starts_with("InvalidArgument: "));
  BOOST_TEST(cpu_device().memory_stats().bytes_in_use == before);
}

BOOST_AUTO_TEST_CASE(flipped_bits) {
  const TestFolder folder;
  const std::vector<int16_t> values{1, 2, 3, 4, 5, 6};
  const Bytes bytes = header(0x0B, {2, 3}) + elements(values);
  const Bytes packed = gzipped(folder, bytes);
  const std::string path = folder / "x.idx";
  for (size_t bit = 0; bit < 8 * packed.size(); ++bit) {
    Bytes mutant = packed;
    mutant[bit / 8] = static_cast<char>(mutant[bit / 8] ^ (1 << (bit % 8)));
    write(path, mutant);
    try {
      // A bit of the file's date or name: the content is the same. Anything else the checksum finds.
      BOOST_TEST((read_idx(path).to_vector<int16_t>() == values), "bit " << bit);
    } catch (const Error& error) {
      BOOST_TEST(std::string(error.what()).find(path) != std::string::npos, error.what());
    }
  }
  for (size_t bit = 0; bit < 8 * 12; ++bit) {  // the header, which no checksum guards
    Bytes mutant = bytes;
    mutant[bit / 8] = static_cast<char>(mutant[bit / 8] ^ (1 << (bit % 8)));
    write(path, mutant);
    BOOST_CHECK_THROW(read_idx(path), Error);
  }
}

BOOST_AUTO_TEST_CASE(mnist) {
  const LabelledImages train = read_mnist(PANTO_TEST_SOURCE "/apps/data/mnist10k", "train");
  BOOST_TEST(train.images.shape().to_string() == "[8000,28,28]");
  BOOST_TEST(train.labels.shape().to_string() == "[8000]");
  const std::span<const float> pixels = train.images.data<float>();
  BOOST_TEST(*std::ranges::min_element(pixels) == 0.F);
  BOOST_TEST(*std::ranges::max_element(pixels) == 1.F);
  std::vector<int> seen(10, 0);
  for (int32_t label : train.labels.data<int32_t>()) {
    BOOST_REQUIRE(label >= 0 && label < 10);
    ++seen[static_cast<size_t>(label)];
  }
  for (int n : seen) BOOST_TEST(n > 600);
  const LabelledImages test = read_mnist(PANTO_TEST_SOURCE "/apps/data/mnist10k", "t10k");
  BOOST_TEST(test.images.shape().to_string() == "[2000,28,28]");
}

BOOST_AUTO_TEST_CASE(mnist_files_that_do_not_belong_together) {
  const TestFolder folder;
  write(folder / "a-images-idx3-ubyte", header(0x08, {2, 1, 1}) + "xy");
  write(folder / "a-labels-idx1-ubyte", header(0x08, {3}) + "123");
  const std::string where = folder.path().string();
  expect_error([&] { read_mnist(where, "a"); },
               "DataLoss: " + where + "/a: expected as many images as labels, got shapes [2,1,1] and [3]");
  // A gzipped file is preferred.
  write(folder / "a-labels-idx1-ubyte.gz", gzipped(folder, header(0x08, {2}) + Bytes{5, 6}));
  expect_near(read_mnist(where, "a").labels, {2}, {5, 6});
  expect_near(read_mnist(where, "a").images, {2, 1, 1}, {'x' / 255., 'y' / 255.});
  BOOST_TEST(error_text([&] { read_mnist(where, "b"); }).starts_with("NotFound: "));
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
