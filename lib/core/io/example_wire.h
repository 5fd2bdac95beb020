// Example and SequenceExample in their protocol buffer encoding, read in place without copies. Internal.
//
//   Example { Features features = 1; }        Features { map<string, Feature> feature = 1; }
//   Feature { oneof { BytesList = 1; FloatList = 2; Int64List = 3; } }        each list { repeated value = 1; }
//   SequenceExample { Features context = 1; FeatureLists feature_lists = 2; }
//   FeatureLists { map<string, FeatureList> feature_list = 1; }        FeatureList { repeated Feature feature = 1; }
//
// Follows protobuf's rules: fields in any order, unknown fields skipped, the last of several entries with one key wins,
// numbers packed or not. Throws InvalidArgument for invalid bytes. Thread-safety: plain functions on bytes.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

#include "panto/lib/base/error.h"
#include "panto/lib/core/tensor/dtype.h"

namespace panto::example_wire {

[[noreturn]] inline void malformed() {
  fail(Code::kInvalidArgument, "example: expected the bytes of a message, got others");
}

// Removes one number from the front of [*at, end).
inline uint64_t take_varint(const char*& at, const char* end) {
  uint64_t number = 0;
  for (int shift = 0; shift < 70 && at != end; shift += 7) {
    const auto byte = static_cast<uint8_t>(*at++);
    number |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return number;
  }
  malformed();
}

enum Wire : uint32_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

// Iterates over the fields of a message.
class Fields {
 public:
  explicit Fields(std::string_view message) : at_(message.data()), end_(at_ + message.size()) {}

  // False at the end.
  bool next() {
    if (at_ == end_) return false;
    begin_ = at_;
    const uint64_t tag = take_varint(at_, end_);
    if ((tag >> 3) == 0 || tag > UINT32_MAX) malformed();
    number_ = static_cast<uint32_t>(tag >> 3);
    wire_ = static_cast<uint32_t>(tag & 7);
    switch (wire_) {
      case kVarint: value_ = take_varint(at_, end_); return true;
      case kFixed64: take(8); return true;
      case kBytes: take(take_varint(at_, end_)); return true;
      case kFixed32: take(4); return true;
      default: malformed();
    }
  }
  bool is(uint32_t number, uint32_t wire) const { return number_ == number && wire_ == wire; }
  uint32_t number() const { return number_; }
  uint32_t wire() const { return wire_; }
  // For a field that has bytes or a fixed size.
  std::string_view bytes() const { return bytes_; }
  uint64_t value() const { return value_; }
  // The bytes from the field's beginning to the message's end.
  std::string_view from_here() const { return {begin_, static_cast<size_t>(end_ - begin_)}; }

 private:
  void take(uint64_t count) {
    if (count > static_cast<uint64_t>(end_ - at_)) malformed();
    bytes_ = {at_, static_cast<size_t>(count)};
    at_ += count;
  }

  const char *at_, *end_, *begin_ = nullptr;
  uint32_t number_ = 0, wire_ = 0;
  uint64_t value_ = 0;
  std::string_view bytes_;
};

// The messages in fields `number` of `message` have a map in field 1: calls entry(key, value) for the entries of these
// maps.
template <class Entry>
void for_each_entry(std::string_view message, uint32_t number, const Entry& entry) {
  for (Fields outer(message); outer.next();) {
    if (!outer.is(number, kBytes)) continue;
    for (Fields map(outer.bytes()); map.next();) {
      if (!map.is(1, kBytes)) continue;
      std::string_view key = "", value = "";
      for (Fields pair(map.bytes()); pair.next();) {
        if (pair.is(1, kBytes)) key = pair.bytes();
        if (pair.is(2, kBytes)) value = pair.bytes();
      }
      entry(key, value);
    }
  }
}

// Calls each(bytes) for fields `number` that are messages, such as the features of a FeatureList.
template <class Each>
void for_each_message(std::string_view message, uint32_t number, const Each& each) {
  for (Fields fields(message); fields.next();) {
    if (fields.is(number, kBytes)) each(fields.bytes());
  }
}

// ---- A Feature's values ---------------------------------------------------------------------------------------------

template <class T>
inline constexpr uint32_t kListOf = 0;
template <>
inline constexpr uint32_t kListOf<std::string> = 1;
template <>
inline constexpr uint32_t kListOf<float> = 2;
template <>
inline constexpr uint32_t kListOf<int64_t> = 3;

// The dtype for a list's field number; kInvalid: none, so that the feature counts as missing.
constexpr DType dtype_of_list(uint32_t list) {
  return list == 1 ? kString : list == 2 ? kFloat32 : list == 3 ? kInt64 : DType::kInvalid;
}

// The list that a Feature has, and the part of the message that contains its fields. If there are several lists, the
// last one counts, together with fields of the same kind right before it.
struct FeatureView {
  uint32_t list = 0;
  std::string_view bytes;
};
inline FeatureView view_feature(std::string_view feature) {
  FeatureView view;
  for (Fields fields(feature); fields.next();) {
    if (fields.wire() != kBytes || fields.number() > 3 || fields.number() == view.list) continue;
    view = {fields.number(), fields.from_here()};
  }
  return view;
}

// Number of varints in these bytes.
inline int64_t count_varints(std::string_view bytes) {
  if (!bytes.empty() && static_cast<uint8_t>(bytes.back()) >= 0x80) malformed();
  int64_t count = 0;
  for (const char c : bytes) count += static_cast<int8_t>(c) >= 0 ? 1 : 0;
  return count;
}

// Calls each(field) for the fields that hold values of the view's list.
template <class Each>
void for_each_value_field(const FeatureView& view, const Each& each) {
  for (Fields lists(view.bytes); lists.next();) {
    if (!lists.is(view.list, kBytes)) continue;
    for (Fields values(lists.bytes()); values.next();) {
      if (values.number() == 1) each(values);
    }
  }
}

// Number of values of the view's list. Precondition: view.list is kListOf<T>.
template <class T>
int64_t count_values(const FeatureView& view) {
  int64_t count = 0;
  for_each_value_field(view, [&](const Fields& f) {
    if constexpr (std::is_same_v<T, std::string>) {
      if (f.wire() != kBytes) malformed();
      ++count;
    } else if constexpr (std::is_same_v<T, float>) {
      if (f.wire() != kFixed32 && (f.wire() != kBytes || f.bytes().size() % 4 != 0)) malformed();
      count += static_cast<int64_t>(f.bytes().size() / 4);
    } else {
      if (f.wire() != kVarint && f.wire() != kBytes) malformed();
      count += f.wire() == kVarint ? 1 : count_varints(f.bytes());
    }
  });
  return count;
}

// Writes the values, count_values of them, to `to`. Returns the position behind the last one.
template <class T>
T* copy_values(const FeatureView& view, T* to) {
  for_each_value_field(view, [&](const Fields& f) {
    if constexpr (std::is_same_v<T, std::string>) {
      *to++ = f.bytes();
    } else if constexpr (std::is_same_v<T, float>) {
      static_assert(std::endian::native == std::endian::little);
      std::memcpy(to, f.bytes().data(), f.bytes().size());
      to += f.bytes().size() / 4;
    } else if (f.wire() == kVarint) {
      *to++ = static_cast<int64_t>(f.value());
    } else {
      const char* at = f.bytes().data();
      for (const char* const end = at + f.bytes().size(); at != end;)
        *to++ = static_cast<int64_t>(take_varint(at, end));
    }
  });
  return to;
}

}  // namespace panto::example_wire
