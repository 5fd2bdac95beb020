// What compiled inputs leave behind: the functions that prelude.h declares write here.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "panto/apps/repl/prelude.h"

namespace panto::repl {

struct Host {
  void (*entered)() = nullptr;            // what the last input was made into
  std::optional<std::string> result;      // of an expression
  std::optional<PantoReplObject> object;  // of a variable
  struct Value {
    void* object = nullptr;
    void (*destroy)(void* object) = nullptr;
    bool used = false;  // an input has a reference to it
  };
  struct ShownTensor {
    int64_t id;
    DType dtype;
  };
  std::optional<ShownTensor> tensor;  // what `result` is the text of, where that is a tensor
  std::optional<Value> shown;         // what `result` is the text of, where it can be kept
  struct Timing {
    double seconds = 0;  // of one run, the best of several
    long runs = 0;       // in one measurement
    int repeats = 0;
  };
  std::optional<Timing> timing;

  void clear() { *this = Host(); }
};

Host& host();

// The values that were shown, by the number of the piece that did. Of the oldest beyond a hundred those go that no
// input refers to.
std::map<int, Host::Value>& shown_values();
void keep_shown_value(int serial);  // takes host().shown

}  // namespace panto::repl
