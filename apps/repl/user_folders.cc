#include "panto/apps/repl/user_folders.h"

#include <sys/stat.h>

#include <cstdlib>

namespace panto::repl {
namespace {

namespace fs = std::filesystem;

fs::path folder(const char* variable, const char* below_home) {
  const char* place = std::getenv(variable);
  const char* home = std::getenv("HOME");
  const bool named = place != nullptr && place[0] == '/';  // the specification says to ignore relative paths
  if (!named && home == nullptr) return {};
  const fs::path above = named ? fs::path(place) : fs::path(home) / below_home;
  const fs::path own = above / "panto";
  std::error_code error;
  fs::create_directories(above, error);
  ::mkdir(own.c_str(), 0700);
  return fs::is_directory(own, error) ? own : fs::path();
}

}  // namespace

fs::path cache_folder() { return folder("XDG_CACHE_HOME", ".cache"); }
fs::path state_folder() { return folder("XDG_STATE_HOME", ".local/state"); }

}  // namespace panto::repl
