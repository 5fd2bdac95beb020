// Shapes: `Shape` is a fully known one, `PartialShape` may have unknown dimensions (-1) or an unknown rank.
//
//   Shape s{2, 3};             s.rank() == 2, s.numel() == 6
//   PartialShape p{-1, 3};     p.compatible_with(s)
//
// Invariants, checked when a shape is made: rank <= 254; every dimension >= 0 (or -1 in a PartialShape); the product of
// the non-zero dimensions is below 2^63. Thread-safe, as values are.
#pragma once

#include <concepts>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <iosfwd>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "panto/lib/base/export.h"

namespace panto {

inline constexpr int kMaxRank = 254;
inline constexpr int64_t kUnknownDim = -1;

// A dimension in a brace list: an integer of any type, so that {values.size(), 3} needs no cast. A value above 2^63 - 1
// becomes 2^63 - 1, which is invalid in every shape.
class Dim {
 public:
  // NOLINTBEGIN(google-explicit-constructor): implicit on purpose
  template <std::integral I>
    requires(!std::same_as<I, bool>)
  constexpr Dim(I value)
      : value_(value > I{0} && static_cast<uint64_t>(value) > uint64_t{INT64_MAX} ? INT64_MAX
                                                                                  : static_cast<int64_t>(value)) {}
  // NOLINTEND(google-explicit-constructor)
  constexpr int64_t value() const { return value_; }
  PANTO_EXPORT static std::span<const int64_t> values(std::initializer_list<Dim> dims);

 private:
  int64_t value_;
};

class Arg;
class PartialShape;
class Shape;

namespace detail {
// A list of integers. Compiles faster at the call than std::vector's own constructor.
PANTO_EXPORT std::vector<int64_t> int_list(std::initializer_list<int64_t> values);

// True for types that convert to a span of int64_t and are neither shapes nor brace lists.
template <class T>
concept Dimensions = !std::is_base_of_v<PartialShape, T> && !std::is_same_v<T, std::initializer_list<Dim>> &&
                     std::is_convertible_v<const T&, std::span<const int64_t>>;
}  // namespace detail

// Functions here that take or return spans are templates to save compile time: std::span<const int64_t>, and the check
// whether a shape converts to one, are then instantiated only where they are used. That saves 70 million instructions.
class PANTO_EXPORT PartialShape {
 public:
  // A shape of unknown rank.
  PartialShape() = default;
  PartialShape(std::initializer_list<Dim> dims);
  // Throws InvalidArgument for a dimension below -1, a rank above 254, or a product that overflows.
  template <detail::Dimensions Span>
  explicit PartialShape(const Span& dims) : PartialShape(Checked{}, dims) {}
  static PartialShape unknown() { return {}; }
  // A shape of this rank with all dimensions unknown.
  static PartialShape of_rank(int rank);

  bool known_rank() const noexcept { return known_rank_; }
  // -1 if unknown.
  int rank() const noexcept { return known_rank_ ? static_cast<int>(dims_.size()) : -1; }
  // -1 if unknown. Negative i counts from the end. Throws OutOfRange; if the rank is unknown, for every i.
  int64_t dim(int i) const {
    const auto at = static_cast<size_t>(i);  // a negative i becomes a number beyond every rank
    return at < dims_.size() ? dims_[at] : dim_from_end(i);
  }
  template <class Int = int64_t>
  std::span<const Int> dims() const noexcept {
    return {dims_.data(), dims_.size()};
  }
  bool fully_known() const noexcept;
  // Number of elements, -1 if unknown.
  int64_t numel() const noexcept;
  bool compatible_with(const PartialShape& other) const noexcept;
  // Combines what both shapes tell. Throws InvalidArgument if they contradict each other.
  PartialShape merged_with(const PartialShape& other) const;
  // What is known of a tensor that has one of the two shapes.
  PartialShape in_common_with(const PartialShape& other) const;
  // True if both describe the same (an unknown dimension equals an unknown one).
  bool operator==(const PartialShape& other) const noexcept {
    return known_rank_ == other.known_rank_ && dims_ == other.dims_;
  }
  // "[2,?]", "?" for an unknown rank, "[]" for a scalar.
  std::string to_string() const;

 protected:
  struct Scalar {};
  explicit PartialShape(Scalar) noexcept : known_rank_(true) {}
  struct Checked {};
  PartialShape(Checked, std::span<const int64_t> dims);
  struct Unchecked {};
  PartialShape(Unchecked, std::span<const int64_t> dims);

