// Tables: TensorFlow's bytes are ours, every key is found, and nothing in a file can harm.
#include "panto/lib/graph/checkpoints/table.h"

#include <boost/test/unit_test.hpp>
#include <fstream>
#include <map>
#include <random>
#include <string>

#include "panto/lib/core/io/crc32c.h"
#include "panto/tests/expect.h"
#include "panto/tests/folder.h"

namespace panto {
namespace {

// Not write_file, which waits for the disk each time.
void put_file(const std::string& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

std::string number32(uint32_t number) { return {reinterpret_cast<const char*>(&number), sizeof(number)}; }
std::string hex(std::string_view digits) {
  std::string bytes;
  for (size_t i = 0; i + 1 < digits.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(std::string(digits.substr(i, 2)), nullptr, 16));
  }
  return bytes;
}

using Pairs = std::map<std::string, std::string>;

Pairs all_of(const Table& table) {
  Pairs pairs;
  table.for_each([&](std::string_view key, std::string_view value) { pairs.emplace(key, value); });
  return pairs;
}

// A table put together by hand: one block of data.
class Made {
 public:
  std::string block(const std::string& bytes, char kind = 0) {
    std::string handle;
    handle += static_cast<char>((file_.size() & 0x7f) | 0x80);
    handle += static_cast<char>(file_.size() >> 7);
    handle += static_cast<char>((bytes.size() & 0x7f) | 0x80);
    handle += static_cast<char>(bytes.size() >> 7);
    file_ += bytes + kind;
    file_ += number32(masked_crc32c(bytes + kind));
    return handle;
  }
  std::string finish(const std::string& data_handle) {
    std::string footer = block(ended(""));
    footer += block(ended(std::string("\0\1\4z", 4) + data_handle));
    footer.resize(40);
    return file_ + footer + hex("57fb808b247547db");
  }
  static std::string ended(const std::string& entries) { return entries + number32(0) + number32(1); }

