// Decimal text of floating-point numbers, as NumPy writes it: the fewest digits that distinguish the number from all
// other numbers of its type. Internal to printing.
#pragma once

#include <span>
#include <string>

#include "panto/lib/core/tensor/half.h"

namespace panto {

// The text of one number: "1.0", "0.1", "1e-05", "nan". T is float, double, Half or BFloat16.
template <class T>
std::string scalar_text(T value);
// "(1+2j)", "2j" where the real part is zero.
template <class T>
std::string complex_scalar_text(T real, T imaginary);

// The common format of the numbers of an array, chosen from all shown numbers so that their decimal points align.
template <class T>
class FloatLayout {
 public:
  // At most `precision` digits after the point.
  FloatLayout(std::span<const T> values, int precision, bool always_sign);
  std::string text(T value) const;

 private:
  int precision_;
  bool always_sign_;
  bool scientific_ = false;
  size_t left_ = 0;      // characters before the point
  size_t right_ = 0;     // characters after it, the exponent among them
  size_t exponent_ = 0;  // digits of the exponent
};

}  // namespace panto
