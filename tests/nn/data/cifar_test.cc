// The CIFAR reader: records written by hand, and files that are not what they say.
#include "panto/nn/data/cifar.h"

#include <zlib.h>

#include "panto/lib/base/file.h"
#include "panto/lib/ops/ops.h"
#include "panto/tests/expect.h"
#include "panto/tests/folder.h"
#include "panto/tests/near.h"

namespace panto {
namespace {

// Of image k: red is k everywhere, green the row, blue the column.
std::string record(std::string labels, int k) {
  for (int channel = 0; channel < 3; ++channel) {
    for (int row = 0; row < 32; ++row) {
      for (int column = 0; column < 32; ++column) {
        labels += static_cast<char>(channel == 0 ? k : channel == 1 ? row : column);
      }
    }
  }
  return labels;
}

void expect_images(const LabelledImages& got, const std::vector<int>& ks, const std::vector<double>& labels) {
  const auto n = static_cast<int64_t>(ks.size());
  BOOST_REQUIRE(got.images.shape() == (Shape{n, 32, 32, 3}));
  BOOST_TEST(values_of(got.labels) == labels, boost::test_tools::per_element());
  BOOST_TEST((got.labels.dtype() == kInt32));
  for (int64_t i = 0; i < n; ++i) {
    for (const auto& [row, column] : {std::pair(0, 0), std::pair(3, 31), std::pair(31, 7)}) {
      const std::vector<double> pixel = values_of(got.images(i, row, column));
      const double expected[] = {ks[static_cast<size_t>(i)] / 255.0, row / 255.0, column / 255.0};
      for (size_t c = 0; c < 3; ++c) BOOST_TEST(std::abs(pixel[c] - expected[c]) < 1e-7);
    }
  }
}

BOOST_AUTO_TEST_SUITE(nn)
BOOST_AUTO_TEST_SUITE(cifar)

BOOST_AUTO_TEST_CASE(ten_classes) {
  const TestFolder folder;
  for (int k = 1; k <= 5; ++k) {
    write_file(folder / ("data_batch_" + std::to_string(k) + ".bin"),
               record(std::string(1, static_cast<char>(k)), 10 * k) + record(std::string(1, '\0'), 10 * k + 1));
  }
  write_file(folder / "test_batch.bin", record("\x09", 255));
  expect_images(read_cifar10(folder.path().string()), {10, 11, 20, 21, 30, 31, 40, 41, 50, 51},
                {1, 0, 2, 0, 3, 0, 4, 0, 5, 0});
  expect_images(read_cifar10(folder.path().string(), false), {255}, {9});
  const std::string path = folder / "test_batch.bin.gz";
  const gzFile file = gzopen(path.c_str(), "wb");
  const std::string bytes = record("\x07", 3);
  BOOST_REQUIRE(gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size())) == static_cast<int>(bytes.size()));
  BOOST_REQUIRE(gzclose(file) == Z_OK);
  expect_images(read_cifar({path, folder / "test_batch.bin"}), {3, 255}, {7, 9});
  BOOST_TEST(read_cifar({}).images.shape() == (Shape{0, 32, 32, 3}));
}

BOOST_AUTO_TEST_CASE(a_hundred_classes) {
  const TestFolder folder;
  write_file(folder / "train.bin", record("\x13\x63", 1) + record(std::string("\0\x05", 2), 2));
  write_file(folder / "test.bin", record("\x01\x02", 3));
  expect_images(read_cifar100(folder.path().string()), {1, 2}, {99, 5});
  expect_images(read_cifar100(folder.path().string(), true, true), {1, 2}, {19, 0});
  expect_images(read_cifar100(folder.path().string(), false), {3}, {2});
}

BOOST_AUTO_TEST_CASE(faults) {
  const TestFolder folder;
  const std::string path = folder / "a.bin", whole = record("\x01", 1);
  expect_error_begins([&] { read_cifar({path}); }, "NotFound: ");
  write_file(path, whole + whole.substr(0, 100));
  expect_error([&] { read_cifar({path}); },
               "DataLoss: " + path + ": expected 3073 bytes for a record at byte 3073, got 100");
  write_file(path, whole + record("\x0a", 1));
  expect_error([&] { read_cifar({path}); }, "DataLoss: " + path + ": expected a label below 10 at byte 3073, got 10");
  write_file(path, record("\x01\x64", 1));
  expect_error([&] { read_cifar({path}, CifarKind::kCifar100); },
               "DataLoss: " + path + ": expected a label below 100 at byte 1, got 100");
  // For every length a message, and no more.
  for (size_t size = 0; size <= whole.size(); ++size) {
    if (size % 97 != 0 && size != whole.size()) continue;
    write_file(path, whole.substr(0, size));
    if (size == 0 || size == whole.size()) {
      BOOST_TEST(read_cifar({path}).labels.numel() == static_cast<int64_t>(size / whole.size()));
    } else {
      expect_error_begins([&] { read_cifar({path}); }, "DataLoss: ");
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
