// The header that all inputs are compiled against, precompiled: with it a session starts in a tenth of the time.
#pragma once

#include <functional>
#include <string>

#include "panto/apps/repl/engine/engine.h"

namespace panto::repl {

// The file for an engine with these options, in the user's cache folder. It is made, in seconds, after `note` was told
// so (it may be null), where there is none or any file that went into it has changed; `library` is the engine's, each
// of which has a file of its own. Empty: none can be had, and the engine has to read the header itself.
std::string precompiled_header(const std::string& library, PrecompileHeader* make, const EngineOptions& options,
                               const std::string& header, const std::function<void(const std::string&)>& note);

}  // namespace panto::repl
