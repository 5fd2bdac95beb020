#include "panto/nn/training/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "panto/lib/base/text/format.h"

namespace panto {
namespace {

constexpr int64_t kBarWidth = 30;
constexpr size_t kTitleWidth = 22;
constexpr double kSecondsBetweenDraws = 0.05;
constexpr double kSecondsBetweenLines = 10;  // if the total is unknown
constexpr int64_t kUsualColumns = 80;

bool is_terminal() {
  const char* kind = std::getenv("TERM");
  return isatty(STDERR_FILENO) != 0 && (kind == nullptr || std::string_view(kind) != "dumb");
}

int64_t terminal_columns() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : kUsualColumns;
}

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// 0:07, 12:30, 1:00:00
std::string time_text(double seconds) {
  if (!(seconds < 1e9)) return "ages";
  const auto s = static_cast<int64_t>(std::llround(std::max(seconds, 0.0)));
  if (s >= 3600) return fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
  return fmt::format("{}:{:02}", s / 60, s % 60);
}

bool begins_character(char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }

size_t characters(std::string_view text) { return static_cast<size_t>(std::ranges::count_if(text, begins_character)); }

// Cuts to at most `columns` characters: a longer line would wrap and be redrawn below itself.
std::string_view cut(std::string_view text, size_t columns) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (begins_character(text[i]) && columns-- == 0) return text.substr(0, i);
  }
  return text;
}

std::string values_text(const ProgressValues& values) {
  std::string text;
  for (const auto& [name, value] : values) {
    text += fmt::format("{}{} {:.4g}", text.empty() ? "" : ", ", printable(name, 40), value);
  }
  return text;
}

}  // namespace

struct Progress::State {
  std::string title;
  int64_t total;
  ProgressOptions options;
  bool terminal;
  double start, last_shown;
  int64_t done = 0;
  int64_t last_third = 0;
  bool drawn = false;

  void show(const ProgressValues& values) {
    const double now = options.clock();
    if (terminal) {
      if (drawn && done != total && now - last_shown < kSecondsBetweenDraws) return;
      const int64_t columns = options.columns ? *options.columns : terminal_columns();
      // Leaves the last column free: some terminals wrap after it.
      options.write(fmt::format(
          "\r{}\x1b[K", cut(line(values, now - start), static_cast<size_t>(std::max<int64_t>(columns - 1, 0)))));
      drawn = true;
    } else if (!options.lines) {
      return;
    } else if (total > 0) {
      // Prints at 30, 60, 90 and 100 percent. In a double, which does not overflow.
      const double within = static_cast<double>(std::clamp<int64_t>(done, 0, total));
      const auto tenths = static_cast<int64_t>(within * 10 / static_cast<double>(total));
      const int64_t third = done >= total ? 4 : tenths / 3;
      if (third <= last_third) return;
      last_third = third;
      options.write(
          fmt::format("{}{} of {}{}{}\n", before(), done, total, values.empty() ? "" : ", ", values_text(values)));
    } else {
      if (now - last_shown < kSecondsBetweenLines) return;
      options.write(fmt::format("{}{}{}{}\n", before(), done, values.empty() ? "" : ", ", values_text(values)));
    }
    last_shown = now;
  }

  std::string before() const { return title.empty() ? "" : title + ": "; }

  std::string line(const ProgressValues& values, double elapsed) const {
    std::string text = title;
    if (!title.empty()) text.append(std::max(kTitleWidth, characters(title)) - characters(title) + 1, ' ');
    if (total > 0) {
      const double share = std::clamp(static_cast<double>(done) / static_cast<double>(total), 0.0, 1.0);
      const auto full = static_cast<int64_t>(share * kBarWidth);
      for (int64_t i = 0; i < kBarWidth; ++i) text += i < full ? "\u2588" : "\u2591";
      text += fmt::format(" {}/{}", done, total);
    } else {
      text += std::to_string(done);
    }
    if (!values.empty()) text += "  " + values_text(values);
    if (elapsed < 1) return text;
    if (total == 0 || done >= total) return text + "  in " + time_text(elapsed);
    if (done <= 0) return text;
    const double left = elapsed * (static_cast<double>(total) / static_cast<double>(done) - 1);
    return text + "  " + time_text(left) + " left";
  }
};

Progress::Progress(int64_t total, std::string title, ProgressOptions options) {
  if (total < 0) invalid("progress: expected a total of at least 0, got {}", total);
  if (!options.clock) options.clock = seconds_now;
  const bool terminal = options.terminal.value_or(!options.write && is_terminal());
  if (!options.write) {
    options.write = [](std::string_view text) {
      std::fwrite(text.data(), 1, text.size(), stderr);
      std::fflush(stderr);
    };
  }
  const double now = options.clock();
  state_ = std::make_shared<State>(State{printable(title), total, std::move(options), terminal, now, now});
}

Progress::~Progress() {
  if (!state_->drawn) return;
  try {
    state_->options.write("\n");
  } catch (...) {  // NOLINT(bugprone-empty-catch): nobody could hear of it
  }
}

void Progress::update(int64_t done, const ProgressValues& values) {
  state_->done = done;
  state_->show(values);
}

void Progress::update(int64_t done) { update(done, {}); }
void Progress::advance() { advance({}); }
void Progress::advance(const ProgressValues& values) { update(state_->done + 1, values); }

}  // namespace panto
