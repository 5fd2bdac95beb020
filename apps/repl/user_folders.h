// The user's folders in which a session stores files.
#pragma once

#include <filesystem>

namespace panto::repl {

// Return the folder "panto" for cached files and for files that last between sessions, by the XDG Base Directory
// Specification (0.8): below $XDG_CACHE_HOME or ~/.cache, and $XDG_STATE_HOME or ~/.local/state. Create it, for the
// user only, if it is missing. Empty if the environment names no place or it cannot be created.
std::filesystem::path cache_folder();
std::filesystem::path state_folder();

}  // namespace panto::repl
