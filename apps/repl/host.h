// What compiled inputs leave behind: the functions that prelude.h declares write here.
#pragma once

#include <optional>
#include <string>

#include "panto/apps/repl/prelude.h"

namespace panto::repl {

struct Host {
  void (*entered)() = nullptr;            // what the last input was made into
  std::optional<std::string> result;      // of an expression
  std::optional<PantoReplObject> object;  // of a variable
  struct Timing {
    double seconds = 0;  // of one run, the best of several
    long runs = 0;       // in one measurement
    int repeats = 0;
  };
  std::optional<Timing> timing;

  void clear() { *this = Host(); }
};

Host& host();

}  // namespace panto::repl
