#include "panto/apps/repl/repl.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "panto/apps/repl/commands/commands.h"
#include "panto/apps/repl/engine/engines.h"
#include "panto/apps/repl/session/guard.h"
#include "panto/apps/repl/session/probe.h"
#include "panto/apps/repl/session/session.h"
#include "panto/apps/repl/terminal.h"
#include "panto/lib/base/file.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/base/version.h"
#include "panto/lib/core/tensor/device.h"

namespace panto::repl {
namespace {

namespace fs = std::filesystem;

// Writes values to standard output, the rest to standard error.
class PlainListener final : public Listener {
 public:
  void value(const std::string& text) override { say(stdout, text); }
  void error(const std::string& text) override { say(stderr, text); }
  void note(const std::string& text) override { say(stderr, text); }

 private:
  static void say(FILE* file, const std::string& text) {
    flush_output();
    std::fprintf(file, "%s\n", text.c_str());
    std::fflush(file);
  }
};

// The folder from which a session can be restarted: its log and, without a terminal, the text it runs and how many
// pieces are done.
class Folder {
 public:
  explicit Folder(std::string resumed) : path_(std::move(resumed)) {
    if (!path_.empty()) return;
    path_ = (fs::temp_directory_path() / "panto-repl-XXXXXX").string();
    if (::mkdtemp(path_.data()) == nullptr) fail_file(errno, "make", path_);
  }
  const std::string& path() const { return path_; }
  std::string file(const char* name) const { return path_ + "/" + name; }
  void remove() const {
    std::error_code none;
    fs::remove_all(path_, none);
  }

 private:
  std::string path_;
};

struct Batch {
  std::string text;
  Origin origin;
  size_t done = 0;  // pieces
};

Batch read_batch(const CommandOptions& options, const Folder& folder) {
  Batch batch;
  if (!options.resume.empty()) {
    batch.text = read_file(folder.file("text"));
    batch.origin.name = read_file(folder.file("name"));
    batch.done = std::strtoul(read_file(folder.file("done")).c_str(), nullptr, 10);
    return batch;
  }
  if (options.has_command) {
    batch = {options.command, {"command", 1}, 0};
  } else if (!options.script.empty()) {
    batch = {read_file(options.script), {options.script, 1}, 0};
  } else {
    batch = {read_file("/dev/stdin"), {"input", 1}, 0};
  }
  write_file(folder.file("text"), batch.text);
  write_file(folder.file("name"), batch.origin.name);
  return batch;
}

// Uses `_exit`, because destructors of a session's objects would run in an undefined order.
[[noreturn]] void leave(const Folder& folder, int status) {
  folder.remove();
  std::cout.flush();
  std::fflush(nullptr);
  ::_exit(status);
}

bool run_batch(Session& session, const Commands& commands, const CommandOptions& options, const Folder& folder,
               Batch batch, bool fine) {
  const std::vector<Piece> pieces = cut(batch.text, true).list;
  for (size_t i = batch.done; i < pieces.size() && !commands.wants_to_quit(); ++i) {
    write_file(folder.file("done"), std::to_string(i + 1));
    if (pieces[i].kind != Piece::Kind::kCommand) session.next_input();
    if (session.run(pieces[i], batch.origin)) continue;
    fine = false;
    if (!options.keep_going) break;
  }
  return fine;
}

std::string banner(const Engine& engine) {
  std::string text = fmt::format("Pantograph {} on {};", PANTO_VERSION, engine.version());
  for (const Device* d : devices()) text += fmt::format(" {}:{}", device_kind_name(d->kind()), d->index());
  return text + ";  :help for help, Ctrl-D to leave";
}

// Reports why the session restarted.
void tell_why(Listener& listener, const std::string& reason, const Session::Replay& replay, double seconds) {
  const std::string again =
      fmt::format("{} input{} replayed in {:.1f} s{}", replay.inputs, replay.inputs == 1 ? "" : "s", seconds,
                  replay.failed > 0 ? fmt::format(", {} failed", replay.failed) : "");
  if (reason == ":reset") {
    listener.note("everything is forgotten");
  } else if (reason.starts_with(":undo ")) {
    listener.note(fmt::format("undone: {}; {}", reason.substr(6), again));
  } else {
    listener.error(fmt::format("{}: the session was started anew without the last input, {}", reason, again));
  }
}

}  // namespace

int run_command(const CommandOptions& options) {
  const bool resumed = !options.resume.empty();
  const Folder folder(options.resume);
  const bool commanded = !resumed || options.reason.starts_with(":");  // restarts by :undo and :reset: no failures
  const bool interactive =
      resumed ? !fs::exists(folder.file("text")) : !options.has_command && options.script.empty() && ::isatty(0) == 1;
  Engine* engine = nullptr;
  TerminalListener terminal;
  PlainListener plain;
  Listener& listener = interactive ? static_cast<Listener&>(terminal) : plain;
  try {
    Batch batch;
    if (!interactive) batch = read_batch(options, folder);
    if (!interactive && !commanded && !options.keep_going) {
      listener.error(options.reason);
      leave(folder, 1);
    }
    std::function<void(const std::string&)> note;
    if (interactive) note = [&](const std::string& text) { listener.note(text); };
    engine = &start_engine(options.engine, note);
    Session session(*engine, listener, folder.file("log"));
    Commands commands(session);
    std::vector<std::string> again = {"panto", "repl", "--resume", folder.path(), "--engine", options.engine};
    if (options.engine.empty()) again.resize(4);
    if (options.keep_going) again.emplace_back("--keep-going");
    again.emplace_back("--reason");
    install_guard(again);
    if (resumed) {
      const auto begin = std::chrono::steady_clock::now();
      const Session::Replay replay = session.replay();
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
      if (interactive || !commanded) tell_why(listener, options.reason, replay, took.count());
    }
    if (interactive) {
      if (!resumed) listener.note(banner(*engine));
      run_terminal(session, commands);
      leave(folder, 0);
    }
    leave(folder, run_batch(session, commands, options, folder, batch, commanded) ? 0 : 1);
  } catch (...) {
    folder.remove();
    throw;
  }
}

}  // namespace panto::repl
