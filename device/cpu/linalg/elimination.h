// Gaussian elimination of large row-major matrices. The work is cut by columns, so the bits of results do not depend on
// the number of threads.
#pragma once

#include <cstdint>

namespace panto::cpu {

// True if the functions below are faster than LAPACK: they need wide vectors with multiply-adds.
bool elimination_is_fast();

// The best distance of the rows of a matrix with n columns, in elements: rows a power of two apart would share few
// cache lines.
int64_t elimination_row(int64_t n);
// The elements of scratch memory that `eliminate` needs.
int64_t elimination_scratch(int64_t n);

// Factors the n x n matrix `a`, whose rows are `row` elements apart, in place: P a = L U, where L has ones on its
// diagonal. Step i swaps rows i and pivots[i] >= i; of the rows with the largest absolute value it takes the first.
// T: float or double.
template <class T>
void eliminate(int64_t n, T* a, int64_t row, int32_t* pivots, T* scratch);

// Solves for the `columns` columns of `x`, whose rows are x_row elements apart, in place. `factors`: of `eliminate`.
// `scratch`: elimination_scratch(n) elements.
template <class T>
void solve_eliminated(int64_t n, const T* factors, int64_t row, const int32_t* pivots, T* x, int64_t columns,
                      int64_t x_row, T* scratch);

// Writes the inverse of the matrix that was factored to `inverse`, whose rows are n elements apart. `work`: n rows that
// are elimination_row(n) elements apart.
template <class T>
void invert_eliminated(int64_t n, const T* factors, int64_t row, const int32_t* pivots, T* inverse, T* work);

}  // namespace panto::cpu
