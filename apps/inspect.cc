// panto inspect FILE: shows names, dtypes and shapes of the tensors in a file; records; events.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "panto/apps/commands.h"
#include "panto/lib/base/error.h"
#include "panto/lib/base/file.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/base/text/quote.h"
#include "panto/lib/core/io/crc32c.h"
#include "panto/lib/core/io/npy.h"
#include "panto/lib/core/io/record_file.h"
#include "panto/lib/core/io/safetensors.h"
#include "panto/lib/core/tensor/print.h"
#include "panto/lib/graph/checkpoints/checkpoint_file.h"
#include "panto/lib/graph/checkpoints/checkpoint_state.h"
#include "panto/lib/graph/checkpoints/table.h"
#include "panto/lib/graph/events/event_file.h"
#include "panto/lib/graph/files/saved_model.h"

namespace panto::apps {
namespace {

// The names to show, and which of them were found.
class Wanted {
 public:
  explicit Wanted(const InspectOptions& options) : names_(options.names), found_(options.names.size()) {}
  bool has(std::string_view name) {
    if (names_.empty()) return true;
    bool any = false;
    for (size_t i = 0; i < names_.size(); ++i) {
      if (names_[i] != name) continue;
      found_[i] = true;
      any = true;
    }
    return any;
  }
  void expect_all() const {
    const auto missing = std::ranges::find(found_, false);
    if (missing == found_.end()) return;
    failf(Code::kNotFound, "inspect: expected a name in the file, got '{}'", names_[missing - found_.begin()]);
  }

