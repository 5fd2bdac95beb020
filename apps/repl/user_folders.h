// Folders of the user's where a session leaves things.
#pragma once

#include <filesystem>

namespace panto::repl {

// The folder "panto" for what can be made again, and for what lasts between sessions, by the XDG Base Directory
// Specification (0.8): below $XDG_CACHE_HOME or ~/.cache, $XDG_STATE_HOME or ~/.local/state. It is made where it is
// missing, for the user alone. Empty: the environment names no place, or none can be had.
std::filesystem::path cache_folder();
std::filesystem::path state_folder();

}  // namespace panto::repl
