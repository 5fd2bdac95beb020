#include "panto/apps/repl/session/session.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <regex>
#include <utility>

#include "panto/apps/repl/session/guard.h"
#include "panto/apps/repl/text/diagnostics.h"
#include "panto/apps/repl/text/hints.h"
#include "panto/apps/repl/text/python.h"
#include "panto/lib/base/error.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/op/op.h"
#include "panto/trace/describe.h"

namespace panto::repl {
namespace {

Piece expression(const std::string& text) {
  Piece p;
  p.text = text;
  return p;
}

// Discards everything.
class Silent final : public Listener {
 public:
  void value(const std::string&) override {}
  void error(const std::string&) override {}
  void note(const std::string&) override {}
};

}  // namespace

Session::Session(Engine& engine, Listener& listener, const std::string& log_path)
    : engine_(engine), listener_(&listener), log_(log_path) {
  const Probe headers = collect([&] {
    return engine_.declare("#include <panto/apps/repl/prelude.h>\nusing namespace panto;\nnamespace session {}\n",
                           true);
  });
  if (headers.outcome != Probe::Outcome::kFine) {
    failf(Code::kInternal, "headers: expected ones that compile: {}",
          readable(headers.messages, "", [](int) { return std::string(); }));
  }
}

bool Session::feed(std::string_view text, const Origin& from, bool keep_going) {
  bool fine = true;
  for (const Piece& piece : cut(text, true).list) {
    if (run(piece, from)) continue;
    fine = false;
    if (!keep_going) break;
  }
  return fine;
}

Piece Session::as_code(const Piece& piece) const {
  if (piece.kind != Piece::Kind::kCommand || !piece.text.starts_with('!')) return piece;
  const std::vector<Token> tokens = scan(piece.text).list;
  if (tokens.size() < 2) return piece;
  const Token& word = tokens[1];
  const bool known = places_.contains(std::string(word.text)) || (word.is("_") && last_shown_ != 0) ||
                     word.is("true") || word.is("false") || word.is("std") || word.is("panto");
  if (!known) return piece;
  Piece code = piece;
  code.kind = Piece::Kind::kSimple;
  code.semicolon = code.text.ends_with(';');
  if (code.semicolon) code.text.pop_back();
  return code;
}

std::string Session::plain_command(const Piece& piece) const {
  if (piece.kind == Piece::Kind::kCommand) return piece.text;
  if (piece.kind != Piece::Kind::kSimple) return "";
  const std::vector<Token> tokens = scan(piece.text).list;
  const size_t n = tokens.size();
  if (n == 0 || places_.contains(std::string(tokens[0].text))) return "";
  const bool help = tokens[0].is("help"), names = tokens[0].is("dir");
  const bool variables = tokens[0].is("who") || tokens[0].is("whos");
  if (!help && !names && !variables && !tokens[0].is("exit") && !tokens[0].is("quit")) return "";
  std::string command = help ? ":help" : names ? ":names" : variables ? ":vars" : ":quit";
  if (n == 1) return command;
  if (n < 3 || !tokens[1].is("(") || !tokens[n - 1].is(")")) return "";
  if (n == 3) return command;
  if (!help || !tokens[n - 2].is_name()) return "";
  return fmt::format("{} {}", command, piece.text.substr(tokens[2].offset, tokens[n - 2].end() - tokens[2].offset));
}

bool Session::run(const Piece& given, const Origin& origin) {
  const Piece piece = as_code(given);
  if (const std::string command = plain_command(piece); !command.empty()) {
    Origin at = origin;
    at.line += piece.line - 1;
    return command_ ? command_(command, at) : true;
  }
  log_.begin(input_, piece, origin);
  bool fine = false;
  try {
    fine = execute(piece, origin);
  } catch (const Error& error) {
    listener_->error(fmt::format("error: {}", error.what()));
  }
  log_.finish(fine ? LogEntry::State::kAccepted : LogEntry::State::kFailed);
  log_.set_meaning(log_.entries().size() - 1, std::exchange(meaning_, ""), has_shown_);
  return fine;
}

Session::Replay Session::replay() {
  const Silence silence;
  struct Quiet {
    Listener*& listener;
    Listener* before;
    ~Quiet() { listener = before; }
  };
  static Silent silent;
  const Quiet quiet{listener_, std::exchange(listener_, &silent)};
  Replay result;
  std::set<int> inputs;
  // By index, as entries change during the loop; the log does not grow.
  for (size_t i = 0; i < log_.entries().size(); ++i) {
    const LogEntry e = log_.entries()[i];
    input_ = std::max(input_, e.input);
    if (e.state == LogEntry::State::kRunning) log_.set_state(i, LogEntry::State::kFailed);
    if (e.state != LogEntry::State::kAccepted) continue;
    log_.set_state(i, LogEntry::State::kRunning);
    bool fine = false;
    try {
      fine = execute(e.piece, e.origin);
    } catch (const Error&) {
      fine = false;  // marked as failed
    }
    log_.set_state(i, fine ? LogEntry::State::kAccepted : LogEntry::State::kFailed);
    log_.set_meaning(i, std::exchange(meaning_, ""), has_shown_);
    if (!fine) ++result.failed;
    inputs.insert(e.input);
    if (take_interrupt()) break;
  }
  result.inputs = static_cast<int>(inputs.size());
  return result;
}

CodeWriter Session::writer(const Origin& origin, bool deeper) {
  ++serial_;
  CodeWriter made(serial_, deeper ? fmt::format("{}::s{}", scope_, depth_ + 1) : scope_, origin);
  return made.with(results_);
}

std::vector<SessionVariable> Session::variables() const {
  std::vector<SessionVariable> list;
  for (const auto& [name, v] : variables_) list.push_back(v);
  return list;
}

std::string Session::use_results(std::string& text) {
  const ResultUses uses = read_results(text);
  std::string code;
  // Static: lambdas use it without a capture.
  if (uses.last && last_shown_ != 0 && !places_.contains("_")) code = CodeWriter::result("_", last_shown_, "static");
  if (uses.numbers.empty() || places_.contains("Out")) return code;
  text = uses.text;
  std::set<int> declared;
  for (int n : uses.numbers) {
    const auto found = shown_.find(n);
    if (found == shown_.end() || !shown_values().contains(found->second)) {
      failf(Code::kNotFound, "Out[{}]: expected the number of an input whose value was shown and is kept, got {}", n,
            n);
    }
    if (declared.insert(n).second) code += CodeWriter::result(result_name(n), found->second, "static");
  }
  return code;
}

void Session::note_shown(int serial) {
  has_shown_ = true;
  last_shown_ = 0;
  shown_.erase(input_);
  if (!host().shown) return;
  keep_shown_value(serial);
  last_shown_ = serial;
  shown_[input_] = serial;
}

bool Session::execute(const Piece& piece, const Origin& origin) {
  Piece p = piece;
  has_shown_ = false;
  struct Forget {
    std::string& text;
    ~Forget() { text.clear(); }
  };
  const Forget forget{results_};
  results_ = use_results(p.text);
  if (has_several_indices(p.text)) {
    listener_->error("error: index: expected one between brackets, got several, of which C++ takes the last\nhint: " +
                     python_index(p.text));
    return false;
  }
  const bool stays = p.kind == Piece::Kind::kDeclaration ||
                     (p.kind == Piece::Kind::kSimple && !read_variable(p.text) && declares_variables(p.text));
  if (!results_.empty() && stays) {
    fail(Code::kInvalidArgument,
         "declaration: expected no value that was shown in what stays, got `_` or `Out[n]`: auto x = _; gives it a "
         "name");
  }
  p.text = open_captures(p.text, variable_names());
  if (p.kind == Piece::Kind::kDirective || p.kind == Piece::Kind::kDeclaration) return run_plain(p, origin);
  if (p.kind == Piece::Kind::kStatement) return run_statement(p, origin);
  if (auto v = read_variable(p.text)) {
    const bool product = v->pointer && v->form == Declaration::Form::kNone &&
                         (variables_.contains(v->type.substr(0, v->type.find_first_of(" *"))) || !p.semicolon);
    if (!product) {
      if (v->constant && is_constant(p, origin)) return run_initialized(p, origin);
      Compiled failed;
      if (run_variable(p, *v, origin, failed)) return show_variable(p, *v, origin);
      if (failed.messages.empty() && !failed.interrupted) return false;  // it compiled, but threw
      // `int f(int);` looks like a variable.
      if (v->form == Declaration::Form::kParentheses && !failed.interrupted) {
        Piece declaration = p;
        declaration.kind = Piece::Kind::kDeclaration;
        CodeWriter w = writer(origin);
        const Compiled plain = compile(w.plain(declaration, false), false);
        if (plain.fine) {
          note_names(declared_names(declaration), false);
          return true;
        }
      }
      return report(failed, p, origin);
    }
  } else if (declares_variables(p.text)) {
    return run_initialized(p, origin);
  }
  if (const auto v = read_assignment(p.text)) return run_assignment(p, *v, origin);
  return run_statement(p, origin);
}

Host::Timing Session::time(const std::string& text, const Origin& origin) {
  Piece p = expression(text);
  const std::string results = use_results(p.text);
  run_or_throw(writer(origin).with(results).timed(p), p, origin);
  return host().timing.value_or(Host::Timing{});
}

std::string Session::type_of(const std::string& text, const Origin& origin) {
  Piece p = expression(text);
  const std::string results = use_results(p.text);
  run_or_throw(writer(origin).with(results).typed(p), p, origin);
  return host().result.value_or("");
}

void Session::execute(const std::string& code, const Origin& origin) {
  Piece p = expression(code);
  p.kind = Piece::Kind::kStatement;
  run_or_throw(writer(origin).run(p, false), p, origin);
}

}  // namespace panto::repl
