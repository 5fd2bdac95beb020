// Threads of the library's own.
#pragma once

#include <string_view>
#include <thread>

#include "panto/lib/base/callable.h"
#include "panto/lib/base/export.h"

namespace panto {

// A thread that runs `body`, which must not throw. Signals are left to the program's threads: a prompt's Ctrl-C is
// meant for the thread that waits. Throws ResourceExhausted, naming `what` needs it, where there is none to be had.
PANTO_EXPORT std::thread start_thread(std::string_view what, Callable<void()> body);

}  // namespace panto
