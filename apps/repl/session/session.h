// A session: what was typed so far and what it made. Knows nothing of terminals: what there is to say goes to a
// listener, so that a prompt, a pipe and a notebook can sit above it.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "panto/apps/repl/engine/engine.h"
#include "panto/apps/repl/session/host.h"
#include "panto/apps/repl/session/log.h"
#include "panto/apps/repl/session/probe.h"

namespace panto::repl {

class Listener {
 public:
  Listener() = default;
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  virtual ~Listener() = default;
  virtual void value(const std::string& text) = 0;  // of an expression, or what a command answers
  virtual void error(const std::string& text) = 0;
  virtual void note(const std::string& text) = 0;  // about the session
};

// A variable whose object the session keeps.
struct SessionVariable {
  std::string name;
  std::string type;  // as it was written
  PantoReplObject object;
};

// What a compiler says of code, on several lines, with its own places and carets.
class CompileError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Session {
 public:
  // Throws panto::Error where the headers cannot be compiled.
  Session(Engine& engine, Listener& listener, const std::string& log_path);

  // Runs the pieces of `text` (commands too) one after the other. False, and the rest is left, at the first that fails.
  // `from` is where the text stands.
  bool feed(std::string_view text, const Origin& from, bool keep_going = false);
  bool run(const Piece& piece, const Origin& origin);
  // Runs again what the log has, without showing anything. Entries that fail are struck.
  struct Replay {
    int inputs = 0, failed = 0;
  };
  Replay replay();

  // What can stand for `word` at the end of `code`.
  std::vector<std::string> complete(const std::string& code, const std::string& word);

  // For commands. Throw CompileError, and panto::Error for what the code threw.
  Host::Timing time(const std::string& expression, const Origin& origin);
  std::string type_of(const std::string& expression, const Origin& origin);
  // Runs it without an entry in the log.
  void execute(const std::string& code, const Origin& origin);
  std::vector<SessionVariable> variables() const;
  // All that was declared.
  std::vector<std::string> names() const;
  // How long inputs ran so far, without what compiling them took.
  double seconds() const { return seconds_; }
  SessionLog& log() { return log_; }
  Engine& engine() { return engine_; }
  Listener& listener() { return *listener_; }
  int next_input() { return ++input_; }
  int input() const { return input_; }
  // Commands are none of the session's business: it calls this for a line that begins with a colon.
  void on_command(std::function<bool(const std::string&, const Origin&)> handler) { command_ = std::move(handler); }

 private:
  struct Compiled {
    bool fine = false;
    bool interrupted = false;
    std::string messages;
    Compiled(bool fine, bool interrupted, std::string messages)
        : fine(fine), interrupted(interrupted), messages(std::move(messages)) {}
    Compiled() = default;
    bool again() const { return messages.find("redefinition") != std::string::npos; }
  };
  // Tries the code in a child, then compiles it. `entered`: it must hand over a function.
  Compiled compile(const std::string& code, bool entered);
  bool execute(const Piece& piece, const Origin& origin);
  bool run_statement(const Piece& piece, const Origin& origin);
  bool run_variable(const Piece& piece, const Declaration& variable, const Origin& origin, Compiled& failed);
  // Declares what a text uses of shown values; the text gets names that C++ can read. Throws panto::Error for numbers
  // of inputs that showed none.
  std::string use_results(std::string& text);
  // Keeps the value that just was shown, if it can be.
  void note_shown(int serial);
  bool run_assignment(const Piece& piece, const Declaration& variable, const Origin& origin);
  bool show_variable(const Piece& piece, const Declaration& variable, const Origin& origin);
  bool run_plain(const Piece& piece, const Origin& origin);
  // The command that a piece is: also what people who come from Python or a shell type, `exit`, `quit()`, `help` or
  // `help(matmul)`, unless the session has such a name. "" of others.
  std::string plain_command(const Piece& piece) const;
  // Whether a `const` is known when it is compiled, and may be an array's size: it then stays as it is written.
  bool is_constant(const Piece& piece, const Origin& origin);
  bool run_initialized(const Piece& piece, const Origin& origin);
  // Calls what an input was made into; `shown` is the number of the piece, if its value is to be shown.
  bool call_entered(int shown = 0);
  // `!m` may be a shell's command or an expression: which one it is, what was declared says.
  Piece as_code(const Piece& piece) const;
  bool bind(const CodeWriter& writer, const Declaration& variable);
  bool report(const Compiled& failed, const Piece& piece, const Origin& origin);
  void go_deeper();
  void note_names(const std::vector<std::string>& names, bool variables);
  CodeWriter writer(const Origin& origin, bool deeper = false);
  // Compiles and runs the code that was made of a piece. Throws what Session's commands throw.
  void run_or_throw(const std::string& code, const Piece& piece, const Origin& origin);
  std::vector<std::string> variable_names() const;

  Engine& engine_;
  Listener* listener_;
  SessionLog log_;
  std::function<bool(const std::string&, const Origin&)> command_;
  std::string meaning_;       // of the piece that ran last, where another text says what it was run as
  bool has_shown_ = false;    // the piece that ran last showed a value
  std::string results_;       // declarations of what the piece that runs uses of shown values
  std::map<int, int> shown_;  // by input, the piece that showed a value which could be kept
  int last_shown_ = 0;        // that piece of the last value; 0: none, or one that could not be kept
  double seconds_ = 0;
  std::string scope_ = "session";
  int serial_ = 0, depth_ = 0, input_ = 0;
  std::set<std::string> here_;                 // names that the innermost namespace has
  std::map<std::string, std::string> places_;  // the namespaces of names
  std::map<std::string, SessionVariable> variables_;
  std::set<std::string> plain_variables_;
};

}  // namespace panto::repl
