// function_library MODEL NAME OUT INPUT,... OUTPUT,...
//
// Loads a GraphDef as a function of these inputs and writes it, with the functions that it calls, as a
// FunctionDefLibrary: for tests in which TensorFlow calls it.
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "panto/lib/base/text/format.h"
#include "panto/panto.h"

namespace {

std::vector<std::string> names(const std::string& text) {
  std::vector<std::string> parts;
  for (size_t at = 0; at <= text.size();) {
    const size_t comma = std::min(text.find(',', at), text.size());
    if (comma > at) parts.push_back(text.substr(at, comma - at));
    at = comma + 1;
  }
  return parts;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) {
    std::fputs("usage: function_library MODEL NAME OUT INPUT,... OUTPUT,...\n", stderr);
    return 2;
  }
  try {
    const panto::Function f = panto::load(argv[1], names(argv[4]), names(argv[5]));
    std::ofstream(argv[3], std::ios::binary) << f.to_function_library(argv[2]);
    return 0;
  } catch (const panto::Error& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
