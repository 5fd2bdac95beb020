// The data of a tape: recorded calls, and the tensors that it tracks. Internal to tapes and backward passes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "panto/lib/core/op/attr.h"
#include "panto/lib/core/op/gradient.h"
#include "panto/lib/core/op/op.h"
#include "panto/lib/core/tensor/shape.h"
#include "panto/lib/core/tensor/tensor.h"
#include "panto/lib/core/tensor/tensor_alloc.h"

namespace panto {

inline constexpr int32_t kNoSlot = -1;

// Maps a tensor id to its slot, a number below the count of tracked tensors. Ids made while the tape lives are dense
// (threads take blocks of ids), so they index a vector. Few older tensors are ever watched.
class SlotTable {
 public:
  SlotTable() : base_(next_tensor_id()) {}

  int32_t find(int64_t id) const {
    const int64_t distance = id - base_;
    if (distance >= 0 && distance < static_cast<int64_t>(recent_.size())) return recent_[static_cast<size_t>(distance)];
    for (size_t i = 0; i < num_few_; ++i) {
      if (few_[i].first == id) return few_[i].second;
    }
    if (many_.empty()) return kNoSlot;
    const auto it = many_.find(id);
    return it == many_.end() ? kNoSlot : it->second;
  }

  void set(int64_t id, int32_t slot) {
    const int64_t distance = id - base_;
    // Other threads' blocks of ids may lie between two of ours; beyond this gap, the vector would be too sparse.
    constexpr int64_t kLargestGap = 1 << 16;
    const auto size = static_cast<int64_t>(recent_.size());
    if (distance < 0 || distance > size + kLargestGap) {
      set_other(id, slot);
      return;
    }
    // Nearly always the next element. Reserve generously, as untracked tensors leave gaps.
    if (distance >= static_cast<int64_t>(recent_.capacity())) [[unlikely]]
      recent_.reserve(static_cast<size_t>(distance) * 2 + 128);
    while (static_cast<int64_t>(recent_.size()) < distance) recent_.push_back(kNoSlot);
    if (distance >= size) {
      recent_.push_back(slot);
      return;
    }
    recent_[static_cast<size_t>(distance)] = slot;
  }

 private:
  void set_other(int64_t id, int32_t slot) {
    if (num_few_ < kFew) {
      few_[num_few_++] = {id, slot};
    } else {
      many_[id] = slot;
    }
  }

  static constexpr size_t kFew = 8;  // up to this many, a linear search is fastest
  int64_t base_;
  std::vector<int32_t> recent_;
  size_t num_few_ = 0;
  std::pair<int64_t, int32_t> few_[kFew];
  std::unordered_map<int64_t, int32_t> many_;
};

// Memory that is freed all at once. Objects in it never move.
class Arena {
 public:
  // `bytes` a multiple of 8; aligned to 8.
  std::byte* allocate(size_t bytes) {
    if (bytes > static_cast<size_t>(end_ - next_)) [[unlikely]]
      grow(bytes);
    return std::exchange(next_, next_ + bytes);
  }
  void clear() noexcept {
    blocks_.clear();
    next_ = end_ = nullptr;
  }

 private:
  [[gnu::noinline]] void grow(size_t bytes) {
    // The first block fits glibc's tcache (up to 1032 bytes); a larger one would cost a small gradient a tenth of its
    // time.
    constexpr size_t kFirst = 1024, kSecond = 16 * 1024, kLargest = 1 << 20;
    block_bytes_ = blocks_.empty() ? kFirst : std::clamp(block_bytes_ * 2, kSecond, kLargest);
    const size_t size = std::max(block_bytes_, bytes);
    blocks_.push_back(std::make_unique_for_overwrite<std::byte[]>(size));
    next_ = blocks_.back().get();
    end_ = next_ + size;
  }

  std::vector<std::unique_ptr<std::byte[]>> blocks_;
  std::byte* next_ = nullptr;
  std::byte* end_ = nullptr;
  size_t block_bytes_ = 0;
};

// One recorded call. Its pointers refer to memory right after it in the arena.
struct Entry {
  const Op* op;            // null: custom
  CustomBackward* custom;  // owned by the tape
  Tensor* values;          // saved inputs, then outputs; undefined: not saved
  int32_t* slots;          // of the inputs, then of the outputs
  DType* types;            // of the inputs
  AttrSlot* attrs;         // by signature position
  PartialShape* shapes;    // of the inputs; null: not kept
  uint32_t num_inputs;     // Pack and AddN take any number
  uint32_t num_outputs;
  uint32_t num_attrs;
  bool reduces = false;   // inputs broadcast: gradients must be summed to their shapes
  bool symbolic = false;  // unknown shapes: every input is saved, to ask for its shape (it has no data)

  // Inlined at both places, as it runs for every recorded call.
  [[gnu::always_inline]] static Entry* make(Arena& arena, const Op* op, CustomBackward* custom, size_t num_inputs,
                                            size_t num_outputs, size_t num_attrs, bool with_shapes) {
    const size_t num_values = num_inputs + num_outputs;
    const size_t size_of_shapes = with_shapes ? num_inputs * sizeof(PartialShape) : 0;
    const size_t bytes = sizeof(Entry) + num_values * sizeof(Tensor) + size_of_shapes + num_attrs * sizeof(AttrSlot) +
                         num_values * sizeof(int32_t) + num_inputs * sizeof(DType);
    std::byte* at = arena.allocate((bytes + 7) & ~size_t{7});
    auto* e = ::new (static_cast<void*>(at)) Entry{};
    at += sizeof(Entry);
    e->op = op;
    e->custom = custom;
    e->num_inputs = static_cast<uint32_t>(num_inputs);
    e->num_outputs = static_cast<uint32_t>(num_outputs);
    e->num_attrs = static_cast<uint32_t>(num_attrs);
    e->values = reinterpret_cast<Tensor*>(at);
    std::uninitialized_value_construct_n(e->values, num_values);
    at += num_values * sizeof(Tensor);
    if (with_shapes) {
      e->shapes = reinterpret_cast<PartialShape*>(at);
      std::uninitialized_value_construct_n(e->shapes, num_inputs);
      at += size_of_shapes;
    }
    e->attrs = reinterpret_cast<AttrSlot*>(at);
    at += num_attrs * sizeof(AttrSlot);
    e->slots = reinterpret_cast<int32_t*>(at);
    e->types = reinterpret_cast<DType*>(at + num_values * sizeof(int32_t));
    return e;
  }
  void destroy() noexcept {
    std::destroy_n(values, num_inputs + num_outputs);
    if (shapes != nullptr) std::destroy_n(shapes, num_inputs);
  }
  void forget_values() noexcept {
    const size_t count = num_inputs + num_outputs;
    for (size_t i = 0; i < count; ++i) values[i] = Tensor();
  }
};
static_assert(sizeof(Entry) % 8 == 0 && alignof(PartialShape) <= 8 && alignof(AttrSlot) <= 8 &&
              sizeof(AttrSlot) % 8 == 0 && std::is_trivially_copyable_v<AttrSlot>);

}  // namespace panto
