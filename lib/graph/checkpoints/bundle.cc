// The second version of checkpoints: an index, which is a table of BundleEntryProtos, and data files.
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <map>
#include <mutex>
#include <unordered_map>

#include "panto/lib/base/checked.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/base/varint.h"
#include "panto/lib/core/io/crc32c.h"
#include "panto/lib/core/tensor/tensor_alloc.h"
#include "panto/lib/graph/checkpoints/slice.h"
#include "panto/lib/graph/checkpoints/stored.h"
#include "panto/lib/graph/checkpoints/table.h"
#include "panto/lib/graph/proto/tensor_bundle.pb.h"

namespace panto {
namespace {

constexpr int64_t kMaxShards = 100'000;  // file names have five digits

// The location of a tensor, or of a part of one.
struct Place {
  int64_t shard = 0;
  uint64_t offset = 0, size = 0;
  uint32_t checksum = 0;
};

struct Entry {
  CheckpointVariable variable;
  Place place;
  std::vector<graphdef::TensorSliceProto> slices;
};

graphdef::BundleHeaderProto header_of(const Table& index) {
  graphdef::BundleHeaderProto header;
  const auto value = index.find("");
  if (!value) fail(Code::kDataLoss, "checkpoint: expected a header, got none");
  parse_message(*value, "the header of a checkpoint", header);
  if (header.num_shards() < 1 || header.num_shards() > kMaxShards) {
    failf(Code::kDataLoss, "checkpoint: expected 1 to {} files of data, got {}", kMaxShards, header.num_shards());
  }
  expect_version(header.version(), kBundleVersion);
  return header;
}

class Bundle final : public StoredTensors {
 public:
  explicit Bundle(const std::string& prefix) : prefix_(prefix) {
    with_context([&] { return fmt::format("in file '{}'", printable(index_path(prefix))); }, [&] { read_index(); });
  }

  Tensor read(size_t i) const override {
    const Entry& entry = entries_[i];
    if (entry.slices.empty()) return read_place(entry.variable, entry.place);
    return with_context([&] { return fmt::format("in file '{}'", printable(index_path(prefix_))); },
                        [&] { return read_slices(entry); });
  }

  std::optional<Tensor> read_part(size_t i, const TensorPart& part) const override {
    const CheckpointVariable& variable = entries_[i].variable;
    const TensorSlice slice(part);
    const auto found = parts_.find(slice.key(variable.name));
    if (found == parts_.end()) return std::nullopt;
    expect_part(variable, found->second.variable, slice);
    return read_place(found->second.variable, found->second.place);
  }

 private:
  void read_index() {
    const Table index(index_path(prefix_));
    const graphdef::BundleHeaderProto header = header_of(index);
    shards_ = header.num_shards();
    swapped_ = header.endianness() == graphdef::BundleHeaderProto::BIG;
    index.for_each([this](std::string_view key, std::string_view value) {
      if (key.empty()) return;
      with_context([&] { return fmt::format("in tensor '{}'", printable(key)); }, [&] { add_entry(key, value); });
    });
    expect_apart();
    hide_slices();
    for (const Entry& e : entries_) variables_.push_back(e.variable);
  }

  void add_entry(std::string_view key, std::string_view value) {
    graphdef::BundleEntryProto proto;
    parse_message(value, "an entry of a checkpoint", proto);
    Entry entry;
    entry.variable = described(key, proto.dtype(), proto.shape());
    entry.slices.assign(proto.slices().begin(), proto.slices().end());
    entry.variable.slices = proto.slices_size();
    if (entry.slices.empty()) {
      if (proto.shard_id() < 0 || proto.shard_id() >= shards_ || proto.offset() < 0 || proto.size() < 0) {
        failf(Code::kDataLoss, "checkpoint: expected bytes in one of {} files, got {} bytes from {} on in number {}",
              shards_, proto.size(), proto.offset(), proto.shard_id());
      }
      entry.place = {proto.shard_id(), static_cast<uint64_t>(proto.offset()), static_cast<uint64_t>(proto.size()),
                     proto.crc32c()};
      expect_size(entry);
    }
    entries_.push_back(std::move(entry));
  }

  static void expect_size(const Entry& entry) {
    const DType dtype = entry.variable.dtype;
    if (!is_plain(dtype)) return;  // for other dtypes it depends on the values
    const int64_t bytes =
        checked_mul(entry.variable.shape.numel(), static_cast<int64_t>(dtype_size(dtype)), "bytes of a tensor");
    if (static_cast<uint64_t>(bytes) != entry.place.size) {
      failf(Code::kDataLoss, "checkpoint: expected {} bytes for {}{}, got {}", bytes, entry.variable.dtype_text,
            entry.variable.shape.to_string(), entry.place.size);
    }
  }

