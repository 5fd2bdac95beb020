#include "panto/lib/core/io/graph_files.h"

#include <atomic>
#include <cstdlib>
#include <string_view>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/step/step.h"

namespace panto {
namespace {

std::atomic<bool>& allowed() {
  static std::atomic<bool> value = [] {
    const char* text = std::getenv("PANTO_GRAPH_FILES");
    return text == nullptr || std::string_view(text) != "0";
  }();
  return value;
}

}  // namespace

void allow_graph_files(bool value) noexcept { allowed().store(value); }
bool graph_files_allowed() noexcept { return allowed().load() && current_step().graph_files; }

void expect_graph_files_allowed(const std::string& path) {
  if (graph_files_allowed()) return;
  failf(Code::kPermissionDenied, "file '{}': expected no file of a graph to be opened, as was asked for, got this one",
        path);
}

}  // namespace panto
