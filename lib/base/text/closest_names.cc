#include "panto/lib/base/text/closest_names.h"

#include <algorithm>
#include <utility>

namespace panto {
namespace {

// Number of edits that turn a into b (Levenshtein distance), at most `limit` + 1.
size_t edit_distance(std::string_view a, std::string_view b, size_t limit) {
  const size_t difference = a.size() > b.size() ? a.size() - b.size() : b.size() - a.size();
  if (difference > limit) return limit + 1;
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

std::vector<std::string_view> closest_names(std::string_view name, std::span<const std::string_view> names,
                                            size_t edits) {
  // An error message is not worth quadratic work on long names or a walk over a huge graph.
  constexpr size_t kLongest = 256, kMost = 10'000, kShown = 3;
  if (name.size() > kLongest || names.size() > kMost) return {};
  const size_t limit = std::max(edits, name.size() / 3);
  std::vector<std::pair<size_t, std::string_view>> near;
  for (std::string_view other : names) {
    const size_t distance = edit_distance(name, other, limit);
    if (distance <= limit) near.emplace_back(distance, other);
  }
  std::ranges::sort(near);
  std::vector<std::string_view> result;
  for (size_t i = 0; i < std::min(kShown, near.size()); ++i) result.push_back(near[i].second);
  return result;
}

}  // namespace panto
