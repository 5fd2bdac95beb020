// Inputs that declare: variables, whose objects the session keeps, and functions, classes and constants, which are
// compiled as written.
#include <fmt/core.h>

#include <algorithm>
#include <exception>
#include <regex>
#include <utility>

#include "panto/apps/repl/session/session.h"
#include "panto/apps/repl/text/diagnostics.h"
#include "panto/trace/describe.h"

namespace panto::repl {
namespace {

bool one_of_std(std::string_view text) {
  return text.starts_with("namespace std") || text.starts_with("namespace panto") || text.starts_with("extern \"C\"") ||
         (text.starts_with("template <>") && text.find("std::") != std::string::npos) ||
         (text.starts_with("template<>") && text.find("std::") != std::string::npos);
}

}  // namespace

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

std::vector<std::string> Session::names() const {
  std::vector<std::string> list;
  for (const auto& [name, place] : places_) list.push_back(name);
  return list;
}

// Without a semicolon, shows the declared variable's value, as for an expression.
bool Session::show_variable(const Piece& piece, const Declaration& variable, const Origin& origin) {
  if (piece.semicolon || variable.names.size() > 1) return true;
  Piece name = piece;
  name.text = variable.names[0];
  name.column = 1;
  return run_statement(name, origin);
}

// `x = 3` is an assignment if that compiles; otherwise it declares x, new or with another type.
bool Session::run_assignment(const Piece& piece, const Declaration& variable, const Origin& origin) {
  const bool show = !piece.semicolon;
  const CodeWriter w = writer(origin);
  const Compiled assigned = compile(w.run(piece, show), true);
  if (assigned.fine) return call_entered(show ? w.serial() : 0);
  if (assigned.interrupted || assigned.messages.find("const-qualified") != std::string::npos) {
    return report(assigned, piece, origin);
  }
  const std::string& name = variable.names[0];
  // A Variable is not redeclared as another type: layers, optimizers and tapes may hold it and would keep the old
  // value.
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
  if (failed.messages.empty() && !failed.interrupted) return false;  // it compiled, but threw
  return report(places_.contains(name) && !failed.interrupted ? assigned : failed, piece, origin);
}

bool Session::run_variable(const Piece& piece, const Declaration& variable, const Origin& origin, Compiled& failed) {
  const CodeWriter w = writer(origin);
  failed = compile(w.make(piece, variable), true);
  if (!failed.fine) return false;
  failed.messages.clear();
  if (!call_entered()) return false;
  return bind(w, variable);
}

// Binds the kept object to its name: moves it into an older object of the same type, or declares a new reference.
bool Session::bind(const CodeWriter& writer, const Declaration& variable) {
  const PantoReplObject object = *host().object;
  const std::string& name = variable.names[0];
  const auto old = variables_.find(name);
  if (variable.names.size() == 1 && old != variables_.end() && *old->second.object.type == *object.type &&
      object.assign != nullptr && old->second.object.assign != nullptr) {
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
    // Declared before in another way: the new declaration hides the old one.
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

bool Session::is_constant(const Piece& piece, const Origin& origin) {
  const std::string code = writer(origin).constant(piece);
  return probe([&] { return engine_.declare(code, false); }).outcome == Probe::Outcome::kFine;
}

// Arrays, references, constants: their initializers run when they are compiled. They get a namespace of their own,
// which is abandoned if an initializer throws.
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
  go_deeper();  // even if it threw: the half-made names stay in a namespace that is never searched
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

}  // namespace panto::repl