  // If two tensors could share bytes, a small file could ask for any amount of memory.
  void expect_apart() const {
    std::vector<const Entry*> sorted;
    for (const Entry& e : entries_) {
      if (e.place.size > 0) sorted.push_back(&e);
    }
    std::ranges::sort(sorted, {}, [](const Entry* e) { return std::pair(e->place.shard, e->place.offset); });
    for (size_t i = 1; i < sorted.size(); ++i) {
      const Place &before = sorted[i - 1]->place, &place = sorted[i]->place;
      if (before.shard == place.shard && place.offset - before.offset < before.size) {
        failf(Code::kDataLoss, "checkpoint: expected tensors in bytes of their own, got '{}' and '{}' in the same",
              sorted[i - 1]->variable.name, sorted[i]->variable.name);
      }
    }
  }

  // Entries of slices are not variables.
  void hide_slices() {
    std::unordered_map<std::string_view, size_t> numbers;
    for (size_t i = 0; i < entries_.size(); ++i) numbers.emplace(entries_[i].variable.name, i);
    std::vector<bool> hidden(entries_.size());
    for (const Entry& e : entries_) {
      for (const auto& slice : e.slices) {
        const TensorSlice part(slice, e.variable.shape);
        const auto found = numbers.find(part.key(e.variable.name));
        if (found == numbers.end() || !entries_[found->second].slices.empty()) {
          failf(Code::kDataLoss, "checkpoint: expected an entry of the part {} of '{}', got none",
                part.shape().to_string(), e.variable.name);
        }
        // Each part is looked up by a key as long as the name: repeating a part in the list would cost unlimited time.
        if (hidden[found->second]) {
          failf(Code::kDataLoss, "checkpoint: expected each part of '{}' once, got one twice", e.variable.name);
        }
        hidden[found->second] = true;
      }
    }
    std::vector<Entry> shown;
    for (size_t i = 0; i < entries_.size(); ++i) {
      if (hidden[i]) {
        std::string name = entries_[i].variable.name;
        parts_.emplace(std::move(name), std::move(entries_[i]));
      } else {
        shown.push_back(std::move(entries_[i]));
      }
    }
    entries_ = std::move(shown);
  }

  static void expect_part(const CheckpointVariable& whole, const CheckpointVariable& part, const TensorSlice& slice) {
    if (part.dtype == whole.dtype && part.shape == slice.shape()) return;
    failf(Code::kDataLoss, "checkpoint: expected {}{} as a part of '{}', got {}{}", whole.dtype_text,
          slice.shape().to_string(), whole.name, part.dtype_text, part.shape.to_string());
  }

  Tensor read_slices(const Entry& entry) const {
    std::vector<TensorSlice> slices;
    for (const auto& slice : entry.slices) slices.emplace_back(slice, entry.variable.shape);
    expect_all_elements(entry.variable.shape, slices);
    // Compare the index's entries of the parts with the data files before allocating the complete tensor.
    std::vector<const Entry*> parts;
    for (const TensorSlice& slice : slices) {
      const Entry& part = parts_.at(slice.key(entry.variable.name));
      expect_part(entry.variable, part.variable, slice);
      static_cast<void>(file_of(part.variable, part.place, data_path(prefix_, part.place.shard, shards_)));
      parts.push_back(&part);
    }
    AssembledTensor whole(entry.variable.dtype, entry.variable.shape);
    for (size_t i = 0; i < slices.size(); ++i) whole.set(slices[i], read_place(parts[i]->variable, parts[i]->place));
    return whole.take();
  }

  Tensor read_place(const CheckpointVariable& variable, const Place& place) const {
    const std::string path = data_path(prefix_, place.shard, shards_);
    const RandomAccessFile& file = file_of(variable, place, path);
    return with_context([&] { return fmt::format("in file '{}'", printable(path)); },
                        [&] {
                          return variable.dtype == kString ? read_strings(variable, place, file)
                                                           : read_numbers(variable, place, file);
                        });
  }

  // The file of the place. Checks that the file is large enough for the place, and the place for its elements.
  const RandomAccessFile& file_of(const CheckpointVariable& variable, const Place& place,
                                  const std::string& path) const {
    const RandomAccessFile& file = data_file(place.shard, path);
    with_context([&] { return fmt::format("in file '{}'", printable(path)); },
                 [&] {
                   if (place.offset > file.size() || place.size > file.size() - place.offset) {
                     failf(Code::kDataLoss, "checkpoint: expected {} bytes from byte {} on, got {} in all", place.size,
                           place.offset, file.size());
                   }
                   if (variable.dtype == kString) expect_room_for_strings(variable, place);
                 });
    return file;
  }

  void expect_room_for_strings(const CheckpointVariable& variable, const Place& place) const {
    if (swapped_) {
      fail(Code::kUnimplemented, "checkpoint: expected strings of a machine with the same order of bytes, got others");
    }
    const auto count = static_cast<uint64_t>(variable.shape.numel());
    if (place.size < sizeof(uint32_t) || count > place.size - sizeof(uint32_t)) {
      failf(Code::kDataLoss, "checkpoint: expected more than {} bytes for as many strings, got {}", count, place.size);
    }
  }

