// Finds and starts a C++ interpreter.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "panto/apps/repl/engine/engine.h"

namespace panto::repl {

// Returns "cling" and "clang".
const std::vector<std::string>& engine_names();
// Returns the folders of the headers against which inputs are compiled.
std::vector<std::string> include_folders();
// Starts the named engine, or the first available one for "". The engine lives as long as the process. Throws NotFound
// for an unknown name; Unavailable, with what to install, if there is none. `note` (may be null) is called with the
// reason of a delay.
Engine& start_engine(const std::string& name, const std::function<void(const std::string&)>& note);

}  // namespace panto::repl
