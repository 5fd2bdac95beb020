// Where values stand in a vocabulary. Internal.
//
// They are found by binary search: integers by themselves, strings by their hash, of which no two of the vocabulary are
// alike. So a lookup is made of ops alone, and a saved graph needs no table beside it.
#pragma once

#include <cstdint>
#include <string>

#include "panto/lib/core/call/arg.h"
#include "panto/lib/core/tensor/tensor.h"

namespace panto {

class Vocabulary {
 public:
  Vocabulary() = default;  // of nothing
  // Of int64 or strings [n]. `what` it is, for errors: InvalidArgument for a value that is there twice, Unimplemented
  // for two strings of one hash.
  Vocabulary(const std::string& what, const Tensor& values);

  int64_t size() const { return size_; }
  // For each of `values`, [m] of the vocabulary's dtype, its place plus `first`; what `others` says, a scalar or [m] of
  // int64, where it has none. `others` itself where there is no vocabulary.
  Tensor places_of(const Tensor& values, int64_t first, Arg others) const;

 private:
  int64_t size_ = 0;
  Tensor keys_, places_, values_;  // in ascending order of the keys
};

}  // namespace panto
