#include "panto/apps/progress.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cstdio>

namespace panto::apps {

Progress::Progress(std::string title, int64_t total)
    : title_(std::move(title)), total_(total), terminal_(isatty(STDERR_FILENO) != 0) {}

Progress::~Progress() {
  if (terminal_) std::fputc('\n', stderr);
}

void Progress::advance(int64_t done, const std::string& note) {
  if (!terminal_) {
    const int tenth = static_cast<int>(done * 10 / total_);
    if (tenth == last_tenth_) return;
    last_tenth_ = tenth;
    // A pipe or a log file: four lines in all.
    if (done == total_ || tenth % 3 == 0) fmt::print(stderr, "{}: {} of {}, {}\n", title_, done, total_, note);
    return;
  }
  const auto now = std::chrono::steady_clock::now();
  if (done < total_ && now - last_drawn_ < std::chrono::milliseconds(50)) return;
  last_drawn_ = now;
  draw(done, note);
}

void Progress::draw(int64_t done, const std::string& note) {
  constexpr int64_t kWidth = 30;
  std::string bar;
  for (int64_t i = 0; i < kWidth; ++i) bar += i < done * kWidth / total_ ? "\u2588" : "\u2591";
  fmt::print(stderr, "\r{:<22} {} {}/{}  {}\x1b[K", title_, bar, done, total_, note);
  std::fflush(stderr);
}

}  // namespace panto::apps
