// The kernel of EditDistance.
#include <algorithm>
#include <limits>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "panto/device/cpu/kernel.h"
#include "panto/device/op_kernels.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/step/cancel.h"

namespace panto {
namespace {

// Levenshtein's distance, row by row of the table of distances between all prefixes.
template <class T>
int64_t distance(std::span<const T> a, std::span<const T> b) {
  if (a.size() < b.size()) std::swap(a, b);
  std::vector<int64_t> row(b.size() + 1);  // distances of a prefix of a to all prefixes of b
  std::iota(row.begin(), row.end(), int64_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    if (i % 64 == 0) throw_if_cancelled();
    int64_t diagonal = row[0]++;
    for (size_t k = 0; k < b.size(); ++k) {
      const int64_t changed = diagonal + (a[i] == b[k] ? 0 : 1);
      diagonal = row[k + 1];
      row[k + 1] = std::min({changed, diagonal + 1, row[k] + 1});
    }
  }
  return row.back();
}

// Iterates over the sequences of a sparse tensor. Sorts the entries if they are not in order.
template <class T>
class Sequences {
 public:
  // The sparse tensor is in inputs `first` to `first` + 2.
  Sequences(KernelContext& c, int first) : values_(c.data<T>(first + 1)) {
    const int64_t count = c.numel(first + 1), rank = c.shape(first).dim(1);
    const auto* index = c.data<int64_t>(first);
    places_.resize(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i) {
      int64_t place = 0;
      for (int64_t k = 0; k + 1 < rank; ++k) {
        const int64_t size = c.out_shape(0).dim(static_cast<int>(k)), at = index[i * rank + k];
        if (at < 0 || at >= size) {
          invalid("{}_indices[{}, {}]: expected one in [0, {}), got {}", first == 0 ? "hypothesis" : "truth", i, k,
                  size, at);
        }
        place = place * size + at;
      }
      places_[static_cast<size_t>(i)] = place;
    }
    if (!std::ranges::is_sorted(places_)) sort();
    find();
  }
  bool done() const { return begin_ == places_.size(); }
  int64_t place() const { return places_[begin_]; }  // position in the result
  std::span<const T> values() const { return {values_ + begin_, end_ - begin_}; }
  void next() {
    begin_ = end_;
    find();
  }

 private:
  void sort() {
    std::vector<size_t> order(places_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::stable_sort(order, {}, [this](size_t i) { return places_[i]; });
    sorted_ = std::make_unique<T[]>(order.size());
    for (size_t i = 0; i < order.size(); ++i) sorted_[i] = values_[order[i]];
    std::ranges::sort(places_);
    values_ = sorted_.get();
  }
  void find() {
    while (end_ < places_.size() && places_[end_] == places_[begin_]) ++end_;
  }

  const T* values_;
  std::vector<int64_t> places_;
  std::unique_ptr<T[]> sorted_;  // the sorted values, if they were not in order
  size_t begin_ = 0, end_ = 0;
};

struct RunEditDistance {
  template <class T>
  static void run(KernelContext& c) {
    const bool normalize = c.flag("normalize");
    auto* out = c.out_data<float>(0);
    std::fill_n(out, c.out_numel(0), 0.0F);
    Sequences<T> hypothesis(c, 0), truth(c, 3);
    while (!hypothesis.done() || !truth.done()) {
      const bool first = !hypothesis.done() && (truth.done() || hypothesis.place() <= truth.place());
      const bool second = !truth.done() && (hypothesis.done() || truth.place() <= hypothesis.place());
      const std::span<const T> a = first ? hypothesis.values() : std::span<const T>();
      const std::span<const T> b = second ? truth.values() : std::span<const T>();
      auto far = static_cast<float>(distance(a, b));
      if (normalize) far = second ? far / static_cast<float>(b.size()) : std::numeric_limits<float>::infinity();
      out[second ? truth.place() : hypothesis.place()] = far;
      if (first) hypothesis.next();
      if (second) truth.next();
    }
  }
};

using Comparable = types::Join<types::numbers, TypeList<std::string>>::type;
const CpuKernel edit_distance_kernel("EditDistance", Comparable{}, RunEditDistance{});

}  // namespace
}  // namespace panto
