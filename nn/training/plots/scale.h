// Where a plot's values lie on its axes. Internal.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "panto/lib/base/text/format.h"
#include "panto/nn/training/plot.h"

namespace panto::plots {

inline constexpr size_t kMaxCurves = 8;

// Maps values to shares of the axes' lengths.
class Scale {
 public:
  Scale(const std::vector<Curve>& curves, bool log_y) : log_(log_y) {
    for (const Curve& c : curves) {
      longest_ = std::max(longest_, c.values.size());
      for (const double v : c.values) {
        const std::optional<double> y = height(v);
        if (!y) {
          ++gaps_;
          continue;
        }
        low_ = any_ ? std::min(low_, *y) : *y;
        high_ = any_ ? std::max(high_, *y) : *y;
        any_ = true;
      }
    }
    if (low_ == high_) {  // widened, so that the values are in the middle
      constexpr double kTiny = 1e-300, kMost = std::numeric_limits<double>::max();
      const double room = std::fabs(low_) < kTiny ? 1 : std::fabs(low_) / 2;
      low_ = std::max(low_ - room, -kMost);
      high_ = std::min(high_ + room, kMost);
    }
  }

  bool any() const { return any_; }
  size_t gaps() const { return gaps_; }
  size_t last_x() const { return longest_ > 0 ? longest_ - 1 : 0; }
  double x(size_t i) const { return longest_ > 1 ? static_cast<double>(i) / static_cast<double>(longest_ - 1) : 0.5; }
  // From 0 at the bottom to 1 at the top; none for a gap.
  std::optional<double> y(double value) const {
    const std::optional<double> at = height(value);
    if (!at) return at;
    // Uses halves if the difference overflows; not otherwise, since halves of the smallest numbers are zero.
    const double whole = high_ - low_;
    const double share = std::isfinite(whole) ? (*at - low_) / whole : (*at / 2 - low_ / 2) / (high_ / 2 - low_ / 2);
    return std::clamp(share, 0.0, 1.0);
  }
  // The value at a share of the axis.
  double value(double share) const {
    const double at = low_ * (1 - share) + high_ * share;
    return log_ ? std::pow(10, at) : at;
  }
  std::string label(double share) const { return fmt::format("{:.4g}", value(share)); }

 private:
  std::optional<double> height(double value) const {
    if (!std::isfinite(value) || (log_ && !(value > 0))) return std::nullopt;
    return log_ ? std::log10(value) : value;
  }

  bool log_, any_ = false;
  double low_ = 0, high_ = 0;
  size_t longest_ = 0, gaps_ = 0;
};

// Describes the values that cannot be drawn.
inline std::string gaps_text(const Scale& scale, bool log_y) {
  return fmt::format("{} value{} {} not {}", scale.gaps(), scale.gaps() == 1 ? "" : "s",
                     scale.gaps() == 1 ? "is" : "are", log_y ? "positive and finite" : "finite");
}

// Throws InvalidArgument for sizes out of range, and for more curves than there are colours and marks.
void check(const std::vector<Curve>& curves, const PlotOptions& options);

}  // namespace panto::plots
