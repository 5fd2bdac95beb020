// Tables: files of sorted keys with values, in LevelDB's format (its doc/table_format.md), of which TensorFlow's
// checkpoints are made. Internal.
//
// LevelDB's own reader is for files that it wrote itself: it takes a block's size from the file for the memory to
// allocate and adds lengths of entries in 32 bits, so a damaged checkpoint could make it read beyond its memory. This
// one believes nothing: every size is compared with the bytes that are there before memory is taken, every block's
// checksum is verified, and keys must be in order. Snappy, which some writers used, is Google's library.
//
// Thread-safety: a Table may be read by several threads at once; a TableWriter belongs to one.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "panto/lib/base/callable.h"
#include "panto/lib/base/export.h"
#include "panto/lib/base/file.h"

namespace panto {

// Whether a file ends as tables do. Throws as RandomAccessFile.
PANTO_EXPORT bool is_table(const std::string& path);

class PANTO_EXPORT Table {
 public:
  // Throws NotFound, PermissionDenied ... for the file, DataLoss for what is no table or a damaged one.
  explicit Table(const std::string& path);

  // Calls `entry(key, value)` for all, in the order of their keys. What is given lives until the next one.
  void for_each(const Callable<void(std::string_view, std::string_view)>& entry) const;
  // The value of a key; nullopt if there is none. Reads one block.
  std::optional<std::string> find(std::string_view key) const;

 private:
  struct Handle {
    uint64_t offset = 0, size = 0;
  };
  struct IndexEntry {
    std::string last_key;  // not less than the keys of its block, less than those of the next one
    Handle block;
  };

  std::string read_block(Handle handle) const;
  static Handle read_handle(std::string_view& bytes);
  void expect_inside(Handle handle) const;

  RandomAccessFile file_;
  std::vector<IndexEntry> index_;
};

// Puts a table together in memory, byte for byte as TensorFlow writes it (not compressed).
class PANTO_EXPORT TableWriter {
 public:
  // Keys must come in ascending order, each once. Throws InvalidArgument otherwise.
  void add(std::string_view key, std::string_view value);
  // The whole file. Nothing may be added afterwards.
  std::string finish();

 private:
  class Block {
   public:
    explicit Block(size_t restart_interval) : interval_(restart_interval) {}
    void add(std::string_view key, std::string_view value);
    bool empty() const { return entries_ == 0; }
    size_t bytes() const { return bytes_.size() + (restarts_.size() + 1) * sizeof(uint32_t); }
    std::string take();

   private:
    size_t interval_, entries_ = 0;
    std::string bytes_, last_key_;
    std::vector<uint32_t> restarts_{0};
  };

  static constexpr size_t kRestartInterval = 16;

  void end_block();
  // Appends it and gives its handle as bytes.
  std::string put_block(std::string block);

  std::string file_, last_key_;
  Block data_{kRestartInterval}, index_{1};
  std::string waiting_handle_;  // of the block before, whose entry of the index needs the next key; empty: none
  bool any_ = false;
};

}  // namespace panto
