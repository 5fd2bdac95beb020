// The LAPACK and BLAS routines that kernels call, by their Fortran symbols, for all four types. Matrices are
// column-major; `ld*` is the stride of the columns. Each function returns LAPACK's `info`; a call with a length of -1
// asks for the length of the work space.
//
// xtensor-blas is no help here: its functions allocate anew for every matrix.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "panto/lib/base/checked.h"

namespace panto::lapack {

// Fortran's default integer.
using Int = int32_t;

template <class T>
struct RealOfType {
  using type = T;
};
template <class R>
struct RealOfType<std::complex<R>> {
  using type = R;
};
template <class T>
using Real = typename RealOfType<T>::type;
template <class T>
inline constexpr bool kIsComplex = !std::is_same_v<T, Real<T>>;

inline Int to_int(int64_t n) { return checked_cast<Int>(n, "size of a matrix"); }
// Converts the work space length, which LAPACK returns as a floating-point number. Rounds up, as a float may be
// inexact.
template <class R>
Int length_of(R told) {
  const double exact = static_cast<double>(std::nextafter(told, std::numeric_limits<R>::infinity()));
  return to_int(std::max<int64_t>(1, static_cast<int64_t>(std::ceil(exact))));
}
template <class R>
Int length_of(std::complex<R> told) {
  return length_of(told.real());
}

// NOLINTBEGIN(bugprone-macro-parentheses): types The trailing size_t arguments are Fortran's hidden string lengths.
#define PANTO_LAPACK_OF_TYPE(prefix, T)                                                                                \
  extern "C" {                                                                                                         \
  void prefix##potrf_(const char* uplo, const Int* n, T* a, const Int* lda, Int* info, size_t);                        \
  void prefix##getrf_(const Int* m, const Int* n, T* a, const Int* lda, Int* pivots, Int* info);                       \
  void prefix##getrs_(const char* trans, const Int* n, const Int* nrhs, const T* a, const Int* lda, const Int* pivots, \
                      T* b, const Int* ldb, Int* info, size_t);                                                        \
  void prefix##trsm_(const char* side, const char* uplo, const char* trans, const char* diag, const Int* m,            \
                     const Int* n, const T* alpha, const T* a, const Int* lda, T* b, const Int* ldb, size_t, size_t,   \
                     size_t, size_t);                                                                                  \
  void prefix##gemm_(const char* transa, const char* transb, const Int* m, const Int* n, const Int* k, const T* alpha, \
                     const T* a, const Int* lda, const T* b, const Int* ldb, const T* beta, T* c, const Int* ldc,      \
                     size_t, size_t);                                                                                  \
  void prefix##geqrf_(const Int* m, const Int* n, T* a, const Int* lda, T* tau, T* work, const Int* lwork, Int* info); \
  }                                                                                                                    \
  inline Int potrf(char uplo, Int n, T* a, Int lda) {                                                                  \
    Int info = 0;                                                                                                      \
    prefix##potrf_(&uplo, &n, a, &lda, &info, 1);                                                                      \
    return info;                                                                                                       \
  }                                                                                                                    \
  inline Int getrf(Int m, Int n, T* a, Int lda, Int* pivots) {                                                         \
    Int info = 0;                                                                                                      \
    prefix##getrf_(&m, &n, a, &lda, pivots, &info);                                                                    \
    return info;                                                                                                       \
  }                                                                                                                    \
  inline Int getrs(char trans, Int n, Int nrhs, const T* a, Int lda, const Int* pivots, T* b, Int ldb) {               \
    Int info = 0;                                                                                                      \
    prefix##getrs_(&trans, &n, &nrhs, a, &lda, pivots, b, &ldb, &info, 1);                                             \
    return info;                                                                                                       \
  }                                                                                                                    \
  inline void trsm(char side, char uplo, char trans, Int m, Int n, const T* a, Int lda, T* b, Int ldb) {               \
    const char diag = 'N';                                                                                             \
    const T one = 1;                                                                                                   \
    prefix##trsm_(&side, &uplo, &trans, &diag, &m, &n, &one, a, &lda, b, &ldb, 1, 1, 1, 1);                            \
  }                                                                                                                    \
  inline void gemm(char transa, char transb, Int m, Int n, Int k, T alpha, const T* a, Int lda, const T* b, Int ldb,   \
                   T beta, T* c, Int ldc) {                                                                            \
    prefix##gemm_(&transa, &transb, &m, &n, &k, &alpha, a, &lda, b, &ldb, &beta, c, &ldc, 1, 1);                       \
  }                                                                                                                    \
  inline Int geqrf(Int m, Int n, T* a, Int lda, T* tau, T* work, Int lwork) {                                          \
    Int info = 0;                                                                                                      \
    prefix##geqrf_(&m, &n, a, &lda, tau, work, &lwork, &info);                                                         \
    return info;                                                                                                       \
  }

