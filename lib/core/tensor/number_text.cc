#include "panto/lib/core/number_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string_view>

namespace panto {
namespace {

// The decimal digits d.ddd... of a finite number, and the exponent of the first digit.
struct Decimal {
  bool negative = false;
  std::string digits;
  int exponent = 0;
};

// From "d.ddde+xx".
Decimal parse_scientific(std::string_view text) {
  Decimal d;
  if (text.front() == '-') {
    d.negative = true;
    text.remove_prefix(1);
  }
  const size_t e = text.find('e');
  for (char c : text.substr(0, e)) {
    if (c != '.') d.digits += c;
  }
  text.remove_prefix(e + (text[e + 1] == '+' ? 2 : 1));
  std::from_chars(text.data(), text.data() + text.size(), d.exponent);
  return d;
}

constexpr size_t kBuffer = 1200;  // a double has at most 309 digits before the point and 1074 after, of which 767 count

template <class T>
Decimal shortest(T value) {
  char buffer[kBuffer];
  if constexpr (std::is_floating_point_v<T>) {
    const auto end = std::to_chars(buffer, buffer + kBuffer, value, std::chars_format::scientific).ptr;
    return parse_scientific({buffer, end});
  } else {
    // 16-bit types: the lowest precision that converts back to the same number; five digits always suffice.
    for (int precision = 0;; ++precision) {
      const auto wide = static_cast<float>(value);
      const auto end = std::to_chars(buffer, buffer + kBuffer, wide, std::chars_format::scientific, precision).ptr;
      float back = 0;
      std::from_chars(buffer, end, back);
      if (T(back).bits == value.bits || precision == 8) return parse_scientific({buffer, end});
    }
  }
}

template <class T>
auto wide(T value) {
  if constexpr (std::is_floating_point_v<T>) {
    return value;
  } else {
    return static_cast<float>(value);
  }
}

void trim_zeros(std::string& text) { text.erase(text.find_last_not_of('0') + 1); }

// "12.5", "3." with at most `precision` digits after the point, correctly rounded; no trailing zeros.
template <class T>
std::string positional(T value, int precision) {
  const Decimal d = shortest(value);
  const int after = static_cast<int>(d.digits.size()) - 1 - d.exponent;
  std::string text;
  if (after > precision) {
    char buffer[kBuffer];
    const auto end = std::to_chars(buffer, buffer + kBuffer, wide(value), std::chars_format::fixed, precision).ptr;
    text.assign(buffer, end);
    if (text.find('.') == std::string::npos) text += '.';
    trim_zeros(text);
    return text;
  }
  if (d.negative) text += '-';
  if (d.exponent < 0) {
    text += "0.";
    text.append(static_cast<size_t>(-d.exponent - 1), '0').append(d.digits);
  } else {
    const auto before = static_cast<size_t>(d.exponent) + 1;
    text += d.digits.substr(0, before);
    if (d.digits.size() < before) text.append(before - d.digits.size(), '0');
    text += '.';
    if (d.digits.size() > before) text += d.digits.substr(before);
  }
  const size_t point = text.find('.');
  const size_t last = text.find_last_not_of('0');
  text.erase(std::max(point, last) + 1);
  return text;
}

// "1.25e-05" with exactly `precision` digits after the point and at least `exponent_digits` digits in the exponent.
template <class T>
std::string scientific(T value, int precision, size_t exponent_digits) {
  char buffer[kBuffer];
  const auto end = std::to_chars(buffer, buffer + kBuffer, wide(value), std::chars_format::scientific, precision).ptr;
  std::string text(buffer, end);
  const size_t e = text.find('e');
  const size_t digits = text.size() - e - 2;
  if (digits < exponent_digits) text.insert(e + 2, exponent_digits - digits, '0');
  if (precision == 0) text.insert(e, 1, '.');
  return text;
}

// The magnitude from which NumPy 2.4 writes numbers with an exponent: where the type cannot represent all integers.
template <class T>
struct Cutoff;
template <>
struct Cutoff<double> {
  static constexpr double kArray = 1e8;
  static constexpr double kScalar = 1e16;
};
template <>
struct Cutoff<float> {
  static constexpr double kArray = 1e6;
  static constexpr double kScalar = 1e6;
};
template <>
struct Cutoff<Half> {
  static constexpr double kArray = 1e3;
  static constexpr double kScalar = 1e3;
};
template <>
struct Cutoff<BFloat16> : Cutoff<Half> {};

template <class T>
T magnitude(T value) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::fabs(value);
  } else {
    value.bits &= 0x7fff;
    return value;
  }
}

// The same comparisons as NumPy, computed in the type itself.
template <class T>
bool wants_exponent(T largest, T smallest) {
  if (wide(largest) >= Cutoff<T>::kArray) return true;
  if constexpr (std::is_same_v<T, double>) {
    return smallest < 0.0001 || largest / smallest > 1000;
  } else {
    return wide(smallest) < wide(T(0.0001f)) || wide(T(wide(largest) / wide(smallest))) > 1000;
  }
}

