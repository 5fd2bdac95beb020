// TFRecord files: records, each any bytes, one after the other with their lengths and checksums.
//
//   RecordWriter writer("train.tfrecord");
//   writer.write(bytes);
//   writer.close();
//
//   RecordReader reader("train.tfrecord");
//   for (std::string record; reader.read(record);) ...
//
// What is damaged or ends too early is DataLoss that names the file and the place in it.
// Thread-safety: belongs to one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "panto/lib/base/export.h"
#include "panto/lib/core/io/input_stream.h"

namespace panto {

// Appends a record as files have it: for those who write files that others read while they grow.
PANTO_EXPORT void append_record(std::string_view record, std::string& to);

class PANTO_EXPORT RecordReader {
 public:
  explicit RecordReader(const std::string& path, Compression compression = Compression::kNone);

  // The next record; false at the end. Where it throws for a checksum of data, the one behind it may be read.
  bool read(std::string& record);
  // Goes on at a later byte, where a record begins. Throws DataLoss for a file that ends before.
  void skip_to(uint64_t offset);
  // Where the next one begins, as bytes are decompressed.
  uint64_t offset() const noexcept { return stream_.position(); }

 private:
  InputStream stream_;
};

class PANTO_EXPORT RecordWriter {
 public:
  // Nobody sees the file before `close`; without that, nothing remains of it (NewFile).
  explicit RecordWriter(const std::string& path, Compression compression = Compression::kNone);
  ~RecordWriter();
  RecordWriter(const RecordWriter&) = delete;
  RecordWriter& operator=(const RecordWriter&) = delete;

  // Throw FailedPrecondition after one that failed.
  void write(std::string_view record);
  void close();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace panto
