// A file that is read from its beginning to its end, piece by piece, perhaps decompressed on the way.
//
//   InputStream lines("words.txt.gz", Compression::kGzip);
//   for (std::string line; lines.read_line(line);) ...
//
// Faults are Errors that name the file: as in lib/base/file.h, and DataLoss for what does not decompress.
// Thread-safety: belongs to one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "panto/lib/base/export.h"

namespace panto {

enum class Compression : uint8_t { kNone, kZlib, kGzip };
// Of "", "ZLIB" and "GZIP", as attributes spell it. Throws InvalidArgument for others.
PANTO_EXPORT Compression compression_named(std::string_view name);

class PANTO_EXPORT InputStream {
 public:
  explicit InputStream(const std::string& path, Compression compression = Compression::kNone);
  ~InputStream();
  InputStream(const InputStream&) = delete;
  InputStream& operator=(const InputStream&) = delete;

  // `count` bytes in the place of what `to` had; fewer at the end only. Takes no more memory than there are bytes.
  // Throws ResourceExhausted for more than kMaxFileBytes.
  void read(uint64_t count, std::string& to);
  // Passes over so many; fewer at the end only. How many.
  uint64_t skip(uint64_t count);
  // The bytes up to the next '\n', without it and without a '\r' before it; the last line need not end with one. False
  // at the end.
  bool read_line(std::string& line);

  // The number of bytes read so far, as they are decompressed.
  uint64_t position() const noexcept;
  const std::string& path() const noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace panto
