// A progress bar for loops that take long.
//
//   Progress bar(batches.size().value(), "epoch 1");
//   for (auto [x, y] : batches) bar.advance({{"loss", step(x, y).item<double>()}});
//
// On a terminal it is one line that is drawn anew, at most twenty times a second:
//
//   epoch 1                ██████████░░░░░░░░░░░░░░░░░░░░ 41/125  loss 0.3162  0:12 left
//
// Elsewhere, in a file or a pipe, it is a plain line now and then: four in all. It writes to standard error, where
// results of a program are not.
// Thread-safety: one thread at a time.
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

// What is shown behind the bar: {{"loss", 0.21}, {"accuracy", 0.9}}.
using ProgressValues = std::vector<std::pair<std::string, double>>;

struct ProgressOptions {
  bool lines = true;                                 // where there is no terminal; false: nothing at all
  Callable<void(std::string_view)> write = nullptr;  // where the text goes; none: standard error
  std::optional<bool> terminal = std::nullopt;       // none: whether standard error is one
  std::optional<int64_t> columns = std::nullopt;     // of the terminal; none: as it says
  Callable<double()> clock = nullptr;                // seconds since whenever; none: the machine's
};

class PANTO_EXPORT Progress {
 public:
  // Of `total` steps; 0: nobody knows how many. Throws InvalidArgument for a negative number.
  explicit Progress(int64_t total, std::string title = "", ProgressOptions options = {});
  ~Progress();  // ends the line
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // `done` steps are done; values with their names stand behind the bar.
  void update(int64_t done, const ProgressValues& values);
  void update(int64_t done);  // no default: it takes whoever includes this longer to compile
  // One more is done.
  void advance(const ProgressValues& values);
  void advance();

 private:
  struct State;
  SharedImpl<State> state_;  // of one bar: a unique_ptr takes whoever includes this longer to compile
};

}  // namespace panto
