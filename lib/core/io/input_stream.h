// A file that is read sequentially, and optionally decompressed.
//
//   InputStream lines("words.txt.gz", Compression::kGzip);
//   for (std::string line; lines.read_line(line);) ...
//
// Errors name the file, as in lib/base/file.h; DataLoss for data that cannot be decompressed.
// Thread-safety: belongs to one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "panto/lib/base/export.h"

namespace panto {

enum class Compression : uint8_t { kNone, kZlib, kGzip };
// The Compression for "", "ZLIB" or "GZIP", the values of op attributes. Throws InvalidArgument for other text.
PANTO_EXPORT Compression compression_named(std::string_view name);

class PANTO_EXPORT InputStream {
 public:
  explicit InputStream(const std::string& path, Compression compression = Compression::kNone);
  ~InputStream();
  InputStream(const InputStream&) = delete;
  InputStream& operator=(const InputStream&) = delete;

  // Replaces `to` by the next `count` bytes; fewer only at the end. Allocates no more memory than there are bytes.
  // Throws ResourceExhausted for more than kMaxFileBytes.
  void read(uint64_t count, std::string& to);
  // Skips `count` bytes; fewer only at the end. Returns how many.
  uint64_t skip(uint64_t count);
  // Reads up to the next '\n', and drops it and a '\r' before it. The last line need not end with '\n'. Returns false
  // at the end.
  bool read_line(std::string& line);

  // The number of bytes read so far, after decompression.
  uint64_t position() const noexcept;
  const std::string& path() const noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace panto
