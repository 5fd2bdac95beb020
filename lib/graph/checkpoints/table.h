// Tables: files of sorted keys with values, in LevelDB's format (its doc/table_format.md). TensorFlow's checkpoints
// consist of them. Internal.
//
// LevelDB's own reader trusts its files: it allocates memory by a block size from the file and adds lengths of entries
// in 32 bits, so a damaged checkpoint could make it read outside its memory. This reader trusts nothing: every size is
// compared with the available bytes before memory is taken, every block's checksum is verified, and keys must be in
// order. Snappy blocks, which some writers used, are decompressed by Google's library.
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

// True if the file ends as tables do. Throws as RandomAccessFile.
PANTO_EXPORT bool is_table(const std::string& path);

class PANTO_EXPORT Table {
 public:
  // Throws NotFound, PermissionDenied ... for the file, DataLoss for a damaged table or a file of another format.
  explicit Table(const std::string& path);

  // Calls `entry(key, value)` for all entries, in the order of their keys. The arguments are valid during the call
  // only.
  void for_each(const Callable<void(std::string_view, std::string_view)>& entry) const;
  // The value of a key; nullopt if there is none. Reads one block.
  std::optional<std::string> find(std::string_view key) const;

 private:
  struct Handle {
    uint64_t offset = 0, size = 0;
  };
  struct IndexEntry {
    std::string last_key;  // at least every key of its block, less than the keys of the next one
    Handle block;
  };

  std::string read_block(Handle handle) const;
  static Handle read_handle(std::string_view& bytes);
  void expect_inside(Handle handle) const;

  RandomAccessFile file_;
  std::vector<IndexEntry> index_;
};

// Builds a table in memory, byte for byte as TensorFlow writes it (not compressed).
class PANTO_EXPORT TableWriter {
 public:
  // Keys must come in ascending order, each once. Throws InvalidArgument otherwise.
  void add(std::string_view key, std::string_view value);
  // The complete file. Nothing may be added afterwards.
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
  // Appends the block and returns its encoded handle.
  std::string put_block(std::string block);

  std::string file_, last_key_;
  Block data_{kRestartInterval}, index_{1};
  std::string waiting_handle_;  // handle of the previous block: its index entry needs the next key; empty: none
  bool any_ = false;
};

}  // namespace panto
