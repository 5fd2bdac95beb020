#include "panto/lib/graph/checkpoints/slice.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstring>

#include "panto/lib/base/checked.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/tensor/tensor_alloc.h"

namespace panto {
namespace {

// Ordered codes: byte strings that sort like the values that they encode.

// The number of significant bytes, then those bytes, the highest first.
void append_number(std::string& to, uint64_t number) {
  const auto bytes = static_cast<int>((std::bit_width(number) + 7) / 8);
  to += static_cast<char>(bytes);
  for (int i = bytes - 1; i >= 0; --i) to += static_cast<char>(number >> (8 * i) & 0xff);
}

void append_text(std::string& to, std::string_view text) {
  for (const char c : text) {
    to += c;
    if (c == '\0') to += '\xff';
    if (c == '\xff') to += '\0';
  }
  to.append("\0\1", 2);
}

// The leading bits of the first two bytes tell the length: n ones and a zero mean n bytes and a number >= 0; for
// negative numbers all bits are inverted.
void append_signed(std::string& to, int64_t number) {
  constexpr std::array<std::array<uint8_t, 2>, 11> kHeader{{{0, 0},
                                                            {0x80, 0},
                                                            {0xc0, 0},
                                                            {0xe0, 0},
                                                            {0xf0, 0},
                                                            {0xf8, 0},
                                                            {0xfc, 0},
                                                            {0xfe, 0},
                                                            {0xff, 0},
                                                            {0xff, 0x80},
                                                            {0xff, 0xc0}}};
  const auto magnitude = static_cast<uint64_t>(number < 0 ? ~number : number);
  const auto length = static_cast<size_t>(std::bit_width(magnitude) / 7 + 1);
  std::array<uint8_t, 10> bytes;
  bytes.fill(number < 0 ? 0xff : 0);
  for (size_t i = 0; i < 8; ++i) bytes[9 - i] = static_cast<uint8_t>(static_cast<uint64_t>(number) >> (8 * i));
  uint8_t* const begin = bytes.data() + (bytes.size() - length);
  begin[0] ^= kHeader[length][0];
  if (length > 1) begin[1] ^= kHeader[length][1];
  to.append(reinterpret_cast<const char*>(begin), length);
}

}  // namespace

graphdef::TensorSliceProto slice_proto(const TensorPart& part) {
  graphdef::TensorSliceProto proto;
  for (size_t i = 0; i < part.starts.size(); ++i) {
    auto* const extent = proto.add_extent();
    extent->set_start(part.starts[i]);
    if (part.lengths[i] >= 0) extent->set_length(part.lengths[i]);
  }
  return proto;
}

TensorSlice::TensorSlice(const graphdef::TensorSliceProto& proto, const Shape& whole) {
  if (proto.extent_size() != whole.rank()) {
    failf(Code::kDataLoss, "slice: expected {} ranges, got {}", whole.rank(), proto.extent_size());
  }
  std::vector<int64_t> lengths;
  for (int i = 0; i < whole.rank(); ++i) {
    const auto& extent = proto.extent(i);
    const bool full = extent.has_length_hack_case() == graphdef::TensorSliceProto::Extent::HAS_LENGTH_HACK_NOT_SET;
    const int64_t length = full ? whole[i] : extent.length();
    if (extent.start() < 0 || length < 0 || (full && extent.start() != 0) || extent.start() > whole[i] ||
        length > whole[i] - extent.start()) {
      failf(Code::kDataLoss, "slice: expected a range within dimension {} of {}, got {} from {} on", i,
            whole.to_string(), length, extent.start());
    }
    starts_.push_back(extent.start());
    lengths.push_back(length);
    full_.push_back(full);
  }
  shape_ = Shape(lengths);
}

std::string TensorSlice::key(std::string_view name) const {
  std::string key;
  append_number(key, 0);
  append_text(key, name);
  append_number(key, starts_.size());
  for (size_t i = 0; i < starts_.size(); ++i) {
    append_signed(key, starts_[i]);
    append_signed(key, full_[i] ? -1 : shape_[static_cast<int>(i)]);
  }
  return key;
}

void expect_all_elements(const Shape& shape, const std::vector<TensorSlice>& parts) {
  int64_t count = 0;
  for (const TensorSlice& part : parts) count = checked_add(count, part.shape().numel(), "slices");
  if (count != shape.numel()) {
    failf(Code::kDataLoss, "slices: expected the {} elements of {}, got {}", shape.numel(), shape.to_string(), count);
  }
}

AssembledTensor::AssembledTensor(DType dtype, const Shape& shape)
    : whole_(allocate_tensor(cpu_device(), dtype, shape)), set_(static_cast<size_t>(shape.numel())) {}

void AssembledTensor::set(const TensorSlice& slice, const Tensor& part) {
  const Shape& shape = slice.shape();
  if (shape.numel() == 0) return;
  const auto rank = static_cast<size_t>(shape.rank());
  // Copies one run, the last dimension, at a time; a counter runs over the other dimensions.
  const auto run = static_cast<size_t>(rank == 0 ? 1 : shape[-1]);
  std::vector<int64_t> at(rank, 0);
  size_t from = 0;
  for (;;) {
    int64_t index = 0;
    for (size_t i = 0; i < rank; ++i) index = index * whole_.dim(static_cast<int>(i)) + slice.starts()[i] + at[i];
    const auto to = static_cast<size_t>(index);
    for (size_t i = 0; i < run; ++i) {
      if (set_[to + i]) {
        failf(Code::kDataLoss, "slices: expected each element once, got that at {} twice", to + i);
      }
      set_[to + i] = true;
    }
    if (whole_.dtype() == kString) {
      for (size_t i = 0; i < run; ++i) {
        mutable_data<std::string>(whole_)[to + i] = mutable_data<const std::string>(part)[from + i];
      }
    } else {
      const size_t item = dtype_size(whole_.dtype());
      std::memcpy(mutable_data<std::byte>(whole_) + to * item, mutable_data<const std::byte>(part) + from * item,
                  run * item);
    }
    from += run;
    // Go to the next run; the last dimension stays at its beginning.
    size_t i = rank > 0 ? rank - 1 : 0;
    for (; i > 0; --i) {
      if (++at[i - 1] < shape[static_cast<int>(i - 1)]) break;
      at[i - 1] = 0;
    }
    if (i == 0) return;
  }
}

}  // namespace panto
