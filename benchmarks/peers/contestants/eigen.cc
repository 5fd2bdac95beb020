// Eigen's contestant. lint: allow(built) roster.py compiles it
#include <Eigen/Dense>
#include <cstdlib>
#include <iostream>
#include <unsupported/Eigen/SpecialFunctions>

#include "panto/benchmarks/peers/contestants/expressions.h"

namespace {

using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Matrices = std::vector<Matrix>;

Matrix matrix(const float* data, size_t rows, size_t columns) {
  return Eigen::Map<const Matrix>(data, static_cast<Eigen::Index>(rows), static_cast<Eigen::Index>(columns));
}

void softmax(const Matrices& x, Matrix& y) {
  y = (x[0].colwise() - x[0].rowwise().maxCoeff()).array().exp();
  y.array().colwise() /= y.array().rowwise().sum().eval();
}

void layer_norm(const Matrices& x, Matrix& y) {
  y = x[0].colwise() - x[0].rowwise().mean();
  y.array().colwise() *= (y.array().square().rowwise().mean() + 1e-5f).rsqrt().eval();
  y.array().rowwise() *= x[1].row(0).array();
  y.rowwise() += x[2].row(0);
}

}  // namespace

int main(int argc, char** argv) {
  Eigen::setNbThreads(argc > 1 ? std::atoi(argv[1]) : 2);
  peers::Expressions<Matrix> w(matrix);
  w.add("add", [](const Matrices& x, Matrix& y) { y = x[0] + x[1]; });
  w.add("mul", [](const Matrices& x, Matrix& y) { y = x[0].cwiseProduct(x[1]); });
  w.add("matmul", [](const Matrices& x, Matrix& y) { y.noalias() = x[0] * x[1]; });
  w.add("exp", [](const Matrices& x, Matrix& y) { y = x[0].array().exp(); });
  w.add("tanh", [](const Matrices& x, Matrix& y) { y = x[0].array().tanh(); });
  w.add_fused("gelu", [](const Matrices& x, Matrix& y) {
    y = 0.5f * x[0].array() * (1.0f + (x[0].array() * 0.7071067811865476f).erf());
  });
  w.add("sum", [](const Matrices& x, Matrix& y) { y.setConstant(1, 1, x[0].sum()); });
  w.add("rows", [](const Matrices& x, Matrix& y) { y = x[0].rowwise().sum(); });
  w.add("columns", [](const Matrices& x, Matrix& y) { y = x[0].colwise().sum(); });
  w.add("softmax", softmax);
  w.add("transpose", [](const Matrices& x, Matrix& y) { y = x[0].transpose(); });
  w.add("bias_add", [](const Matrices& x, Matrix& y) { y = x[0].rowwise() + x[1].row(0); });
  w.add("layer_norm", layer_norm);
  return peers::serve(std::cin, std::cout, [&](const auto&... what) { return w.make(what...); });
}
