#include "panto/apps/picture.h"

#include <filesystem>
#include <system_error>

#include "panto/apps/repl/process.h"
#include "panto/lib/base/file.h"

namespace panto::apps {

// Graphviz is an optional package.
void draw_dot(const std::string& dot, const std::string& path) {
  const std::string input = path + ".dot";
  write_file(input, dot);
  const bool drawn = repl::run_program({"dot", "-Tsvg", input, "-o", path});
  std::error_code none;
  std::filesystem::remove(input, none);
  if (!drawn) {
    fail(Code::kUnavailable, "picture: expected Graphviz to draw it, got none that can: apt-get install graphviz");
  }
}

}  // namespace panto::apps
