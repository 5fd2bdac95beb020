// Samples of ops on diagonals of matrices.
#include <algorithm>
#include <string>
#include <string_view>

#include "panto/tests/ops/reference.h"
#include "panto/tests/ops/table.h"

namespace panto::test::diagonals_rows {
namespace {

// How the diagonals of `rows` x `columns` matrices are held.
struct Layout {
  int64_t lower, upper, rows, columns;
  bool left_above, left_below;

  Layout(const Array& k, int64_t rows, int64_t columns, std::string_view align)
      : lower(integer(k)),
        upper(integer(k, k.values.size() - 1)),
        rows(rows),
        columns(columns),
        left_above(align == "LEFT_LEFT" || align == "LEFT_RIGHT"),
        left_below(align == "LEFT_LEFT" || align == "RIGHT_LEFT") {}

  int64_t length(int64_t d) const {
    return std::min(rows + std::min<int64_t>(d, 0), columns - std::max<int64_t>(d, 0));
  }
  int64_t longest() const {
    int64_t most = 0;
    for (int64_t d = lower; d <= upper; ++d) most = std::max(most, length(d));
    return most;
  }
  // Of the element in this row and column, in what holds the diagonals of one matrix; -1: it is on none of them.
  int64_t place(int64_t row, int64_t column) const {
    const int64_t d = column - row;
    if (d < lower || d > upper) return -1;
    const bool left = (d >= 0 && left_above) || (d <= 0 && left_below);
    return (upper - d) * longest() + std::min(row, column) + (left ? 0 : longest() - length(d));
  }
  int64_t held() const { return (upper - lower + 1) * longest(); }
};

std::string alignment(const Given& g, bool old) { return old ? "LEFT_LEFT" : g.text("align"); }

Array numbers(std::initializer_list<double> k) { return k.size() == 1 ? scalar(*k.begin()) : list(k); }

std::vector<Array> made(const Given& g, const Array& k, int64_t rows, int64_t columns, double padding,
                        std::string_view align) {
  const Array& diagonals = g.in[0];
  const bool many = k.values.size() == 2 && k.values[0] != k.values[1];
  Index dims(diagonals.dims.begin(), diagonals.dims.end() - (many ? 2 : 1));
  const int64_t length = diagonals.dims.back();
  const int64_t least_rows = length - std::min<int64_t>(integer(k, k.values.size() - 1), 0);
  const int64_t least_columns = length + std::max<int64_t>(integer(k), 0);
  if (rows < 0 && columns < 0) rows = columns = std::max(least_rows, least_columns);
  rows = rows < 0 ? least_rows : rows;
  columns = columns < 0 ? least_columns : columns;
  const Layout layout(k, rows, columns, align);
  dims.insert(dims.end(), {rows, columns});
  int64_t element = 0;
  return {make(dims, [&](const Index& index) {
    const int64_t matrix = element++ / (rows * columns);
    const int64_t place = layout.place(index[index.size() - 2], index.back());
    return place < 0 ? padding : diagonals.values[static_cast<size_t>(matrix * layout.held() + place)];
  })};
}

std::vector<Array> taken(const Given& g, const Array& k, double padding, std::string_view align) {
  const Array& x = g.in[0];
  const int64_t rows = x.dims[x.dims.size() - 2], columns = x.dims.back();
  const Layout layout(k, rows, columns, align);
  Index dims(x.dims.begin(), x.dims.end() - 2);
  if (layout.lower != layout.upper) dims.push_back(layout.upper - layout.lower + 1);
  dims.push_back(layout.longest());
  Array part = filled(dims, padding);
  int64_t element = 0;
  for_each_index(x.dims, [&](const Index& index) {
    const int64_t matrix = element++ / (rows * columns);
    const int64_t place = layout.place(index[index.size() - 2], index.back());
    if (place >= 0) part.values[static_cast<size_t>(matrix * layout.held() + place)] = at(x, index);
  });
  return {part};
}

std::vector<Array> set(const Given& g, const Array& k, std::string_view align) {
  const Array& x = g.in[0];
  const int64_t rows = x.dims[x.dims.size() - 2], columns = x.dims.back();
  const Layout layout(k, rows, columns, align);
  int64_t element = 0;
  return {make(x.dims, [&](const Index& index) {
    const int64_t matrix = element++ / (rows * columns);
    const int64_t place = layout.place(index[index.size() - 2], index.back());
    return place < 0 ? at(x, index) : g.in[1].values[static_cast<size_t>(matrix * layout.held() + place)];
  })};
}

const Array kMain = scalar(0);

template <bool kOld>
std::vector<Array> matrix_diag(const Given& g) {
  return made(g, g.in[1], integer(g.in[2]), integer(g.in[3]), g.in[4].values[0], alignment(g, kOld));
}
template <bool kOld>
std::vector<Array> matrix_diag_part(const Given& g) {
  return taken(g, g.in[1], g.in[2].values[0], alignment(g, kOld));
}
template <bool kOld>
std::vector<Array> matrix_set_diag(const Given& g) {
  return set(g, g.in[2], alignment(g, kOld));
}

Sample diag(Array diagonals, std::initializer_list<double> k, double rows, double columns, Attrs attrs = {}) {
  return {.in = {std::move(diagonals), numbers(k), scalar(rows), scalar(columns), zeros_and_ones({}, 1)},
          .attrs = std::move(attrs)};
}
Sample part(Array matrices, std::initializer_list<double> k, Attrs attrs = {}) {
  return {.in = {std::move(matrices), numbers(k), zeros_and_ones({}, 1)}, .attrs = std::move(attrs)};
}
Sample put(Array matrices, Array diagonals, std::initializer_list<double> k, Attrs attrs = {}) {
  return {.in = {std::move(matrices), std::move(diagonals), numbers(k)}, .attrs = std::move(attrs)};
}
Attrs align(const char* how) { return {{"align", how}}; }

const Family diagonals(
    "array",
    {
        {"MatrixDiagV3",
         {.samples = {diag(draw({3}), {0}, -1, -1), diag(draw({2, 3}), {1}, -1, -1), diag(draw({2}), {-1}, 3, 4),
                      diag(draw({3, 3}), {-1, 1}, -1, -1), diag(draw({2, 3, 3}), {-2, 0}, -1, 3, align("LEFT_RIGHT")),
                      diag(draw({3, 3}), {-1, 1}, 3, 3, align("RIGHT_RIGHT")),
                      diag(draw({2, 2}), {1, 2}, 2, 4, align("LEFT_LEFT")), diag(draw({0}), {0}, -1, -1)},
          .reference = matrix_diag<false>,
          .errors = {{.in = {draw({3}), scalar(0), scalar(2), scalar(-1), scalar(0)},
                      .text = "num_rows: expected at least 3, got 2"},
                     {.in = {draw({3}), scalar(1), scalar(-1), scalar(3), scalar(0)},
                      .text = "num_cols: expected at least 4, got 3"},
                     {.in = {draw({3}), scalar(0), scalar(4), scalar(5), scalar(0)},
                      .text = "num_rows and num_cols: expected 3 rows or 3 columns"},
                     {.in = {draw({2, 3}), list({0, 2}), scalar(-1), scalar(-1), scalar(0)},
                      .text = "second last dimension of diagonal: expected 3, got 2"},
                     {.in = {draw({2, 3}), list({1, 0}), scalar(-1), scalar(-1), scalar(0)},
                      .text = "k: expected the lower diagonal first, got 1 and 0"},
                     {.in = {draw({2, 3}), list({0, 1, 2}), scalar(-1), scalar(-1), scalar(0)},
                      .text = "k: expected one number or two, got shape [3]"}}}},
        {"MatrixDiagPartV3",
         {.samples = {part(draw({3, 3}), {0}), part(draw({2, 3, 4}), {2}), part(draw({4, 3}), {-2, 1}),
                      part(draw({2, 3, 4}), {-2, 3}, align("LEFT_RIGHT")),
                      part(draw({3, 5}), {-1, 2}, align("RIGHT_RIGHT")),
                      part(draw({5, 3}), {-4, -1}, align("LEFT_LEFT")), part(draw({0, 3}), {0})},
          .reference = matrix_diag_part<false>,
          .errors = {{.in = {draw({2, 3}), scalar(3), scalar(0)},
                      .text = "k: expected diagonals of a matrix of shape [2, 3], got 3 to 3"},
                     {.in = {draw({2, 3}), list({-2, 0}), scalar(0)},
                      .text = "k: expected diagonals of a matrix of shape [2, 3], got -2 to 0"},
                     {.in = {draw({3}), scalar(0), scalar(0)},
                      .text = "input: expected a rank of at least 2, got shape [3]"}}}},
        {"MatrixSetDiagV3",
         {.samples = {put(draw({3, 3}), draw({3}, -2, 2, 1), {0}), put(draw({2, 3, 4}), draw({2, 2}, -2, 2, 1), {2}),
                      put(draw({4, 3}), draw({4, 3}, -2, 2, 1), {-2, 1}),
                      put(draw({2, 3, 4}), draw({2, 3, 3}, -2, 2, 1), {-1, 1}, align("LEFT_RIGHT")),
                      put(draw({0, 3}), draw({0}), {0})},
          .reference = matrix_set_diag<false>,
          .errors = {{.in = {draw({3, 3}), draw({2}), scalar(0)}, .text = "diagonal: expected shape [3], got [2]"}}}},
        {"MatrixDiagV2",
         {.samples = {diag(draw({3}), {0}, -1, -1), diag(draw({2, 3, 3}), {-2, 0}, -1, 3)},
          .reference = matrix_diag<true>}},
        {"MatrixDiagPartV2",
         {.samples = {part(draw({3, 3}), {0}), part(draw({4, 3}), {-2, 1})}, .reference = matrix_diag_part<true>}},
        {"MatrixSetDiagV2",
         {.samples = {put(draw({3, 3}), draw({3}, -2, 2, 1), {0}), put(draw({4, 3}), draw({4, 3}, -2, 2, 1), {-2, 1})},
          .reference = matrix_set_diag<true>}},
        {"MatrixDiag",
         {.samples = {{.in = {draw({3})}}, {.in = {draw({2, 3})}}, {.in = {draw({0})}}},
          .reference = [](const Given& g) { return made(g, kMain, -1, -1, 0, "LEFT_LEFT"); }}},
        {"MatrixDiagPart",
         {.samples = {{.in = {draw({3, 3})}}, {.in = {draw({2, 3, 4})}}},
          .reference = [](const Given& g) { return taken(g, kMain, 0, "LEFT_LEFT"); }}},
        {"MatrixSetDiag",
         {.samples = {{.in = {draw({3, 4}), draw({3}, -2, 2, 1)}}, {.in = {draw({2, 3, 2}), draw({2, 2}, -2, 2, 1)}}},
          .reference = [](const Given& g) { return set(g, kMain, "LEFT_LEFT"); }}},
    });

}  // namespace
}  // namespace panto::test::diagonals_rows
