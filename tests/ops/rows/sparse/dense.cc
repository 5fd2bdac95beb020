// Samples of ops of sparse and dense tensors together. References write out the dense tensor and go through its
// elements, in float64.
#include <algorithm>
#include <string>

#include "panto/tests/ops/reference.h"
#include "panto/tests/ops/table.h"

namespace panto::test::dense_rows {
namespace {

const Array kIndices = array({3, 2}, {0, 0, 0, 2, 1, 1});
const Array kShape = list({2, 3});

Array complex_zeros(const Index& dims, bool is_complex) {
  Array a;
  a.dims = dims;
  a.values.assign(static_cast<size_t>(a.numel()), 0);
  if (is_complex) a.imag = a.values;
  return a;
}
void set(Array& a, size_t i, Complex value) {
  a.values[i] = value.real();
  if (!a.imag.empty()) a.imag[i] = value.imag();
}

// The flat position of row i of `indices` in `dims`.
size_t place(const Array& indices, size_t i, const Index& dims) {
  size_t at = 0;
  for (size_t d = 0; d < dims.size(); ++d) {
    at = at * static_cast<size_t>(dims[d]) + static_cast<size_t>(integer(indices, i * dims.size() + d));
  }
  return at;
}

// The tensor whose entries add up.
Array written_out(const Array& indices, const Array& values, const Index& dims) {
  Array dense = complex_zeros(dims, !values.imag.empty());
  for (size_t i = 0; i < values.values.size(); ++i) {
    const size_t at = place(indices, i, dims);
    set(dense, at, dense.complex(at) + values.complex(i));
  }
  return dense;
}

std::vector<Array> to_dense(const Given& g) {
  const Array &indices = g.in[0], &values = g.in[2];
  const Index dims = integers(g.in[1]);
  Array dense = complex_zeros(dims, !values.imag.empty());
  for (size_t i = 0; i < dense.values.size(); ++i) set(dense, i, g.in[3].complex(0));
  const size_t count = indices.dims.empty() ? 1 : static_cast<size_t>(indices.dims[0]);
  for (size_t i = 0; i < count; ++i) {
    set(dense, place(indices, i, dims), values.complex(values.dims.empty() ? 0 : i));
  }
  return {dense};
}

const std::vector<Sample> kToDense = {
    {.in = {array({3, 2}, {0, 1, 1, 0, 1, 2}), kShape, draw({3}), scalar(1)}},
    {.in = {array({2}, {1, 3}), list({4}), draw({2}), scalar(0)}},
    {.in = {array({2}, {1, 3}), list({4}), scalar(1), scalar(0)}},
    {.in = {scalar(2), list({4}), scalar(1), scalar(0)}},
    {.in = {scalar(2), list({4}), list({1}), scalar(0)}},
    {.in = {array({2, 2}, {1, 2, 0, 0}), kShape, draw({2}), scalar(0)}, .attrs = {{"validate_indices", false}}},
    {.in = {list({}), list({3}), list({}), scalar(1)}},
    {.in = {array({0, 2}, {}), list({0, 3}), list({}), scalar(1)}}};
const std::vector<ErrorSample> kToDenseErrors = {
    {.in = {list({3, 1}), list({4}), draw({2}), scalar(0)},
     .text = "sparse_indices[1]: expected one after the one before, got one that is out of order"},
    {.in = {list({1, 1}), list({4}), draw({2}), scalar(0)},
     .text = "sparse_indices[1]: expected one after the one before, got one that is repeated"},
    {.in = {list({1, 4}), list({4}), draw({2}), scalar(0)},
     .text = "sparse_indices[1,0]: expected one in [0, 4), got 4"},
    {.in = {list({-1, 2}), list({4}), draw({2}), scalar(0)},
     .attrs = {{"validate_indices", false}},
     .text = "sparse_indices[0,0]: expected one in [0, 4), got -1"},
    {.in = {array({1, 1, 1}, {0}), list({4}), draw({1}), scalar(0)},
     .text = "sparse_indices: expected a scalar, vector or matrix, got shape [1,1,1]"},
    {.in = {list({1}), list({2, 3}), draw({1}), scalar(0)}, .text = "length of indices and output_shape"},
    {.in = {list({1, 2}), list({4}), draw({3}), scalar(0)}, .text = "number of sparse_indices and sparse_values"},
    {.in = {list({1}), list({-4}), draw({1}), scalar(0)}},
    {.in = {list({1}), list({4}), draw({1}), list({0})}, .text = "default_value"}};

std::vector<Array> product(const Given& g) {
  const bool adjoint_a = g.flag("adjoint_a"), adjoint_b = g.flag("adjoint_b");
  const Array &b = g.in[3], a = written_out(g.in[0], g.in[1], integers(g.in[2]));
  const int64_t rows = a.dims[adjoint_a ? 1 : 0], inner = a.dims[adjoint_a ? 0 : 1],
                columns = b.dims[adjoint_b ? 0 : 1];
  Array y = complex_zeros({rows, columns}, !b.imag.empty());
  const auto element = [](const Array& m, bool adjoint, int64_t i, int64_t j) {
    const Complex x = m.complex(static_cast<size_t>(adjoint ? j * m.dims[1] + i : i * m.dims[1] + j));
    return adjoint ? std::conj(x) : x;
  };
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      Complex total = 0;
      for (int64_t k = 0; k < inner; ++k) total += element(a, adjoint_a, i, k) * element(b, adjoint_b, k, j);
      set(y, static_cast<size_t>(i * columns + j), total);
    }
  }
  return {y};
}