  // Dimensions. Up to six, which most shapes have at most, are stored inline.
  class Dims {
   public:
    Dims() noexcept = default;
    Dims(const int64_t* dims, size_t n) {
      int64_t* out = prepare(n);
      // In pairs, as they are copied afterwards: a processor stalls when it loads two words at once that were stored
      // separately.
      size_t i = 0;
      for (; i + 2 <= n; i += 2) std::memcpy(out + i, dims + i, 2 * sizeof(int64_t));
      if (i < n) out[i] = dims[i];
    }
    Dims(const Dims& other) { copy(other); }
    Dims(Dims&& other) noexcept { take(other); }
    Dims& operator=(const Dims& other) {
      if (this != &other) {
        Dims copied(other);  // may throw, while the old dimensions are still there
        free_heap();
        take(copied);
      }
      return *this;
    }
    Dims& operator=(Dims&& other) noexcept {
      if (this != &other) {
        free_heap();
        take(other);
      }
      return *this;
    }
    ~Dims() { free_heap(); }
    const int64_t* data() const noexcept { return size_ <= kInline ? inline_ : heap_; }
    int64_t* data() noexcept { return size_ <= kInline ? inline_ : heap_; }
    size_t size() const noexcept { return size_; }
    int64_t operator[](size_t i) const noexcept { return data()[i]; }
    bool operator==(const Dims& other) const noexcept {
      if (size_ != other.size_) return false;
      const int64_t *mine = data(), *theirs = other.data();
      for (size_t i = 0; i < size_; ++i) {  // faster than memcmp for a few words
        if (mine[i] != theirs[i]) return false;
      }
      return true;
    }

   private:
    static constexpr size_t kInline = 6;
    int64_t* prepare(size_t n) {
      if (n > kInline) heap_ = new int64_t[n];
      size_ = n;
      return data();
    }
    // Copies all inline words, used or not: copying shapes is a large part of a small op's cost.
    void copy(const Dims& other) {
      if (other.size_ > kInline) [[unlikely]] {
        std::memcpy(prepare(other.size_), other.heap_, other.size_ * sizeof(int64_t));
        return;
      }
      std::memcpy(static_cast<void*>(inline_), static_cast<const void*>(other.inline_), sizeof(inline_));
      size_ = other.size_;
    }
    void take(Dims& other) noexcept {
      std::memcpy(static_cast<void*>(inline_), static_cast<const void*>(other.inline_), sizeof(inline_));
      size_ = other.size_;
      if (size_ > kInline) other.size_ = 0;  // heap_ is one of the copied words
    }
    void free_heap() noexcept {
      if (size_ > kInline) delete[] heap_;
    }

    size_t size_ = 0;
    union {
      int64_t inline_[kInline] = {};
      int64_t* heap_;
    };
  };

  int64_t dim_from_end(int i) const;

  friend class Arg;
  Dims dims_;
  bool known_rank_ = false;
};

class PANTO_EXPORT Shape : public PartialShape {
 public:
  // The shape of a scalar.
  Shape() : PartialShape(Scalar{}) {}
  Shape(std::initializer_list<Dim> dims);
  explicit Shape(const std::vector<int64_t>& dims);
  // Throws InvalidArgument for a negative dimension, a rank above 254, or a product that overflows.
  template <detail::Dimensions Span>
  explicit Shape(const Span& dims) : Shape(Checked{}, dims) {}
  // Throws InvalidArgument if `shape` is not fully known.
  explicit Shape(const PartialShape& shape);

  // Works as dim(i).
  int64_t operator[](int i) const;

 private:
  Shape(Checked, std::span<const int64_t> dims);
};

// Turns dimension i of `rank` into a non-negative one: negative i counts from the end. Throws OutOfRange.
PANTO_EXPORT int dimension_of(int i, int rank);

// Prints to_string: [2,3].
PANTO_EXPORT std::ostream& operator<<(std::ostream& out, const PartialShape& shape);

// NumPy broadcasting. An unknown dimension is assumed to equal the other one, if that is known and not 1. Throws
// InvalidArgument if the shapes do not broadcast.
PANTO_EXPORT PartialShape broadcast_shapes(const PartialShape& a, const PartialShape& b);

}  // namespace panto
