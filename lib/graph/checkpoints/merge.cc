// Merges several checkpoints into one.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <map>
#include <set>

#include "panto/lib/base/file.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/graph/checkpoints/stored.h"
#include "panto/lib/graph/checkpoints/table.h"
#include "panto/lib/graph/checkpoints/tensor_part.h"
#include "panto/lib/graph/proto/tensor_bundle.pb.h"

namespace panto {
namespace {

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

class Merger {
 public:
  // Reads the index of a checkpoint. Changes nothing on disk.
  void add(const std::string& prefix) {
    open_bundle(prefix);  // checks all of it
    const int64_t shards = count_shards(prefix);
    const Table index(index_path(prefix));
    index.for_each([&](std::string_view key, std::string_view value) {
      if (key.empty()) return expect_own_order(value);
      graphdef::BundleEntryProto entry;
      parse_message(value, "an entry of a checkpoint", entry);
      if (entry.slices().empty()) entry.set_shard_id(static_cast<int32_t>(entry.shard_id() + shards_));
      const auto [there, fresh] = entries_.emplace(key, entry);
      if (fresh) return;
      graphdef::BundleEntryProto& before = there->second;
      if (before.slices().empty() || entry.slices().empty() || before.dtype() != entry.dtype() ||
          before.shape().SerializeAsString() != entry.shape().SerializeAsString()) {
        invalid("checkpoints: expected each tensor in one of them, got '{}' in two", key);
      }
      before.mutable_slices()->MergeFrom(entry.slices());
    });
    for (int64_t i = 0; i < shards; ++i) files_.push_back(data_path(prefix, i, shards));
    shards_ += shards;
    prefixes_.push_back(prefix);
  }

  void write(const std::string& destination) const {
    graphdef::BundleHeaderProto header;
    header.set_num_shards(static_cast<int32_t>(shards_));
    header.mutable_version()->set_producer(kBundleVersion);
    TableWriter table;
    table.add("", header.SerializeAsString());
    for (const auto& [key, entry] : entries_) table.add(key, entry.SerializeAsString());
    NewFile index(index_path(destination));
    index.append(table.finish());
    // An existing index of the destination would refer to the new data.
    if (!is_merged(destination)) remove_checkpoint(destination);
    for (size_t i = 0; i < files_.size(); ++i) {
      const std::string to = data_path(destination, static_cast<int64_t>(i), shards_);
      if (files_[i] != to && rename(files_[i].c_str(), to.c_str()) != 0) fail_file(errno, "rename", files_[i]);
    }
    index.commit();
    for (const std::string& prefix : prefixes_) {
      if (prefix != destination) unlink(index_path(prefix).c_str());
    }
  }

  bool empty() const { return prefixes_.empty(); }
  bool is_merged(const std::string& prefix) const {
    return std::find(prefixes_.begin(), prefixes_.end(), prefix) != prefixes_.end();
  }

 private:
  // All data must have the byte order that the header declares.
  static void expect_own_order(std::string_view bytes) {
    graphdef::BundleHeaderProto header;
    parse_message(bytes, "the header of a checkpoint", header);
    if (header.endianness() != graphdef::BundleHeaderProto::BIG) return;
    fail(Code::kUnimplemented, "checkpoints: expected ones of machines with the same order of bytes, got another");
  }

  int64_t shards_ = 0;
  std::map<std::string, graphdef::BundleEntryProto, std::less<>> entries_;
  std::vector<std::string> files_, prefixes_;
};

}  // namespace

void merge_checkpoints(std::span<const std::string> prefixes, const std::string& destination,
                       const MergeOptions& options) {
  if (destination.empty() || destination.back() == '/') {
    invalid("checkpoint: expected the name of a file, got '{}'", destination);
  }
  Merger merger;
  std::set<std::string> folders;
  for (const std::string& prefix : prefixes) {
    if (options.allow_missing && !is_file(index_path(prefix))) continue;
    if (merger.is_merged(prefix)) invalid("checkpoints: expected each once, got '{}' twice", prefix);
    merger.add(prefix);
    folders.insert(folder_of(prefix));
  }
  if (merger.empty()) invalid("checkpoints: expected at least one of {} to be there, got none", prefixes.size());
  merger.write(destination);
  if (!options.delete_old_folders) return;
  folders.erase(folder_of(destination));
  for (const std::string& folder : folders) rmdir(folder.c_str());  // only removes empty ones
}

}  // namespace panto
