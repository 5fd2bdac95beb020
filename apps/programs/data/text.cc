#include "panto/apps/programs/data/text.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <utility>

#include "panto/lib/base/file.h"
#include "panto/lib/base/text/format.h"
#include "panto/panto.h"

namespace panto::apps {

Tensor CharacterText::encode(const std::string& bytes) const {
  std::vector<int32_t> codes;
  for (const char c : bytes) {
    const size_t at = alphabet.find(c);
    if (at == std::string::npos) invalid("text: expected characters that occur in it, got '{}'", std::string(1, c));
    codes.push_back(static_cast<int32_t>(at));
  }
  return tensor(codes);
}

std::pair<Tensor, Tensor> CharacterText::pieces(const Tensor& starts, int64_t length) const {
  const Tensor at = starts(Slice(), NewAxis) + cast(arange(length), starts.dtype());
  return {gather(codes, at), gather(codes, at + 1)};
}

CharacterText read_characters(const std::string& path, int64_t least) {
  const std::string bytes = read_file(path);
  if (std::ssize(bytes) < least) {
    invalid("{}: expected a text of {} bytes or more, got {}", path, least, bytes.size());
  }
  CharacterText text;
  text.alphabet = bytes;
  std::ranges::sort(text.alphabet);
  text.alphabet.erase(std::ranges::unique(text.alphabet).begin(), text.alphabet.end());
  text.codes = text.encode(bytes);
  return text;
}

Vocabulary read_words(const std::string& path, int64_t size) {
  std::vector<std::string> all;
  std::string word;
  for (const char c : read_file(path) + " ") {
    if (std::isalpha(static_cast<unsigned char>(c)) != 0) {
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (!word.empty()) {
      all.push_back(std::exchange(word, ""));
    }
  }
  std::map<std::string, int64_t> counts;
  for (const std::string& w : all) ++counts[w];
  std::vector<std::pair<int64_t, std::string>> ranked;
  for (const auto& [w, n] : counts) ranked.emplace_back(-n, w);
  std::ranges::sort(ranked);
  if (std::ssize(ranked) > size) ranked.resize(static_cast<size_t>(size));
  Vocabulary found;
  std::map<std::string, int32_t> places;
  for (const auto& [n, w] : ranked) {
    places[w] = static_cast<int32_t>(found.words.size());
    found.words.push_back(w);
  }
  std::vector<int32_t> codes;
  for (const std::string& w : all) {
    if (const auto at = places.find(w); at != places.end()) codes.push_back(at->second);
  }
  found.text = tensor(codes);
  return found;
}

int32_t draw(const Tensor& logits, const DrawOptions& options) {
  const int64_t classes = logits.numel();
  const int64_t k = options.top_k > 0 ? std::min(options.top_k, classes) : classes;
  const auto [values, places] = top_k(logits, static_cast<int32_t>(k));
  // The argmax of logits plus Gumbel noise is a sample of the softmax (Gumbel 1954).
  const Tensor noise = -log(-log(random_uniform({k}, {.min = 1e-7, .max = 1})));
  return cast(places, kInt32)(argmax(values / options.temperature + noise, 0)).item<int32_t>();
}

}  // namespace panto::apps
