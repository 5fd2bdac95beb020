// Finding and starting a C++ interpreter.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "panto/apps/repl/engine/engine.h"

namespace panto::repl {

// "cling", "clang"
const std::vector<std::string>& engine_names();
// Where the headers are that inputs are compiled against.
std::vector<std::string> include_folders();
// Starts the named engine, or with "" the first that is there. The engine lives as long as the process. Throws NotFound
// for an unknown name, Unavailable, saying what to install, where none is there. `note`, which may be null, is told
// what keeps the user waiting.
Engine& start_engine(const std::string& name, const std::function<void(const std::string&)>& note);

}  // namespace panto::repl
