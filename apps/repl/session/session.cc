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
#include "panto/lib/base/error.h"
#include "panto/lib/base/format.h"
#include "panto/lib/core/op.h"
#include "panto/trace/describe.h"

namespace panto::repl {
namespace {

bool one_of_std(std::string_view text) {
  return text.starts_with("namespace std") || text.starts_with("namespace panto") || text.starts_with("extern \"C\"") ||
         (text.starts_with("template <>") && text.find("std::") != std::string::npos) ||
         (text.starts_with("template<>") && text.find("std::") != std::string::npos);
}

// What completion offers beside ops, before a line says more.
constexpr const char* kCommonNames[] = {
    "Tensor",          "Variable",   "Function", "GradientTape", "TensorSpec", "Graph",          "GraphScope",
    "Session",         "Sequential", "Dense",    "Flatten",      "kFloat32",   "kFloat64",       "kInt32",
    "kInt64",          "kBool",      "auto",     "std::",        "panto::",    "trace(",         "load(",
    "tensor(",         "zeros(",     "ones(",    "eye(",         "linspace(",  "random_normal(", "random_uniform(",
    "value_and_grad(", "return",     "const",    "for"};

Piece expression(const std::string& text) {
  Piece p;
  p.text = text;
  return p;
}

// What the last input was made into.
RunResult run_entered() {
  auto* run = host().entered;
  host().clear();
  return run_guarded(run);
}

// Nobody reads what it is told.
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
  // By index: the log does not grow meanwhile.
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
      fine = false;  // struck, like an input that failed
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

void Session::go_deeper() {
  scope_ += fmt::format("::s{}", ++depth_);
  here_.clear();
}

void Session::note_names(const std::vector<std::string>& names, bool variables) {
  for (const std::string& n : names) {
    places_[n] = scope_;
    here_.insert(n);
    if (variables) {
      plain_variables_.insert(n);
    } else {
      plain_variables_.erase(n);
    }
    variables_.erase(n);
  }
}

std::vector<std::string> Session::variable_names() const {
  std::vector<std::string> names(plain_variables_.begin(), plain_variables_.end());
  for (const auto& [name, v] : variables_) names.push_back(name);
  return names;
}

std::vector<SessionVariable> Session::variables() const {
  std::vector<SessionVariable> list;
  for (const auto& [name, v] : variables_) list.push_back(v);
  return list;
}

Session::Compiled Session::compile(const std::string& code, bool entered) {
  // A loop may lie in a lambda.
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

std::vector<std::string> Session::names() const {
  std::vector<std::string> list;
  for (const auto& [name, place] : places_) list.push_back(name);
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

bool Session::execute(const Piece& piece, const Origin& origin) {
  Piece p = piece;
  has_shown_ = false;
  struct Forget {
    std::string& text;
    ~Forget() { text.clear(); }
  };
  const Forget forget{results_};
  results_ = use_results(p.text);
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
    const bool product = v->pointer && v->form == Variable::Form::kNone &&
                         (variables_.contains(v->type.substr(0, v->type.find_first_of(" *"))) || !p.semicolon);
    if (!product) {
      Compiled failed;
      if (run_variable(p, *v, origin, failed)) return show_variable(p, *v, origin);
      if (failed.messages.empty() && !failed.interrupted) return false;  // it ran, and threw
      // `int f(int);` looks like a variable.
      if (v->form == Variable::Form::kParentheses && !failed.interrupted) {
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

// Without a semicolon the value of what was declared shows, as an expression's does.
bool Session::show_variable(const Piece& piece, const Variable& variable, const Origin& origin) {
  if (piece.semicolon || variable.names.size() > 1) return true;
  Piece name = piece;
  name.text = variable.names[0];
  name.column = 1;
  return run_statement(name, origin);
}

// `x = 3` assigns where that compiles; otherwise it declares x, for the first time or with another type.
bool Session::run_assignment(const Piece& piece, const Variable& variable, const Origin& origin) {
  const bool show = !piece.semicolon;
  const CodeWriter w = writer(origin);
  const Compiled assigned = compile(w.run(piece, show), true);
  if (assigned.fine) return call_entered(show ? w.serial() : 0);
  if (assigned.interrupted || assigned.messages.find("const-qualified") != std::string::npos) {
    return report(assigned, piece, origin);
  }
  const std::string& name = variable.names[0];
  // Layers, optimizers and tapes hold a Variable: a tensor that takes its name would leave them with the old value.
  const auto old = variables_.find(name);
  if (old != variables_.end() && *old->second.object.type == typeid(panto::Variable)) {
    return report(assigned, piece, origin);
  }
  Compiled failed;
  if (run_variable(piece, variable, origin, failed)) {
    static const std::regex kResult(R"(\bOut_(\d+)_)");
    meaning_ = "auto " + std::regex_replace(piece.text, kResult, "Out[$1]");
    return show_variable(piece, variable, origin);
  }
  if (failed.messages.empty() && !failed.interrupted) return false;  // it ran, and threw
  return report(places_.contains(name) && !failed.interrupted ? assigned : failed, piece, origin);
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
  const RunResult result = run_entered();
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
  note_shown(shown);
  return true;
}

bool Session::run_variable(const Piece& piece, const Variable& variable, const Origin& origin, Compiled& failed) {
  const CodeWriter w = writer(origin);
  failed = compile(w.make(piece, variable), true);
  if (!failed.fine) return false;
  failed.messages.clear();
  if (!call_entered()) return false;
  return bind(w, variable);
}

// Gives the object that was kept its name: that of an older object of the same type, which it replaces, or a new one.
bool Session::bind(const CodeWriter& writer, const Variable& variable) {
  const PantoReplObject object = *host().object;
  const std::string& name = variable.names[0];
  const auto old = variables_.find(name);
  if (variable.names.size() == 1 && old != variables_.end() && *old->second.object.type == *object.type &&
      object.assign != nullptr) {
    object.assign(old->second.object.object, object.object);
    if (object.destroy != nullptr) object.destroy(object.object);
    return true;
  }
  if (old != variables_.end()) old->second.object.retire(old->second.object.object);
  if (std::ranges::any_of(variable.names, [&](const std::string& n) { return here_.contains(n); })) go_deeper();
  const Probe bound = collect([&] { return engine_.declare(writer.bind(variable, scope_), false); });
  if (bound.outcome != Probe::Outcome::kFine) {
    listener_->error(readable(bound.messages, "", [](int) { return std::string(); }));
    return false;
  }
  if (variable.names.size() > 1) {
    note_names(variable.names, true);
    return true;
  }
  here_.insert(name);
  places_[name] = scope_;
  plain_variables_.erase(name);
  variables_[name] = {name, variable.type, object};
  return true;
}

bool Session::run_plain(const Piece& piece, const Origin& origin) {
  if (is_main_function(piece.text) && !piece.text.ends_with("{}")) {
    listener_->note("main() is declared, not run: what it holds can be typed here as it is");
  }
  const bool outside = piece.kind == Piece::Kind::kDirective || one_of_std(piece.text);
  const CodeWriter w = writer(origin);
  const Compiled done = compile(w.plain(piece, outside), false);
  std::vector<std::string> names = declared_names(piece);
  if (done.fine) {
    if (piece.kind == Piece::Kind::kDeclaration) note_names(names, false);
    return true;
  }
  if (!outside && !done.interrupted) {
    // Declared before, in another way: hidden by the new one.
    const bool known = std::ranges::any_of(names, [&](const std::string& n) { return here_.contains(n); });
    if (known || done.again()) {
      const Compiled deeper = compile(writer(origin, true).plain(piece, false), false);
      if (deeper.fine) {
        go_deeper();
        note_names(names, false);
        return true;
      }
      return report(deeper, piece, origin);
    }
  }
  return report(done, piece, origin);
}

// Arrays, references, constants: their initializers run when they are compiled. In a namespace of their own, which is
// given up if one throws.
bool Session::run_initialized(const Piece& piece, const Origin& origin) {
  const CodeWriter w = writer(origin, true);
  const std::string code = w.plain(piece, false);
  bool threw = false;
  std::string message;
  const Probe tried = probe([&] { return engine_.declare(w.inside_function(piece), false); });
  if (tried.outcome != Probe::Outcome::kFine) {
    return report({false, tried.outcome == Probe::Outcome::kInterrupted, tried.messages}, piece, origin);
  }
  const Probe done = collect([&] {
    try {
      return engine_.declare(code, true);
    } catch (const std::exception& error) {
      threw = true;
      message = describe(error);
    } catch (...) {
      threw = true;
      message = "exception of an unknown type";
    }
    return false;
  });
  go_deeper();  // also where it threw: the half-made names stay behind in a namespace that is not looked into
  if (done.outcome != Probe::Outcome::kFine) {
    scope_ = scope_.substr(0, scope_.rfind("::"));
    if (!threw) return report({false, false, done.messages}, piece, origin);
    listener_->error(message);
    return false;
  }
  const std::vector<std::string> names = declared_names(piece);
  note_names(names, true);
  if (piece.semicolon || names.size() != 1) return true;
  Piece name = piece;
  name.text = names[0];
  return run_statement(name, origin);
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

std::vector<std::string> Session::complete(const std::string& code, const std::string& word) {
  // The last statement, with the session's names written in full: engines look at it from outside the session.
  const std::vector<Token> tokens = scan(code).list;
  std::string text;
  size_t copied = 0;
  bool member = false;
  for (size_t i = 0; i < tokens.size(); ++i) {
    const Token& t = tokens[i];
    if (t.is(";")) {
      text.clear();
      copied = t.end();
      continue;
    }
    const bool selected = i > 0 && (tokens[i - 1].is(".") || tokens[i - 1].is("->") || tokens[i - 1].is("::"));
    if (t.end() == code.size()) member = t.is(".") || t.is("->") || t.is("::") || (t.is_name() && selected);
    const auto place = places_.find(std::string(t.text));
    if (!t.is_name() || selected || place == places_.end()) continue;
    text.append(code, copied, t.offset - copied).append(place->second).append("::").append(t.text);
    copied = t.end();
  }
  text.append(code, copied);
  // Of a member the engine is asked for all: not every one finds those that begin in a given way.
  if (member && text.ends_with(word)) text.resize(text.size() - word.size());
  std::set<std::string> found;
  if (!member || text.ends_with("panto::")) {
    for (const Op* op : all_ops()) {
      if (!op->name().starts_with("_")) found.insert(op->cpp_name() + "(");
    }
    found.insert(std::begin(kCommonNames), std::end(kCommonNames));
  }
  if (!member) {
    for (const auto& [name, place] : places_) found.insert(name);
  }
  if (member || !word.empty()) {
    const Probe asked = probe([&] {
      for (const std::string& name : engine_.complete(text)) std::fprintf(stderr, "\n\x01%s", name.c_str());
      return true;
    });
    size_t at = 0;
    while ((at = asked.messages.find('\x01', at)) != std::string::npos) {
      const size_t end = std::min(asked.messages.find('\n', at), asked.messages.size());
      found.insert(asked.messages.substr(at + 1, end - at - 1));
      at = end;
    }
  }
  std::vector<std::string> list;
  for (const std::string& name : found) {
    const bool internal = name.starts_with("_") || name.ends_with("_") || name.starts_with("panto_repl_");
    if (name.starts_with(word) && !internal) list.push_back(name);
  }
  return list;
}

}  // namespace panto::repl
