#include "panto/lib/graph/checkpoints/table.h"

#include <snappy-c.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "panto/lib/base/text/format.h"
#include "panto/lib/base/varint.h"
#include "panto/lib/core/io/crc32c.h"

namespace panto {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are copied as they are");

// A file ends with the handles of two blocks, padded by zeros to 40 bytes, and this number.
constexpr uint64_t kMagic = 0xdb4775248b80fb57;
constexpr size_t kHandlesBytes = 40;
constexpr size_t kFooterBytes = kHandlesBytes + sizeof(kMagic);
// A trailer follows each block: the kind of compression, and a checksum.
constexpr size_t kTrailerBytes = 1 + sizeof(uint32_t);
constexpr char kPlain = 0, kSnappy = 1;
constexpr uint64_t kBestSnappyRatio = 64;  // a copy of 64 bytes takes two or three
constexpr size_t kBlockBytes = 262144;     // as in TensorFlow
// Keys share prefixes, so a small table may have very long keys. For real names the ratio is below ten.
constexpr uint64_t kFreeKeyBytes = uint64_t{64} << 20, kKeyRatio = 32;

template <class T>
T number_at(std::string_view bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof(T));
  return value;
}
template <class T>
void append_number(std::string& to, T number) {
  to.append(reinterpret_cast<const char*>(&number), sizeof(T));
}

std::string uncompressed(std::string_view bytes) {
  size_t length = 0;
  if (snappy_uncompressed_length(bytes.data(), bytes.size(), &length) != SNAPPY_OK ||
      length / kBestSnappyRatio > bytes.size()) {
    fail(Code::kDataLoss, "table: expected a block that was compressed by Snappy, got one without such a length");
  }
  std::string out(length, '\0');
  if (snappy_uncompress(bytes.data(), bytes.size(), out.data(), &length) != SNAPPY_OK || length != out.size()) {
    fail(Code::kDataLoss, "table: expected a block that was compressed by Snappy, got other bytes");
  }
  return out;
}

// Iterates over the entries of a block.
class Entries {
 public:
  explicit Entries(std::string_view block) {
    const auto count =
        block.size() < sizeof(uint32_t) ? 0 : number_at<uint32_t>(block, block.size() - sizeof(uint32_t));
    if (count == 0 || count > block.size() / sizeof(uint32_t) - 1) {
      failf(Code::kDataLoss, "table: expected the places of entries at the end of a block of {} bytes, got {}",
            block.size(), count);
    }
    rest_ = block.substr(0, block.size() - (size_t{count} + 1) * sizeof(uint32_t));
  }

  // Returns false at the end.
  bool next() {
    if (rest_.empty()) return false;
    const uint64_t shared = take_varint(rest_, 32), unshared = take_varint(rest_, 32), length = take_varint(rest_, 32);
    if (shared > key_.size() || unshared + length > rest_.size()) {
      failf(Code::kDataLoss, "table: expected an entry within {} bytes, got one of {}", rest_.size(),
            unshared + length);
    }
    key_.resize(shared);
    key_ += rest_.substr(0, unshared);
    value_ = rest_.substr(unshared, length);
    rest_.remove_prefix(unshared + length);
    return true;
  }
  const std::string& key() const { return key_; }
  std::string_view value() const { return value_; }

 private:
  std::string_view rest_, value_;
  std::string key_;
};

// Checks that keys ascend, and limits their total length.
class KeyCheck {
 public:
  explicit KeyCheck(uint64_t file_bytes) : left_(kFreeKeyBytes + kKeyRatio * file_bytes) {}
  void next(const std::string& key) {
    if (any_ && key <= last_) {
      failf(Code::kDataLoss, "table: expected keys in ascending order, got '{}' after '{}'", key, last_);
    }
    if (key.size() > left_) {
      failf(Code::kResourceExhausted, "table: expected keys that fit a file of its size, got longer ones at '{}'", key);
    }
    left_ -= key.size();
    last_ = key;
    any_ = true;
  }

 private:
  uint64_t left_;
  std::string last_;
  bool any_ = false;
};

size_t common_length(std::string_view a, std::string_view b) {
  return static_cast<size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

// A short key k with a <= k < b.
std::string separator(const std::string& a, std::string_view b) {
  const size_t i = common_length(a, b);
  if (i >= std::min(a.size(), b.size())) return a;
  const auto byte = static_cast<uint8_t>(a[i]);
  if (byte == 0xff || byte + 1 >= static_cast<uint8_t>(b[i])) return a;
  return a.substr(0, i) + static_cast<char>(byte + 1);
}
// A short key k with a <= k.
std::string successor(const std::string& a) {
  for (size_t i = 0; i < a.size(); ++i) {
    const auto byte = static_cast<uint8_t>(a[i]);
    if (byte != 0xff) return a.substr(0, i) + static_cast<char>(byte + 1);
  }
  return a;
}

}  // namespace

bool is_table(const std::string& path) {
  const RandomAccessFile file(path);
  if (file.size() < sizeof(kMagic)) return false;
  uint64_t last = 0;
  file.read(file.size() - sizeof(last), &last, sizeof(last));
  return last == kMagic;
}

// ---- Reading -------------------------------------------------------------------------------------------------------

Table::Handle Table::read_handle(std::string_view& bytes) {
  const uint64_t offset = take_varint(bytes);
  return {offset, take_varint(bytes)};
}

void Table::expect_inside(Handle handle) const {
  const uint64_t end = file_.size() - kFooterBytes;
  if (handle.offset > end || end - handle.offset < kTrailerBytes || handle.size > end - handle.offset - kTrailerBytes ||
      handle.size > kMaxFileBytes) {
    failf(Code::kDataLoss, "table: expected a block within {} bytes, got one of {} bytes at byte {}", end, handle.size,
          handle.offset);
  }
}

