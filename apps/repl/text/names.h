// What is called otherwise elsewhere: docs/names.md as a table. The page is the one place where such names are; the
// build makes the table of it (name_rows.py).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "panto/apps/repl/text/tokens.h"

namespace panto::repl {

struct NameRow {
  const char* theirs;  // what is typed there: "np.concatenate([a, b], 1)"
  const char* ours;    // the text of the page's last column
};
std::span<const NameRow> name_rows();

// Names that points join: "np.concatenate", "x.astype", "matmul".
struct Chain {
  std::string text;
  size_t begin = 0, end = 0;  // tokens
};
// The chain that the token at `at` is part of, up to that token; no text where there is none.
Chain chain_at(const std::vector<Token>& list, size_t at);
// All of them, in order.
std::vector<Chain> chains(const std::vector<Token>& list);
// Whether the chain begins with what another library is imported as: np, torch, tf, F, ...
bool is_foreign(std::string_view chain);

// How what a chain, or one of its ends ("astype" of "x.astype"), names elsewhere is written here; of an operator too
// ("@", "**"). Where several rows have the name, those that `line`, in which it was typed, is like. "" for others.
std::string written_here(std::string_view name, std::string_view line);

}  // namespace panto::repl
