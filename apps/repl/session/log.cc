#include "panto/apps/repl/session/log.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <sstream>

#include "panto/lib/base/file.h"
#include "panto/lib/base/text/format.h"

namespace panto::repl {

SessionLog::SessionLog(std::string path) : path_(std::move(path)) {
  file_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file_ < 0) fail_file(errno, "open", path_);
  read();
}

SessionLog::~SessionLog() { ::close(file_); }

// An entry: "<state> <input> <kind> <semicolon> <line> <column> <origin line> <bytes of origin> <bytes of text>\n", the
// origin, the text, and "\n".
void SessionLog::begin(int input, const Piece& piece, const Origin& origin) {
  LogEntry entry{LogEntry::State::kRunning, input, piece, origin, "", false, end_};
  const std::string record =
      fmt::format("{} {} {} {} {} {} {} {} {}\n{}{}\n", static_cast<char>(entry.state), input,
                  static_cast<int>(piece.kind), piece.semicolon ? 1 : 0, piece.line, piece.column, origin.line,
                  origin.name.size(), piece.text.size(), origin.name, piece.text);
  size_t written = 0;
  while (written < record.size()) {
    const ssize_t n =
        ::pwrite(file_, record.data() + written, record.size() - written, static_cast<off_t>(end_ + written));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) fail_file(errno, "write", path_);
    written += static_cast<size_t>(n);
  }
  end_ += record.size();
  entries_.push_back(std::move(entry));
}

void SessionLog::set_state(size_t i, LogEntry::State state) {
  entries_[i].state = state;
  const char byte = static_cast<char>(state);
  if (::pwrite(file_, &byte, 1, static_cast<off_t>(entries_[i].position)) != 1) fail_file(errno, "write", path_);
}

void SessionLog::read() {
  const std::string text = read_file(path_);
  while (end_ < text.size()) {
    const size_t line = text.find('\n', end_);
    std::istringstream head(text.substr(end_, line - end_));
    LogEntry e;
    char state = 0;
    int kind = 0, semicolon = 0;
    size_t origin = 0, bytes = 0;
    head >> state >> e.input >> kind >> semicolon >> e.piece.line >> e.piece.column >> e.origin.line >> origin >> bytes;
    if (!head || line == std::string::npos || line + 1 + origin + bytes + 1 > text.size())
      break;  // cut off in the middle
    e.state = static_cast<LogEntry::State>(state);
    e.piece.kind = static_cast<Piece::Kind>(kind);
    e.piece.semicolon = semicolon != 0;
    e.origin.name = text.substr(line + 1, origin);
    e.piece.text = text.substr(line + 1 + origin, bytes);
    e.position = end_;
    end_ = line + 1 + origin + bytes + 1;
    entries_.push_back(std::move(e));
  }
}

}  // namespace panto::repl
