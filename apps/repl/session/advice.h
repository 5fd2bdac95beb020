// What a value that is shown deserves a word about.
#pragma once

#include <memory>
#include <string>

#include "panto/lib/core/call/recorder.h"

namespace panto::repl {

// Hears which op made what is shown. To be there while an input runs whose value is shown.
class Advisor {
 public:
  Advisor();
  ~Advisor();
  Advisor(const Advisor&) = delete;
  Advisor& operator=(const Advisor&) = delete;

  // Of the tensor that was shown (host().tensor), where an op made it that truncates integers, by its own doc, and got
  // integers: what that doc says. "" of others.
  std::string advice() const;

 private:
  class LastOp;
  std::unique_ptr<LastOp> last_;
  RecorderScope scope_;
};

}  // namespace panto::repl
