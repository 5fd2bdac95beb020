// The file `checkpoint` of a folder: which checkpoints there are, as TensorFlow writes it.
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
  std::vector<double> timestamps = {};  // when each was written, in seconds since 1970; or none
  double last_preserved = 0;            // when the last one was that is kept for good
};

// Nullopt where the folder has no such file. Throws DataLoss for one that cannot be understood, and as read_file.
PANTO_EXPORT std::optional<CheckpointState> read_checkpoint_state(const std::string& folder);
// As a whole or not at all. Throws as write_file.
PANTO_EXPORT void write_checkpoint_state(const std::string& folder, const CheckpointState& state);
// The prefix, with the folder, of the latest checkpoint that the file names and that is there; nullopt where there is
// none. Throws as read_checkpoint_state.
PANTO_EXPORT std::optional<std::string> latest_checkpoint(const std::string& folder);

}  // namespace panto