template <class T>
std::string non_finite(T value, bool always_sign) {
  if (std::isnan(wide(value))) return always_sign ? "+nan" : "nan";
  return wide(value) < 0 ? "-inf" : always_sign ? "+inf" : "inf";
}

std::string signed_text(std::string text, bool always_sign) {
  return always_sign && text.front() != '-' ? "+" + text : text;
}

}  // namespace

template <class T>
FloatLayout<T>::FloatLayout(std::span<const T> values, int precision, bool always_sign)
    : precision_(precision), always_sign_(always_sign) {
  bool any = false;
  T largest{};
  T smallest{};
  size_t finite = 0;
  bool negative_infinity = false;
  for (T value : values) {
    if (!std::isfinite(wide(value))) {
      negative_infinity |= wide(value) < 0;
      continue;
    }
    ++finite;
    if (wide(value) == 0) continue;
    const T size = magnitude(value);
    if (!any || wide(size) > wide(largest)) largest = size;
    if (!any || wide(size) < wide(smallest)) smallest = size;
    any = true;
  }
  scientific_ = any && wants_exponent(largest, smallest);
  int needed = 0;  // digits after the point
  for (T value : values) {
    if (!std::isfinite(wide(value))) continue;
    std::string text;
    if (scientific_) {
      const int digits = static_cast<int>(shortest(value).digits.size()) - 1;
      text = signed_text(scientific(value, std::min(digits, precision), 2), always_sign);
      const size_t e = text.find('e');
      exponent_ = std::max(exponent_, text.size() - e - 2);
      text.erase(e);
      // Rounding may have left trailing zeros, which are removed.
      text.erase(std::max(text.find_last_not_of('0'), text.find('.')) + 1);
    } else {
      text = signed_text(positional(value, precision), always_sign);
    }
    const size_t point = text.find('.');
    left_ = std::max(left_, point);
    needed = std::max(needed, static_cast<int>(text.size() - point - 1));
  }
  if (scientific_) precision_ = needed;
  right_ = static_cast<size_t>(needed) + (scientific_ ? exponent_ + 2 : 0);
  if (finite != values.size()) {
    const size_t offset = right_ + 1;
    const size_t longest = std::max(size_t{3}, size_t{3} + (always_sign || negative_infinity ? 1 : 0));
    if (longest > offset) left_ = std::max(left_, longest - offset);
  }
}

template <class T>
std::string FloatLayout<T>::text(T value) const {
  const size_t width = left_ + right_ + 1;
  std::string text;
  if (!std::isfinite(wide(value))) {
    text = non_finite(value, always_sign_);
    return text.size() < width ? text.insert(0, width - text.size(), ' ') : text;
  }
  text =
      signed_text(scientific_ ? scientific(value, precision_, exponent_) : positional(value, precision_), always_sign_);
  const size_t point = text.find('.');
  if (point < left_) text.insert(0, left_ - point, ' ');
  if (text.size() < width) text.append(width - text.size(), ' ');
  return text;
}

template <class T>
std::string scalar_text(T value) {
  if (!std::isfinite(wide(value))) return non_finite(value, false);
  const auto size = static_cast<double>(wide(magnitude(value)));
  if (size == 0 || (size >= 1e-4 && size < Cutoff<T>::kScalar)) {
    std::string text = positional(value, std::numeric_limits<int>::max());
    if (text.back() == '.') text += '0';
    return text;
  }
  const Decimal d = shortest(value);
  std::string text = d.negative ? "-" : "";
  text += d.digits[0];
  if (d.digits.size() > 1) text.append(".").append(d.digits, 1);
  const std::string exponent = std::to_string(std::abs(d.exponent));
  text += d.exponent < 0 ? "e-" : "e+";
  if (exponent.size() < 2) text += '0';
  return text + exponent;
}

template <class T>
std::string complex_scalar_text(T real, T imaginary) {
  const auto part = [](T value) {
    std::string text = scalar_text(value);
    if (text.ends_with(".0")) text.erase(text.size() - 2);
    return text;
  };
  if (real == 0 && !std::signbit(real)) return part(imaginary) + "j";
  return "(" + part(real) + signed_text(part(imaginary), true) + "j)";
}

template class FloatLayout<float>;
template class FloatLayout<double>;
template class FloatLayout<Half>;
template class FloatLayout<BFloat16>;
template std::string scalar_text(float);
template std::string scalar_text(double);
template std::string scalar_text(Half);
template std::string scalar_text(BFloat16);
template std::string complex_scalar_text(float, float);
template std::string complex_scalar_text(double, double);

}  // namespace panto
