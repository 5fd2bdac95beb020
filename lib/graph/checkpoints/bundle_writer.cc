// Writes checkpoints of the second version.
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <optional>

#include "panto/lib/base/file.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/base/varint.h"
#include "panto/lib/core/io/crc32c.h"
#include "panto/lib/core/tensor/tensor_alloc.h"
#include "panto/lib/graph/checkpoints/checkpoint_file.h"
#include "panto/lib/graph/checkpoints/object_graph.h"
#include "panto/lib/graph/checkpoints/slice.h"
#include "panto/lib/graph/checkpoints/stored.h"
#include "panto/lib/graph/checkpoints/table.h"
#include "panto/lib/graph/files/wire/tensor_proto.h"
#include "panto/lib/graph/proto/tensor_bundle.pb.h"

namespace panto {
namespace {

// An entry of the index. Without a value: the entry of a partitioned tensor, whose parts have entries of their own.
struct Item {
  std::string key;
  Tensor value = {};
  graphdef::BundleEntryProto entry = {};
};

// Sorted by key.
std::vector<Item> items_of(std::span<const CheckpointPart> parts) {
  std::vector<Item> items;
  for (size_t i = 0; i < parts.size(); ++i) {
    const auto& [name, value, part] = parts[i];
    if (!part) {
      items.push_back({name, value});
      continue;
    }
    if (i == 0 || parts[i - 1].name != name) {
      Item whole{name};
      whole.entry.set_dtype(static_cast<graphdef::DataType>(value.dtype()));
      shape_to_proto(part->whole, whole.entry.mutable_shape());
      for (size_t k = i; k < parts.size() && parts[k].name == name; ++k) {
        *whole.entry.add_slices() = slice_proto(*parts[k].part);
      }
      items.push_back(std::move(whole));
    }
    items.push_back({TensorSlice(*part).key(name), value});
  }
  std::ranges::sort(items, {}, &Item::key);
  const auto twice = std::ranges::adjacent_find(items, {}, &Item::key);
  if (twice != items.end()) invalid("checkpoint: expected each part once, got one twice");
  return items;
}

// Appends a tensor's bytes and returns its entry for the index.
class DataWriter {
 public:
  explicit DataWriter(NewFile& file) : file_(file) {}

  graphdef::BundleEntryProto put(const Tensor& t) {
    graphdef::BundleEntryProto entry;
    entry.set_dtype(static_cast<graphdef::DataType>(t.dtype()));
    shape_to_proto(t.shape(), entry.mutable_shape());
    entry.set_offset(offset_);
    const uint32_t checksum = t.dtype() == kString ? put_strings(t) : put_numbers(t);
    entry.set_crc32c(mask_crc32c(checksum));
    entry.set_size(offset_ - entry.offset());
    return entry;
  }
  void flush() {
    file_.append(pending_);
    pending_.clear();
  }

 private:
  void append(std::string_view bytes) {
    constexpr size_t kPiece = size_t{1} << 18;
    offset_ += static_cast<int64_t>(bytes.size());
    if (pending_.size() + bytes.size() > kPiece) flush();
    if (bytes.size() > kPiece) {
      file_.append(bytes);
    } else {
      pending_ += bytes;
    }
  }

  uint32_t put_numbers(const Tensor& t) {
    const std::string_view bytes(static_cast<const char*>(t.impl()->data), t.nbytes());
    append(bytes);
    return crc32c(bytes);
  }

  // The format is described in bundle.cc.
  uint32_t put_strings(const Tensor& t) {
    const std::span<const std::string> texts(static_cast<const std::string*>(t.impl()->data),
                                             static_cast<size_t>(t.numel()));
    std::string head;
    uint32_t checksum = 0;
    for (const std::string& text : texts) {
      const uint64_t length = text.size();
      append_varint(head, length);
      const size_t width = length <= UINT32_MAX ? sizeof(uint32_t) : sizeof(uint64_t);
      checksum = extended_crc32c(checksum, {reinterpret_cast<const char*>(&length), width});
    }
    const uint32_t masked = mask_crc32c(checksum);
    const std::string_view masked_bytes(reinterpret_cast<const char*>(&masked), sizeof(masked));
    checksum = extended_crc32c(checksum, masked_bytes);
    append(head.append(masked_bytes));
    for (const std::string& text : texts) {
      append(text);
      checksum = extended_crc32c(checksum, text);
    }
    return checksum;
  }

  NewFile& file_;
  std::string pending_;
  int64_t offset_ = 0;
};

// Files that are removed again unless all files of the checkpoint are written.
class Unfinished {
 public:
  Unfinished() = default;
  ~Unfinished() {
    for (const std::string& path : paths_) unlink(path.c_str());
  }
  Unfinished(const Unfinished&) = delete;
  Unfinished& operator=(const Unfinished&) = delete;
  void add(std::string path) { paths_.push_back(std::move(path)); }
  void keep() { paths_.clear(); }

