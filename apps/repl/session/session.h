// A session: the inputs so far and their results. It knows nothing of terminals: all output goes to a listener, so that
// a prompt, a pipe or a notebook can use it.
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
  virtual void value(const std::string& text) = 0;  // an expression's value, or a command's output
  virtual void error(const std::string& text) = 0;
  virtual void note(const std::string& text) = 0;  // about the session
};

// A variable whose object the session keeps.
struct SessionVariable {
  std::string name;
  std::string type;  // as written
  PantoReplObject object;
};

// Compiler errors, on several lines, with source locations and carets.
class CompileError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Session {
 public:
  // Throws panto::Error if the headers cannot be compiled.
  Session(Engine& engine, Listener& listener, const std::string& log_path);

  // Runs the pieces of `text` (commands too) in order. Stops and returns false at the first failure, unless
  // `keep_going`. `from` is the text's origin.
  bool feed(std::string_view text, const Origin& from, bool keep_going = false);
  bool run(const Piece& piece, const Origin& origin);
  // Runs the log's entries again, without showing anything. Marks entries that fail.
  struct Replay {
    int inputs = 0, failed = 0;
  };
  Replay replay();

  // Returns completions of `word` at the end of `code`.
  std::vector<std::string> complete(const std::string& code, const std::string& word);

  // For commands. These throw CompileError, and panto::Error for exceptions of the code.
  Host::Timing time(const std::string& expression, const Origin& origin);
  std::string type_of(const std::string& expression, const Origin& origin);
  // Runs code without an entry in the log.
  void execute(const std::string& code, const Origin& origin);
  std::vector<SessionVariable> variables() const;
  // Returns all declared names.
  std::vector<std::string> names() const;
  // Total run time of the inputs, without compilation.
  double seconds() const { return seconds_; }
  SessionLog& log() { return log_; }
  Engine& engine() { return engine_; }
  Listener& listener() { return *listener_; }
  int next_input() { return ++input_; }
  int input() const { return input_; }
  // Sets the handler that the session calls for lines that begin with a colon.
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
  // Tries the code in a child process, then compiles it here. `entered`: the code must call panto_repl_enter.
  Compiled compile(const std::string& code, bool entered);
  bool execute(const Piece& piece, const Origin& origin);
  bool run_statement(const Piece& piece, const Origin& origin);
  bool run_variable(const Piece& piece, const Declaration& variable, const Origin& origin, Compiled& failed);
  // Returns declarations of the shown values that a text uses, and replaces them in the text by valid C++ names. Throws
  // panto::Error for an input that showed no value.
  std::string use_results(std::string& text);
  // Keeps the value that was just shown, if possible.
  void note_shown(int serial);
  bool run_assignment(const Piece& piece, const Declaration& variable, const Origin& origin);
  bool show_variable(const Piece& piece, const Declaration& variable, const Origin& origin);
  bool run_plain(const Piece& piece, const Origin& origin);
  // Returns the command that a piece stands for: `exit`, `quit()`, `help` or `help(matmul)`, as typed by habit from
  // Python or a shell, unless the session declared such a name. "" for other pieces.
  std::string plain_command(const Piece& piece) const;
  // Returns true if a `const` is a constant expression, which may be an array's size: it is then compiled as written.
  bool is_constant(const Piece& piece, const Origin& origin);
  bool run_initialized(const Piece& piece, const Origin& origin);
  // Calls the function compiled from an input; `shown` is the piece's number if its value is to be shown, else 0.
  bool call_entered(int shown = 0);
  // `!m` is an expression if m is declared, else a shell command.
  Piece as_code(const Piece& piece) const;
  bool bind(const CodeWriter& writer, const Declaration& variable);
  bool report(const Compiled& failed, const Piece& piece, const Origin& origin);
  void go_deeper();
  void note_names(const std::vector<std::string>& names, bool variables);
  CodeWriter writer(const Origin& origin, bool deeper = false);
  // Compiles and runs a piece's code. Throws CompileError and panto::Error.
  void run_or_throw(const std::string& code, const Piece& piece, const Origin& origin);
  std::vector<std::string> variable_names() const;

  Engine& engine_;
  Listener* listener_;
  SessionLog log_;
  std::function<bool(const std::string&, const Origin&)> command_;
  std::string meaning_;       // the text that the last piece was run as, if it differs
  bool has_shown_ = false;    // whether the last piece showed a value
  std::string results_;       // declarations of the shown values that the current piece uses
  std::map<int, int> shown_;  // by input: the piece whose shown value was kept
  int last_shown_ = 0;        // the piece of the last shown value; 0: none, or not kept
  double seconds_ = 0;
  std::string scope_ = "session";
  int serial_ = 0, depth_ = 0, input_ = 0;
  std::set<std::string> here_;                 // names declared in the innermost namespace
  std::map<std::string, std::string> places_;  // each name's namespace
  std::map<std::string, SessionVariable> variables_;
  std::set<std::string> plain_variables_;
};

}  // namespace panto::repl
