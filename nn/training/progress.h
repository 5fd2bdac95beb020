// Progress: a progress bar for long loops.
//
//   Progress bar(batches.size().value(), "epoch 1");
//   for (auto [x, y] : batches) bar.advance({{"loss", step(x, y).item<double>()}});
//
// On a terminal it is one line, redrawn at most twenty times a second:
//
//   epoch 1                ██████████░░░░░░░░░░░░░░░░░░░░ 41/125  loss 0.3162  0:12 left
//
// Elsewhere, in a file or a pipe, it prints four plain lines in all. It writes to standard error, so that it does not
// mix with a program's results. Thread-safety: one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "panto/lib/base/callable.h"
#include "panto/lib/base/export.h"
#include "panto/lib/base/shared_impl.h"

namespace panto {

// The numbers shown after the bar: {{"loss", 0.21}, {"accuracy", 0.9}}.
using ProgressValues = std::vector<std::pair<std::string, double>>;

struct ProgressOptions {
  bool lines = true;                                 // if there is no terminal; false: print nothing there
  Callable<void(std::string_view)> write = nullptr;  // receives the text; none: standard error
  std::optional<bool> terminal = std::nullopt;       // none: whether standard error is a terminal
  std::optional<int64_t> columns = std::nullopt;     // of the terminal; none: as it reports
  Callable<double()> clock = nullptr;                // seconds since any start; none: the machine's clock
};

class PANTO_EXPORT Progress {
 public:
  // `total`: the number of steps; 0: unknown. Throws InvalidArgument for a negative number.
  explicit Progress(int64_t total, std::string title = "", ProgressOptions options = {});
  ~Progress();  // ends the line
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Reports `done` finished steps; shows the values with their names after the bar.
  void update(int64_t done, const ProgressValues& values);
  void update(int64_t done);  // an overload, since a default argument takes includers longer to compile
  // Reports one more step.
  void advance(const ProgressValues& values);
  void advance();

 private:
  struct State;
  SharedImpl<State> state_;  // of one bar: a unique_ptr takes includers longer to compile
};

}  // namespace panto
