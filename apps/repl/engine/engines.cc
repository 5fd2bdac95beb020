#include "panto/apps/repl/engine/engines.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <filesystem>

#include "panto/apps/repl/engine/precompiled.h"
#include "panto/lib/base/text/format.h"

namespace panto::repl {
namespace {

namespace fs = std::filesystem;

fs::path own_folder() {
  std::error_code none;
  return fs::read_symlink("/proc/self/exe", none).parent_path();
}

// The folders of the engines' libraries: in a build folder beside the command, else below the prefix.
std::vector<fs::path> engine_folders() { return {own_folder() / "repl", own_folder() / ".." / PANTO_LIBDIR / "panto"}; }

fs::path find(const std::string& name) {
  for (const fs::path& folder : engine_folders()) {
    fs::path file = folder / ("libpanto_" + name + ".so");
    if (fs::exists(file)) return file;
  }
  return {};
}

template <class F>
F* function(void* library, const char* name, const fs::path& file) {
  auto* found = reinterpret_cast<F*>(::dlsym(library, name));
  if (found == nullptr) failf(Code::kUnavailable, "interpreter: expected {} in {}", name, file.string());
  return found;
}

Engine* start(const fs::path& file, const std::function<void(const std::string&)>& note) {
  // Opened globally, because compiled inputs look up symbols in the process.
  void* library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) failf(Code::kUnavailable, "interpreter: cannot be opened: {}", ::dlerror());
  EngineOptions options{include_folders(), ""};
  options.precompiled = precompiled_header(fs::weakly_canonical(file).string(),
                                           function<PrecompileHeader>(library, kPrecompileHeader, file), options,
                                           options.include_folders.back() + "/panto/apps/repl/prelude.h", note);
  return function<MakeEngine>(library, kMakeEngine, file)(options);
}

}  // namespace

std::vector<std::string> include_folders() {
  const fs::path build = own_folder() / "..";
  if (fs::exists(build / "gen" / "panto")) {
    return {fs::weakly_canonical(build / "gen").string(), fs::weakly_canonical(build / "include").string()};
  }
  return {fs::weakly_canonical(build / "include").string()};
}

const std::vector<std::string>& engine_names() {
  static const std::vector<std::string> names = {"cling", "clang"};
  return names;
}

Engine& start_engine(const std::string& name, const std::function<void(const std::string&)>& note) {
  if (!name.empty() && std::ranges::find(engine_names(), name) == engine_names().end()) {
    failf(Code::kNotFound, "interpreter: expected cling or clang, got '{}'", name);
  }
  for (const std::string& candidate : engine_names()) {
    if (!name.empty() && name != candidate) continue;
    if (const fs::path file = find(candidate); !file.empty()) return *start(file, note);
  }
  failf(Code::kUnavailable,
        "interpreter: expected {}, got none; in the source folder, ./dev repl installs and builds it",
        name.empty() ? "cling or clang" : name);
}

}  // namespace panto::repl
