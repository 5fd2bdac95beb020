#include "panto/nn/layers/preprocessing/vocabulary.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/recorder.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/operators.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"
#include "panto/ops/strings.h"

namespace panto {
namespace {

Tensor keys_of(const Tensor& values) {
  return values.dtype() == kString ? string_to_hash_bucket_fast(values, std::numeric_limits<int64_t>::max()) : values;
}

}  // namespace

Vocabulary::Vocabulary(const std::string& what, const Tensor& values) : size_(values.numel()) {
  if (size_ == 0) return;
  const RecorderPause unheard;  // the keys are constants also while a graph is built
  const std::vector<int64_t> keys = keys_of(values).to_vector<int64_t>();
  const auto key = [&](int64_t place) { return keys[static_cast<size_t>(place)]; };
  std::vector<int64_t> places(keys.size());
  std::iota(places.begin(), places.end(), int64_t{0});
  std::ranges::stable_sort(places, {}, key);
  std::vector<int64_t> ordered;
  for (const int64_t place : places) ordered.push_back(key(place));
  if (const auto twice = std::ranges::adjacent_find(ordered); twice != ordered.end()) {
    const auto i = static_cast<size_t>(twice - ordered.begin());
    const Tensor both = gather(values, tensor(std::vector<int64_t>{places[i], places[i + 1]}), 0);
    if (values.dtype() == kString && both.to_vector<std::string>()[0] != both.to_vector<std::string>()[1]) {
      failf(Code::kUnimplemented, "{}: expected strings of different hashes, got one hash of places {} and {}", what,
            places[i], places[i + 1]);
    }
    invalid("{}: expected each value once, got that of place {} again", what, places[i + 1]);
  }
  places_ = tensor(places);
  keys_ = tensor(ordered);
  values_ = gather(values, places_, 0);
}

Tensor Vocabulary::places_of(const Tensor& values, int64_t first, Arg others) const {
  if (size_ == 0) return others.tensor();
  const Tensor found = lower_bound(expand_dims(keys_, 0), expand_dims(keys_of(values), 0), {.out_type = kInt64});
  const Tensor at = minimum(reshape(found, {-1}), size_ - 1);
  return where(equal(gather(values_, at, 0), values), gather(places_, at, 0) + first, std::move(others));
}

}  // namespace panto