  static void expect_checksum(const Place& place, uint32_t actual) {
    if (place.checksum != actual) {
      failf(Code::kDataLoss, "checkpoint: expected the checksum {:08x} of {} bytes from byte {} on, got {:08x}",
            place.checksum, place.size, place.offset, actual);
    }
  }

  Tensor read_numbers(const CheckpointVariable& variable, const Place& place, const RandomAccessFile& file) const {
    Tensor t = allocate_tensor(cpu_device(), variable.dtype, variable.shape);
    auto* const data = mutable_data<char>(t);
    file.read(place.offset, data, place.size);
    expect_checksum(place, masked_crc32c(std::string_view(data, place.size)));
    if (variable.dtype == kBool) {
      // Any other value in a bool would be undefined behaviour wherever it is used.
      std::transform(data, data + place.size, data, [](char b) { return static_cast<char>(b != 0); });
    } else if (swapped_) {
      const bool pairs = variable.dtype == kComplex64 || variable.dtype == kComplex128;
      const size_t bytes = dtype_size(variable.dtype) / (pairs ? 2 : 1);
      for (size_t i = 0; i < place.size; i += bytes) std::reverse(data + i, data + i + bytes);
    }
    return t;
  }

  // Format: all lengths as varints, their checksum in four bytes, and the texts. For the checksums a length counts as a
  // number of four bytes, or of eight if it is larger. Precondition: expect_room_for_strings.
  static Tensor read_strings(const CheckpointVariable& variable, const Place& place, const RandomAccessFile& file) {
    const auto count = static_cast<uint64_t>(variable.shape.numel());
    std::string bytes(place.size, '\0');
    file.read(place.offset, bytes.data(), bytes.size());
    std::string_view rest = bytes;
    std::vector<uint64_t> lengths;
    lengths.reserve(count);
    uint64_t total = 0;
    uint32_t checksum = 0;
    for (uint64_t i = 0; i < count; ++i) {
      const uint64_t length = take_varint(rest);
      if (length > place.size - total) {
        failf(Code::kDataLoss, "checkpoint: expected strings within {} bytes, got one of {}", place.size, length);
      }
      total += length;
      lengths.push_back(length);
      const size_t width = length <= UINT32_MAX ? sizeof(uint32_t) : sizeof(uint64_t);
      checksum = extended_crc32c(checksum, {reinterpret_cast<const char*>(&length), width});
    }
    if (rest.size() < sizeof(uint32_t) || rest.size() - sizeof(uint32_t) != total) {
      failf(Code::kDataLoss, "checkpoint: expected {} bytes of strings behind their lengths, got {}", total,
            rest.size());
    }
    uint32_t stored = 0;
    std::memcpy(&stored, rest.data(), sizeof(stored));
    if (const uint32_t masked = mask_crc32c(checksum); stored != masked) {
      failf(Code::kDataLoss, "checkpoint: expected the checksum {:08x} of strings' lengths, got {:08x}", stored,
            masked);
    }
    expect_checksum(place, mask_crc32c(extended_crc32c(checksum, rest)));
    rest.remove_prefix(sizeof(uint32_t));
    Tensor t = allocate_tensor(cpu_device(), kString, variable.shape);
    for (uint64_t i = 0; i < count; ++i) {
      mutable_data<std::string>(t)[i] = rest.substr(0, lengths[i]);
      rest.remove_prefix(lengths[i]);
    }
    return t;
  }

  const RandomAccessFile& data_file(int64_t shard, const std::string& path) const {
    const std::lock_guard lock(mutex_);
    std::unique_ptr<RandomAccessFile>& file = files_[shard];
    if (file == nullptr) file = std::make_unique<RandomAccessFile>(path);
    return *file;
  }

  std::string prefix_;
  int64_t shards_ = 0;
  bool swapped_ = false;                // most significant byte first
  std::vector<Entry> entries_;          // parallel to variables_
  std::map<std::string, Entry> parts_;  // slices by key
  mutable std::mutex mutex_;            // guards:
  mutable std::map<int64_t, std::unique_ptr<RandomAccessFile>> files_;
};

}  // namespace

std::unique_ptr<StoredTensors> open_bundle(const std::string& prefix) { return std::make_unique<Bundle>(prefix); }

std::string index_path(const std::string& prefix) { return prefix + ".index"; }
std::string data_path(const std::string& prefix, int64_t shard, int64_t count) {
  return fmt::format("{}.data-{:05d}-of-{:05d}", prefix, shard, count);
}

int64_t count_shards(const std::string& prefix) {
  try {
    return header_of(Table(index_path(prefix))).num_shards();
  } catch (const Error&) {
    return 0;
  }
}

}  // namespace panto
