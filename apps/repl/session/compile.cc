// Compiles an input, first in a child process and then here, and calls it.
#include <fmt/core.h>

#include <chrono>
#include <optional>
#include <utility>

#include "panto/apps/repl/session/advice.h"
#include "panto/apps/repl/session/guard.h"
#include "panto/apps/repl/session/session.h"
#include "panto/apps/repl/text/diagnostics.h"
#include "panto/apps/repl/text/hints.h"
#include "panto/lib/base/error.h"
#include "panto/lib/base/text/format.h"

namespace panto::repl {
namespace {

// Runs the function compiled from the last input.
RunResult run_entered() {
  auto* run = host().entered;
  host().clear();
  return run_guarded(run);
}

}  // namespace

Session::Compiled Session::compile(const std::string& code, bool entered) {
  // Looks for loops anywhere in the text, as they may be in a lambda.
  const bool optimize = code.find("for") != std::string::npos || code.find("while") != std::string::npos ||
                        code.find("::time(") != std::string::npos || !entered;
  const auto declare = [&] {
    host().entered = nullptr;
    return engine_.declare(code, optimize) && (!entered || host().entered != nullptr);
  };
  const Probe tried = probe(declare);
  if (tried.outcome == Probe::Outcome::kInterrupted) return {false, true, ""};
  if (tried.outcome == Probe::Outcome::kCrashed) {
    const std::string said = tried.messages.find("error:") != std::string::npos ? tried.messages : "";
    return {false, false, said.empty() ? "error: the compiler crashed on this input, which is left out" : said};
  }
  if (tried.outcome != Probe::Outcome::kFine) return {false, false, tried.messages};
  const Probe done = collect(declare);
  return {done.outcome == Probe::Outcome::kFine, false, done.messages};
}

bool Session::report(const Compiled& failed, const Piece& piece, const Origin& origin) {
  if (failed.interrupted) {
    take_interrupt();
    listener_->error("interrupted");
    return false;
  }
  const int first = origin.line + piece.line - 1;
  listener_->error(with_hint(readable(failed.messages, origin.name, [&](int line) -> std::string {
    size_t at = 0;
    for (int i = first; i < line && at != std::string::npos; ++i) {
      at = piece.text.find('\n', at);
      if (at != std::string::npos) ++at;
    }
    if (line < first || at == std::string::npos) return "";
    const std::string text = piece.text.substr(at, piece.text.find('\n', at) - at);
    return line == first ? std::string(static_cast<size_t>(piece.column - 1), ' ') + text : text;
  })));
  return false;
}

bool Session::run_statement(const Piece& piece, const Origin& origin) {
  const bool show = piece.kind == Piece::Kind::kSimple && !piece.semicolon;
  const CodeWriter w = writer(origin);
  const Compiled done = compile(w.run(piece, show), true);
  if (!done.fine) return report(done, piece, origin);
  return call_entered(show ? w.serial() : 0);
}

bool Session::call_entered(int shown) {
  if (take_interrupt()) {  // it came while the compiler was busy
    host().clear();
    listener_->error("interrupted");
    return false;
  }
  const auto begin = std::chrono::steady_clock::now();
  std::optional<Advisor> advisor;
  if (shown != 0) advisor.emplace();
  const RunResult result = run_entered();
  const std::string advice = advisor ? advisor->advice() : "";
  advisor.reset();
  seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (result.outcome == RunResult::Outcome::kInterrupted) {
    listener_->error(result.message.empty() ? "interrupted" : "interrupted: " + result.message);
    return false;
  }
  if (result.outcome == RunResult::Outcome::kThrew) {
    listener_->error(result.message);
    return false;
  }
  if (shown == 0 || !host().result) return true;
  listener_->value(*host().result);
  if (!advice.empty()) listener_->note("hint: " + advice);
  note_shown(shown);
  return true;
}

void Session::run_or_throw(const std::string& code, const Piece& piece, const Origin& origin) {
  const Compiled done = compile(code, true);
  if (done.interrupted) fail(Code::kCancelled, "interrupted");
  if (!done.fine) {
    throw CompileError(with_hint(readable(done.messages, origin.name, [&](int) { return piece.text; })));
  }
  const RunResult result = run_entered();
  if (result.outcome == RunResult::Outcome::kInterrupted) fail(Code::kCancelled, "interrupted");
  if (result.outcome == RunResult::Outcome::kThrew) fail(Code::kAborted, result.message);
}

}  // namespace panto::repl
