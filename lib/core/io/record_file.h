// TFRecord files: a sequence of records of any bytes, stored with their lengths and checksums.
//
//   RecordWriter writer("train.tfrecord");
//   writer.write(bytes);
//   writer.close();
//
//   RecordReader reader("train.tfrecord");
//   for (std::string record; reader.read(record);) ...
//
// Damaged or truncated data throws DataLoss, which names the file and the position in it.
// Thread-safety: belongs to one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "panto/lib/base/export.h"
#include "panto/lib/core/io/input_stream.h"

namespace panto {

// Appends a record in the file format to `to`: for writers of files that others read at the same time.
PANTO_EXPORT void append_record(std::string_view record, std::string& to);

class PANTO_EXPORT RecordReader {
 public:
  explicit RecordReader(const std::string& path, Compression compression = Compression::kNone);

  // The next record; false at the end. If it throws because of a data checksum, the next call reads the record behind.
  bool read(std::string& record);
  // Continues at a later byte, where a record begins. Throws DataLoss if the file ends before.
  void skip_to(uint64_t offset);
  // Where the next record begins, in decompressed bytes.
  uint64_t offset() const noexcept { return stream_.position(); }

 private:
  InputStream stream_;
};

class PANTO_EXPORT RecordWriter {
 public:
  // The file appears under its name only after `close`. Without `close` nothing remains of it (NewFile).
  explicit RecordWriter(const std::string& path, Compression compression = Compression::kNone);
  ~RecordWriter();
  RecordWriter(const RecordWriter&) = delete;
  RecordWriter& operator=(const RecordWriter&) = delete;

  // Throw FailedPrecondition after a call that failed.
  void write(std::string_view record);
  void close();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace panto
