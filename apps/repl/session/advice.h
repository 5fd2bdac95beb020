// Advice about a shown value.
#pragma once

#include <memory>
#include <string>

#include "panto/lib/core/call/recorder.h"

namespace panto::repl {

// Records which op made the shown value. Must exist while the input runs.
class Advisor {
 public:
  Advisor();
  ~Advisor();
  Advisor(const Advisor&) = delete;
  Advisor& operator=(const Advisor&) = delete;

  // If the shown tensor (host().tensor) has integers and comes from an op whose doc says that it truncates integers,
  // returns that sentence of the doc; else "".
  std::string advice() const;

 private:
  class LastOp;
  std::unique_ptr<LastOp> last_;
  RecorderScope scope_;
};

}  // namespace panto::repl