// In no order, and two at one place.
const Array kMatrix = array({4, 2}, {2, 1, 0, 0, 2, 1, 0, 1});
const std::vector<Sample> kProducts = {
    {.in = {kMatrix, draw({4}), list({3, 2}), draw({2, 5})}},
    {.in = {kMatrix, draw({4}), list({3, 2}), draw({3, 4})}, .attrs = {{"adjoint_a", true}}},
    {.in = {kMatrix, draw({4}), list({3, 2}), draw({5, 2})}, .attrs = {{"adjoint_b", true}}},
    {.in = {kMatrix, draw({4}), list({3, 2}), draw({4, 3})}, .attrs = {{"adjoint_a", true}, {"adjoint_b", true}}},
    {.in = {array({0, 2}, {}), list({}), list({3, 2}), draw({2, 2})}},
    {.in = {array({0, 2}, {}), list({}), list({3, 0}), draw({0, 2})}}};
const std::vector<Sample> kComplexProducts = {
    {.in = {kMatrix, draw_complex({4}), list({3, 2}), draw_complex({2, 3})}},
    {.in = {kMatrix, draw_complex({4}), list({3, 2}), draw_complex({3, 2})}, .attrs = {{"adjoint_a", true}}},
    {.in = {kMatrix, draw_complex({4}), list({3, 2}), draw_complex({3, 2})}, .attrs = {{"adjoint_b", true}}},
    {.in = {kMatrix, draw_complex({4}), list({3, 2}), draw_complex({2, 3})},
     .attrs = {{"adjoint_a", true}, {"adjoint_b", true}}}};
const std::vector<ErrorSample> kProductErrors = {
    {.in = {kMatrix, draw({4}), list({2, 2}), draw({2, 5})}, .text = "a_indices[0,0]: expected one in [0, 2), got 2"},
    {.in = {array({1, 2}, {0, -1}), draw({1}), list({2, 2}), draw({2, 5})},
     .text = "a_indices[0,1]: expected one in [0, 2), got -1"},
    {.in = {kMatrix, draw({4}), list({3, 3}), draw({2, 5})}, .text = "inner dimensions: expected 3, got 2"},
    {.in = {kMatrix, draw({3}), list({3, 2}), draw({2, 5})}, .text = "number of indices and values"},
    {.in = {kMatrix, draw({4}), list({-3, 2}), draw({2, 5})},
     .text = "a_shape: expected dimensions of at least 0, got -3"},
    {.in = {array({1, 3}, {0, 0, 0}), draw({1}), list({3, 2, 1}), draw({2, 5})}},
    {.in = {array({0, 2}, {}), list({}), list({4611686018427387904.0, 2}), draw({2, 5})}}};

std::vector<Array> reduced(const Given& g) {
  const Array x = written_out(g.in[0], g.in[1], integers(g.in[2]));
  const size_t rank = x.dims.size();
  std::vector<bool> reduces(rank);
  for (size_t i = 0; i < g.in[3].values.size(); ++i) reduces[normal_axis(integer(g.in[3], i), rank)] = true;
  Index kept = x.dims, out;
  for (size_t d = 0; d < rank; ++d) {
    if (reduces[d]) kept[d] = 1;
    if (!reduces[d] || g.flag("keep_dims")) out.push_back(kept[d]);
  }
  Array y = complex_zeros(out, !x.imag.empty());
  size_t flat = 0;
  for_each_index(x.dims, [&](const Index& index) {
    size_t to = 0;
    for (size_t d = 0; d < rank; ++d) {
      to = to * static_cast<size_t>(kept[d]) + static_cast<size_t>(reduces[d] ? 0 : index[d]);
    }
    set(y, to, y.complex(to) + x.complex(flat++));
  });
  return {y};
}

