// The results of compiled inputs, written by the functions that prelude.h declares.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "panto/apps/repl/prelude.h"

namespace panto::repl {

struct Host {
  void (*entered)() = nullptr;            // the function compiled from the last input
  std::optional<std::string> result;      // text of an expression's value
  std::optional<PantoReplObject> object;  // a variable's object
  struct Value {
    void* object = nullptr;
    void (*destroy)(void* object) = nullptr;
    bool used = false;  // an input has a reference to it
  };
  struct ShownTensor {
    int64_t id;
    DType dtype;
  };
  std::optional<ShownTensor> tensor;  // the value of `result` if it is a tensor
  std::optional<Value> shown;         // the value of `result` if it can be kept
  struct Timing {
    double seconds = 0;  // per run, the best of several measurements
    long runs = 0;       // per measurement
    int repeats = 0;
  };
  std::optional<Timing> timing;

  void clear() { *this = Host(); }
};

Host& host();

// Shown values by the number of their piece. Beyond a hundred, the oldest values to which no input refers are dropped.
std::map<int, Host::Value>& shown_values();
void keep_shown_value(int serial);  // takes host().shown

}  // namespace panto::repl
