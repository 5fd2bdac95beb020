#include "panto/nn/layers/preprocessing/lookup.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "panto/lib/base/text/format.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/reductions.h"
#include "panto/nn/layers/core/shapes.h"
#include "panto/nn/layers/preprocessing/encoding.h"
#include "panto/nn/layers/preprocessing/vocabulary.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"
#include "panto/ops/sparse.h"
#include "panto/ops/strings.h"

namespace panto {
namespace {

// The distinct values, most frequent first; among equally frequent ones the greater value first.
template <class T>
std::vector<T> most_frequent(const std::vector<T>& data, int64_t most) {
  std::map<T, int64_t> counts;
  for (const T& value : data) ++counts[value];
  std::vector<std::pair<int64_t, T>> order;
  for (const auto& [value, count] : counts) order.emplace_back(count, value);
  std::ranges::sort(order, std::greater<>());
  std::vector<T> all;
  for (const auto& [count, value] : order) {
    if (static_cast<int64_t>(all.size()) == most) break;
    all.push_back(value);
  }
  return all;
}

template <class Options>
void expect_options(const char* layer, const Options& options) {
  if (options.oov < 1) invalid("{}: expected a positive oov, got {}", layer, options.oov);
  const int64_t special = options.oov + (options.mask ? 1 : 0);
  if (options.max_tokens != 0 && options.max_tokens <= special) {
    invalid("{}: expected max_tokens above {}, or 0, got {}", layer, special, options.max_tokens);
  }
}

// The number of words that `adapt` keeps; -1: all.
template <class Options>
int64_t most_words(const Options& options) {
  return options.max_tokens == 0 ? -1 : options.max_tokens - options.oov - (options.mask ? 1 : 0);
}

}  // namespace

// ---- StringLookup ---------------------------------------------------------------------------------------------------

struct StringLookup::State {
  std::vector<std::string> words;
  Vocabulary places;
};

StringLookup::StringLookup(StringLookupOptions options, const std::vector<std::string>& vocabulary)
    : options_(std::move(options)), state_(std::make_shared<State>()) {
  expect_options("StringLookup", options_);
  set(vocabulary);
}

void StringLookup::set(std::vector<std::string> words) const {
  std::set<std::string_view> seen;
  for (const std::string& word : words) {
    if (options_.mask == word || !seen.insert(word).second) {
      invalid("StringLookup: expected each word once, and not the mask, got '{}'", word);
    }
  }
  Vocabulary places("StringLookup", tensor(words));
  *state_ = {std::move(words), std::move(places)};
}

void StringLookup::adapt(const Tensor& data) const {
  if (data.dtype() != kString) invalid("StringLookup: expected strings, got {}", dtype_name(data.dtype()));
  std::vector<std::string> words = data.to_vector<std::string>();
  std::erase_if(words, [&](const std::string& w) { return w == options_.oov_word || options_.mask == w; });
  set(most_frequent(words, most_words(options_)));
}

// The int64 numbers of a vector of strings.
Tensor StringLookup::numbers_of(const Tensor& x) const {
  const int64_t first = options_.mask ? 1 : 0;
  const Tensor others =
      options_.oov > 1 ? string_to_hash_bucket_fast(x, options_.oov) + first : cast(fill(shape(x), first), kInt64);
  Tensor numbers = state_->places.places_of(x, first + options_.oov, others);
  if (options_.mask) numbers = where(equal(x, *options_.mask), int64_t{0}, numbers);
  return numbers;
}

int64_t StringLookup::count() const {
  return static_cast<int64_t>(state_->words.size()) + options_.oov + (options_.mask ? 1 : 0);
}

Tensor StringLookup::forward(const Tensor& x) const {
  if (x.dtype() != kString) invalid("StringLookup: expected strings, got {}", dtype_name(x.dtype()));
  const PartialShape& known = x.partial_shape();
  const Tensor flat = numbers_of(reshape(x, {-1}));
  const Tensor numbers = known.fully_known() ? reshape(flat, Shape(known)) : reshape(flat, shape(x));
  return detail::encoded_categories("StringLookup", numbers, count(), options_.output);
}

Tensor StringLookup::words(const Tensor& numbers) const { return gather(tensor(vocabulary()), numbers, 0); }

std::vector<std::string> StringLookup::vocabulary() const {
  std::vector<std::string> all;
  if (options_.mask) all.push_back(*options_.mask);
  all.insert(all.end(), static_cast<size_t>(options_.oov), options_.oov_word);
  all.insert(all.end(), state_->words.begin(), state_->words.end());
  return all;
}

std::string StringLookup::to_string() const { return fmt::format("StringLookup({} words)", state_->words.size()); }

// ---- IntegerLookup --------------------------------------------------------------------------------------------------

struct IntegerLookup::State {
  std::vector<int64_t> integers;
  Vocabulary places;
};

IntegerLookup::IntegerLookup(IntegerLookupOptions options, const std::vector<int64_t>& vocabulary)
    : options_(options), state_(std::make_shared<State>()) {
  expect_options("IntegerLookup", options_);
  set(vocabulary);
}

void IntegerLookup::set(std::vector<int64_t> integers) const {
  std::set<int64_t> seen;
  for (const int64_t i : integers) {
    if (options_.mask == i || !seen.insert(i).second) {
      invalid("IntegerLookup: expected each integer once, and not the mask, got {}", i);
    }
  }
  Vocabulary places("IntegerLookup", tensor(integers));
  *state_ = {std::move(integers), std::move(places)};
}

void IntegerLookup::adapt(const Tensor& data) const {
  if (data.dtype() != kInt32 && data.dtype() != kInt64) {
    invalid("IntegerLookup: expected int32 or int64, got {}", dtype_name(data.dtype()));
  }
  std::vector<int64_t> integers = cast(data, kInt64).to_vector<int64_t>();
  std::erase_if(integers, [&](int64_t i) { return options_.mask == i; });
  set(most_frequent(integers, most_words(options_)));
}

Tensor IntegerLookup::forward(const Tensor& x) const {
  if (x.dtype() != kInt32 && x.dtype() != kInt64) {
    invalid("IntegerLookup: expected int32 or int64, got {}", dtype_name(x.dtype()));
  }
  const PartialShape& known = x.partial_shape();
  const Tensor flat = reshape(cast(x, kInt64), {-1});
  const int64_t first = options_.mask ? 1 : 0;
  const Tensor others = options_.oov > 1 ? floor_mod(flat, options_.oov) + first : zeros_like(flat) + first;
  Tensor numbers = state_->places.places_of(flat, first + options_.oov, others);
  if (options_.mask) numbers = where(equal(flat, *options_.mask), int64_t{0}, numbers);
  numbers = known.fully_known() ? reshape(numbers, Shape(known)) : reshape(numbers, shape(x));
  const int64_t count = static_cast<int64_t>(state_->integers.size()) + options_.oov + first;
  return detail::encoded_categories("IntegerLookup", numbers, count, options_.output);
}

std::vector<int64_t> IntegerLookup::vocabulary() const { return state_->integers; }

std::string IntegerLookup::to_string() const {
  return fmt::format("IntegerLookup({} integers)", state_->integers.size());
}

// ---- TextVectorization ----------------------------------------------------------------------------------------------

namespace {
// Output as numbers reserves one for the padding after the last word.
std::optional<std::string> padding_of(CategoryOutput output) {
  if (output == CategoryOutput::kInt) return "";
  return std::nullopt;
}
}  // namespace

TextVectorization::TextVectorization(TextVectorizationOptions options) : TextVectorization({}, options) {}
TextVectorization::TextVectorization(const std::vector<std::string>& vocabulary, TextVectorizationOptions options)
    : options_(options), lookup_(vocabulary, {.mask = padding_of(options_.output), .max_tokens = options_.max_tokens}) {
  if (options_.output == CategoryOutput::kOneHot) {
    invalid("TextVectorization: expected an output of kInt, kMultiHot or kCount, got kOneHot");
  }
  if (options_.length < 0) invalid("TextVectorization: expected a length of at least 0, got {}", options_.length);
}

// The words of a vector of texts, as string_split gives them.
TextVectorization::Words TextVectorization::words_of(const Tensor& texts) const {
  if (texts.dtype() != kString) invalid("TextVectorization: expected strings, got {}", dtype_name(texts.dtype()));
  const PartialShape& shape = texts.partial_shape();
  if (!shape.known_rank() || shape.rank() < 1 || shape.rank() > 2 || (shape.rank() == 2 && shape.dim(1) != 1)) {
    invalid("TextVectorization: expected strings of shape [batch] or [batch, 1], got {}", shape.to_string());
  }
  Tensor flat = reshape(texts, {-1});
  const TextStandard standard = options_.standard;
  if (standard == TextStandard::kLower || standard == TextStandard::kLowerAndStripPunctuation) {
    flat = string_lower(flat);
  }
  if (standard == TextStandard::kStripPunctuation || standard == TextStandard::kLowerAndStripPunctuation) {
    flat = static_regex_replace(flat, R"([!"#$%&()\*\+,-\./:;<=>?@\[\\\]^_`{|}~\'])", "");
  }
  if (options_.split == TextSplit::kWhitespace) {
    StringSplitOutputs split = string_split(flat, "");
    return {std::move(split.indices), std::move(split.values), std::move(split.shape)};
  }
  const Tensor count = size(flat, {.out_type = kInt64});
  const Tensor rows = range(int64_t{0}, count, int64_t{1});
  return {stack({rows, zeros_like(rows)}, 1), flat, stack({count, int64_t{1}})};
}

void TextVectorization::adapt(const Tensor& texts) const { lookup_.adapt(words_of(texts).values); }

Tensor TextVectorization::forward(const Tensor& x) const {
  const Words words = words_of(x);
  const Tensor numbers = lookup_.numbers_of(words.values);
  const int64_t length = options_.length;
  const bool of_words = options_.output == CategoryOutput::kInt;
  // At least as long as asked for, and not empty.
  const Tensor longest = maximum(words.shape[1], std::max(of_words ? length : 1, int64_t{1}));
  const Tensor padded =
      sparse_to_dense(words.indices, stack({words.shape[0], longest}), numbers, of_words ? int64_t{0} : int64_t{-1});
  if (!of_words) return detail::encoded_categories("TextVectorization", padded, lookup_.count(), options_.output);
  return length > 0 ? slice(padded, {0, 0}, {-1, length}) : padded;
}

std::string TextVectorization::to_string() const { return fmt::format("TextVectorization({} words)", lookup_.count()); }

}  // namespace panto
