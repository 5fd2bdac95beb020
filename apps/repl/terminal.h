// A prompt on a terminal, by GNU readline.
#pragma once

#include <string>

#include "panto/apps/repl/commands/commands.h"
#include "panto/apps/repl/session/session.h"

namespace panto::repl {

// Uses colours if standard output is a terminal.
class TerminalListener final : public Listener {
 public:
  void value(const std::string& text) override;
  void error(const std::string& text) override;
  void note(const std::string& text) override;
};

// Reads and runs inputs until the user quits.
void run_terminal(Session& session, Commands& commands);

}  // namespace panto::repl