 private:
  std::string file_;
};

void expect_fault(const std::string& data_block, std::string_view text, char kind = 0) {
  const TestFolder folder;
  Made made;
  const std::string handle = made.block(data_block, kind);
  put_file(folder / "t", made.finish(handle));
  expect_error([&] { (void)all_of(Table(folder / "t")); }, text);
}

BOOST_AUTO_TEST_SUITE(graph)
BOOST_AUTO_TEST_SUITE(table)

BOOST_AUTO_TEST_CASE(an_empty_one) {
  TableWriter writer;
  const std::string bytes = writer.finish();
  const TestFolder folder;
  put_file(folder / "t", bytes);
  const Table table(folder / "t");
  BOOST_TEST(all_of(table).empty());
  BOOST_TEST(!table.find("a").has_value());
}

BOOST_AUTO_TEST_CASE(every_key_is_found) {
  std::mt19937 random(1);
  Pairs pairs{{"", "header"}};
  for (int i = 0; i < 3000; ++i) {
    std::string key = "model/layer_" + std::to_string(random() % 1000) + "/" + std::to_string(random());
    if (i % 7 == 0) key += '\xff';
    pairs[key] = std::string(random() % 400, static_cast<char>(random()));
  }
  pairs["\xff\xff"] = "last";
  pairs["large"] = std::string(700000, 'x');
  TableWriter writer;
  for (const auto& [key, value] : pairs) writer.add(key, value);
  const TestFolder folder;
  put_file(folder / "t", writer.finish());
  const Table table(folder / "t");
  BOOST_TEST((all_of(table) == pairs));
  int i = 0;
  for (const auto& [key, value] : pairs) {
    if (++i % 50 != 0 && i > 10) continue;
    BOOST_TEST((table.find(key) == value), key);
    BOOST_TEST(!table.find(key + '\0').has_value());
  }
  BOOST_TEST((table.find("\xff\xff") == "last"));
}

BOOST_AUTO_TEST_CASE(what_cannot_be_added) {
  TableWriter writer;
  writer.add("b", "1");
  expect_error([&] { writer.add("b", "2"); },
               "InvalidArgument: table: expected keys in ascending order, got 'b' after 'b'");
  expect_error([&] { writer.add("", "2"); },
               "InvalidArgument: table: expected keys in ascending order, got '' after 'b'");
}

// Of 8 bytes "abababab": a literal of two, and a copy of six from two before.
BOOST_AUTO_TEST_CASE(snappy) {
  const TestFolder folder;
  Made made;
  // The entry a: abababab, and the block's end, of which the last 8 bytes are a literal.
  const std::string block = Made::ended(std::string("\0\1\10a", 4) + "abababab");
  BOOST_TEST(block.size() == 20U);
  const std::string packed =
      std::string("\x14", 1) + std::string("\x14\0\1\10aab\x09\2", 9) + '\x1c' + block.substr(12);
  const std::string handle = made.block(packed, 1);
  put_file(folder / "t", made.finish(handle));
  BOOST_TEST((all_of(Table(folder / "t")) == Pairs{{"a", "abababab"}}));
  expect_fault("\xff\xff\xff\xff\x0f" + packed.substr(1),
               "DataLoss: table: expected a block that was compressed by Snappy, got one without such a length", 1);
  expect_fault(packed.substr(0, 9), "DataLoss: table: expected a block that was compressed by Snappy, got other bytes",
               1);
  expect_fault(block, "Unimplemented: table: expected a block that is plain or compressed by Snappy, got kind 2", 2);
}

BOOST_AUTO_TEST_CASE(faulty_blocks) {
  expect_fault("", "DataLoss: table: expected the places of entries at the end of a block of 0 bytes, got 0");
  expect_fault(number32(0), "DataLoss: table: expected the places of entries at the end of a block of 4 bytes, got 0");
  expect_fault(number32(1), "DataLoss: table: expected the places of entries at the end of a block of 4 bytes, got 1");
  expect_fault(std::string(8, '\xff'),
               "DataLoss: table: expected the places of entries at the end of a block of 8 bytes, got 4294967295");
  // More than there is, also where the sum has more than 32 bits.
  expect_fault(Made::ended(std::string("\0\1\5a1234", 8)),
               "DataLoss: table: expected an entry within 5 bytes, got one of 6");
  expect_fault(Made::ended(std::string("\0\x02\xff\xff\xff\xff\x0f", 7) + "a"),
               "DataLoss: table: expected an entry within 1 bytes, got one of 4294967297");
  expect_fault(Made::ended(std::string("\1\1\0a", 4)),
               "DataLoss: table: expected an entry within 1 bytes, got one of 1");
  expect_fault(Made::ended("\xff\xff\xff\xff\x1f"),
               "DataLoss: number: expected one in bytes of seven bits, got other bytes");
  expect_fault(Made::ended(std::string("\0\1", 2)),
               "DataLoss: number: expected one in bytes of seven bits, got other bytes");
  expect_fault(Made::ended(std::string("\0\1\0b\0\1\0a", 8)),
               "DataLoss: table: expected keys in ascending order, got 'a' after 'b'");
  expect_fault(Made::ended(std::string("\0\1\0b\1\0\0", 7)),
               "DataLoss: table: expected keys in ascending order, got 'b' after 'b'");
  expect_fault(Made::ended(std::string("\0\2\0zz", 5)),
               "DataLoss: table: expected keys up to 'z' in a block, got 'zz'");
}

// 200 KiB of file, keys of 40 GiB.
BOOST_AUTO_TEST_CASE(keys_that_share_all) {
  std::string entries = std::string("\0", 1) + "\xe0\xd4\x03";  // a key of 60000 bytes
  entries += std::string("\0", 1) + std::string(60000, 'a');
  std::string key_length = "\xe0\xd4\x03";
  for (int i = 0; i < 20000; ++i) {
    entries += key_length + std::string("\1\0", 2) + 'b';
    const int length = 60001 + i;
    key_length = {static_cast<char>((length & 0x7f) | 0x80), static_cast<char>((length >> 7 & 0x7f) | 0x80),
                  static_cast<char>(length >> 14)};
  }
  const TestFolder folder;
  TableWriter unused;
  std::string file = Made::ended(entries) + '\0';
  file += number32(masked_crc32c(file));
  const auto varint = [](size_t n) {
    std::string bytes;
    for (; n >= 0x80; n >>= 7) bytes += static_cast<char>((n & 0x7f) | 0x80);
    return bytes + static_cast<char>(n);
  };
  const std::string data_handle = varint(0) + varint(file.size() - 5);
  const auto put = [&](const std::string& block) {
    std::string handle = varint(file.size()) + varint(block.size());
    const std::string whole = block + '\0';
    file += whole;
    file += number32(masked_crc32c(whole));
    return handle;
  };
  std::string footer = put(Made::ended(""));
  footer += put(Made::ended(std::string("\0\1", 2) + static_cast<char>(data_handle.size()) + 'z' + data_handle));
  footer.resize(40);
  put_file(folder / "t", file + footer + hex("57fb808b247547db"));
  expect_error_begins([&] { (void)all_of(Table(folder / "t")); },
                      "ResourceExhausted: table: expected keys that fit a file of its size, got longer ones at 'aaaa");
}

BOOST_AUTO_TEST_CASE(every_changed_byte_is_noticed) {
  TableWriter writer;
  Pairs pairs;
  for (int i = 0; i < 40; ++i) pairs["key" + std::to_string(i)] = "value" + std::to_string(i * i);
  for (const auto& [key, value] : pairs) writer.add(key, value);
  const std::string bytes = writer.finish();
  const TestFolder folder;
  int errors = 0;
  const auto read = [&](const std::string& changed) {
    put_file(folder / "t", changed);
    try {
      // What is not used may be anything: zeros between the handles and the last number.
      BOOST_TEST((all_of(Table(folder / "t")) == pairs));
    } catch (const Error& error) {
      ++errors;
      BOOST_TEST((error.code() == Code::kDataLoss || error.code() == Code::kUnimplemented), error.what());
    }
  };
  for (size_t i = 0; i < bytes.size(); i += i < bytes.size() - 60 ? 5 : 1) {
    std::string changed = bytes;
    changed[i] = static_cast<char>(changed[i] ^ (1 << (i % 8)));
    read(changed);
  }
  for (size_t length = 0; length < bytes.size(); length += 7) read(bytes.substr(0, length));
  BOOST_TEST(errors > 200);
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