PANTO_LAPACK_OF_TYPE(s, float)
PANTO_LAPACK_OF_TYPE(d, double)
PANTO_LAPACK_OF_TYPE(c, std::complex<float>)
PANTO_LAPACK_OF_TYPE(z, std::complex<double>)
#undef PANTO_LAPACK_OF_TYPE

// Routines whose names or arguments differ for complex types. For real types `rwork` is ignored.
#define PANTO_LAPACK_OF_REAL(prefix, T)                                                                               \
  extern "C" {                                                                                                        \
  void prefix##orgqr_(const Int* m, const Int* n, const Int* k, T* a, const Int* lda, const T* tau, T* work,          \
                      const Int* lwork, Int* info);                                                                   \
  void prefix##gesdd_(const char* jobz, const Int* m, const Int* n, T* a, const Int* lda, T* s, T* u, const Int* ldu, \
                      T* vt, const Int* ldvt, T* work, const Int* lwork, Int* iwork, Int* info, size_t);              \
  void prefix##gesvd_(const char* jobu, const char* jobvt, const Int* m, const Int* n, T* a, const Int* lda, T* s,    \
                      T* u, const Int* ldu, T* vt, const Int* ldvt, T* work, const Int* lwork, Int* info, size_t,     \
                      size_t);                                                                                        \
  void prefix##syevd_(const char* jobz, const char* uplo, const Int* n, T* a, const Int* lda, T* w, T* work,          \
                      const Int* lwork, Int* iwork, const Int* liwork, Int* info, size_t, size_t);                    \
  void prefix##geev_(const char* jobvl, const char* jobvr, const Int* n, T* a, const Int* lda, T* wr, T* wi, T* vl,   \
                     const Int* ldvl, T* vr, const Int* ldvr, T* work, const Int* lwork, Int* info, size_t, size_t);  \
  void prefix##gelsy_(const Int* m, const Int* n, const Int* nrhs, T* a, const Int* lda, T* b, const Int* ldb,        \
                      Int* jpvt, const T* rcond, Int* rank, T* work, const Int* lwork, Int* info);                    \
  }                                                                                                                   \
  inline Int unitary_of_qr(Int m, Int n, Int k, T* a, Int lda, const T* tau, T* work, Int lwork) {                    \
    Int info = 0;                                                                                                     \
    prefix##orgqr_(&m, &n, &k, a, &lda, tau, work, &lwork, &info);                                                    \
    return info;                                                                                                      \
  }                                                                                                                   \
  inline Int gesdd(char jobz, Int m, Int n, T* a, Int lda, T* s, T* u, Int ldu, T* vt, Int ldvt, T* work, Int lwork,  \
                   T* /*rwork*/, Int* iwork) {                                                                        \
    Int info = 0;                                                                                                     \
    prefix##gesdd_(&jobz, &m, &n, a, &lda, s, u, &ldu, vt, &ldvt, work, &lwork, iwork, &info, 1);                     \
    return info;                                                                                                      \
  }                                                                                                                   \
  inline Int gesvd(char job, Int m, Int n, T* a, Int lda, T* s, T* u, Int ldu, T* vt, Int ldvt, T* work, Int lwork,   \
                   T* /*rwork*/) {                                                                                    \
    Int info = 0;                                                                                                     \
    prefix##gesvd_(&job, &job, &m, &n, a, &lda, s, u, &ldu, vt, &ldvt, work, &lwork, &info, 1, 1);                    \
    return info;                                                                                                      \
  }                                                                                                                   \
  inline Int eigen_hermitian(char jobz, Int n, T* a, T* w, T* work, Int lwork, T* /*rwork*/, Int /*lrwork*/,          \
                             Int* iwork, Int liwork) {                                                                \
    Int info = 0;                                                                                                     \
    const char uplo = 'U';                                                                                            \
    prefix##syevd_(&jobz, &uplo, &n, a, &n, w, work, &lwork, iwork, &liwork, &info, 1, 1);                            \
    return info;                                                                                                      \
  }                                                                                                                   \
  inline Int gelsy(Int m, Int n, Int nrhs, T* a, Int lda, T* b, Int ldb, Int* jpvt, T rcond, T* work, Int lwork,      \
                   T* /*rwork*/) {                                                                                    \
    Int info = 0, rank = 0;                                                                                           \
    prefix##gelsy_(&m, &n, &nrhs, a, &lda, b, &ldb, jpvt, &rcond, &rank, work, &lwork, &info);                        \
    return info;                                                                                                      \
  }                                                                                                                   \
  inline Int geev(char jobvr, Int n, T* a, T* wr, T* wi, T* vr, T* work, Int lwork) {                                 \
    Int info = 0;                                                                                                     \
    const char jobvl = 'N';                                                                                           \
    const Int one = 1;                                                                                                \
    prefix##geev_(&jobvl, &jobvr, &n, a, &n, wr, wi, nullptr, &one, vr, &n, work, &lwork, &info, 1, 1);               \
    return info;                                                                                                      \
  }

