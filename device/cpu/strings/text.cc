// Kernels of ops on the characters of strings.
#include <algorithm>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/strings/strings.h"
#include "panto/device/shape/broadcast.h"
#include "panto/device/shape/indexing.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/base/text/utf8.h"
#include "panto/lib/core/tensor/tensor_alloc.h"

namespace panto {
namespace {

bool counts_characters(const KernelContext& c) { return c.text("unit") == "UTF8_CHAR"; }

void run_length(KernelContext& c) {
  const bool characters = counts_characters(c);
  const auto* in = c.data<std::string>(0);
  auto* out = c.out_data<int32_t>(0);
  strings::for_each_in_order(c.out_numel(0), [&](int64_t i) {
    const auto size = characters ? std::ranges::count_if(in[i], [](char b) { return !continues_character(b); })
                                 : static_cast<int64_t>(in[i].size());
    if (size > std::numeric_limits<int32_t>::max())
      invalid("input[{}]: expected a length that is int32, got {}", i, size);
    out[i] = static_cast<int32_t>(size);
  });
}

void run_strip(KernelContext& c) {
  const auto* in = c.data<std::string>(0);
  auto* out = c.out_data<std::string>(0);
  strings::for_each_element(c, [&](int64_t i) { out[i] = strings::stripped(in[i]); });
}

// ---- Parts ----------------------------------------------------------------------------------------------------------

// A character begins at the first byte and at each byte that is not a continuation byte.
size_t next_character(std::string_view text, size_t at) {
  do ++at;
  while (at < text.size() && continues_character(text[at]));
  return at;
}
size_t previous_character(std::string_view text, size_t at) {
  do --at;
  while (at > 0 && continues_character(text[at]));
  return at;
}

// Returns the offset of byte or character number `pos`, npos if there is none.
size_t place_of(std::string_view text, int64_t pos, bool characters) {
  if (!characters) {
    const auto size = static_cast<int64_t>(text.size());
    if (pos < -size || pos > size) return std::string_view::npos;
    return static_cast<size_t>(pos < 0 ? pos + size : pos);
  }
  size_t at = pos < 0 ? text.size() : 0;
  for (; pos > 0 && at < text.size(); --pos) at = next_character(text, at);
  for (; pos < 0 && at > 0; ++pos) at = previous_character(text, at);
  return pos == 0 ? at : std::string_view::npos;
}

std::string_view part_of(std::string_view text, size_t first, int64_t length, bool characters) {
  if (!characters) return text.substr(first, length < 0 ? std::string_view::npos : static_cast<size_t>(length));
  size_t end = first;
  for (; length > 0 && end < text.size(); --length) end = next_character(text, end);
  return text.substr(first, end - first);
}

struct RunSubstr {
  template <class Index>
  static void run(KernelContext& c) {
    const bool characters = counts_characters(c);
    const auto* in = c.data<std::string>(0);
    const Index *pos = c.data<Index>(1), *len = c.data<Index>(2);
    auto* out = c.out_data<std::string>(0);
    BroadcastMap<2> map;
    const PartialShape* shapes[] = {&c.in(0).partial_shape(), &c.in(1).partial_shape()};
    make_broadcast_map(c.out_shape(0), shapes, map);
    strings::for_each_broadcast(map, c.out_numel(0), [&](int64_t k, const int64_t* from) {
      const std::string& text = in[from[0]];
      const int64_t begin = pos[from[1]];
      const size_t first = place_of(text, begin, characters);
      if (first == std::string::npos) invalid("pos: expected one in string {}, '{}', got {}", from[0], text, begin);
      out[k] = part_of(text, first, len[from[1]], characters);
    });
  }
};

// ---- Splitting ------------------------------------------------------------------------------------------------------

using Pieces = std::vector<std::string_view>;

void add_words(std::string_view text, int64_t most, Pieces& pieces) {
  const auto skip = [&] {
    while (!text.empty() && strings::is_space(text.front())) text.remove_prefix(1);
  };
  skip();
  for (int64_t count = 0; !text.empty();) {
    const auto end = static_cast<size_t>(std::ranges::find_if(text, strings::is_space) - text.begin());
    pieces.push_back(text.substr(0, end));
    text.remove_prefix(end);
    skip();
    if (++count == most) return pieces.push_back(text);
  }
}

void add_separated(std::string_view text, std::string_view separator, int64_t most, Pieces& pieces) {
  for (int64_t count = 0; count != most; ++count) {
    const size_t end = text.find(separator);
    if (end == std::string_view::npos) break;
    pieces.push_back(text.substr(0, end));
    text.remove_prefix(end + separator.size());
  }
  pieces.push_back(text);
}

void add_by_bytes(std::string_view text, std::string_view delimiters, bool skip_empty, Pieces& pieces) {
  if (text.empty()) return;
  if (delimiters.empty()) {
    for (size_t i = 0; i < text.size(); ++i) pieces.push_back(text.substr(i, 1));
    return;
  }
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find_first_of(delimiters, begin), text.size());
    if (end > begin || !skip_empty) pieces.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
}

// Outputs the pieces that add(text, pieces) finds in each string as a sparse matrix.
template <class Add>
void set_pieces(KernelContext& c, const Add& add) {
  const auto* in = c.data<std::string>(0);
  const int64_t rows = c.numel(0);
  Pieces pieces;
  std::vector<int64_t> counts(static_cast<size_t>(rows));
  strings::for_each_in_order(rows, [&](int64_t i) {
    const size_t before = pieces.size();
    add(in[i], pieces);
    counts[static_cast<size_t>(i)] = static_cast<int64_t>(pieces.size() - before);
  });
  Tensor indices = allocate_tensor(c.device(), kInt64, Shape{pieces.size(), 2});
  Tensor values = allocate_tensor(c.device(), kString, Shape{pieces.size()});
  Tensor shape = allocate_tensor(c.device(), kInt64, Shape{2});
  auto* at = mutable_data<int64_t>(indices);
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t column = 0; column < counts[static_cast<size_t>(row)]; ++column) {
      *at++ = row;
      *at++ = column;
    }
  }
  auto* texts = mutable_data<std::string>(values);
  for (size_t i = 0; i < pieces.size(); ++i) texts[i] = pieces[i];
  auto* dims = mutable_data<int64_t>(shape);
  dims[0] = rows;
  dims[1] = counts.empty() ? 0 : std::ranges::max(counts);
  c.set_out(0, std::move(indices));
  c.set_out(1, std::move(values));
  c.set_out(2, std::move(shape));
}

void run_split(KernelContext& c) {
  const std::string_view separator = *c.data<std::string>(1);
  const int64_t most = c.integer("maxsplit");
  set_pieces(c, [&](std::string_view text, Pieces& pieces) {
    if (most == 0) return pieces.push_back(text);
    separator.empty() ? add_words(text, most, pieces) : add_separated(text, separator, most, pieces);
  });
}

void run_split_by_bytes(KernelContext& c) {
  const std::string_view delimiters = *c.data<std::string>(1);
  const bool skip_empty = c.flag("skip_empty");
  set_pieces(c, [&](std::string_view text, Pieces& pieces) { add_by_bytes(text, delimiters, skip_empty, pieces); });
}

const CpuKernel length_kernel("StringLength", run_length);
const CpuKernel strip_kernel("StringStrip", run_strip);
const CpuKernel substr_kernel("Substr", types::index{}, RunSubstr{});
const CpuKernel split_kernel("StringSplitV2", run_split);
const CpuKernel split_by_bytes_kernel("StringSplit", run_split_by_bytes);

}  // namespace
}  // namespace panto
