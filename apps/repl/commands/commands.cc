#include "panto/apps/repl/commands/commands.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "panto/apps/picture.h"
#include "panto/apps/repl/process.h"
#include "panto/apps/repl/session/guard.h"
#include "panto/apps/repl/session/probe.h"
#include "panto/lib/base/file.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/tensor/device.h"
#include "panto/trace/value_text.h"

namespace panto::repl {
namespace {

struct Entry {
  const char* name;
  const char* arguments;
  const char* what;
};

constexpr std::array<Entry, 15> kCommands = {{
    {":help", "[NAME]", "this list, or the doc of an op, a command or a name of panto's headers"},
    {":doc", "NAME", "the same as :help NAME"},
    {":load", "FILE.cc", "run a file"},
    {":save", "FILE.cc", "write what was accepted so far, as a program"},
    {":undo", "[N]", "forget the last N inputs: starts anew and runs the others again"},
    {":time", "EXPRESSION", "how long it takes, best of several runs"},
    {":type", "EXPRESSION", "its type, without computing it"},
    {":graph", "F [OUT.svg]", "the graph of a traced function, as text or as a picture"},
    {":vars", "", "variables and their values"},
    {":names", "", "all names that were declared; dir() does too"},
    {":devices", "", "what there is to run on"},
    {":mem", "", "memory in use, by device, and of the process"},
    {":engine", "", "which C++ interpreter runs"},
    {":reset", "", "forget everything"},
    {":quit", "", "leave; Ctrl-D does too"},
}};

std::string trimmed(const std::string& text) {
  const size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(" \t\r\n;") - begin + 1);
}

std::string command_list() {
  std::string text =
      "Type C++. An expression without a semicolon shows its value; `auto x = ...` may come again.\n"
      "`x = 3` declares x where it must. `_` is the last value shown, `Out[3]` the one that input 3 showed (the last "
      "100\n"
      "are kept). Ctrl-C stops what runs, Ctrl-D leaves, Tab completes. `help(matmul)`, `matmul?`, `dir()`, `who`, "
      "`exit`,\n"
      "`!ls` (a shell's command), `%timeit f(x)` and `%time f(x)` (once) do what they do elsewhere.\n";
  for (const Entry& e : kCommands) {
    text += fmt::format("\n  {:<24} {}", fmt::format("{} {}", e.name, e.arguments), e.what);
  }
  return text;
}

std::string duration(double seconds) {
  if (seconds < 1e-6) return fmt::format("{:.3g} ns", seconds * 1e9);
  if (seconds < 1e-3) return fmt::format("{:.3g} us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.3g} ms", seconds * 1e3);
  return fmt::format("{:.3g} s", seconds);
}

std::string bytes_text(int64_t bytes) {
  if (bytes < 10'000) return fmt::format("{} B", bytes);
  if (bytes < 10'000'000) return fmt::format("{:.1f} kB", static_cast<double>(bytes) / 1e3);
  return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
}

// Returns a variable's value on one line.
std::string value_line(const SessionVariable& v) {
  static std::string value;
  value.clear();
  try {
    v.object.describe(v.object.object, [](const char* p, size_t n) { value.assign(p, n); });
  } catch (const std::exception& error) {
    value = std::string("<") + error.what() + ">";
  }
  return value.size() > 90 ? value.substr(0, 87) + "..." : value;
}

}  // namespace

Commands::Commands(Session& session) : session_(session) {
  session.on_command([this](const std::string& line, const Origin& origin) { return run(line, origin); });
}

std::vector<std::string> Commands::names() {
  std::vector<std::string> names;
  for (const Entry& e : kCommands) names.emplace_back(e.name);
  return names;
}

bool Commands::run(const std::string& line, const Origin& origin) {
  const std::string text = trimmed(line);
  const size_t space = std::min(text.find_first_of(" \t"), text.size());
  const std::string_view topic = help_topic(text);
  try {
    if (text.starts_with('!')) {
      shell(text.substr(1));
    } else if (!topic.empty()) {
      help(std::string(topic));
    } else {
      dispatch(text.substr(0, space), trimmed(text.substr(space)), origin);
    }
    return true;
  } catch (const CompileError& error) {
    session_.listener().error(error.what());
  } catch (const Error& error) {
    session_.listener().error(fmt::format("error: {}", error.what()));
  }
  return false;
}

void Commands::dispatch(const std::string& name, const std::string& argument, const Origin& origin) {
  const auto given = [&](const char* what) {
    if (argument.empty()) invalid("{}: expected {}, got nothing", name, what);
  };
  if (name == ":help" || name == ":h" || name == ":?") return help(argument);
  if (name == ":doc") return given("the name of an op"), help(argument);
  if (name == ":load") return given("a file"), load(argument);
  if (name == ":save") return given("a file"), save(argument);
  if (name == ":undo") return undo(argument);
  if (name == "%time") return given("code"), time_once(argument, origin);
  if (name == ":time" || name == "%timeit") return given("an expression"), time(argument, origin);
  if (name == ":type") return given("an expression"), say(session_.type_of(argument, origin));
  if (name == ":graph") return given("a function"), graph(argument, origin);
  if (name == ":vars" || name == "%who" || name == "%whos") return variables();
  if (name == ":names") return names_of_session();
  if (name == ":devices") return devices_and_memory(false);
  if (name == ":mem") return devices_and_memory(true);
  if (name == ":engine") return say(session_.engine().version());
  if (name == ":reset") {
    for (size_t i = 0; i < session_.log().entries().size(); ++i) session_.log().set_state(i, LogEntry::State::kUndone);
    restart(":reset");
  }
  if (name == ":quit" || name == ":q" || name == ":exit") {
    quit_ = true;
    return;
  }
  invalid("command: expected one of those that :help lists, got '{}'", name);
}

void Commands::help(const std::string& topic) {
  if (topic.empty()) return say(command_list());
  for (const Entry& e : kCommands) {
    if (topic != e.name && topic != e.name + 1) continue;
    const std::string command = fmt::format("{} {}\n{}", e.name, e.arguments, e.what);
    const std::string function = topic == e.name ? "" : header_help(topic);  // `load` is both
    return say(function.empty() ? command : fmt::format("{}\n\n{}", command, function));
  }
  // For a variable, its type and value.
  for (const SessionVariable& v : session_.variables()) {
    if (v.name == topic) return say(fmt::format("{}\n{}", plain_type_name(*v.object.type), value_line(v)));
  }
  say(op_help(topic));
}

void Commands::load(const std::string& path) {
  if (!session_.feed(read_file(path), {path, 1})) {
    failf(Code::kAborted, "{}: expected a file that runs to its end, got an error", path);
  }
}

void Commands::save(const std::string& path) {
  write_file(path, program_text(session_.log()));
  session_.listener().note(fmt::format("wrote {}", path));
}

void Commands::undo(const std::string& count) {
  int n = 1;
  if (!count.empty()) {
    const auto [end, error] = std::from_chars(count.data(), count.data() + count.size(), n);
    if (error != std::errc() || end != count.data() + count.size() || n < 1) {
      invalid(":undo: expected a number of inputs above 0, got '{}'", count);
    }
  }
  SessionLog& log = session_.log();
  int last = -1, undone = 0;
  for (size_t i = log.entries().size(); i-- > 0;) {
    const LogEntry& e = log.entries()[i];
    if (e.state != LogEntry::State::kAccepted) continue;
    if (e.input != last) {
      if (undone == n) break;
      ++undone;
      last = e.input;
    }
    log.set_state(i, LogEntry::State::kUndone);
  }
  if (undone == 0) fail(Code::kFailedPrecondition, ":undo: expected inputs to forget, got none");
  restart(fmt::format(":undo {}", undone));
}

void Commands::time(const std::string& expression, const Origin& origin) {
  const Host::Timing t = session_.time(expression, origin);
  say(fmt::format("{} (best of {}, {} run{} each)", duration(t.seconds), t.repeats, t.runs, t.runs == 1 ? "" : "s"));
}

void Commands::shell(const std::string& command) {
  flush_output();
  if (const std::string ended = run_shell(command); !ended.empty()) {
    failf(Code::kAborted, "!{}: expected status 0, got {}", command, ended);
  }
}

void Commands::time_once(const std::string& code, const Origin& origin) {
  const double before = session_.seconds();
  if (!session_.feed(code, origin)) fail(Code::kAborted, "%time: expected code that runs to its end, got an error");
  say(fmt::format("{} (once)", duration(session_.seconds() - before)));
}

void Commands::names_of_session() {
  std::string text;
  for (const std::string& name : session_.names()) text.append(text.empty() ? "" : " ").append(name);
  say(text.empty() ? "no names yet" : text);
}

void Commands::graph(const std::string& argument, const Origin& origin) {
  const size_t space = argument.rfind(' ');
  const bool picture = space != std::string::npos && argument.ends_with(".svg");
  const std::string function = picture ? trimmed(argument.substr(0, space)) : argument;
  const char* text = picture ? ".to_dot()" : ".to_string()";
  // Passes the string itself, not its quoted form.
  const std::string type = session_.type_of(function, origin);
  if (type != "panto::Function" && type != "panto::Graph") {
    invalid(":graph: expected a Function or a Graph, got {}", type);
  }
  session_.execute(fmt::format("const std::string panto_text = panto::repl::graph_of({}){}; "
                               "panto_repl_result(panto_text.data(), panto_text.size());",
                               function, text),
                   origin);
  const std::string result = host().result.value_or("");
  if (!picture) return say(result.substr(0, result.find_last_not_of('\n') + 1));
  const std::string path = argument.substr(space + 1);
  apps::draw_dot(result, path);
  session_.listener().note(fmt::format("wrote {}", path));
}

void Commands::variables() {
  std::string text;
  for (const SessionVariable& v : session_.variables()) {
    text += fmt::format("{}{:<12} {}", text.empty() ? "" : "\n", v.name, value_line(v));
  }
  say(text.empty() ? "no variables yet" : text);
}

void Commands::devices_and_memory(bool memory) {
  std::string text;
  for (const Device* d : devices()) {
    if (!text.empty()) text += "\n";
    if (!memory) {
      text += fmt::format("{:<16} {}", d->name(), d->description());
      continue;
    }
    const MemoryStats s = d->memory_stats();
    text += fmt::format("{:<16} {} in use, {} at most so far, {} reserved", d->name(), bytes_text(s.bytes_in_use),
                        bytes_text(s.peak_bytes), bytes_text(s.bytes_reserved));
  }
  if (memory) text += fmt::format("\n{:<16} {}", "process", bytes_text(process_memory().resident));
  say(text);
}

}  // namespace panto::repl
