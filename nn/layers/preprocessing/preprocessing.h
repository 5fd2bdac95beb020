// Layers that turn raw inputs into numbers, in front of a model or in a data pipeline.
//
//   Sequential model(Rescaling(1. / 255), Flatten(), Dense(784, 10));
//   Tensor ages = Discretization({18, 25, 40}, {.output = CategoryOutput::kOneHot})(x);
#pragma once

#include <string>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/lib/core/call/arg.h"
#include "panto/nn/layers/layer.h"

namespace panto {

// x * scale + offset, in a floating type: Rescaling(1. / 255) for images.
class PANTO_EXPORT Rescaling final : public BuiltInLayer {
 public:
  explicit Rescaling(double scale, double offset = 0, DType dtype = kFloat32);
  // Integers and bools become `dtype`; floating types stay.
  Tensor forward(const Tensor& x) const override;
  std::string to_string() const override;

 private:
  double scale_, offset_;
  DType dtype_;
};

// How a category is encoded: as its number; as a vector with a 1 at its position; as one vector for all categories of
// an example, with a 1 for each that occurs; or the same with the counts.
enum class CategoryOutput : uint8_t { kInt, kOneHot, kMultiHot, kCount };

struct DiscretizationOptions {
  CategoryOutput output = CategoryOutput::kInt;
};

// The number (int64) of the interval in which x lies: Discretization({0, 10, 100}) gives 0 below 0, 1 from 0 on, 2 from
// 10 on, 3 from 100 on.
class PANTO_EXPORT Discretization final : public BuiltInLayer {
 public:
  // Throws InvalidArgument unless boundaries ascend and there is at least one.
  explicit Discretization(std::vector<double> boundaries, DiscretizationOptions options = {});
  // x: real numbers. Encodes the result as CategoryEncoding if the output is not kInt.
  Tensor forward(const Tensor& x) const override;
  std::string to_string() const override;

 private:
  std::vector<double> boundaries_;
  CategoryOutput output_;
};

struct CategoryEncodingOptions {
  CategoryOutput output = CategoryOutput::kMultiHot;  // not kInt
};

// Encodes integers below `categories` as float32 vectors. kOneHot: [...] -> [..., categories], where a last dimension
// of 1 is dropped, as in Keras. kMultiHot and kCount: the last dimension holds the numbers of one example: [..., count]
// -> [..., categories]. Integers outside [0, categories) give zeros with kOneHot, and do not count otherwise.
class PANTO_EXPORT CategoryEncoding final : public BuiltInLayer {
 public:
  // Throws InvalidArgument unless categories is positive, and for kInt.
  explicit CategoryEncoding(int64_t categories, CategoryEncodingOptions options = {});
  Tensor forward(const Tensor& x) const override;
  std::string to_string() const override;

 private:
  int64_t categories_;
  CategoryOutput output_;
};

// Maps each string or integer to a number in [0, bins), by a fingerprint of its text: the same in every process
// (Fingerprint64 of FarmHash, as tf.strings.to_hash_bucket_fast and Keras's Hashing without a salt).
class PANTO_EXPORT Hashing final : public BuiltInLayer {
 public:
  // Throws InvalidArgument unless bins is positive.
  explicit Hashing(int64_t bins);
  // Strings or integers -> int64 of the same shape.
  Tensor forward(const Tensor& x) const override;
  std::string to_string() const override;

 private:
  int64_t bins_;
};

// Maps each combination of values to a number in [0, bins): columns of strings or integers [batch] or [batch, 1] ->
// int64 of the same shape, as Keras's HashedCrossing and tf.sparse.cross_hashed. Throws InvalidArgument for fewer than
// two columns, for other shapes or dtypes, and unless bins is positive.
PANTO_EXPORT Tensor hashed_crossing(const ArgList& columns, int64_t bins);

}  // namespace panto
