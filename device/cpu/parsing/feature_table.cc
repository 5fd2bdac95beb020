// Finds the features of records by their keys.
#include <bit>
#include <cstring>

#include "panto/device/cpu/parsing/each_record.h"
#include "panto/device/cpu/parsing/features.h"
#include "panto/lib/base/checked.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/io/example_wire.h"

namespace panto::cpu {
namespace {

// Hashes the length and both ends. Only the graph's keys are in the table, so the authors of records cannot cause
// collisions in it.
size_t hash_of(std::string_view key) {
  uint64_t first = 0, last = 0;
  const size_t count = std::min<size_t>(key.size(), 8);
  std::memcpy(&first, key.data(), count);
  std::memcpy(&last, key.data() + key.size() - count, count);
  uint64_t h = (first ^ std::rotl(last, 29) ^ key.size() * 0x9e3779b97f4a7c15U) * 0xbf58476d1ce4e5b9U;
  h ^= h >> 32;
  return static_cast<size_t>(h);
}

}  // namespace

std::string Records::name(int64_t i) const {
  const auto k = static_cast<size_t>(i);
  std::string text = single ? "record" : fmt::format("record {}", i);
  if (k < names.size() && !names[k].empty()) text += fmt::format(" ('{}')", printable(names[k]));
  return text;
}

FeatureTable::FeatureTable(const Records& records, uint32_t field, std::vector<std::string_view> keys)
    : records_(records), keys_(std::move(keys)) {
  if (keys_.empty()) return;  // nothing to find
  hashed_.assign(std::bit_ceil(2 * keys_.size() + 1), kNone);
  size_t slots = 0;
  for (size_t k = 0; k < keys_.size(); ++k) {
    if (const size_t same = find(keys_[k]); same != kNone) {
      slots_.push_back(slots_[same]);
      continue;
    }
    size_t at = hash_of(keys_[k]) & (hashed_.size() - 1);
    while (hashed_[at] != kNone) at = (at + 1) & (hashed_.size() - 1);
    hashed_[at] = k;
    slots_.push_back(slots++);
  }
  const size_t n = records.bytes.size();
  cells_.resize(static_cast<size_t>(
      checked_mul(static_cast<int64_t>(slots), static_cast<int64_t>(n), "number of features and records")));
  int64_t bytes = 0;
  for (const std::string& record : records.bytes) bytes += static_cast<int64_t>(record.size());
  for_each_record(static_cast<int64_t>(n), bytes, [&](int64_t i) {
    with_context([&] { return fmt::format("in {}", records_.name(i)); },
                 [&] {
                   example_wire::for_each_entry(records.bytes[static_cast<size_t>(i)], field,
                                                [&](std::string_view key, std::string_view value) {
                                                  const size_t k = find(key);
                                                  if (k != kNone)
                                                    cells_[slots_[k] * n + static_cast<size_t>(i)] = value;
                                                });
                 });
  });
}

size_t FeatureTable::find(std::string_view key) const {
  for (size_t at = hash_of(key) & (hashed_.size() - 1);; at = (at + 1) & (hashed_.size() - 1)) {
    const size_t k = hashed_[at];
    if (k == kNone || keys_[k] == key) return k;
  }
}

FeatureColumn FeatureTable::column(size_t k) const {
  const size_t n = records_.bytes.size();
  return {&records_, keys_[k], std::span(cells_).subspan(slots_[k] * n, n)};
}

Records records_in(const KernelContext& c, int names) {
  const auto strings = [&](int i) { return std::span(c.data<std::string>(i), static_cast<size_t>(c.numel(i))); };
  return {strings(0), names < 0 ? std::span<const std::string>() : strings(names), c.shape(0).rank() == 0};
}

std::vector<std::string_view> keys_in(const Tensor& t) {
  const auto* keys = static_cast<const std::string*>(t.impl()->data);
  return {keys, keys + t.numel()};
}

std::vector<std::string_view> keys_in(const KernelContext& c, int arg) {
  const auto [first, last] = c.list(arg);
  std::vector<std::string_view> keys;
  for (int i = first; i < last; ++i) keys.emplace_back(*c.data<std::string>(i));
  return keys;
}

}  // namespace panto::cpu
