// Kernels of ops that convert numbers to text and text to numbers.
#include <fmt/format.h>

#include <complex>
#include <string>
#include <string_view>

#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/strings/parsed_number.h"
#include "panto/device/cpu/strings/strings.h"
#include "panto/device/op_kernels.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/tensor/half.h"

namespace panto {
namespace {

// ---- Text of numbers ------------------------------------------------------------------------------------------------

// The attributes of AsString.
class Layout {
 public:
  explicit Layout(const KernelContext& c)
      : flag_(c.text("fill").empty() ? '\0' : c.text("fill")[0]),
        width_(c.integer("width")),
        precision_(c.integer("precision")) {
    const std::string width = width_ > 0 ? std::to_string(width_) : "";
    const char kind = c.flag("scientific") ? 'e' : c.flag("shortest") ? 'g' : 'f';
    const std::string digits = precision_ >= 0 ? "." + std::to_string(precision_) : "";
    real_ = "{:" + flag(true) + width + digits + kind + "}";
    signed_ = "{:" + flag(true) + width + "d}";
    unsigned_ = "{:" + flag(false) + width + "d}";
  }

  std::string text(double value) const { return fmt::vformat(real_, fmt::make_format_args(value)); }
  std::string text(int64_t value) const { return fmt::vformat(signed_, fmt::make_format_args(value)); }
  std::string text(uint64_t value) const { return fmt::vformat(unsigned_, fmt::make_format_args(value)); }
  std::string text(const std::string& value) const {
    if (width_ <= 0) return value;
    std::string shown = precision_ < 0 ? value : value.substr(0, static_cast<size_t>(precision_));
    const auto width = static_cast<size_t>(width_);
    if (shown.size() >= width) return shown;
    const std::string space(width - shown.size(), ' ');
    return flag_ == '-' ? shown + space : space + shown;
  }

 private:
  // Translates printf's flag to fmt's, which right-aligns numbers, but left-aligns inf and nan.
  std::string flag(bool has_sign) const {
    switch (flag_) {
      case '-': return "<";
      case '+':
      case ' ': return has_sign ? std::string(">") + flag_ : ">";
      case '0': return width_ > 0 ? "0" : "";
      case '#': return ">#";
      default: return ">";
    }
  }

  char flag_;
  int64_t width_, precision_;
  std::string real_, signed_, unsigned_;
};

template <class T>
std::string text_of(const Layout& layout, const T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value ? "true" : "false";
  } else if constexpr (std::is_same_v<T, std::string>) {
    return layout.text(value);
  } else if constexpr (std::is_signed_v<T> && std::is_integral_v<T>) {
    return layout.text(int64_t{value});
  } else if constexpr (std::is_integral_v<T>) {
    return layout.text(uint64_t{value});
  } else if constexpr (std::is_floating_point_v<T>) {
    return layout.text(static_cast<double>(value));
  } else {
    return layout.text(static_cast<double>(static_cast<float>(value)));
  }
}
template <class T>
std::string text_of(const Layout& layout, const std::complex<T>& value) {
  return "(" + text_of(layout, value.real()) + "," + text_of(layout, value.imag()) + ")";
}

struct RunAsString {
  template <class T>
  static void run(KernelContext& c) {
    const Layout layout(c);
    const T* in = c.data<T>(0);
    auto* out = c.out_data<std::string>(0);
    strings::for_each_element(c, [&](int64_t i) { out[i] = text_of(layout, in[i]); });
  }
};

// ---- Numbers of text ------------------------------------------------------------------------------------------------

struct RunToNumber {
  template <class T>
  static void run(KernelContext& c) {
    const auto* in = c.data<std::string>(0);
    T* out = c.out_data<T>(0);
    strings::for_each_in_order(c.out_numel(0), [&](int64_t i) {
      if (!strings::parse_number(in[i], out[i])) {
        invalid("string_tensor[{}]: expected a number that is {}, got '{}'", i, dtype_name(dtype_of<T>), in[i]);
      }
    });
  }
};

using Shown = types::Join<types::numbers, TypeList<std::string>>::type;
const CpuKernel as_string_kernel("AsString", Shown{}, RunAsString{});
const CpuKernel to_number_kernel("StringToNumber", TypeList<float, double, int32_t, int64_t, uint32_t, uint64_t>{},
                                 RunToNumber{});

}  // namespace
}  // namespace panto