 private:
  std::vector<std::string> paths_;
};

void write_bundle(const std::string& prefix, const std::vector<Item>& items) {
  // The old index, if there is one, refers to files with the old count in their names: the new files use another count.
  const int64_t old_count = count_shards(prefix);
  const int count = old_count == 1 ? 2 : 1;
  graphdef::BundleHeaderProto header;
  header.set_num_shards(count);
  header.mutable_version()->set_producer(kBundleVersion);
  TableWriter table;
  table.add("", header.SerializeAsString());
  NewFile index(index_path(prefix));  // created first, to fail early if the folder is not writable
  Unfinished unfinished;
  {
    NewFile data(data_path(prefix, 0, count));
    DataWriter writer(data);
    for (const Item& item : items) {
      table.add(item.key, (item.value.defined() ? writer.put(item.value) : item.entry).SerializeAsString());
    }
    writer.flush();
    data.commit();
    unfinished.add(data_path(prefix, 0, count));
  }
  if (count == 2) {
    write_file(data_path(prefix, 1, count), "");
    unfinished.add(data_path(prefix, 1, count));
  }
  index.append(table.finish());
  index.commit();  // from here on the new checkpoint is the current one
  unfinished.keep();
  for (int64_t i = 0; i < old_count; ++i) unlink(data_path(prefix, i, old_count).c_str());
}

void expect_file_name(const std::string& prefix) {
  if (prefix.empty() || prefix.back() == '/') invalid("checkpoint: expected the name of a file, got '{}'", prefix);
}

}  // namespace

std::vector<CheckpointPart> sorted_parts(std::span<const CheckpointPart> parts) {
  std::vector<CheckpointPart> sorted;
  for (const auto& [name, t, part] : parts) {
    if (name.empty() || name.front() == '\0') {
      invalid("checkpoint: expected names that begin with a character, got '{}'", name);
    }
    if (!is_plain(t.dtype()) && t.dtype() != kString) {
      failf(Code::kUnimplemented, "checkpoint: expected a dtype with values for '{}', got {}", name,
            dtype_name(t.dtype()));
    }
    sorted.push_back({name, t.is_meta() || !t.device().host_memory() ? copy_to_device(t, cpu_device()) : t, part});
    if (part && !(sorted.back().value.shape() == part->shape())) {
      invalid("part '{}' of '{}': expected shape {}, got {}", part_text(*part), name, part->shape().to_string(),
              sorted.back().value.shape().to_string());
    }
  }
  std::ranges::stable_sort(sorted, {}, &CheckpointPart::name);
  for (size_t i = 1; i < sorted.size(); ++i) {
    const CheckpointPart &before = sorted[i - 1], &now = sorted[i];
    if (before.name != now.name) continue;
    if (!before.part || !now.part) invalid("checkpoint: expected each name once, got '{}' twice", now.name);
    if (before.value.dtype() != now.value.dtype() || !(before.part->whole == now.part->whole)) {
      invalid("parts of '{}': expected those of one tensor, {}{}, got one of {}{}", now.name,
              dtype_name(before.value.dtype()), before.part->whole.to_string(), dtype_name(now.value.dtype()),
              now.part->whole.to_string());
    }
  }
  return sorted;
}

void write_checkpoint(const std::string& prefix, std::span<const NamedTensor> tensors,
                      const CheckpointOptions& options) {
  expect_file_name(prefix);
  std::vector<CheckpointPart> given;
  for (const auto& [name, t] : tensors) given.push_back({name, t});
  std::vector<CheckpointPart> values = sorted_parts(given);
  if (options.object_graph) {
    std::vector<std::string_view> ways;
    for (const CheckpointPart& v : values) ways.push_back(v.name);
    Tensor graph = allocate_tensor(cpu_device(), kString, Shape{});
    *mutable_data<std::string>(graph) = object_graph_of(ways);
    for (CheckpointPart& v : values) v.name += kVariableValue;
    values.push_back({std::string(kObjectGraphKey), std::move(graph)});
  }
  write_bundle(prefix, items_of(values));
}

void write_checkpoint_parts(const std::string& prefix, std::span<const CheckpointPart> parts) {
  expect_file_name(prefix);
  write_bundle(prefix, items_of(sorted_parts(parts)));
}

void write_checkpoint_parts(const std::string& prefix, std::initializer_list<CheckpointPart> parts) {
  write_checkpoint_parts(prefix, std::span(parts.begin(), parts.size()));
}

void write_checkpoint(const std::string& prefix, std::span<const NamedTensor> tensors) {
  write_checkpoint(prefix, tensors, CheckpointOptions{});
}

void write_checkpoint(const std::string& prefix, std::initializer_list<NamedTensor> tensors) {
  write_checkpoint(prefix, tensors, CheckpointOptions{});
}

void write_checkpoint(const std::string& prefix, std::initializer_list<NamedTensor> tensors,
                      const CheckpointOptions& options) {
  write_checkpoint(prefix, std::span<const NamedTensor>(tensors.begin(), tensors.size()), options);
}

}  // namespace panto
