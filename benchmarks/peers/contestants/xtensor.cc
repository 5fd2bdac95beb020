// xtensor's contestant. lint: allow(built) roster.py compiles it
#include <array>
#include <iostream>
#include <xtensor-blas/xlinalg.hpp>
#include <xtensor/xadapt.hpp>
#include <xtensor/xmath.hpp>
#include <xtensor/xnoalias.hpp>
#include <xtensor/xtensor.hpp>

#include "panto/benchmarks/peers/contestants/expressions.h"

namespace {

using Matrix = xt::xtensor<float, 2>;
using Matrices = std::vector<Matrix>;

Matrix matrix(const float* data, size_t rows, size_t columns) {
  return xt::adapt(data, rows * columns, xt::no_ownership(), std::array<size_t, 2>{rows, columns});
}

void softmax(const Matrices& x, Matrix& y) {
  const Matrix largest = xt::amax(x[0], {1}, xt::keep_dims);
  xt::noalias(y) = xt::exp(x[0] - largest);
  const Matrix sum = xt::sum(y, {1}, xt::keep_dims);
  y /= sum;
}

void layer_norm(const Matrices& x, Matrix& y) {
  const Matrix mean = xt::mean(x[0], {1}, xt::keep_dims);
  xt::noalias(y) = x[0] - mean;
  const Matrix scale = 1.0f / xt::sqrt(xt::mean(xt::square(y), {1}, xt::keep_dims) + 1e-5f);
  xt::noalias(y) = y * scale * x[1] + x[2];  // element by element: y may be on both sides
}

}  // namespace

int main() {
  peers::Expressions<Matrix> w(matrix);
  w.add("add", [](const Matrices& x, Matrix& y) { xt::noalias(y) = x[0] + x[1]; });
  w.add("mul", [](const Matrices& x, Matrix& y) { xt::noalias(y) = x[0] * x[1]; });
  w.add("matmul", [](const Matrices& x, Matrix& y) { y = xt::linalg::dot(x[0], x[1]); });
  w.add("exp", [](const Matrices& x, Matrix& y) { xt::noalias(y) = xt::exp(x[0]); });
  w.add("tanh", [](const Matrices& x, Matrix& y) { xt::noalias(y) = xt::tanh(x[0]); });
  w.add_fused("gelu", [](const Matrices& x, Matrix& y) {
    xt::noalias(y) = 0.5f * x[0] * (1.0f + xt::erf(x[0] * 0.7071067811865476f));
  });
  w.add("sum", [](const Matrices& x, Matrix& y) {
    y.resize({1, 1});
    y(0, 0) = xt::sum(x[0], xt::evaluation_strategy::immediate)();
  });
  w.add("rows", [](const Matrices& x, Matrix& y) { y = xt::sum(x[0], {1}, xt::keep_dims); });
  w.add("columns", [](const Matrices& x, Matrix& y) { y = xt::sum(x[0], {0}, xt::keep_dims); });
  w.add("softmax", softmax);
  w.add("transpose", [](const Matrices& x, Matrix& y) { xt::noalias(y) = xt::transpose(x[0]); });
  w.add("bias_add", [](const Matrices& x, Matrix& y) { xt::noalias(y) = x[0] + x[1]; });
  w.add("layer_norm", layer_norm);
  return peers::serve(std::cin, std::cout, [&](const auto&... what) { return w.make(what...); });
}