 private:
  const std::vector<std::string>& names_;
  std::vector<bool> found_;
};

struct Row {
  std::string name;
  std::string type;
  std::string note = "";
  std::optional<Tensor> value = std::nullopt;
};

// Prints a table of names and types; a value, if present, is below its row.
void print_rows(const std::vector<Row>& rows) {
  constexpr size_t kWidest = 60;
  size_t width = 0;
  for (const Row& row : rows) width = std::max(width, std::min(printable(row.name).size(), kWidest));
  for (const Row& row : rows) {
    fmt::print("{:<{}}  {}{}{}\n", printable(row.name), width, row.type, row.note.empty() ? "" : "  ", row.note);
    if (row.value) fmt::print("{}\n", print(*row.value));
  }
}

void print_tensors(const std::vector<NamedTensor>& tensors, const InspectOptions& options, Wanted& wanted) {
  std::vector<Row> rows;
  for (const auto& [name, t] : tensors) {
    if (!wanted.has(name)) continue;
    rows.push_back({name, type_text(t.dtype(), t.shape()), "", options.values ? std::optional(t) : std::nullopt});
  }
  print_rows(rows);
}

void inspect_checkpoint(const std::string& prefix, const InspectOptions& options, Wanted& wanted) {
  const CheckpointReader reader(prefix);
  std::vector<Row> rows;
  for (const CheckpointVariable& v : reader.variables()) {
    if (!wanted.has(v.name)) continue;
    Row row{v.name, v.dtype_text + v.shape.to_string()};
    if (v.slices > 0) row.note = fmt::format("in {} parts", v.slices);
    if (options.values) row.value = reader.read(v.name);
    rows.push_back(std::move(row));
  }
  print_rows(rows);
}

void inspect_safetensors(const InspectOptions& options, Wanted& wanted) {
  const std::vector<NamedTensor> tensors = read_safetensors(options.file);
  for (const auto& [key, text] : read_safetensors_metadata(options.file)) {
    fmt::print("# {}: {}\n", printable(key), printable(text));
  }
  print_tensors(tensors, options, wanted);
}

// Without values, prints a line per tag.
void inspect_events(const InspectOptions& options, Wanted& wanted) {
  struct Tag {
    std::string plugin;
    int64_t count = 0, first = 0, last = 0;
  };
  std::map<std::string, Tag> tags;
  for (const SummaryEvent& event : read_events(options.file)) {
    if (!event.graph_def.empty() && wanted.has("graph")) {
      fmt::print("graph  {} bytes\n", event.graph_def.size());
    }
    for (const SummaryValue& v : event.values) {
      if (!wanted.has(v.tag)) continue;
      if (options.values) {
        const bool blobs = v.value.dtype() == kString && v.plugin != "text";
        fmt::print("step {}  {}  {}  {}\n", event.step, printable(v.tag), printable(v.plugin),
                   blobs ? type_text(v.value.dtype(), v.value.shape()) : print(v.value));
        continue;
      }
      Tag& tag = tags[v.tag];
      if (tag.count++ == 0) tag = {v.plugin, 1, event.step, event.step};
      tag.last = event.step;
    }
  }
  std::vector<Row> rows;
  for (const auto& [name, tag] : tags) {
    rows.push_back(
        {name, printable(tag.plugin), fmt::format("{} values, steps {} to {}", tag.count, tag.first, tag.last)});
  }
  print_rows(rows);
}

void inspect_records(const InspectOptions& options, Compression compression) {
  RecordReader reader(options.file, compression);
  int64_t count = 0;
  uint64_t bytes = 0;
  std::string record;
  for (uint64_t at = 0; reader.read(record); at = reader.offset()) {
    if (options.values) fmt::print("{}  at byte {}, {} bytes: {}\n", count, at, record.size(), printable(record));
    ++count;
    bytes += record.size();
  }
  fmt::print("{} records, {} bytes\n", count, bytes);
}

// ---- What kind of file it is ---------------------------------------------------------------------------------------

std::string beginning(const std::string& path) {
  constexpr uint64_t kLooked = 16;
  const RandomAccessFile file(path);
  std::string bytes(std::min(file.size(), kLooked), '\0');
  file.read(0, bytes.data(), bytes.size());
  return bytes;
}

// Checks for a length of eight bytes and its checksum.
bool begins_as_record(std::string_view bytes) {
  constexpr size_t kLength = 8;
  uint32_t checksum = 0;
  if (bytes.size() < kLength + sizeof(checksum)) return false;
  std::memcpy(&checksum, bytes.data() + kLength, sizeof(checksum));
  return masked_crc32c(bytes.substr(0, kLength)) == checksum;
}

// Checks the two header bytes, which name the compression method and are a multiple of 31 together (RFC 1950).
bool begins_as_zlib(std::string_view bytes) {
  if (bytes.size() < 2) return false;
  const int first = static_cast<unsigned char>(bytes[0]), second = static_cast<unsigned char>(bytes[1]);
  return (first & 0x8f) == 8 && (first * 256 + second) % 31 == 0;
}

bool begins_as_events(const std::string& path) {
  try {
    EventReader reader(path);
    SummaryEvent event;
    return reader.read(event) && !event.file_version.empty();
  } catch (const Error&) {
    return false;
  }
}

// Shows the signatures of its graphs, then its variables.
void inspect_saved_model(const std::string& folder, const InspectOptions& options, Wanted& wanted) {
  const bool whole = is_file(folder + "/saved_model.pb");
  if (whole) {
    for (const SavedModelGraph& graph : read_saved_model_signatures(folder)) {
      fmt::print("# tags: {}\n", printable(fmt::format("{}", fmt::join(graph.tags, ", "))));
      for (const SavedModelSignature& signature : graph.signatures) {
        if (!wanted.has(signature.name)) continue;
        fmt::print("# signature {}{}\n", printable(signature.name),
                   signature.method.empty() ? "" : ": " + printable(signature.method));
        std::vector<Row> rows;
        for (const SavedModelTensor& t : signature.inputs) rows.push_back({"input " + t.name, t.type, t.output});
        for (const SavedModelTensor& t : signature.outputs) rows.push_back({"output " + t.name, t.type, t.output});
        print_rows(rows);
      }
    }
  }
  const std::string variables = folder + "/variables/variables";
  if (!checkpoint_exists(variables)) return;
  if (whole) fmt::print("# variables\n");
  inspect_checkpoint(variables, options, wanted);
}

void inspect_folder(const InspectOptions& options, Wanted& wanted) {
  if (const auto latest = latest_checkpoint(options.file)) {
    fmt::print("# {}\n", printable(*latest));
    return inspect_checkpoint(*latest, options, wanted);
  }
  if (is_file(options.file + "/saved_model.pb") || checkpoint_exists(options.file + "/variables/variables")) {
    return inspect_saved_model(options.file, options, wanted);
  }
  inspect_events(options, wanted);
}

void inspect_file(const InspectOptions& options, Wanted& wanted) {
  const std::string& path = options.file;
  if (const std::string_view name = "saved_model.pb"; path.ends_with(name)) {
    const std::string folder = path.substr(0, path.size() - name.size());
    return inspect_saved_model(folder.empty() ? "." : folder, options, wanted);
  }
  const std::string bytes = beginning(path);
  if (path.ends_with(".safetensors")) return inspect_safetensors(options, wanted);
  if (bytes.starts_with("\x93NUMPY")) return print_tensors({{"", read_npy(path)}}, options, wanted);
  if (bytes.starts_with("PK")) return print_tensors(read_npz(path), options, wanted);
  if (path.ends_with(".index") || is_table(path)) return inspect_checkpoint(path, options, wanted);
  if (begins_as_record(bytes)) {
    if (begins_as_events(path) || path.find("tfevents") != std::string::npos) return inspect_events(options, wanted);
    return inspect_records(options, Compression::kNone);
  }
  if (bytes.starts_with("\x1f\x8b")) return inspect_records(options, Compression::kGzip);
  if (bytes.size() > 8 && bytes[8] == '{') return inspect_safetensors(options, wanted);
  if (begins_as_zlib(bytes)) return inspect_records(options, Compression::kZlib);
  invalid(
      "inspect: expected a checkpoint, .safetensors, .npz, .npy, records or events, got another file '{}' (of "
      "graphs: panto show)",
      path);
}

}  // namespace

void inspect(const InspectOptions& options) {
  Wanted wanted(options);
  if (is_folder(options.file)) {
    inspect_folder(options, wanted);
  } else if (!is_file(options.file) && checkpoint_exists(options.file)) {
    inspect_checkpoint(options.file, options, wanted);
  } else {
    inspect_file(options, wanted);
  }
  wanted.expect_all();
}

}  // namespace panto::apps
