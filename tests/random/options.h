// What the command line of random_programs says (main.cc has the list).
#pragma once

#include <cstdint>
#include <string>

namespace panto::random {

struct Options {
  uint64_t programs = 2000, seed = 1, calls = 0;
  std::string mode, folder, only_call;
  bool shrinks = true, prints = false, coverage = false, all = false;
};
// Throws InvalidArgument for an argument that is none.
Options parse(int count, char** arguments);

}  // namespace panto::random
