// The table of other libraries' names and ours. The build generates it from docs/names.md (name_rows.py), the only
// place where such names are listed.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "panto/apps/repl/text/tokens.h"

namespace panto::repl {

struct NameRow {
  const char* theirs;  // the other library's code: "np.concatenate([a, b], 1)"
  const char* ours;    // the text of the page's last column
};
std::span<const NameRow> name_rows();

// A chain of names joined by dots: "np.concatenate", "x.astype", "matmul".
struct Chain {
  std::string text;
  size_t begin = 0, end = 0;  // tokens
};
// Returns the chain that contains the token at `at`, up to that token; with an empty text if there is none.
Chain chain_at(const std::vector<Token>& list, size_t at);
// Returns all chains, in order.
std::vector<Chain> chains(const std::vector<Token>& list);
// Returns true if the chain begins with another library's usual import name: np, torch, tf, F, ...
bool is_foreign(std::string_view chain);

// Returns our equivalent of another library's chain, of one of its ends ("astype" of "x.astype") or of an operator
// ("@", "**"). If several rows have the name, returns those most similar to `line`, in which it was typed. "" if there
// is none.
std::string written_here(std::string_view name, std::string_view line);

}  // namespace panto::repl
