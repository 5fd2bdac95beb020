// The options of `panto train NAME`.
#pragma once

#include <cstdint>
#include <string>

namespace panto::apps {

struct RunSettings {
  bool quick = false;   // a small version that takes seconds
  int64_t steps = 0;    // 0: the program's own number
  int64_t seed = 1;     // of all random numbers
  std::string data;     // a folder or a file; "": the installed data
  std::string save;     // FILE.npz or FILE.safetensors: the trained variables
  std::string start;    // FILE.npz: initial values of variables by name, and "order" [steps, batch]
  std::string losses;   // FILE.npy: the loss of each step
  std::string picture;  // FILE.png
  std::string graph;    // FILE.pb: the trained model, frozen
};

}  // namespace panto::apps
