// The pieces that a session ran, in memory and in a file, from which it restarts after a crash, `:undo` and `:reset`.
#pragma once

#include <string>
#include <vector>

#include "panto/apps/repl/text/code.h"

namespace panto::repl {

struct LogEntry {
  // kRunning is in the file while a piece runs, to find it after a crash.
  enum class State : char { kRunning = 'r', kAccepted = 'a', kFailed = 'f', kUndone = 'u' };
  State state = State::kRunning;
  int input = 0;  // number of the prompt's input
  Piece piece;
  Origin origin;
  // These are not in the file; replaying sets them again.
  std::string meaning;  // the text that was run, if it differs
  bool shown = false;   // whether it showed a value
  size_t position = 0;  // offset of the state's byte in the file
};

class SessionLog {
 public:
  // Opens or creates the file. Throws panto::Error.
  explicit SessionLog(std::string path);
  ~SessionLog();
  SessionLog(const SessionLog&) = delete;
  SessionLog& operator=(const SessionLog&) = delete;

  // Begins an entry, in state kRunning.
  void begin(int input, const Piece& piece, const Origin& origin);
  // Sets the state of entry `i`, or (finish) of the last one.
  void set_state(size_t i, LogEntry::State state);
  void finish(LogEntry::State state) { set_state(entries_.size() - 1, state); }

  void set_meaning(size_t i, std::string text, bool shown) {
    entries_[i].meaning = std::move(text);
    entries_[i].shown = shown;
  }

  const std::vector<LogEntry>& entries() const { return entries_; }

 private:
  void read();

  std::string path_;
  int file_ = -1;
  size_t end_ = 0;
  std::vector<LogEntry> entries_;
};

}  // namespace panto::repl
