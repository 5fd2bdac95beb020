// A hash table of small values in one block of memory: open addressing, linear probing. It stores hashes only; the
// caller compares the keys. A std::unordered_map needs an allocation and 40 bytes more for each entry: looking up names
// was a third of the time to read a graph of a million nodes. Internal. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace panto {

inline uint32_t name_hash(std::string_view name) noexcept {
  return static_cast<uint32_t>(std::hash<std::string_view>()(name));
}

// `kNone`: a value that is never inserted. Hashes must differ in their low bits.
template <class Hash, class Value, Value kNone>
class HashTable {
 public:
  // Makes room for n entries.
  void reserve(size_t n) {
    size_t slots = kFewest;
    while (slots - slots / 4 < n) slots *= 2;
    if (slots > slots_.size()) rehash(slots);
  }
  // The value of an entry with this hash for which `same(value)` is true; null if there is none. The caller must not
  // set the value to kNone.
  template <class Same>
  Value* find(Hash hash, const Same& same) {
    const size_t at = locate(hash, same);
    return at < slots_.size() ? &slots_[at].value : nullptr;
  }
  template <class Same>
  const Value* find(Hash hash, const Same& same) const {
    const size_t at = locate(hash, same);
    return at < slots_.size() ? &slots_[at].value : nullptr;
  }
  // Inserts an entry, even if others have the same hash.
  void insert(Hash hash, Value value) {
    if (size_ >= slots_.size() - slots_.size() / 4) rehash(slots_.empty() ? kFewest : slots_.size() * 2);
    put(hash, value);
    ++size_;
  }
  // Removes the entry that `find` would return, if any.
  template <class Same>
  void erase(Hash hash, const Same& same) {
    size_t hole = locate(hash, same);
    if (hole >= slots_.size()) return;
    --size_;
    // Entries behind the hole that could no longer be found move up.
    for (size_t at = next(hole); slots_[at].value != kNone; at = next(at)) {
      const size_t wanted = home(slots_[at].hash);
      const bool after_hole = hole <= at ? hole < wanted && wanted <= at : hole < wanted || wanted <= at;
      if (after_hole) continue;
      slots_[hole] = slots_[at];
      hole = at;
    }
    slots_[hole].value = kNone;
  }

 private:
  static constexpr size_t kFewest = 16;
  struct Slot {
    Hash hash = 0;
    Value value = kNone;
  };

  size_t home(Hash hash) const noexcept { return static_cast<size_t>(hash) & (slots_.size() - 1); }
  size_t next(size_t at) const noexcept { return (at + 1) & (slots_.size() - 1); }
  template <class Same>
  size_t locate(Hash hash, const Same& same) const {
    if (slots_.empty()) return 0;
    for (size_t at = home(hash); slots_[at].value != kNone; at = next(at)) {
      if (slots_[at].hash == hash && same(slots_[at].value)) return at;
    }
    return slots_.size();
  }
  void put(Hash hash, Value value) {
    size_t at = home(hash);
    while (slots_[at].value != kNone) at = next(at);
    slots_[at] = {hash, value};
  }
  void rehash(size_t slots) {
    std::vector<Slot> old(slots);
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.value != kNone) put(slot.hash, slot.value);
    }
  }

  std::vector<Slot> slots_;  // a power of two, or none; at least a quarter of them is free
  size_t size_ = 0;
};

}  // namespace panto
