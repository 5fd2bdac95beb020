#include "panto/apps/repl/terminal.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

// Included after <cstdio>, which it needs.
#include <readline/history.h>
#include <readline/readline.h>

#include "panto/apps/repl/session/guard.h"
#include "panto/apps/repl/session/probe.h"
#include "panto/apps/repl/text/colour.h"
#include "panto/apps/repl/user_folders.h"

namespace panto::repl {
namespace {

bool colours() {
  static const bool yes = ::isatty(1) == 1 && std::getenv("NO_COLOR") == nullptr;
  return yes;
}

void say(FILE* file, const std::string& text, const char* colour) {
  flush_output();
  if (colours() && *colour != '\0') {
    std::fprintf(file, "\x1b[%sm%s\x1b[0m\n", colour, text.c_str());
  } else {
    std::fprintf(file, "%s\n", text.c_str());
  }
  std::fflush(file);
}

std::string history_path() {
  if (const char* path = std::getenv("PANTO_HISTORY"); path != nullptr) return path;
  const std::filesystem::path folder = state_folder();
  return folder.empty() ? "" : (folder / "history").string();
}

// State for readline's callbacks, which take no argument.
struct Reading {
  Session* session = nullptr;
  std::string before;   // previous lines of this input
  std::string prompt;   // without colours
  std::string painted;  // the line that is on the screen in colour
  bool interrupted = false;
  std::vector<std::string> found;
};
Reading& reading() {
  static Reading instance;
  return instance;
}

// Overwrites the plain line that readline has drawn with a coloured one. readline does not notice, as every character
// stays in place. If the places are not certain, the line stays plain.
void paint() {
  if (RL_ISSTATE(RL_STATE_ISEARCH | RL_STATE_NSEARCH | RL_STATE_NUMERICARG | RL_STATE_DONE) != 0) return;
  const std::string_view line(rl_line_buffer, static_cast<size_t>(rl_end));
  if (line == reading().painted) return;
  if (std::ranges::any_of(line, [](char c) { return c < 0x20 || c == 0x7f; })) return;  // tabs, and not ASCII
  int rows = 0, columns = 0;
  rl_get_screen_size(&rows, &columns);
  const int begin = static_cast<int>(reading().prompt.size()), at = begin + rl_point;
  if (columns <= begin || (begin + rl_end) / columns >= rows) return;
  if (at % columns == 0) return;  // at the end of one row, or the beginning of the next
  std::string out = "\0337";      // saves the cursor
  if (at / columns > 0) out += fmt::format("\x1b[{}A", at / columns);
  out += fmt::format("\r\x1b[{}C{}\0338", begin, coloured(reading().before, line));
  std::fwrite(out.data(), 1, out.size(), rl_outstream);
  std::fflush(rl_outstream);
  reading().painted = line;
}

// readline calls this when no key was pressed for a moment. Discards an interrupted line.
int when_idle() {
  if (!take_interrupt()) {
    // Not set as rl_redisplay_function: with a custom one, readline assumes a terminal of a single row.
    if (colours() && rl_get_termcap("up") != nullptr) paint();
    return 0;
  }
  reading().interrupted = true;
  rl_replace_line("", 0);
  rl_done = 1;
  return 0;
}

char* next_candidate(const char*, int state) {
  static size_t at;
  if (state == 0) at = 0;
  return at < reading().found.size() ? ::strdup(reading().found[at++].c_str()) : nullptr;
}

// Returns true if `end` is inside a string literal.
bool in_string(const std::string& line, size_t end) {
  bool inside = false;
  for (size_t i = 0; i < end; ++i) {
    if (inside && line[i] == '\\') {
      ++i;
    } else if (line[i] == '"') {
      inside = !inside;
    }
  }
  return inside;
}

char** complete_word(const char* text, int start, int end) {
  const std::string line(rl_line_buffer);
  const bool first_file = line.starts_with(":load ") || line.starts_with(":save ");
  if (in_string(line, static_cast<size_t>(start)) || (first_file && start >= 6)) {
    rl_completion_append_character = '\0';
    return rl_completion_matches(text, rl_filename_completion_function);
  }
  rl_attempted_completion_over = 1;
  reading().painted.clear();  // a list of candidates pushes the line down
  rl_completion_append_character = '\0';
  reading().found.clear();
  if (line.starts_with(":") && start == 1) {
    for (const std::string& name : Commands::names()) {
      if (name.substr(1).starts_with(text)) reading().found.push_back(name.substr(1) + " ");
    }
  } else {
    std::string code = reading().before + line.substr(0, static_cast<size_t>(end));
    if (line.starts_with(":")) code = line.substr(line.find(' ') + 1, static_cast<size_t>(end) - line.find(' ') - 1);
    reading().found = reading().session->complete(code, text);
  }
  return rl_completion_matches(text, next_candidate);
}

std::string prompt(const std::string& text) {
  return colours() ? "\001\x1b[1;32m\002" + text + "\001\x1b[0m\002" : text;
}

// Adds the input to the history as one line, as the history file has one entry per line.
void remember(const std::string& input, const std::string& path) {
  std::string line = input;
  const bool can_join = line.find("//") == std::string::npos && line.find('#') == std::string::npos &&
                        line.find("R\"") == std::string::npos;
  if (!can_join && line.find('\n') != std::string::npos) return;
  for (char& c : line) {
    if (c == '\n') c = ' ';
  }
  while (!line.empty() && line.back() == ' ') line.pop_back();
  if (line.empty()) return;
  const HIST_ENTRY* last = history_length > 0 ? history_get(history_base + history_length - 1) : nullptr;
  if (last != nullptr && line == last->line) return;
  add_history(line.c_str());
  // Written at once, because a session may end without warning.
  if (!path.empty() && append_history(1, path.c_str()) != 0) write_history(path.c_str());
}

bool is_command(const std::string& input) {
  const std::vector<Piece> pieces = cut(input, false).list;
  return !pieces.empty() && pieces[0].kind == Piece::Kind::kCommand;
}

// Reads a whole input. Returns false at the end of file.
bool read_input(int number, std::string& input) {
  input.clear();
  const std::string first = fmt::format("{}> ", number);
  const std::string more = std::string(first.size() - 3, ' ') + ".. ";
  while (true) {
    reading().before = input;
    reading().prompt = input.empty() ? first : more;
    reading().painted.clear();
    reading().interrupted = false;
    char* line = ::readline(prompt(reading().prompt).c_str());
    if (reading().interrupted) {
      std::free(line);
      std::printf("\n");
      input.clear();
      continue;
    }
    if (line == nullptr) {
      std::printf("\n");
      if (input.empty()) return false;
      return true;  // Ctrl-D ends an unfinished input: the compiler says what is missing
    }
    const bool blank = std::string_view(line).find_first_not_of(" \t") == std::string_view::npos;
    input += line;
    input += '\n';
    std::free(line);
    if (is_command(input) || !cut(input, false).incomplete) return true;
    // Two blank lines end an incomplete input.
    if (blank && input.size() > 2 && input.ends_with("\n\n\n")) return true;
  }
}

}  // namespace

void TerminalListener::value(const std::string& text) { say(stdout, text, ""); }
void TerminalListener::error(const std::string& text) { say(stdout, text, "31"); }
void TerminalListener::note(const std::string& text) { say(stdout, text, "2"); }

void run_terminal(Session& session, Commands& commands) {
  reading().session = &session;
  rl_readline_name = "panto";
  rl_catch_signals = 0;
  rl_catch_sigwinch = 1;
  rl_event_hook = when_idle;
  rl_set_keyboard_input_timeout(30'000);  // microseconds
  rl_attempted_completion_function = complete_word;
  rl_completer_word_break_characters = const_cast<char*>(" \t\n\"'`@$><=;|&{}()[],+-*/%!?^~.:");
  rl_completer_quote_characters = const_cast<char*>("");
  rl_variable_bind("blink-matching-paren", "on");
  // Shorter than the default of half a second, as typed-ahead text waits that long at every bracket.
  rl_set_paren_blink_timeout(100'000);  // microseconds
  rl_variable_bind("enable-bracketed-paste", "on");
  rl_variable_bind("show-all-if-ambiguous", "on");
  const std::string history = history_path();
  using_history();
  stifle_history(5000);
  if (!history.empty()) read_history(history.c_str());
  std::string input;
  while (!commands.wants_to_quit()) {
    const int number = session.input() + 1;
    take_interrupt();
    if (!read_input(number, input)) break;
    if (input.find_first_not_of(" \t\n;") == std::string::npos) continue;
    remember(input, history);
    if (!is_command(input)) session.next_input();
    session.feed(input, {fmt::format("input {}", number), 1});
  }
}

}  // namespace panto::repl