std::string Table::read_block(Handle handle) const {
  expect_inside(handle);
  std::string bytes(handle.size + kTrailerBytes, '\0');
  file_.read(handle.offset, bytes.data(), bytes.size());
  const auto stored = number_at<uint32_t>(bytes, handle.size + 1);
  bytes.resize(handle.size + 1);
  if (const uint32_t actual = masked_crc32c(bytes); stored != actual) {
    failf(Code::kDataLoss, "table: expected the checksum {:08x} of the block at byte {}, got {:08x}", stored,
          handle.offset, actual);
  }
  const char compression = bytes.back();
  bytes.pop_back();
  if (compression == kSnappy) return uncompressed(bytes);
  if (compression != kPlain) {
    failf(Code::kUnimplemented, "table: expected a block that is plain or compressed by Snappy, got kind {}",
          static_cast<int>(compression));
  }
  return bytes;
}

Table::Table(const std::string& path) : file_(path) {
  if (file_.size() < kFooterBytes) {
    failf(Code::kDataLoss, "table: expected at least {} bytes, got {}", kFooterBytes, file_.size());
  }
  std::string footer(kFooterBytes, '\0');
  file_.read(file_.size() - kFooterBytes, footer.data(), kFooterBytes);
  if (number_at<uint64_t>(footer, kHandlesBytes) != kMagic) {
    fail(Code::kDataLoss, "table: expected the number of tables in the last 8 bytes, got others");
  }
  std::string_view handles = std::string_view(footer).substr(0, kHandlesBytes);
  expect_inside(read_handle(handles));  // the metaindex block, which is not used
  const std::string block = read_block(read_handle(handles));
  KeyCheck check(file_.size());
  uint64_t end = 0;
  for (Entries entries(block); entries.next();) {
    check.next(entries.key());
    std::string_view value = entries.value();
    const Handle handle = read_handle(value);
    expect_inside(handle);
    if (handle.offset < end) {
      failf(Code::kDataLoss, "table: expected a block at byte {} or later, got one at byte {}", end, handle.offset);
    }
    end = handle.offset + handle.size + kTrailerBytes;
    index_.push_back({entries.key(), handle});
  }
}

void Table::for_each(const Callable<void(std::string_view, std::string_view)>& entry) const {
  KeyCheck check(file_.size());
  for (const IndexEntry& part : index_) {
    const std::string block = read_block(part.block);
    Entries entries(block);
    while (entries.next()) {
      check.next(entries.key());
      if (entries.key() > part.last_key) {
        failf(Code::kDataLoss, "table: expected keys up to '{}' in a block, got '{}'", part.last_key, entries.key());
      }
      entry(entries.key(), entries.value());
    }
  }
}

std::optional<std::string> Table::find(std::string_view key) const {
  const auto part = std::ranges::lower_bound(index_, key, {}, &IndexEntry::last_key);
  if (part == index_.end()) return std::nullopt;
  const std::string block = read_block(part->block);
  Entries entries(block);
  while (entries.next()) {
    if (entries.key() == key) return std::string(entries.value());
  }
  return std::nullopt;
}

// ---- Writing -------------------------------------------------------------------------------------------------------

void TableWriter::Block::add(std::string_view key, std::string_view value) {
  size_t shared = 0;
  if (entries_ % interval_ != 0) {
    shared = common_length(last_key_, key);
  } else if (entries_ > 0) {
    restarts_.push_back(static_cast<uint32_t>(bytes_.size()));
  }
  append_varint(bytes_, shared);
  append_varint(bytes_, key.size() - shared);
  append_varint(bytes_, value.size());
  bytes_.append(key.substr(shared)).append(value);
  last_key_ = key;
  ++entries_;
}

std::string TableWriter::Block::take() {
  for (const uint32_t restart : restarts_) append_number(bytes_, restart);
  append_number(bytes_, static_cast<uint32_t>(restarts_.size()));
  std::string bytes = std::move(bytes_);
  *this = Block(interval_);
  return bytes;
}

std::string TableWriter::put_block(std::string block) {
  std::string handle;
  append_varint(handle, file_.size());
  append_varint(handle, block.size());
  block += kPlain;
  file_ += block;
  append_number(file_, masked_crc32c(block));
  return handle;
}

void TableWriter::end_block() {
  if (!data_.empty()) waiting_handle_ = put_block(data_.take());
}

void TableWriter::add(std::string_view key, std::string_view value) {
  if (any_ && key <= last_key_) {
    invalid("table: expected keys in ascending order, got '{}' after '{}'", key, last_key_);
  }
  constexpr size_t kMost = size_t{1} << 30;  // offsets within a block have 32 bits
  if (key.size() > kMost || value.size() > kMost) {
    invalid("table: expected keys and values of at most {} bytes, got {} and {}", kMost, key.size(), value.size());
  }
  if (!waiting_handle_.empty()) {
    index_.add(separator(last_key_, key), waiting_handle_);
    waiting_handle_.clear();
  }
  data_.add(key, value);
  last_key_ = key;
  any_ = true;
  if (data_.bytes() >= kBlockBytes) end_block();
}

std::string TableWriter::finish() {
  end_block();
  std::string footer = put_block(Block(kRestartInterval).take());
  if (!waiting_handle_.empty()) index_.add(successor(last_key_), waiting_handle_);
  footer += put_block(index_.take());
  footer.resize(kHandlesBytes);
  append_number(footer, kMagic);
  return std::move(file_) + footer;
}

}  // namespace panto
