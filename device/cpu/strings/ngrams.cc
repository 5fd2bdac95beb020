// Kernel of StringNGrams.
#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/strings/strings.h"
#include "panto/device/op_kernels.h"
#include "panto/lib/base/checked.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/tensor/tensor_alloc.h"

namespace panto {
namespace {

// The n-grams of `width` tokens of a sequence that has `pad` tokens of padding on both sides.
struct Runs {
  int64_t first, length;  // the sequence, in the data
  int64_t width, pad;
  int64_t count() const { return std::max<int64_t>(0, length + 2 * pad - width + 1); }
};

class NGrams {
 public:
  explicit NGrams(const KernelContext& c)
      : data(c.data<std::string>(0)),
        separator(c.text("separator")),
        left(c.text("left_pad")),
        right(c.text("right_pad")),
        pad(c.integer("pad_width")),
        keep_short(c.flag("preserve_short_sequences")),
        widths(c.integers("ngram_widths")) {}

  // Returns the n-grams of a sequence, in order.
  std::vector<Runs> runs(int64_t first, int64_t length) const {
    std::vector<Runs> all;
    bool some = false;
    for (const int64_t width : widths) {
      all.push_back({first, length, width, std::min(pad < 0 ? width - 1 : pad, width - 1)});
      some = some || all.back().count() > 0;
    }
    if (some || !keep_short || length == 0) return all;
    if (pad < 0) invalid("pad_width: expected at least 0, as there are no ngram_widths, got {}", pad);
    return {{first, length, length + 2 * pad, pad}};
  }

  // Returns token k of a padded sequence.
  std::string_view token(const Runs& r, int64_t k) const {
    if (k < r.pad) return left;
    return k < r.pad + r.length ? std::string_view(data[r.first + k - r.pad]) : right;
  }
  // Returns the number of bytes of all n-grams.
  double size(const Runs& r) const {
    const int64_t count = r.count();
    if (count == 0) return 0;
    double bytes =
        static_cast<double>(count) * static_cast<double>(r.width - 1) * static_cast<double>(separator.size());
    // Token k is in all n-grams that begin at most width - 1 tokens before it.
    const int64_t all = r.length + 2 * r.pad;
    for (int64_t k = 0; k < all; ++k) {
      const int64_t in = std::min(k, count - 1) - std::max<int64_t>(0, k - r.width + 1) + 1;
      bytes += static_cast<double>(in) * static_cast<double>(token(r, k).size());
    }
    return bytes;
  }
  std::string text(const Runs& r, int64_t begin) const {
    std::string joined(token(r, begin));
    for (int64_t k = begin + 1; k < begin + r.width; ++k) {
      joined += separator;
      joined += token(r, k);
    }
    return joined;
  }

  const std::string* data;
  std::string_view separator, left, right;
  int64_t pad;
  bool keep_short;
  std::span<const int64_t> widths;
};

struct RunNGrams {
  template <class Splits>
  static void run(KernelContext& c) {
    const int64_t size = c.numel(0), rows = c.numel(1) - 1;
    const auto* splits = c.data<Splits>(1);
    if (rows < 0 && size > 0) invalid("data_splits: expected at least one, got none");
    for (int64_t i = 0; i <= rows; ++i) {
      const int64_t before = i == 0 ? 0 : splits[i - 1];
      if (splits[i] < before || splits[i] > size || (i == 0 && splits[i] != 0)) {
        invalid("data_splits[{}]: expected {} to {}, got {}", i, before, i == 0 ? 0 : size, splits[i]);
      }
    }
    if (rows >= 0 && splits[rows] != size) invalid("data_splits: expected {} last, got {}", size, splits[rows]);

    const NGrams ngrams(c);
    Tensor bounds = allocate_tensor(c.device(), dtype_of<Splits>, Shape{rows + 1});
    auto* bound = mutable_data<Splits>(bounds);
    std::fill_n(bound, rows + 1, Splits(0));
    int64_t count = 0;
    double bytes = 0;
    const auto sequence = [&](int64_t i) { return ngrams.runs(splits[i], splits[i + 1] - splits[i]); };
    constexpr double kMost = 17179869184.0;
    strings::for_each_in_order(size == 0 ? 0 : rows, [&](int64_t i) {
      for (const Runs& r : sequence(i)) {
        count = checked_add(count, r.count());
        bytes += static_cast<double>(r.count()) * (sizeof(std::string) + static_cast<double>(r.width));
        if (bytes <= kMost) bytes += ngrams.size(r);
        if (bytes > kMost) failf(Code::kResourceExhausted, "ngrams: expected at most 16 GiB, got {:.0f} bytes", bytes);
      }
      bound[i + 1] = checked_cast<Splits>(count, "ngrams_splits");
    });
    Tensor all = allocate_tensor(c.device(), kString, Shape{count});
    auto* to = mutable_data<std::string>(all);
    strings::for_each_in_order(size == 0 ? 0 : rows, [&](int64_t i) {
      for (const Runs& r : sequence(i)) {
        for (int64_t k = 0; k < r.count(); ++k) *to++ = ngrams.text(r, k);
      }
    });
    c.set_out(0, std::move(all));
    c.set_out(1, std::move(bounds));
  }
};

const CpuKernel ngrams_kernel("StringNGrams", types::index{}, RunNGrams{});

}  // namespace
}  // namespace panto
