#include "panto/lib/graph/checkpoints/checkpoint_state.h"

#include <algorithm>
#include <ranges>

#include "panto/lib/base/file.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/graph/checkpoints/checkpoint_file.h"
#include "panto/lib/graph/files/wire/proto_text.h"
#include "panto/lib/graph/proto/checkpoint_state.pb.h"

namespace panto {
namespace {

constexpr uint64_t kMaxBytes = uint64_t{1} << 24;

std::string state_path(const std::string& folder) { return (folder.empty() ? "." : folder) + "/checkpoint"; }

}  // namespace

std::optional<CheckpointState> read_checkpoint_state(const std::string& folder) {
  const std::string path = state_path(folder);
  std::string text;
  try {
    text = read_file(path, kMaxBytes);
  } catch (const Error& error) {
    if (error.code() == Code::kNotFound) return std::nullopt;
    throw;
  }
  graphdef::CheckpointState proto;
  with_context([&] { return fmt::format("in file '{}'", printable(path)); },
               [&] { parse_proto_text(text, "CheckpointState", proto); });
  return CheckpointState{
      .latest = proto.model_checkpoint_path(),
      .all = {proto.all_model_checkpoint_paths().begin(), proto.all_model_checkpoint_paths().end()},
      .timestamps = {proto.all_model_checkpoint_timestamps().begin(), proto.all_model_checkpoint_timestamps().end()},
      .last_preserved = proto.last_preserved_timestamp()};
}

void write_checkpoint_state(const std::string& folder, const CheckpointState& state) {
  graphdef::CheckpointState proto;
  proto.set_model_checkpoint_path(state.latest);
  for (const std::string& path : state.all) proto.add_all_model_checkpoint_paths(path);
  for (const double time : state.timestamps) proto.add_all_model_checkpoint_timestamps(time);
  proto.set_last_preserved_timestamp(state.last_preserved);
  write_file(state_path(folder), proto_text(proto));
}

std::optional<std::string> latest_checkpoint(const std::string& folder) {
  const auto state = read_checkpoint_state(folder);
  if (!state) return std::nullopt;
  const auto there = [&](const std::string& name) -> std::optional<std::string> {
    if (name.empty()) return std::nullopt;
    const std::string prefix = name.front() == '/' || folder.empty() ? name : folder + "/" + name;
    return checkpoint_exists(prefix) ? std::optional(prefix) : std::nullopt;
  };
  if (auto prefix = there(state->latest)) return prefix;
  // TensorFlow may have listed a checkpoint that was never written to disk.
  for (const std::string& name : std::views::reverse(state->all)) {
    if (auto prefix = there(name)) return prefix;
  }
  return std::nullopt;
}

}  // namespace panto