// Of entries that are alone at their places.
std::vector<Array> largest(const Given& g) {
  const Index dims = integers(g.in[2]);
  const size_t rank = dims.size();
  std::vector<bool> reduces(rank);
  for (size_t i = 0; i < g.in[3].values.size(); ++i) reduces[normal_axis(integer(g.in[3], i), rank)] = true;
  Index kept = dims, out;
  for (size_t d = 0; d < rank; ++d) {
    if (reduces[d]) kept[d] = 1;
    if (!reduces[d] || g.flag("keep_dims")) out.push_back(kept[d]);
  }
  // Entries in descending order: the first at each place is what is asked for.
  std::vector<size_t> order;
  for (size_t i = 0; i < g.in[1].values.size(); ++i) order.push_back(i);
  std::ranges::sort(order, [&](size_t a, size_t b) { return g.in[1].values[a] > g.in[1].values[b]; });
  Array y = complex_zeros(out, false);
  std::vector<bool> found(y.values.size());
  for (const size_t i : order) {
    size_t to = 0;
    for (size_t d = 0; d < rank; ++d) {
      const size_t index = reduces[d] ? 0 : static_cast<size_t>(integer(g.in[0], i * rank + d));
      to = to * static_cast<size_t>(kept[d]) + index;
    }
    if (!found[to]) y.values[to] = g.in[1].values[i];
    found[to] = true;
  }
  return {y};
}

const Array kCube = array({4, 3}, {0, 1, 0, 1, 0, 2, 1, 1, 1, 0, 1, 0});
const std::vector<Sample> kReductions = {
    {.in = {kIndices, draw({3}), kShape, list({0})}},
    {.in = {kIndices, draw({3}), kShape, list({-1})}, .attrs = {{"keep_dims", true}}},
    {.in = {kIndices, draw({3}), kShape, scalar(1)}},
    {.in = {kIndices, draw({3}), kShape, list({1, -2})}},
    {.in = {kIndices, draw({3}), kShape, list({1, -1})}, .attrs = {{"keep_dims", true}}},
    {.in = {kIndices, draw({3}), kShape, list({})}},
    {.in = {kCube, draw({4}), list({2, 2, 3}), list({0, 2})}},
    {.in = {kCube, draw({4}), list({2, 2, 3}), list({1})}},
    {.in = {array({0, 2}, {}), list({}), kShape, list({1})}}};
const std::vector<ErrorSample> kReductionErrors = {
    {.in = {kIndices, draw({3}), list({1, 3}), list({1})}, .text = "input_indices[2,0]: expected one in [0, 1), got 1"},
    {.in = {kIndices, draw({3}), kShape, list({2})}, .text = "reduction_axes: expected one in [-2, 2), got 2"},
    {.in = {kIndices, draw({3}), kShape, array({1, 1}, {0})},
     .text = "reduction_axes: expected a scalar or vector, got shape [1,1]"},
    {.in = {kIndices, draw({3}), list({-2, 3}), list({1})},
     .text = "input_shape: expected dimensions of at least 0, got -2"},
    {.in = {kIndices, draw({2}), kShape, list({1})}, .text = "number of indices and values"},
    {.in = {kIndices, draw({3}), list({2, 3, 4}), list({1})}, .text = "rank of indices and shape"},
    {.in = {kIndices, draw({3}), list({1099511627776.0, 1099511627776.0}), list({1})}}};

using Pair = Complex (*)(Complex, Complex);
Complex added(Complex a, Complex b) { return a + b; }
Complex multiplied(Complex a, Complex b) { return a * b; }
Complex divided(Complex a, Complex b) { return a / b; }

Reference with_dense(Pair f) {
  return [f](const Given& g) {
    const Array &indices = g.in[0], &x = g.in[1], &dense = g.in[3];
    const Index dims = integers(g.in[2]);
    Array y = x;
    for (size_t i = 0; i < x.values.size(); ++i) {
      set(y, i, f(x.complex(i), dense.complex(dense.broadcast_position(dims, place(indices, i, dims)))));
    }
    return std::vector<Array>{y};
  };
}

