#include "panto/nn/layers/recurrent/cell.h"

#include <typeinfo>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/caller.h"
#include "panto/lib/ops/create.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/products.h"
#include "panto/nn/layers/core/drops.h"
#include "panto/nn/layers/summary.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"
#include "panto/ops/nn.h"

namespace panto {
namespace detail {

void expect_cell_sizes(std::string_view cell, int64_t inputs, int64_t units) {
  if (inputs < 1 || units < 1) invalid("{}: expected positive sizes, got {} and {}", cell, inputs, units);
}

void expect_sequence_of(std::string_view layer, const Tensor& x, int64_t inputs) {
  if (PartialShape{-1, -1, inputs}.compatible_with(x.partial_shape())) return;
  invalid("{}: expected an input of shape [batch, steps, {}], got {}", layer, inputs, x.partial_shape().to_string());
}

void expect_step_of(std::string_view cell, const Tensor& x, int64_t inputs) {
  if (PartialShape{-1, inputs}.compatible_with(x.partial_shape())) return;
  invalid("{}: expected an input of shape [batch, {}], got {}", cell, inputs, x.partial_shape().to_string());
}

Tensor project(const Tensor& x, const Variable& kernel, const Tensor& bias) {
  Tensor y = x.partial_shape().rank() == 3 ? batch_matmul(x, kernel) : matmul(x, kernel);
  return bias.defined() ? bias_add(std::move(y), bias) : y;
}

Tensor dropped_input(const Tensor& x, double rate, bool one_step) {
  if (!in_training() || rate == 0) return x;
  if (one_step) return x * dropout_factors(x, rate);
  const int steps[] = {1};
  return x * dropout_factors(x, rate, steps);
}

Tensor zero_rows(const Tensor& x, int64_t size) {
  const PartialShape& shape = x.partial_shape();
  if (shape.known_rank() && shape.dim(0) >= 0) return zeros({shape.dim(0), size}, x.dtype());
  return zeros({panto::shape(x)[0], size}, x.dtype());
}

Tensor state_factors(const Tensor& x, int64_t units, double rate) {
  if (!in_training() || rate == 0) return {};
  return dropout_factors(zero_rows(x, units), rate);
}

}  // namespace detail

RnnCell::~RnnCell() = default;
int64_t RnnCell::output_size() const { return state_sizes().front(); }
Parts RnnCell::parts() const { return {}; }
std::string RnnCell::to_string() const { return class_name(typeid(*this)) + "()"; }

RnnStep RnnCell::operator()(const Tensor& x, const RnnState& state, std::source_location where) const {
  return from_caller(where, [&] {
    const size_t states = state_sizes().size();
    if (!state.empty() && state.size() != states) {
      invalid("{}: expected {} states, got {}", to_string(), states, state.size());
    }
    return step(x, state.empty() ? start(x, true).state : state);
  });
}

RnnCell::Sequence RnnCell::prepare(const Tensor& x, bool) const { return {x, {}}; }
RnnStep RnnCell::advance(const Tensor& x, const RnnState& state, const std::vector<Tensor>&) const {
  return step(x, state);
}

RnnStep RnnCell::start(const Tensor& x, bool) const {
  RnnStep begin{.output = detail::zero_rows(x, output_size())};
  for (const int64_t size : state_sizes()) begin.state.push_back(detail::zero_rows(x, size));
  return begin;
}

void RnnCell::expect_sequence(const Tensor& x, std::string_view layer) const {
  const PartialShape& shape = x.partial_shape();
  if (shape.known_rank() && shape.rank() >= 2) return;
  invalid("{}: expected an input of shape [batch, steps, ...], got {}", layer, shape.to_string());
}

std::shared_ptr<const RnnCell> RnnCell::fresh() const { return nullptr; }

// ---- StackedRnnCells ------------------------------------------------------------------------------------------------

StackedRnnCells::StackedRnnCells(std::vector<std::shared_ptr<const RnnCell>> cells) : cells_(std::move(cells)) {
  if (cells_.empty()) invalid("StackedRnnCells: expected at least one cell, got none");
  for (const auto& cell : cells_) {
    if (!cell) invalid("StackedRnnCells: expected cells, got a null pointer");
  }
}

std::vector<int64_t> StackedRnnCells::state_sizes() const {
  std::vector<int64_t> all;
  for (const auto& cell : cells_) {
    const std::vector<int64_t> sizes = cell->state_sizes();
    all.insert(all.end(), sizes.begin(), sizes.end());
  }
  return all;
}

RnnStep StackedRnnCells::step(const Tensor& x, const RnnState& state) const {
  RnnStep all{.output = x};
  auto next = state.begin();
  for (const auto& cell : cells_) {
    const auto end = next + static_cast<std::ptrdiff_t>(cell->state_sizes().size());
    RnnStep one = cell->step(all.output, RnnState(next, end));
    next = end;
    all.output = std::move(one.output);
    all.state.insert(all.state.end(), one.state.begin(), one.state.end());
  }
  return all;
}

RnnStep StackedRnnCells::start(const Tensor& x, bool one_step) const {
  RnnStep all{.output = x};
  for (const auto& cell : cells_) {
    RnnStep one = cell->start(all.output, one_step);
    all.output = std::move(one.output);
    all.state.insert(all.state.end(), one.state.begin(), one.state.end());
    one_step = true;  // from the second cell on, the input is one step's output
  }
  return all;
}

Parts StackedRnnCells::parts() const {
  Parts all;
  for (const auto& cell : cells_) all = Parts{all, cell->parts()};
  return all;
}

void StackedRnnCells::expect_sequence(const Tensor& x, std::string_view layer) const {
  cells_.front()->expect_sequence(x, layer);
}

std::shared_ptr<const RnnCell> StackedRnnCells::fresh() const {
  std::vector<std::shared_ptr<const RnnCell>> others;
  for (const auto& cell : cells_) {
    others.push_back(cell->fresh());
    if (!others.back()) return nullptr;
  }
  return std::make_shared<const StackedRnnCells>(std::move(others));
}

std::string StackedRnnCells::to_string() const {
  std::string text;
  for (const auto& cell : cells_) text += (text.empty() ? "" : ", ") + cell->to_string();
  return "StackedRnnCells(" + text + ")";
}

}  // namespace panto
