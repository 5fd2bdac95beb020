// Looks up the positions of values in a vocabulary. Internal.
//
// Values are found by binary search: integers by themselves, strings by their hash, which must be unique within the
// vocabulary. So a lookup consists of ops alone, and a saved graph needs no table.
#pragma once

#include <cstdint>
#include <string>

#include "panto/lib/core/call/arg.h"
#include "panto/lib/core/tensor/tensor.h"

namespace panto {

class Vocabulary {
 public:
  Vocabulary() = default;  // empty
  // Values: int64 or strings [n]. `what` names the vocabulary in errors: InvalidArgument for a value that occurs twice,
  // Unimplemented for two strings with the same hash.
  Vocabulary(const std::string& what, const Tensor& values);

  int64_t size() const { return size_; }
  // For each of `values`, [m] of the vocabulary's dtype: its position plus `first`; if it has none, `others`, an int64
  // scalar or [m]. Returns `others` itself if the vocabulary is empty.
  Tensor places_of(const Tensor& values, int64_t first, Arg others) const;

 private:
  int64_t size_ = 0;
  Tensor keys_, places_, values_;  // in ascending order of the keys
};

}  // namespace panto
