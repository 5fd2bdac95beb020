// What wrong calls are made of: values, shapes and attributes that are seldom given. Internal to hostile.cc.
#pragma once

#include <vector>

#include "panto/lib/core/op/signature.h"
#include "panto/lib/core/tensor/tensor.h"
#include "panto/tests/random/program/rng.h"

namespace panto::random {

// Handles and variants that ops without inputs make.
const std::vector<Tensor>& handles();

Shape draw_shape(Rng& rng);
PartialShape draw_partial_shape(Rng& rng);
// Of those that are allowed; float32 if none is.
DType draw_type(Rng& rng, DTypeSet allowed);
Tensor draw_tensor_of(Rng& rng, DType t, const Shape& shape);
// Of any shape; any handle.
Tensor draw_input(Rng& rng, DType t);
// Mostly one that the attribute's definition allows.
AttrValue draw_attr(Rng& rng, const AttrDef& def);

// Of few elements, mostly.
template <class T, class Draw>
std::vector<T> draw_list(Rng& rng, const Draw& draw) {
  static const std::vector<int> kLengths = {0, 1, 2, 2, 3, 4, 4, 5};
  std::vector<T> list;
  for (int n = rng.chance(0.02) ? 40 : rng.pick(kLengths); n > 0; --n) list.push_back(draw());
  return list;
}

}  // namespace panto::random
