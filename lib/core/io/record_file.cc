#include "panto/lib/core/io/record_file.h"

#include <zlib.h>

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

#include "panto/lib/base/file.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/io/crc32c.h"
#include "panto/lib/core/io/zlib_bits.h"

namespace panto {
namespace {

// A record consists of its length, the length's checksum, its bytes and their checksum; numbers are little-endian.
static_assert(std::endian::native == std::endian::little);
constexpr size_t kLengthBytes = 8;
constexpr size_t kChecksumBytes = 4;

template <class T>
T number_in(std::string_view bytes) {
  T value;
  bytes.copy(reinterpret_cast<char*>(&value), sizeof(T));
  return value;
}
template <class T>
std::string bytes_of(T value) {
  return {reinterpret_cast<const char*>(&value), sizeof(T)};
}

// Removes the checksum from the end of `bytes` and verifies it. `bytes` should be the `wanted` bytes of a part of the
// record at `offset`.
void check(const InputStream& stream, uint64_t offset, uint64_t wanted, std::string& bytes, std::string_view part) {
  if (bytes.size() < wanted) {
    failf(Code::kDataLoss, "file '{}': expected {} bytes of the {} of the record at byte {}, got {}", stream.path(),
          wanted, part, offset, bytes.size());
  }
  const auto stored = number_in<uint32_t>(std::string_view(bytes).substr(bytes.size() - kChecksumBytes));
  bytes.resize(bytes.size() - kChecksumBytes);
  const uint32_t actual = masked_crc32c(bytes);
  if (stored == actual) return;
  failf(Code::kDataLoss, "file '{}': expected the checksum {:08x} of the {} of the record at byte {}, got {:08x}",
        stream.path(), stored, part, offset, actual);
}

// The bytes before a record's data.
std::string head_of(std::string_view record) {
  if (record.size() > kMaxFileBytes) {
    invalid("record: expected at most {} bytes, got {}", kMaxFileBytes, record.size());
  }
  const std::string length = bytes_of(static_cast<uint64_t>(record.size()));
  return length + bytes_of(masked_crc32c(length));
}

}  // namespace

void append_record(std::string_view record, std::string& to) {
  to.append(head_of(record)).append(record).append(bytes_of(masked_crc32c(record)));
}

RecordReader::RecordReader(const std::string& path, Compression compression) : stream_(path, compression) {}

bool RecordReader::read(std::string& record) {
  const uint64_t begin = offset();
  stream_.read(kLengthBytes + kChecksumBytes, record);
  if (record.empty()) return false;
  check(stream_, begin, kLengthBytes + kChecksumBytes, record, "length");
  const auto length = number_in<uint64_t>(record);
  if (length > kMaxFileBytes) {
    failf(Code::kDataLoss, "file '{}': expected a record of at most {} bytes at byte {}, got one of {}", stream_.path(),
          kMaxFileBytes, begin, length);
  }
  stream_.read(length + kChecksumBytes, record);
  check(stream_, begin, length + kChecksumBytes, record, "data");
  return true;
}

void RecordReader::skip_to(uint64_t offset) {
  if (offset < stream_.position()) {
    invalid("record reader: expected a byte from {} on, got {}", stream_.position(), offset);
  }
  stream_.skip(offset - stream_.position());
  if (stream_.position() < offset) {
    failf(Code::kDataLoss, "file '{}': expected a record at byte {}, got {} bytes", stream_.path(), offset,
          stream_.position());
  }
}

struct RecordWriter::Impl {
  Impl(const std::string& path, Compression compression) : file(path) {
    if (compression == Compression::kNone) return;
    constexpr int kMemoryLevel = 8;
    if (deflateInit2(&stream.emplace(), Z_DEFAULT_COMPRESSION, Z_DEFLATED, zlib_window_bits(compression), kMemoryLevel,
                     Z_DEFAULT_STRATEGY) != Z_OK) {
      stream.reset();
      fail(Code::kResourceExhausted, "zlib: expected room for a stream, got none");
    }
  }
  ~Impl() {
    if (stream) deflateEnd(&*stream);
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void put(std::string_view bytes, bool last) {
    if (std::exchange(failed, true)) {
      fail(Code::kFailedPrecondition, "record writer: expected one whose writes succeeded, got one that failed");
    }
    const bool large = !stream && bytes.size() >= kPiece;  // such a piece is written without a copy
    if (stream) {
      deflate_all(bytes, last);
    } else if (!large) {
      pending += bytes;
    }
    if (pending.size() >= kPiece || last || large) {
      file.append(pending);
      pending.clear();
    }
    if (large) file.append(bytes);
    failed = false;
  }

  void deflate_all(std::string_view bytes, bool last) {
    char piece[size_t{1} << 14];
    do {  // zlib counts in 32 bits
      const std::string_view part = bytes.substr(0, kPiece);
      bytes.remove_prefix(part.size());
      stream->next_in = reinterpret_cast<Bytef*>(const_cast<char*>(part.data()));  // zlib does not write to it
      stream->avail_in = static_cast<uInt>(part.size());
      do {
        stream->next_out = reinterpret_cast<Bytef*>(piece);
        stream->avail_out = sizeof(piece);
        deflate(&*stream, last && bytes.empty() ? Z_FINISH : Z_NO_FLUSH);
        pending.append(piece, sizeof(piece) - stream->avail_out);
      } while (stream->avail_out == 0);
    } while (!bytes.empty());
  }

  static constexpr size_t kPiece = size_t{1} << 18;
  NewFile file;
  std::string pending;
  std::optional<z_stream> stream;
  bool closed = false;
  bool failed = false;  // the file may end within a record
};

RecordWriter::RecordWriter(const std::string& path, Compression compression)
    : impl_(std::make_unique<Impl>(path, compression)) {}
RecordWriter::~RecordWriter() = default;

void RecordWriter::write(std::string_view record) {
  if (impl_->closed) fail(Code::kFailedPrecondition, "record writer: expected an open one, got one that was closed");
  impl_->put(head_of(record), false);
  impl_->put(record, false);
  impl_->put(bytes_of(masked_crc32c(record)), false);
}

void RecordWriter::close() {
  if (impl_->closed) return;
  impl_->put({}, true);
  impl_->file.commit();
  impl_->closed = true;
}

}  // namespace panto
