#include "panto/apps/repl/text/names.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "panto/apps/repl/text/python.h"

namespace panto::repl {
namespace {

// Returns the words and marks of a line, without numbers and strings.
std::set<std::string> words_of(const std::vector<Token>& list) {
  std::set<std::string> words;
  for (const Token& t : list) {
    if (t.is_name() || t.kind == Token::Kind::kMark) words.emplace(t.text);
  }
  return words;
}

struct Entry {
  const NameRow* row;
  std::set<std::string> words;
};

struct Names {
  // Rows by the name that they are about, and by other names that occur in them.
  std::map<std::string, std::vector<Entry>, std::less<>> first, further;
};

// Returns "tf.train.AdamOptimizer", "train.AdamOptimizer", "AdamOptimizer" for the first.
std::vector<std::string_view> ends_of(std::string_view chain) {
  std::vector<std::string_view> ends{chain};
  for (size_t point = chain.find('.'); point != std::string_view::npos; point = chain.find('.')) {
    chain.remove_prefix(point + 1);
    ends.push_back(chain);
  }
  return ends;
}

// Returns "@" for `a @ b`, "**" for `a ** 2`, "~" for `~m`.
std::string operator_of(const std::vector<Token>& list) {
  size_t i = !list.empty() && list[0].is_name() ? 1 : 0;
  std::string sign;
  while (i < list.size() && list[i].kind == Token::Kind::kMark) sign += list[i++].text;
  return sign.find_first_of("([{.,;=:") == std::string::npos || sign == "==" ? sign : "";
}

void add_row(Names& names, const NameRow& row) {
  const std::vector<Token> list = scan(row.theirs).list;
  const Entry entry{&row, words_of(list)};
  if (const std::string sign = operator_of(list); !sign.empty()) names.first[sign].push_back(entry);
  bool first = python_index(row.theirs).empty();  // a row about an index is found by the index
  for (const Chain& chain : chains(list)) {
    const bool given = chain.end < list.size() && list[chain.end].is("=");  // `f = ...`, `axis=1`
    const bool one_name = chain.text.find('.') == std::string::npos;
    if (one_name && chain.text.size() == 1) continue;  // a placeholder
    const bool about = first && !(given && one_name);
    for (const std::string_view name : ends_of(chain.text)) {
      (about ? names.first : names.further)[std::string(name)].push_back(entry);
    }
    if (about) first = false;
  }
}

const Names& names() {
  static const Names made = [] {
    Names all;
    for (const NameRow& row : name_rows()) add_row(all, row);
    return all;
  }();
  return made;
}

// Returns the rows most similar to the line: with the most shared words, then the fewest other words.
std::string nearest(const std::vector<Entry>& entries, std::string_view line) {
  constexpr size_t kMost = 2;
  const std::set<std::string> words = words_of(scan(line).list);
  struct Near {
    long shared, others;
    const char* ours;
  };
  std::vector<Near> near;
  for (const Entry& e : entries) {
    const long shared = std::ranges::count_if(e.words, [&](const std::string& w) { return words.contains(w); });
    near.push_back({shared, static_cast<long>(e.words.size()) - shared, e.row->ours});
  }
  std::ranges::stable_sort(near, [](const Near& a, const Near& b) {
    return a.shared != b.shared ? a.shared > b.shared : a.others < b.others;
  });
  std::vector<std::string> said;
  for (const Near& n : near) {
    const bool like = n.shared == near[0].shared && (near[0].others > 0 || n.others == 0);
    if (!like || said.size() == kMost) break;
    if (std::ranges::find(said, n.ours) == said.end()) said.emplace_back(n.ours);
  }
  std::string text;
  for (const std::string& s : said) text.append(text.empty() ? "" : "; or ").append(s);
  return text;
}

}  // namespace

Chain chain_at(const std::vector<Token>& list, size_t at) {
  Chain chain;
  if (at >= list.size() || !list[at].is_name()) return chain;
  chain.begin = at;
  chain.end = at + 1;
  const auto joins = [&](size_t i) { return list[i].is(".") || list[i].is("::") || list[i].is("->"); };
  while (chain.begin >= 2 && joins(chain.begin - 1) && list[chain.begin - 2].is_name()) chain.begin -= 2;
  for (size_t i = chain.begin; i < chain.end; ++i) chain.text.append(list[i].is_name() ? list[i].text : ".");
  return chain;
}

std::vector<Chain> chains(const std::vector<Token>& list) {
  std::vector<Chain> all;
  for (size_t i = 0; i < list.size(); ++i) {
    if (!list[i].is_name()) continue;
    while (i + 2 < list.size() && (list[i + 1].is(".") || list[i + 1].is("::")) && list[i + 2].is_name()) i += 2;
    all.push_back(chain_at(list, i));
  }
  return all;
}

bool is_foreign(std::string_view chain) {
  static constexpr std::array<std::string_view, 23> kImported = {
      "np",  "numpy", "torch", "tf",          "tensorflow",  "F",     "nn", "optim",
      "jax", "jnp",   "keras", "layers",      "pd",          "plt",   "sp", "scipy",
      "tfd", "optax", "flax",  "torchvision", "safetensors", "Image", "rng"};
  return std::ranges::find(kImported, chain.substr(0, chain.find('.'))) != kImported.end();
}

std::string written_here(std::string_view name, std::string_view line) {
  for (const auto* table : {&names().first, &names().further}) {
    for (const std::string_view end : ends_of(name)) {
      if (const auto found = table->find(end); found != table->end()) return nearest(found->second, line);
    }
  }
  return "";
}

}  // namespace panto::repl
