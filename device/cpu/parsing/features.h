// What the kernels that parse Examples share: the features of a batch, found by their keys, and tensors made of them.
//
// Two passes. FeatureTable notes where in each record each feature lies; then each feature is counted, its tensor
// allocated and filled. So no value is copied twice, no size is taken from the bytes before they are there, and records
// are shared between threads.
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
  std::span<const std::string> names;  // for messages; or none
  bool single = false;                 // one record, not a batch: outputs are without the batch's dimension
  // "record 2 ('c.jpg')".
  std::string name(int64_t i) const;
};

// The bytes of a feature in each record; those whose data is null are missing.
struct FeatureColumn {
  const Records* records;
  std::string_view key;
  std::span<const std::string_view> cells;
};

// Where features lie: of the maps that are field 1 of field `field` of the records.
class FeatureTable {
 public:
  // Throws InvalidArgument, naming the record, for bytes that are no message.
  FeatureTable(const Records& records, uint32_t field, std::vector<std::string_view> keys);
  // That of keys[k].
  FeatureColumn column(size_t k) const;

 private:
  size_t find(std::string_view key) const;  // kNone: nobody asks for it
  static constexpr size_t kNone = SIZE_MAX;

  const Records& records_;
  std::vector<std::string_view> keys_;
  std::vector<size_t> slots_;            // of keys_[k]: equal keys share one
  std::vector<size_t> hashed_;           // open addressing: a key, or kNone
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

// [batch, *shape], where `shape` may begin with a dimension that is not known: then the longest feature's, with the one
// element of `standard` behind the others. `standard`: for records without the feature; without elements: each must
// have it.
Tensor parse_dense(const FeatureColumn& column, const PartialShape& shape, const Tensor& standard);
SparseParts parse_sparse(const FeatureColumn& column, DType dtype);
// Of a single record the splits are `single_splits`.
RaggedParts parse_ragged(const FeatureColumn& column, DType dtype, DType splits, const Shape& single_splits);

// The same of lists of features.

// [batch, longest list, *shape] with zeros behind the others, and how long each is. `may_miss`: those that are missing
// are empty.
DenseListParts parse_dense_lists(const FeatureColumn& column, DType dtype, const Shape& shape, bool may_miss);
SparseParts parse_sparse_lists(const FeatureColumn& column, DType dtype);
RaggedListParts parse_ragged_lists(const FeatureColumn& column, DType dtype, DType splits);

// Input 0 of a call, with names from input `names` (-1: none).
Records records_in(const KernelContext& c, int names);

// The strings of a tensor, as keys; of list argument `arg`, a scalar each.
std::vector<std::string_view> keys_in(const Tensor& t);
std::vector<std::string_view> keys_in(const KernelContext& c, int arg);

// Sets outputs one after the other.
class Outputs {
 public:
  explicit Outputs(KernelContext& c) : context_(c) {}
  // A list of outputs.
  void put(std::vector<Tensor> tensors) {
    for (Tensor& t : tensors) context_.set_out(next_++, std::move(t));
  }

 private:
  KernelContext& context_;
  int next_ = 0;
};

}  // namespace panto::cpu
