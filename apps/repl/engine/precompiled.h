// Precompiles the header against which all inputs are compiled: a session then starts in a tenth of the time.
#pragma once

#include <functional>
#include <string>

#include "panto/apps/repl/engine/engine.h"

namespace panto::repl {

// Returns the precompiled file for an engine with these options, in the user's cache folder. If it is missing or a file
// it depends on has changed, calls `note` (may be null) and builds it, which takes seconds. Each engine, by its
// `library`, has its own file. Returns "" if there can be none; the engine then reads the header itself.
std::string precompiled_header(const std::string& library, PrecompileHeader* make, const EngineOptions& options,
                               const std::string& header, const std::function<void(const std::string&)>& note);

}  // namespace panto::repl
