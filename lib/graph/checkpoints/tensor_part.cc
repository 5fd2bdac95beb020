#include "panto/lib/graph/checkpoints/tensor_part.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/tensor/tensor_alloc.h"

namespace panto {
namespace {

std::vector<std::string_view> divided(std::string_view text, char by) {
  std::vector<std::string_view> pieces;
  for (;;) {
    const size_t end = text.find(by);
    pieces.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return pieces;
    text.remove_prefix(end + 1);
  }
}

int64_t number_in(std::string_view text, std::string_view all) {
  int64_t number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0) {
    invalid("part '{}': expected a number, got '{}'", all, text);
  }
  return number;
}

}  // namespace

Shape TensorPart::shape() const {
  std::vector<int64_t> dims;
  for (size_t i = 0; i < starts.size(); ++i) {
    dims.push_back(lengths[i] < 0 ? whole.dim(static_cast<int>(i)) : lengths[i]);
  }
  return Shape(dims);
}

std::optional<TensorPart> parse_part(std::string_view text) {
  if (text.empty()) return std::nullopt;
  const std::vector<std::string_view> words = divided(text, ' ');
  std::vector<int64_t> dims;
  for (size_t i = 0; i + 1 < words.size(); ++i) dims.push_back(number_in(words[i], text));
  TensorPart part{.whole = Shape(dims), .starts = {}, .lengths = {}};
  const std::vector<std::string_view> ranges =
      dims.empty() && words.back().empty() ? std::vector<std::string_view>() : divided(words.back(), ':');
  if (ranges.size() != dims.size()) {
    invalid("part '{}': expected a range for each of {} dimensions, got {}", text, dims.size(), ranges.size());
  }
  for (size_t i = 0; i < ranges.size(); ++i) {
    if (ranges[i] == "-") {
      part.starts.push_back(0);
      part.lengths.push_back(-1);
      continue;
    }
    const std::vector<std::string_view> both = divided(ranges[i], ',');
    if (both.size() != 2) invalid("part '{}': expected start,length or -, got '{}'", text, ranges[i]);
    const int64_t start = number_in(both[0], text), length = number_in(both[1], text);
    if (length == 0 || start > dims[i] || length > dims[i] - start) {
      invalid("part '{}': expected a range in dimension {} of {}, got '{}'", text, i, dims[i], ranges[i]);
    }
    part.starts.push_back(start);
    part.lengths.push_back(length);
  }
  return part;
}

std::string part_text(const TensorPart& part) {
  std::string text;
  for (const int64_t dim : part.whole.dims()) text += fmt::format("{} ", dim);
  for (size_t i = 0; i < part.starts.size(); ++i) {
    if (i > 0) text += ':';
    text += part.lengths[i] < 0 ? "-" : fmt::format("{},{}", part.starts[i], part.lengths[i]);
  }
  return text;
}

Tensor cut_out(const Tensor& whole, const TensorPart& part) {
  const Shape shape = part.shape();
  if (shape == part.whole) return whole;
  Tensor out = allocate_tensor(cpu_device(), whole.dtype(), shape);
  if (shape.numel() == 0) return out;
  const auto rank = static_cast<size_t>(shape.rank());
  // Copies one run, the last dimension, at a time; a counter runs over the other dimensions.
  const auto run = static_cast<size_t>(shape.dim(shape.rank() - 1));
  const size_t item = dtype_size(whole.dtype());
  std::vector<int64_t> at(rank, 0);
  for (size_t to = 0; to < static_cast<size_t>(shape.numel()); to += run) {
    int64_t index = 0;
    for (size_t i = 0; i < rank; ++i) index = index * part.whole.dim(static_cast<int>(i)) + part.starts[i] + at[i];
    const auto from = static_cast<size_t>(index);
    if (whole.dtype() == kString) {
      std::copy_n(mutable_data<const std::string>(whole) + from, run, mutable_data<std::string>(out) + to);
    } else {
      std::memcpy(mutable_data<char>(out) + to * item, mutable_data<const char>(whole) + from * item, run * item);
    }
    for (size_t i = rank - 1; i > 0; --i) {
      if (++at[i - 1] < shape.dim(static_cast<int>(i) - 1)) break;
      at[i - 1] = 0;
    }
  }
  return out;
}

}  // namespace panto
