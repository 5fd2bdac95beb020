// Samples of StringNGrams.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "panto/tests/ops/reference.h"
#include "panto/tests/ops/table.h"

namespace panto::test::ngrams_rows {
namespace {

using Words = std::vector<std::string>;

std::string joined(const Words& words, size_t begin, size_t count, const std::string& separator) {
  std::string text;
  for (size_t k = begin; k < begin + count; ++k) text += (k > begin ? separator : "") + words[k];
  return text;
}

std::vector<Array> ngrams(const Given& g) {
  const Words& data = g.in[0].texts;
  const Index splits = integers(g.in[1]);
  Words all;
  std::vector<double> bounds(splits.empty() ? 0 : 1, 0.0);
  for (size_t i = 0; i + 1 < splits.size(); ++i) {
    const Words tokens(data.begin() + splits[i], data.begin() + splits[i + 1]);
    const auto padded = [&](size_t pad) {
      Words words(pad, g.text("left_pad"));
      words.insert(words.end(), tokens.begin(), tokens.end());
      words.insert(words.end(), pad, g.text("right_pad"));
      return words;
    };
    const size_t before = all.size();
    const int64_t pad = g.integer("pad_width");
    for (const int64_t width : g.integers("ngram_widths")) {
      const auto most = static_cast<size_t>(width - 1);
      const Words words = padded(pad < 0 || static_cast<size_t>(pad) > most ? most : static_cast<size_t>(pad));
      for (size_t k = 0; k + most < words.size() && !data.empty(); ++k) {
        all.push_back(joined(words, k, most + 1, g.text("separator")));
      }
    }
    if (all.size() == before && g.flag("preserve_short_sequences") && !tokens.empty()) {
      const Words words = padded(static_cast<size_t>(pad));
      all.push_back(joined(words, 0, words.size(), g.text("separator")));
    }
    bounds.push_back(static_cast<double>(all.size()));
  }
  const auto count = static_cast<int64_t>(all.size());
  return {texts({count}, std::move(all)), list(bounds)};
}

Attrs attrs(std::vector<int64_t> widths, int pad, bool keep_short) {
  return {{"separator", " "}, {"ngram_widths", std::move(widths)},     {"left_pad", "<<"}, {"right_pad", ">"},
          {"pad_width", pad}, {"preserve_short_sequences", keep_short}};
}

const Array kWords = texts({6}, {"a", "bc", "", "d", "ef", "g"});
const Array kSplits = list({0, 3, 3, 4, 6});

ErrorSample wrong(Array splits, const char* text, Attrs given = attrs({2}, 0, false)) {
  return {.in = {kWords, std::move(splits)}, .attrs = std::move(given), .text = text};
}

const Family family(
    "strings", {{"StringNGrams",
                 {.samples = {{.in = {kWords, kSplits}, .attrs = attrs({2}, 0, false)},
                              {.in = {kWords, kSplits}, .attrs = attrs({1, 3}, -1, false)},
                              {.in = {kWords, kSplits}, .attrs = attrs({3, 2}, 1, false)},
                              {.in = {kWords, kSplits}, .attrs = attrs({3}, 9, false)},
                              {.in = {kWords, kSplits}, .attrs = attrs({3}, 0, true)},
                              {.in = {kWords, kSplits}, .attrs = attrs({9}, 1, true)},
                              {.in = {kWords, kSplits}, .attrs = attrs({}, 2, true)},
                              {.in = {kWords, kSplits}, .attrs = attrs({}, 2, false)},
                              {.in = {texts({0}, {}), list({0, 0, 0})}, .attrs = attrs({2}, -1, true)},
                              {.in = {texts({0}, {}), list({})}, .attrs = attrs({2}, -1, true)}},
                  .reference = ngrams,
                  .errors = {wrong(list({}), "data_splits: expected at least one, got none"),
                             wrong(list({1, 6}), "data_splits[0]: expected 0 to 0, got 1"),
                             wrong(list({0, 7}), "data_splits[1]: expected 0 to 6, got 7"),
                             wrong(list({0, 4, 3, 6}), "data_splits[2]: expected 4 to 6, got 3"),
                             wrong(list({0, 4}), "data_splits: expected 6 last, got 4"),
                             wrong(array({1, 2}, {0, 6}), "data_splits: expected a vector"),
                             wrong(kSplits, "ngram_widths: expected 1 to 2147483647, got 0", attrs({2, 0}, 0, false)),
                             wrong(kSplits, "ngram_widths: expected 1 to 2147483647, got 2147483648",
                                   attrs({int64_t{1} << 31}, 0, false)),
                             wrong(kSplits, "pad_width: expected at least 0, as there are no ngram_widths, got -1",
                                   attrs({}, -1, true)),
                             {.in = {kWords, kSplits},
                              .attrs = attrs({2000000000}, -1, false),
                              .code = Code::kResourceExhausted,
                              .text = "ngrams: expected at most 16 GiB"}},
                  .data_dependent_shape = true}}});

}  // namespace
}  // namespace panto::test::ngrams_rows
