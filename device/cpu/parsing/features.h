// Shared by the kernels that parse Examples: finds the features of a batch by their keys and makes tensors of them.
//
// Two passes. FeatureTable locates each feature in each record; then each feature is counted, and its tensor is
// allocated and filled. So no value is copied twice, no tensor is allocated from a size that the bytes merely claim,
// and threads share out the records.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "panto/lib/core/call/call.h"
#include "panto/lib/core/tensor/tensor.h"

namespace panto::cpu {

// The records of a call.
struct Records {
  std::span<const std::string> bytes;
  std::span<const std::string> names;  // for messages; may be empty
  bool single = false;                 // one record, not a batch: outputs have no batch dimension
  // For example "record 2 ('c.jpg')".
  std::string name(int64_t i) const;
};

// The bytes of a feature in each record; data is null if the record lacks it.
struct FeatureColumn {
  const Records* records;
  std::string_view key;
  std::span<const std::string_view> cells;
};

// Locates features. Their map is field 1 of the message in field `field` of each record.
class FeatureTable {
 public:
  // Throws InvalidArgument, naming the record, for bytes that are not a valid message.
  FeatureTable(const Records& records, uint32_t field, std::vector<std::string_view> keys);
  // Returns the column of keys[k].
  FeatureColumn column(size_t k) const;

 private:
  size_t find(std::string_view key) const;  // kNone: not a wanted key
  static constexpr size_t kNone = SIZE_MAX;

  const Records& records_;
  std::vector<std::string_view> keys_;
  std::vector<size_t> slots_;            // slot of keys_[k]; equal keys share one
  std::vector<size_t> hashed_;           // open addressing: an index of keys_, or kNone
  std::vector<std::string_view> cells_;  // [slot, record]
};

struct SparseParts {
  Tensor indices, values, shape;
};
struct RaggedParts {
  Tensor values, splits;
};
struct RaggedListParts {
  Tensor values, outer_splits, inner_splits;
};
struct DenseListParts {
  Tensor values, lengths;
};

// Each throws InvalidArgument, naming the record and the key, for features of another type and sizes that do not fit.

// Returns [batch, *shape]. If the first dimension of `shape` is unknown, it becomes the longest feature's, and shorter
// ones are padded with the one element of `standard`. `standard` is the value for records without the feature; if it is
// empty, each record must have the feature.
Tensor parse_dense(const FeatureColumn& column, const PartialShape& shape, const Tensor& standard);
SparseParts parse_sparse(const FeatureColumn& column, DType dtype);
// For a single record the splits have the shape `single_splits`.
RaggedParts parse_ragged(const FeatureColumn& column, DType dtype, DType splits, const Shape& single_splits);

// The same for lists of features.

// Returns [batch, longest list, *shape], shorter lists padded with zeros, and the length of each list. `may_miss`: a
// missing list counts as empty; otherwise it is an error.
DenseListParts parse_dense_lists(const FeatureColumn& column, DType dtype, const Shape& shape, bool may_miss);
SparseParts parse_sparse_lists(const FeatureColumn& column, DType dtype);
RaggedListParts parse_ragged_lists(const FeatureColumn& column, DType dtype, DType splits);

// Returns the records of input 0, with names from input `names` (-1: none).
Records records_in(const KernelContext& c, int names);

// Returns the strings of a tensor as keys; or those of list argument `arg`, whose tensors are scalars.
std::vector<std::string_view> keys_in(const Tensor& t);
std::vector<std::string_view> keys_in(const KernelContext& c, int arg);

// Sets a call's outputs in order.
class Outputs {
 public:
  explicit Outputs(KernelContext& c) : context_(c) {}
  // Sets a list of outputs.
  void put(std::vector<Tensor> tensors) {
    for (Tensor& t : tensors) context_.set_out(next_++, std::move(t));
  }

 private:
  KernelContext& context_;
  int next_ = 0;
};

}  // namespace panto::cpu
