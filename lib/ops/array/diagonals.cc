// Ops on diagonals of matrices (the last two dimensions): make matrices from them, extract them, replace them.
#include <algorithm>
#include <optional>
#include <string>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/op/gradient.h"
#include "panto/lib/ops/array/values.h"
#include "panto/lib/ops/batching.h"
#include "panto/lib/ops/create.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/tangents.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"

namespace panto {
namespace {

// A range of diagonals; 0 is the main one, positive ones are above it.
struct Band {
  int64_t lower, upper;
  int64_t count() const { return upper - lower + 1; }
  // The length of the longest one.
  int64_t longest(int64_t rows, int64_t columns) const {
    return std::min(rows + std::min<int64_t>(upper, 0), columns - std::max<int64_t>(lower, 0));
  }
};

// The band in input i, one number or two; nullopt if unknown.
std::optional<Band> known_band(const ShapeContext& c, int i) {
  const PartialShape& shape = c.shape(i);
  if (shape.known_rank() && (shape.rank() > 1 || (shape.rank() == 1 && shape.dim(0) > 2) || shape.numel() == 0)) {
    invalid("k: expected one number or two, got shape {}", shape.to_string());
  }
  const KnownIntegers k(c, i);
  if (!k.counted() || !k.complete()) return std::nullopt;
  const Band band = {k[0], k[k.count() - 1]};
  if (band.lower > band.upper) invalid("k: expected the lower diagonal first, got {} and {}", band.lower, band.upper);
  return band;
}

// What is known of the shape of the diagonals of the matrices in input `matrices`.
PartialShape shape_of_diagonals(const ShapeContext& c, int matrices, const std::optional<Band>& band) {
  const PartialShape& from = c.shape(matrices);
  if (!band || !from.known_rank()) return PartialShape::unknown();
  const int64_t rows = c.dim(matrices, -2), columns = c.dim(matrices, -1);
  // An empty matrix still has a main diagonal, which is empty.
  if ((rows >= 0 && band->lower <= -rows && band->lower != 0) ||
      (columns >= 0 && band->upper >= columns && band->upper != 0)) {
    invalid("k: expected diagonals of a matrix of shape [{}, {}], got {} to {}", rows, columns, band->lower,
            band->upper);
  }
  SmallVector<int64_t, 8> dims;
  for (int i = 0; i + 2 < from.rank(); ++i) dims.push_back(from.dim(i));
  if (band->count() > 1) dims.push_back(band->count());
  dims.push_back(rows < 0 || columns < 0 ? kUnknownDim : band->longest(rows, columns));
  return PartialShape(std::span<const int64_t>(dims.data(), dims.size()));
}

void matrix_diag_shape(ShapeContext& c) {
  c.expect_rank_at_least(0, 1);
  c.expect_scalar(4);
  const std::optional<int64_t> wanted_rows = known_scalar(c, 2), wanted_columns = known_scalar(c, 3);
  const std::optional<Band> band = known_band(c, 1);
  const PartialShape& from = c.shape(0);
  if (!band || !from.known_rank()) return c.output(PartialShape::unknown());
  const bool many = band->count() > 1;
  if (many) c.expect_rank_at_least(0, 2);
  if (many) c.expect_equal(band->count(), c.dim(0, -2), "second last dimension of diagonal");
  SmallVector<int64_t, 8> dims;
  for (int i = 0; i + (many ? 2 : 1) < from.rank(); ++i) dims.push_back(from.dim(i));
  const int64_t length = c.dim(0, -1);
  int64_t rows = kUnknownDim, columns = kUnknownDim;
  if (length >= 0 && wanted_rows && wanted_columns) {
    const int64_t least_rows = length - std::min<int64_t>(band->upper, 0);
    const int64_t least_columns = length + std::max<int64_t>(band->lower, 0);
    rows = *wanted_rows;
    columns = *wanted_columns;
    if (rows == -1 && columns == -1) rows = columns = std::max(least_rows, least_columns);
    if (rows == -1) rows = least_rows;
    if (columns == -1) columns = least_columns;
    if (rows < least_rows) invalid("num_rows: expected at least {}, got {}", least_rows, rows);
    if (columns < least_columns) invalid("num_cols: expected at least {}, got {}", least_columns, columns);
    if (rows != least_rows && columns != least_columns) {
      invalid("num_rows and num_cols: expected {} rows or {} columns, where the diagonals end, got {} and {}",
              least_rows, least_columns, rows, columns);
    }
  }
  dims.push_back(rows);
  dims.push_back(columns);
  c.output(PartialShape(std::span<const int64_t>(dims.data(), dims.size())));
}

void matrix_diag_part_shape(ShapeContext& c) {
  c.expect_rank_at_least(0, 2);
  c.expect_scalar(2);
  c.output(shape_of_diagonals(c, 0, known_band(c, 1)));
}

void matrix_set_diag_shape(ShapeContext& c) {
  c.expect_rank_at_least(0, 2);
  c.expect_rank_at_least(1, 1);
  c.output(c.shape(0));
  const PartialShape expected = shape_of_diagonals(c, 0, known_band(c, 2));
  if (!c.shape(1).compatible_with(expected)) {
    invalid("diagonal: expected shape {}, got {}", expected.to_string(), c.shape(1).to_string());
  }
}

Tensor zero_of(DType type) { return zeros({}, type); }

// The gradient of the padding value: the sum of dy without the elements in `used`.
Tensor rest_of(const Tensor& dy, const Tensor& used) { return sum(dy) - sum(used); }

bool any_batched(const BatchContext& c, int first) {
  for (int i = first; i < c.num_inputs(); ++i) {
    if (c.batched(i)) return true;
  }
  return false;
}

Tensor minus_one() { return constant(tensor(-1), kInt32); }
Tensor main_diagonal() { return constant(tensor(0), kInt32); }

// The shape function of Diag: repeats the dimensions.
void diag_shape(ShapeContext& c) {
  c.expect_rank_at_least(0, 1);
  const PartialShape& from = c.shape(0);
  if (!from.known_rank()) return c.output(PartialShape::unknown());
  SmallVector<int64_t, 8> dims;
  for (int i = 0; i < 2 * from.rank(); ++i) dims.push_back(from.dim(i % from.rank()));
  c.output(PartialShape(std::span<const int64_t>(dims.data(), dims.size())));
}

void diag_part_shape(ShapeContext& c) {
  const PartialShape& from = c.shape(0);
  if (!from.known_rank()) return c.output(PartialShape::unknown());
  const int half = from.rank() / 2;
  if (half == 0 || from.rank() % 2 != 0) {
    invalid("input: expected an even rank of at least 2, got shape {}", from.to_string());
  }
  SmallVector<int64_t, 8> dims;
  for (int i = 0; i < half; ++i)
    dims.push_back(c.merge(from.dim(i), from.dim(i + half), "dimension " + std::to_string(i) + " of both halves"));
  c.output(PartialShape(std::span<const int64_t>(dims.data(), dims.size())));
}

// The alignment of the older ops: diagonals begin at the left.
constexpr const char* kLeft = "LEFT_LEFT";

}  // namespace

const Op& kMatrixDiagV3 = define_op(
    "MatrixDiagV3(diagonal: T, k: int32 @host, num_rows: int32 @host, num_cols: int32 @host, padding_value: T;"
    " T: numeric|bool, align: {\"LEFT_RIGHT\", \"RIGHT_LEFT\", \"LEFT_LEFT\", \"RIGHT_RIGHT\"} = \"RIGHT_LEFT\")"
    " -> (output: T)",
    {.doc =
         "Matrices with the given diagonals, and `padding_value` elsewhere. `k` is a diagonal, above the main one if "
         "positive, or the lowest and the highest of several; those are the rows of `diagonal`, the highest first. "
         "Shorter ones begin or end where the row does: `align` says it of those above the main one, then of those "
         "below. `num_rows` and `num_cols` are -1 for as many as the diagonals need.",
     .shape = matrix_diag_shape,
     .saves = {in(1)},
     .gradient =
         [](GradContext& g) {
           const DType type = g.in_type(0);
           const Tensor part =
               matrix_diag_part(g.dy(), g.in(1), zero_of(type), {.align = std::string(g.text("align"))});
           g.set(0, part);
           if (g.needs(4)) g.set(4, rest_of(g.dy(), part));
         },
     .batch =
         [](BatchContext& c) {
           if (any_batched(c, 1)) return c.loop();
           c.set_out(0,
                     matrix_diag(c.in(0), c.in(1), c.in(2), c.in(3), c.in(4), {.align = std::string(c.text("align"))}));
         },
     .jvp = tangents::linear});

const Op& kMatrixDiagPartV3 = define_op(
    "MatrixDiagPartV3(input: T, k: int32 @host, padding_value: T; T: numeric|bool,"
    " align: {\"LEFT_RIGHT\", \"RIGHT_LEFT\", \"LEFT_LEFT\", \"RIGHT_RIGHT\"} = \"RIGHT_LEFT\") -> (diagonal: T)",
    {.doc =
         "The diagonals of matrices, as MatrixDiagV3 takes them; `padding_value` where shorter ones have no elements.",
     .shape = matrix_diag_part_shape,
     .saves = {shape_of(0), in(1)},
     .gradient =
         [](GradContext& g) {
           const Tensor placed = matrix_set_diag(zeros(g.shape(0), g.in_type(0)), g.dy(), g.in(1),
                                                 {.align = std::string(g.text("align"))});
           g.set(0, placed);
           if (g.needs(2)) g.set(2, rest_of(g.dy(), placed));
         },
     .batch =
         [](BatchContext& c) {
           if (any_batched(c, 1)) return c.loop();
           c.set_out(0, matrix_diag_part(c.in(0), c.in(1), c.in(2), {.align = std::string(c.text("align"))}));
         },
     .jvp = tangents::linear});

const Op& kMatrixSetDiagV3 = define_op(
    "MatrixSetDiagV3(input: T, diagonal: T, k: int32 @host; T: numeric|bool,"
    " align: {\"LEFT_RIGHT\", \"RIGHT_LEFT\", \"LEFT_LEFT\", \"RIGHT_RIGHT\"} = \"RIGHT_LEFT\") -> (output: T)",
    {.doc = "Matrices with other diagonals, which are given as MatrixDiagV3 takes them.",
     .shape = matrix_set_diag_shape,
     .saves = {shape_of(1), in(2)},
     .gradient =
         [](GradContext& g) {
           const DType type = g.in_type(0);
           const std::string align(g.text("align"));
           if (g.needs(0)) g.set(0, matrix_set_diag(g.dy(), zeros(g.shape(1), type), g.in(2), {.align = align}));
           if (g.needs(1)) g.set(1, matrix_diag_part(g.dy(), g.in(2), zero_of(type), {.align = align}));
         },
     .batch =
         [](BatchContext& c) {
           if (c.batched(2)) return c.loop();
           c.set_out(0, matrix_set_diag(c.front(0), c.front(1), c.in(2), {.align = std::string(c.text("align"))}));
         },
     .jvp = tangents::linear});

// ---- Diagonals of tensors
// -----------------------------------------------------------------------------------------------------

const Op& kDiag = define_op("Diag(diagonal: T; T: floating|complex|int32|int64) -> (output: T)",
                            {.doc = "A tensor with the dimensions of `diagonal` twice, which has its elements where "
                                    "the indices of both halves are equal: [i, j, i, j] is diagonal[i, j]. Zeros "
                                    "elsewhere.",
                             .cpp = "tensor_diag",
                             .shape = diag_shape,
                             .gradient = [](GradContext& g) { g.set(0, tensor_diag_part(g.dy())); },
                             .batch = batching::loop,
                             .jvp = tangents::linear});

const Op& kDiagPart = define_op("DiagPart(input: T; T: floating|complex|int32|int64) -> (diagonal: T)",
                                {.doc = "The elements of a tensor of dimensions that occur twice whose indices in both "
                                        "halves are equal: what Diag made it of.",
                                 .cpp = "tensor_diag_part",
                                 .shape = diag_part_shape,
                                 .gradient = [](GradContext& g) { g.set(0, tensor_diag(g.dy())); },
                                 .batch = batching::loop,
                                 .jvp = tangents::linear});

// ---- Older versions ------------------------------------------------------------------------------------------------

const Op& kMatrixDiag = define_op(
    "MatrixDiag(diagonal: T; T: numeric|bool) -> (output: T)",
    {.doc = "Square matrices with the given main diagonals, and zeros elsewhere.",
     .cpp = "matrix_diag_main",
     .aliases = {"BatchMatrixDiag"},
     .body =
         [](CompositeContext& c) {
           c.set_out(0, matrix_diag(c.in(0), main_diagonal(), minus_one(), minus_one(), zero_of(c.in(0).dtype())));
         },
     .in_tensorflow = true});

const Op& kMatrixDiagPart =
    define_op("MatrixDiagPart(input: T; T: numeric|bool) -> (diagonal: T)",
              {.doc = "The main diagonals of matrices.",
               .cpp = "matrix_diag_part_main",
               .aliases = {"BatchMatrixDiagPart"},
               .body =
                   [](CompositeContext& c) {
                     c.set_out(0, matrix_diag_part(c.in(0), main_diagonal(), zero_of(c.in(0).dtype())));
                   },
               .in_tensorflow = true});

const Op& kMatrixSetDiag =
    define_op("MatrixSetDiag(input: T, diagonal: T; T: numeric|bool) -> (output: T)",
              {.doc = "Matrices with other main diagonals.",
               .cpp = "matrix_set_diag_main",
               .aliases = {"BatchMatrixSetDiag"},
               .body = [](CompositeContext& c) { c.set_out(0, matrix_set_diag(c.in(0), c.in(1), main_diagonal())); },
               .in_tensorflow = true});

const Op& kMatrixDiagV2 = define_op(
    "MatrixDiagV2(diagonal: T, k: int32 @host, num_rows: int32 @host, num_cols: int32 @host, padding_value: T;"
    " T: numeric|bool) -> (output: T)",
    {.doc = "MatrixDiagV3 of diagonals that begin at the left.",
     .cpp = "matrix_diag_left",
     .body =
         [](CompositeContext& c) {
           c.set_out(0, matrix_diag(c.in(0), c.in(1), c.in(2), c.in(3), c.in(4), {.align = kLeft}));
         },
     .in_tensorflow = true});

const Op& kMatrixDiagPartV2 = define_op(
    "MatrixDiagPartV2(input: T, k: int32 @host, padding_value: T; T: numeric|bool) -> (diagonal: T)",
    {.doc = "MatrixDiagPartV3 of diagonals that begin at the left.",
     .cpp = "matrix_diag_part_left",
     .body = [](CompositeContext& c) { c.set_out(0, matrix_diag_part(c.in(0), c.in(1), c.in(2), {.align = kLeft})); },
     .in_tensorflow = true});

const Op& kMatrixSetDiagV2 = define_op(
    "MatrixSetDiagV2(input: T, diagonal: T, k: int32 @host; T: numeric|bool) -> (output: T)",
    {.doc = "MatrixSetDiagV3 of diagonals that begin at the left.",
     .cpp = "matrix_set_diag_left",
     .body = [](CompositeContext& c) { c.set_out(0, matrix_set_diag(c.in(0), c.in(1), c.in(2), {.align = kLeft})); },
     .in_tensorflow = true});

}  // namespace panto
