// What variants of the op table hold: lists of tensors. A sample's number is a list of one.
#pragma once

#include <string>

#include "panto/lib/core/tensor/tensor.h"

namespace panto::test {

// A list of one number; whether it is one, and which (else NaN).
Variant variant_of(double value);
bool is_number(const Variant& variant);
double number_of(const Variant& variant);

// The list of the slices of `value` along its first dimension.
Tensor make_list(const Tensor& value);
// The elements of the lists that `variants` holds, one after the other; those that are not set are zeros.
Tensor stacked(const Tensor& variants);
// Empty if two lists have the same type and elements.
std::string list_difference(const Variant& expected, const Variant& actual);

}  // namespace panto::test