PANTO_LAPACK_OF_REAL(s, float)
PANTO_LAPACK_OF_REAL(d, double)
#undef PANTO_LAPACK_OF_REAL

#define PANTO_LAPACK_OF_COMPLEX(prefix, T, R)                                                                          \
  extern "C" {                                                                                                         \
  void prefix##ungqr_(const Int* m, const Int* n, const Int* k, T* a, const Int* lda, const T* tau, T* work,           \
                      const Int* lwork, Int* info);                                                                    \
  void prefix##gesdd_(const char* jobz, const Int* m, const Int* n, T* a, const Int* lda, R* s, T* u, const Int* ldu,  \
                      T* vt, const Int* ldvt, T* work, const Int* lwork, R* rwork, Int* iwork, Int* info, size_t);     \
  void prefix##gesvd_(const char* jobu, const char* jobvt, const Int* m, const Int* n, T* a, const Int* lda, R* s,     \
                      T* u, const Int* ldu, T* vt, const Int* ldvt, T* work, const Int* lwork, R* rwork, Int* info,    \
                      size_t, size_t);                                                                                 \
  void prefix##heevd_(const char* jobz, const char* uplo, const Int* n, T* a, const Int* lda, R* w, T* work,           \
                      const Int* lwork, R* rwork, const Int* lrwork, Int* iwork, const Int* liwork, Int* info, size_t, \
                      size_t);                                                                                         \
  void prefix##geev_(const char* jobvl, const char* jobvr, const Int* n, T* a, const Int* lda, T* w, T* vl,            \
                     const Int* ldvl, T* vr, const Int* ldvr, T* work, const Int* lwork, R* rwork, Int* info, size_t,  \
                     size_t);                                                                                          \
  void prefix##gelsy_(const Int* m, const Int* n, const Int* nrhs, T* a, const Int* lda, T* b, const Int* ldb,         \
                      Int* jpvt, const R* rcond, Int* rank, T* work, const Int* lwork, R* rwork, Int* info);           \
  void prefix##gees_(const char* jobvs, const char* sort, void* select, const Int* n, T* a, const Int* lda, Int* sdim, \
                     T* w, T* vs, const Int* ldvs, T* work, const Int* lwork, R* rwork, Int* bwork, Int* info, size_t, \
                     size_t);                                                                                          \
  }                                                                                                                    \
  inline Int unitary_of_qr(Int m, Int n, Int k, T* a, Int lda, const T* tau, T* work, Int lwork) {                     \
    Int info = 0;                                                                                                      \
    prefix##ungqr_(&m, &n, &k, a, &lda, tau, work, &lwork, &info);                                                     \
    return info;                                                                                                       \
  }                                                                                                                    \
  inline Int gesdd(char jobz, Int m, Int n, T* a, Int lda, R* s, T* u, Int ldu, T* vt, Int ldvt, T* work, Int lwork,   \
                   R* rwork, Int* iwork) {                                                                             \
    Int info = 0;                                                                                                      \
    prefix##gesdd_(&jobz, &m, &n, a, &lda, s, u, &ldu, vt, &ldvt, work, &lwork, rwork, iwork, &info, 1);               \
    return info;                                                                                                       \
  }                                                                                                                    \
  inline Int gesvd(char job, Int m, Int n, T* a, Int lda, R* s, T* u, Int ldu, T* vt, Int ldvt, T* work, Int lwork,    \
                   R* rwork) {                                                                                         \
    Int info = 0;                                                                                                      \
    prefix##gesvd_(&job, &job, &m, &n, a, &lda, s, u, &ldu, vt, &ldvt, work, &lwork, rwork, &info, 1, 1);              \
    return info;                                                                                                       \
  }                                                                                                                    \
  inline Int eigen_hermitian(char jobz, Int n, T* a, R* w, T* work, Int lwork, R* rwork, Int lrwork, Int* iwork,       \
                             Int liwork) {                                                                             \
    Int info = 0;                                                                                                      \
    const char uplo = 'U';                                                                                             \
    prefix##heevd_(&jobz, &uplo, &n, a, &n, w, work, &lwork, rwork, &lrwork, iwork, &liwork, &info, 1, 1);             \
    return info;                                                                                                       \
  }                                                                                                                    \
  inline Int gelsy(Int m, Int n, Int nrhs, T* a, Int lda, T* b, Int ldb, Int* jpvt, R rcond, T* work, Int lwork,       \
                   R* rwork) {                                                                                         \
    Int info = 0, rank = 0;                                                                                            \
    prefix##gelsy_(&m, &n, &nrhs, a, &lda, b, &ldb, jpvt, &rcond, &rank, work, &lwork, rwork, &info);                  \
    return info;                                                                                                       \
  }                                                                                                                    \
  inline Int geev(char jobvr, Int n, T* a, T* w, T* vr, T* work, Int lwork, R* rwork) {                                \
    Int info = 0;                                                                                                      \
    const char jobvl = 'N';                                                                                            \
    const Int one = 1;                                                                                                 \
    prefix##geev_(&jobvl, &jobvr, &n, a, &n, w, nullptr, &one, vr, &n, work, &lwork, rwork, &info, 1, 1);              \
    return info;                                                                                                       \
  }                                                                                                                    \
  inline Int schur(Int n, T* a, T* w, T* vs, T* work, Int lwork, R* rwork) {                                           \
    Int info = 0, ordered = 0;                                                                                         \
    const char jobvs = 'V', sort = 'N';                                                                                \
    prefix##gees_(&jobvs, &sort, nullptr, &n, a, &n, &ordered, w, vs, &n, work, &lwork, rwork, nullptr, &info, 1, 1);  \
    return info;                                                                                                       \
  }

PANTO_LAPACK_OF_COMPLEX(c, std::complex<float>, float)
PANTO_LAPACK_OF_COMPLEX(z, std::complex<double>, double)
#undef PANTO_LAPACK_OF_COMPLEX
// NOLINTEND(bugprone-macro-parentheses)

}  // namespace panto::lapack
