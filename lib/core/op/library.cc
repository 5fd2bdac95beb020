#include "panto/lib/core/op/library.h"

#include <dlfcn.h>

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <set>
#include <string_view>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/op/op.h"

extern "C" PANTO_EXPORT const char PANTO_VERSION_SYMBOL = 0;

namespace panto {
namespace {

// "0.2.0" if the loader misses panto_version_0_2_0; empty if the error is another one.
std::string other_version(std::string_view reason) {
  constexpr std::string_view kPrefix = "panto_version_";
  const size_t at = reason.find(kPrefix);
  if (at == std::string_view::npos) return "";
  const std::string_view rest = reason.substr(at + kPrefix.size());
  std::string version(rest.substr(0, rest.find_first_not_of("0123456789_")));
  std::ranges::replace(version, '_', '.');
  return version;
}

}  // namespace

void load_library(const std::string& path) {
  link_ops();
  static auto* loaded = new std::set<std::string>;
  static auto* mutex = new std::recursive_mutex;  // starting a back-end may list devices, which opens other libraries
  const std::lock_guard lock(*mutex);
  std::error_code ignored;
  const std::string key = std::filesystem::weakly_canonical(path, ignored).string();
  if (loaded->contains(key)) return;
  // A name without a folder means a file in the current folder, not one in the loader's search path.
  const std::string file = path.find('/') == std::string::npos ? "./" + path : path;
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* said = dlerror();  // belongs to this thread
    const std::string reason = said != nullptr ? said : path;
    if (const std::string version = other_version(reason); !version.empty()) {
      failf(Code::kFailedPrecondition, "library {}: expected one that was compiled for Pantograph {}, got one for {}",
            path, PANTO_VERSION, version);
    }
    failf(Code::kNotFound, "library: expected a shared library that can be opened, got {}", reason);
  }
  loaded->insert(key);
  link_ops();
  for (const char* symbol : {"panto_start_backend", "panto_add_passes"}) {
    void* start = dlsym(library, symbol);
    if (start == nullptr) continue;
    try {
      reinterpret_cast<void (*)()>(start)();
    } catch (...) {
      loaded->erase(key);  // the next call reports the error again
      throw;
    }
  }
}

}  // namespace panto