// Values that no quotient of integers rounds, and no divisor is 0.
std::vector<Sample> elementwise(bool is_complex) {
  const Array x = is_complex ? draw_complex({3}) : list({4, -6, 12});
  const auto dense = [&](Index dims, std::vector<double> values) {
    return is_complex ? draw_complex(dims, 1, 2) : array(dims, std::move(values));
  };
  return {{.in = {kIndices, x, kShape, dense({2, 3}, {1, 2, 3, 1, 4, 5})}},
          {.in = {kIndices, x, kShape, dense({3}, {2, 6, 3})}},
          {.in = {kIndices, x, kShape, dense({2, 1}, {2, 3})}},
          {.in = {kIndices, x, kShape, dense({}, {2})}},
          {.in = {array({2, 2}, {1, 1, 0, 2}), is_complex ? draw_complex({2}) : list({8, 4}), kShape,
                  dense({1, 3}, {1, 2, 4})}},
          {.in = {array({0, 2}, {}), is_complex ? complexes({0}, {}) : list({}), kShape, dense({3}, {2, 6, 3})}}};
}
const DTypeSet kSigned = dtypes::kNumeric - DTypeSet{kUint8, kUint16, kUint32, kUint64};
const std::vector<ErrorSample> kElementwiseErrors = {
    {.in = {kIndices, draw({3}), list({1, 3}), draw({3})}, .text = "sp_indices[2,0]: expected one in [0, 1), got 1"},
    {.in = {array({1, 2}, {0, -1}), draw({1}), kShape, draw({})},
     .text = "sp_indices[0,1]: expected one in [0, 3), got -1"},
    {.in = {kIndices, draw({3}), kShape, draw({4, 2, 3})},
     .text = "rank of dense: expected at most 2, that of the entries, got 3"},
    {.in = {kIndices, draw({3}), kShape, draw({2, 2})}, .text = "dense: expected a shape that broadcasts"},
    {.in = {kIndices, draw({3}), list({2, 1}), draw({2, 3})}, .text = "dense: expected a shape that broadcasts"},
    {.in = {kIndices, draw({2}), kShape, draw({2, 3})}, .text = "number of indices and values"}};
std::vector<ErrorSample> division_errors() {
  std::vector<ErrorSample> errors = kElementwiseErrors;
  errors.push_back({.in = {kIndices, draw({3}), kShape, list({1, 1, 0})},
                    .text = "dense: expected no zero at index 1 of the entries, got one"});
  return errors;
}

const Family dense(
    "sparse",
    {
        {"SparseToDense", {.samples = kToDense, .reference = to_dense, .errors = kToDenseErrors}},
        {"SparseToDense",
         {.samples = {{.in = {list({1, 3, 1}), list({4}), draw({3}), scalar(0)},
                       .attrs = {{"validate_indices", false}}}},
          .reference = to_dense,
          .label = "repeated"}},
        {"SparseToDense",
         {.samples = {{.in = {list({1}), list({3}), texts({1}, {"x"}), texts({}, {"d"})},
                       .out = {texts({3}, {"d", "x", "d"})}}},
          .label = "strings",
          .types = {kString}}},
        {"SparseTensorDenseMatMul", {.samples = kProducts, .reference = product, .errors = kProductErrors}},
        {"SparseTensorDenseMatMul",
         {.samples = kComplexProducts, .reference = product, .label = "complex", .types = dtypes::kComplex}},
        {"SparseReduceSum", {.samples = kReductions, .reference = reduced, .errors = kReductionErrors}},
        {"SparseReduceSum",
         {.samples = {{.in = {kIndices, draw_complex({3}), kShape, list({1})}}},
          .reference = reduced,
          .label = "complex",
          .types = dtypes::kComplex}},
        {"SparseReduceMax", {.samples = kReductions, .reference = largest, .errors = kReductionErrors}},
        {"SparseDenseCwiseAdd",
         {.samples = elementwise(false),
          .reference = with_dense(added),
          .errors = kElementwiseErrors,
          .types = kSigned}},
        {"SparseDenseCwiseAdd",
         {.samples = elementwise(true), .reference = with_dense(added), .label = "complex", .types = dtypes::kComplex}},
        {"SparseDenseCwiseMul",
         {.samples = elementwise(false),
          .reference = with_dense(multiplied),
          .errors = kElementwiseErrors,
          .types = kSigned}},
        {"SparseDenseCwiseMul",
         {.samples = elementwise(true),
          .reference = with_dense(multiplied),
          .label = "complex",
          .types = dtypes::kComplex}},
        {"SparseDenseCwiseDiv",
         {.samples = elementwise(false),
          .reference = with_dense(divided),
          .errors = division_errors(),
          .types = kSigned}},
        {"SparseDenseCwiseDiv",
         {.samples = elementwise(true),
          .reference = with_dense(divided),
          .label = "complex",
          .types = dtypes::kComplex}},
    });

}  // namespace
}  // namespace panto::test::dense_rows
