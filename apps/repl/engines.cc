#include "panto/apps/repl/engines.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <filesystem>

#include "panto/lib/base/format.h"

namespace panto::repl {
namespace {

namespace fs = std::filesystem;

fs::path own_folder() {
  std::error_code none;
  return fs::read_symlink("/proc/self/exe", none).parent_path();
}

// Where engines' libraries are: in a build folder beside the command, else below the prefix.
std::vector<fs::path> engine_folders() { return {own_folder() / "repl", own_folder() / ".." / PANTO_LIBDIR / "panto"}; }

std::vector<std::string> include_folders() {
  const fs::path build = own_folder() / "..";
  if (fs::exists(build / "gen" / "panto")) {
    return {fs::weakly_canonical(build / "gen").string(), fs::weakly_canonical(build / "include").string()};
  }
  return {fs::weakly_canonical(build / "include").string()};
}

fs::path find(const std::string& name) {
  for (const fs::path& folder : engine_folders()) {
    fs::path file = folder / ("libpanto_" + name + ".so");
    if (fs::exists(file)) return file;
  }
  return {};
}

Engine* start(const fs::path& file) {
  // Globally: what inputs are compiled to looks for its symbols in the process.
  void* library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) failf(Code::kUnavailable, "interpreter: cannot be opened: {}", ::dlerror());
  auto* make = reinterpret_cast<MakeEngine*>(::dlsym(library, kMakeEngine));
  if (make == nullptr) failf(Code::kUnavailable, "interpreter: expected {} in {}", kMakeEngine, file.string());
  return make({include_folders()});
}

}  // namespace

const std::vector<std::string>& engine_names() {
  static const std::vector<std::string> names = {"cling", "clang"};
  return names;
}

Engine& start_engine(const std::string& name) {
  if (!name.empty() && std::ranges::find(engine_names(), name) == engine_names().end()) {
    failf(Code::kNotFound, "interpreter: expected cling or clang, got '{}'", name);
  }
  for (const std::string& candidate : engine_names()) {
    if (!name.empty() && name != candidate) continue;
    if (const fs::path file = find(candidate); !file.empty()) return *start(file);
  }
  failf(Code::kUnavailable,
        "interpreter: expected {}, got none; in the source folder, ./dev repl installs and builds it",
        name.empty() ? "cling or clang" : name);
}

}  // namespace panto::repl
