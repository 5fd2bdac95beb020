// The file `checkpoint` in a folder, TensorFlow's list of the folder's checkpoints.
//
//   if (const auto prefix = latest_checkpoint("run")) load_variables(*prefix, model.variables());
//
// Thread-safety: plain functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "panto/lib/base/export.h"

namespace panto {

struct CheckpointState {
  std::string latest = "";              // a prefix; relative to the folder of the file, or absolute
  std::vector<std::string> all = {};    // oldest first; the last one is the latest
  std::vector<double> timestamps = {};  // when each was written, in seconds since 1970; or empty
  double last_preserved = 0;            // when the last permanently kept checkpoint was written
};

// nullopt if the folder has no such file. Throws DataLoss for a malformed file, and as read_file.
PANTO_EXPORT std::optional<CheckpointState> read_checkpoint_state(const std::string& folder);
// Writes atomically. Throws as write_file.
PANTO_EXPORT void write_checkpoint_state(const std::string& folder, const CheckpointState& state);
// The prefix, with the folder, of the latest listed checkpoint that exists; nullopt if there is none. Throws as
// read_checkpoint_state.
PANTO_EXPORT std::optional<std::string> latest_checkpoint(const std::string& folder);

}  // namespace panto
