#include "panto/nn/data/element.h"

#include <iterator>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/tensor/print.h"

namespace panto {

Element detail::to_element(std::vector<Tensor> tensors) { return Element(std::move(tensors)); }
Element::Element(std::vector<Tensor> tensors)
    : tensors_(std::make_move_iterator(tensors.begin()), std::make_move_iterator(tensors.end())) {}
Element::Element(std::initializer_list<Tensor> tensors) : tensors_(tensors) {}

void Element::out_of_range(size_t i) const {
  failf(Code::kOutOfRange, "element: expected a tensor in [0, {}), got {}", size(), i);
}

void Element::wrong_size(size_t count) const {
  invalid("element: expected one of {} tensors, got {}", count, to_string());
}

Element::operator Tensor() const {
  expect_size(1);
  return tensors_[0];
}

Tensor& Element::of_pair(size_t i) {
  expect_size(2);
  return tensors_[i];
}

const Tensor& Element::of_pair(size_t i) const {
  expect_size(2);
  return tensors_[i];
}

std::string Element::to_string() const {
  std::string text = "(";
  for (const Tensor& t : tensors_) {
    text += fmt::format("{}{}", text.size() > 1 ? ", " : "",
                        t.defined() ? type_text(t.dtype(), t.partial_shape()) : "undefined");
  }
  return text + ")";
}

}  // namespace panto
