#include "panto/nn/data/element.h"

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/tensor/print.h"

namespace panto {

std::vector<Tensor>::const_iterator Element::begin() const { return tensors_.begin(); }
std::vector<Tensor>::const_iterator Element::end() const { return tensors_.end(); }
Element detail::to_element(std::vector<Tensor> tensors) { return Element(std::move(tensors)); }
Element::Element(std::vector<Tensor> tensors) : tensors_(std::move(tensors)) {}
Element::Element(std::initializer_list<Tensor> tensors) : tensors_(tensors) {}
Element::Element(Tensor tensor) { tensors_.push_back(std::move(tensor)); }

const Tensor& Element::operator[](size_t i) const {
  if (i >= tensors_.size()) failf(Code::kOutOfRange, "element: expected a tensor in [0, {}), got {}", size(), i);
  return tensors_[i];
}

void Element::expect_size(size_t count) const {
  if (size() != count) invalid("element: expected one of {} tensors, got {}", count, to_string());
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
