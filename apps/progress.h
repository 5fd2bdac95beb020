// A progress bar on a terminal, a plain line now and then elsewhere; on standard error.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace panto::apps {

class Progress {
 public:
  Progress(std::string title, int64_t total);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // `note` stands behind the bar: "loss 0.21".
  void advance(int64_t done, const std::string& note);

 private:
  void draw(int64_t done, const std::string& note);

  std::string title_;
  int64_t total_;
  bool terminal_;
  int last_tenth_ = 0;
  std::chrono::steady_clock::time_point last_drawn_;
};

}  // namespace panto::apps
