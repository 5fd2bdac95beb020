// TFRecord files: what is written is read, TensorFlow's bytes are ours, and no damage goes unnoticed.
#include "panto/lib/core/io/record_file.h"

#include <sys/resource.h>

#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "panto/lib/base/file.h"
#include "panto/lib/core/io/crc32c.h"
#include "panto/tests/expect.h"
#include "panto/tests/folder.h"

namespace panto::test {
namespace {

std::vector<std::string> records_in(const std::string& path, Compression compression = Compression::kNone) {
  std::vector<std::string> records;
  RecordReader reader(path, compression);
  for (std::string record; reader.read(record);) records.push_back(record);
  return records;
}

void write_records(const std::string& path, const std::vector<std::string>& records,
                   Compression compression = Compression::kNone) {
  RecordWriter writer(path, compression);
  for (const std::string& record : records) writer.write(record);
  writer.close();
}

BOOST_AUTO_TEST_SUITE(core)
BOOST_AUTO_TEST_SUITE(record_files)

// RFC 3720, B.4.
BOOST_AUTO_TEST_CASE(checksums) {
  BOOST_TEST(crc32c("") == 0U);
  BOOST_TEST(crc32c("123456789") == 0xe3069283U);
  BOOST_TEST(crc32c(std::string(32, '\0')) == 0x8a9136aaU);
  BOOST_TEST(crc32c(std::string(32, '\xff')) == 0x62a8ab43U);
  std::string counting;
  for (int i = 0; i < 32; ++i) counting += static_cast<char>(i);
  BOOST_TEST(crc32c(counting) == 0x46dd794eU);
}

BOOST_AUTO_TEST_CASE(what_is_written_is_read) {
  const TestFolder folder;
  const std::vector<std::string> records = {"one", "", std::string(300000, 'x'), std::string("\0\n\xff", 3)};
  for (const Compression compression : {Compression::kNone, Compression::kZlib, Compression::kGzip}) {
    write_records(folder / "records", records, compression);
    BOOST_TEST((records_in(folder / "records", compression) == records));
  }
  write_records(folder / "none", {});
  BOOST_TEST(records_in(folder / "none").empty());
  BOOST_TEST(read_file(folder / "none").empty());
}

// As tf.io.TFRecordWriter writes "ab" and "".
BOOST_AUTO_TEST_CASE(bytes) {
  const TestFolder folder;
  write_records(folder / "records", {"ab", ""});
  const std::string expected(
      "\x02\0\0\0\0\0\0\0\x78\x27\x0b\x34"
      "ab"
      "\x1c\xb0\xf0\xf4"
      "\0\0\0\0\0\0\0\0\x29\x03\x98\x07\xd8\xea\x82\xa2",
      34);
  BOOST_TEST(read_file(folder / "records") == expected);
}

BOOST_AUTO_TEST_CASE(nothing_is_there_before_it_is_closed) {
  const TestFolder folder;
  {
    RecordWriter writer(folder / "records");
    writer.write("one");
    BOOST_CHECK_THROW(read_file(folder / "records"), Error);
  }
  BOOST_CHECK_THROW(read_file(folder / "records"), Error);
  RecordWriter writer(folder / "records");
  writer.close();
  expect_error_begins([&] { writer.write("one"); },
                      "FailedPrecondition: record writer: expected an open one, got one that was closed");
}

// What may end within a record is never put in place.
BOOST_AUTO_TEST_CASE(a_write_that_failed) {
  const TestFolder folder;
  RecordWriter writer(folder / "records");
  rlimit before{};
  BOOST_REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
  const rlimit small{.rlim_cur = 1000, .rlim_max = before.rlim_max};
  BOOST_REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
  {
    const FileSizeErrors errors;
    BOOST_CHECK_THROW(writer.write(std::string(1 << 20, 'x')), Error);
  }
  setrlimit(RLIMIT_FSIZE, &before);
  const char* const refused =
      "FailedPrecondition: record writer: expected one whose writes succeeded, got one that failed";
  expect_error_begins([&] { writer.write("one"); }, refused);
  expect_error_begins([&] { writer.close(); }, refused);
  BOOST_CHECK_THROW(read_file(folder / "records"), Error);
}

// Every byte that is missing or another is noticed.
BOOST_AUTO_TEST_CASE(damage) {
  const TestFolder folder;
  write_records(folder / "records", {"one", "three"});
  const std::string good = read_file(folder / "records");
  const auto fails = [&](const std::string& bytes) {
    write_file(folder / "damaged", bytes);
    try {
      records_in(folder / "damaged");
    } catch (const Error& error) {
      BOOST_TEST((error.code() == Code::kDataLoss), error.what());
      return error.message().starts_with("file '" + folder / "damaged" + "': expected ");
    }
    return false;
  };
  for (size_t i = 0; i < good.size(); ++i) {
    std::string bytes = good;
    bytes[i] ^= 0x10;
    BOOST_TEST(fails(bytes), "byte " << i);
    if (i > 0 && i != 19) BOOST_TEST(fails(good.substr(0, i)), "length " << i);
  }
  write_file(folder / "damaged", good.substr(0, 30));
  expect_error_begins(
      [&] { records_in(folder / "damaged"); },
      "DataLoss: file '" + folder / "damaged" + "': expected 12 bytes of the length of the record at byte 19, got 11");
  std::string bytes = good;
  bytes[12] = 'x';
  write_file(folder / "damaged", bytes);
  expect_error_begins([&] { records_in(folder / "damaged"); },
                      "DataLoss: file '" + folder / "damaged" + "': expected the checksum ");
}

// A length with a right checksum is no reason to take memory.
BOOST_AUTO_TEST_CASE(huge_lengths) {
  const TestFolder folder;
  for (const uint64_t length : {uint64_t{1} << 30, uint64_t{1} << 40, ~uint64_t{0}}) {
    std::string head(reinterpret_cast<const char*>(&length), sizeof(length));
    const uint32_t sum = masked_crc32c(head);
    head.append(reinterpret_cast<const char*>(&sum), sizeof(sum));
    write_file(folder / "huge", head + "abc");
    expect_error_begins([&] { records_in(folder / "huge"); }, "DataLoss: file '");
  }
}

BOOST_AUTO_TEST_CASE(damaged_compression) {
  const TestFolder folder;
  write_records(folder / "records", {"one", std::string(1000, 'x')}, Compression::kGzip);
  const std::string good = read_file(folder / "records");
  for (size_t i = 1; i < good.size(); ++i) {
    write_file(folder / "damaged", good.substr(0, i));
    expect_error_begins([&] { records_in(folder / "damaged", Compression::kGzip); }, "DataLoss: file '");
  }
  // One compressed file behind another is one file.
  write_file(folder / "two", good + good);
  BOOST_TEST(records_in(folder / "two", Compression::kGzip).size() == 4U);
}

BOOST_AUTO_TEST_CASE(lines_of_any_length) {
  const TestFolder folder;
  const std::string longest(400000, 'y');
  write_file(folder / "lines", longest + "\nx\r\n\r");
  InputStream stream(folder / "lines");
  std::string line;
  BOOST_TEST(stream.read_line(line));
  BOOST_TEST((line == longest));
  BOOST_TEST(stream.read_line(line));
  BOOST_TEST(line == "x");
  BOOST_TEST(!stream.read_line(line));
  expect_error_begins([&] { InputStream none(folder / "none"); }, "NotFound: ");
}

BOOST_AUTO_TEST_CASE(going_on_at_a_byte) {
  const TestFolder folder;
  const std::vector<std::string> records = {"one", std::string(600000, 'x'), "three"};
  for (const Compression c : {Compression::kNone, Compression::kGzip}) {
    write_records(folder / "r", records, c);
    std::vector<uint64_t> begins;
    std::string record;
    for (RecordReader reader(folder / "r", c); begins.push_back(reader.offset()), reader.read(record);) {
    }
    BOOST_TEST((begins == std::vector<uint64_t>{0, 19, 600035, 600056}));
    for (size_t i = 0; i < begins.size(); ++i) {
      RecordReader reader(folder / "r", c);
      reader.skip_to(begins[i]);
      BOOST_TEST(reader.offset() == begins[i]);
      BOOST_TEST(reader.read(record) == (i < records.size()));
      if (i < records.size()) BOOST_TEST((record == records[i]));
    }
    RecordReader reader(folder / "r", c);
    expect_error_begins([&] { reader.skip_to(600057); }, "DataLoss: file '");
    expect_error([&] { reader.skip_to(3); }, "InvalidArgument: record reader: expected a byte from 600056 on, got 3");
  }
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto::test
