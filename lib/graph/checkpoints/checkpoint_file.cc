#include "panto/lib/graph/checkpoints/checkpoint_file.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <unordered_map>

#include "panto/lib/base/file.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/tensor/tensor_alloc.h"
#include "panto/lib/graph/checkpoints/object_graph.h"
#include "panto/lib/graph/checkpoints/stored.h"
#include "panto/lib/graph/checkpoints/table.h"

namespace panto {
namespace {

constexpr std::string_view kIndexSuffix = ".index";

// The position of the digits behind the last '-'; npos if the name does not end in such digits.
size_t step_position(std::string_view name) {
  const size_t dash = name.rfind('-');
  if (dash == std::string_view::npos || dash + 1 == name.size()) return std::string_view::npos;
  const std::string_view digits = name.substr(dash + 1);
  return std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; }) ? dash + 1 : std::string_view::npos;
}

}  // namespace

struct CheckpointReader::Impl {
  explicit Impl(std::string of) : prefix(std::move(of)) {
    if (prefix.ends_with(kIndexSuffix) && is_file(prefix)) prefix.resize(prefix.size() - kIndexSuffix.size());
    if (is_file(index_path(prefix))) {
      stored = open_bundle(prefix);
    } else if (is_file(prefix)) {
      stored = open_first_version(prefix);
    } else {
      fail_file(ENOENT, "open", index_path(prefix));
    }
    const auto variables = stored->variables();
    for (size_t i = 0; i < variables.size(); ++i) numbers.emplace(variables[i].name, i);
    const auto graph = numbers.find(std::string(kObjectGraphKey));
    if (graph == numbers.end() || variables[graph->second].dtype != kString ||
        variables[graph->second].shape.numel() != 1) {
      return;
    }
    object_based = true;
    // The key of a value always means that value, even if it is also an alias.
    for (const CheckpointVariable& v : variables) {
      if (v.name.ends_with(kVariableValue)) add_alias(v.name.substr(0, v.name.size() - kVariableValue.size()), v.name);
    }
    for (auto& [name, key] : object_variables(stored->read(graph->second).item<std::string>())) add_alias(name, key);
  }

  void add_alias(const std::string& alias, const std::string& key) {
    const auto found = numbers.find(key);
    if (found == numbers.end() || numbers.contains(alias)) return;
    const auto [known, is_new] = aliases.emplace(alias, found->second);
    if (!is_new && known->second != found->second) known->second = kSeveral;
  }

  // -1: none.
  int64_t find(std::string_view name) const {
    const std::string key(name);
    if (const auto found = numbers.find(key); found != numbers.end()) return static_cast<int64_t>(found->second);
    const auto found = aliases.find(key);
    if (found == aliases.end()) return -1;
    if (found->second == kSeveral) {
      invalid("checkpoint '{}': expected the key of a value, got '{}', the name of several variables", prefix, name);
    }
    return static_cast<int64_t>(found->second);
  }

  static constexpr size_t kSeveral = SIZE_MAX;
  std::string prefix;
  std::unique_ptr<StoredTensors> stored;
  bool object_based = false;
  std::unordered_map<std::string, size_t> numbers, aliases;
};

CheckpointReader::CheckpointReader(const std::string& prefix) : impl_(std::make_unique<Impl>(prefix)) {}
CheckpointReader::~CheckpointReader() = default;
CheckpointReader::CheckpointReader(CheckpointReader&&) noexcept = default;
CheckpointReader& CheckpointReader::operator=(CheckpointReader&&) noexcept = default;

const std::string& CheckpointReader::prefix() const noexcept { return impl_->prefix; }
bool CheckpointReader::has_object_graph() const noexcept { return impl_->object_based; }
std::span<const CheckpointVariable> CheckpointReader::variables() const noexcept { return impl_->stored->variables(); }

const CheckpointVariable* CheckpointReader::find(std::string_view name) const {
  const int64_t number = impl_->find(name);
  return number < 0 ? nullptr : &variables()[static_cast<size_t>(number)];
}

Tensor CheckpointReader::read(std::string_view name) const { return read(name, nullptr); }
Tensor CheckpointReader::read(std::string_view name, const TensorPart& part) const { return read(name, &part); }

Tensor CheckpointReader::read(std::string_view name, const TensorPart* part) const {
  const int64_t number = impl_->find(name);
  if (number < 0) {
    failf(Code::kNotFound, "checkpoint '{}': expected the name of one of its {} tensors, got '{}'", prefix(),
          variables().size(), name);
  }
  const auto i = static_cast<size_t>(number);
  const CheckpointVariable& variable = variables()[i];
  return with_context(
      [&] { return fmt::format("in tensor '{}'", printable(variable.name)); },
      [&] {
        if (!is_plain(variable.dtype) && variable.dtype != kString) {
          failf(Code::kUnimplemented, "checkpoint: expected a dtype of this library with values, got {}",
                variable.dtype_text);
        }
        if (part == nullptr) return impl_->stored->read(i);
        if (!(part->whole == variable.shape)) {
          invalid("part: expected one of shape {}, got one of {}", variable.shape.to_string(), part->whole.to_string());
        }
        if (auto stored = impl_->stored->read_part(i, *part)) return *std::move(stored);
        return cut_out(impl_->stored->read(i), *part);
      });
}

std::vector<NamedTensor> read_checkpoint(const std::string& prefix) {
  const CheckpointReader reader(prefix);
  std::vector<NamedTensor> tensors;
  for (const CheckpointVariable& v : reader.variables()) tensors.emplace_back(v.name, reader.read(v.name));
  return tensors;
}

std::vector<CheckpointVariable> list_variables(const std::string& prefix) {
  const CheckpointReader reader(prefix);
  return {reader.variables().begin(), reader.variables().end()};
}

bool checkpoint_exists(const std::string& prefix) {
  return is_file(index_path(prefix)) || (is_file(prefix) && is_table(prefix));
}

void remove_checkpoint(const std::string& prefix) {
  const auto remove = [](const std::string& path) {
    if (unlink(path.c_str()) != 0 && errno != ENOENT) fail_file(errno, "remove", path);
  };
  const int64_t shards = count_shards(prefix);
  remove(index_path(prefix));
  for (int64_t i = 0; i < shards; ++i) remove(data_path(prefix, i, shards));
  // Without an index the number of data files is unknown: remove those that this library writes.
  if (shards > 0) return;
  for (const int64_t count : {1, 2}) {
    for (int64_t i = 0; i < count; ++i) remove(data_path(prefix, i, count));
  }
}

bool is_checkpoint_name(std::string_view path) {
  const size_t slash = path.rfind('/');
  std::string_view name = slash == std::string_view::npos ? path : path.substr(slash + 1);
  if (const size_t step = step_position(name); step != std::string_view::npos) name = name.substr(0, step - 1);
  return name == "ckpt" || name.ends_with(".ckpt");
}

int64_t checkpoint_step(std::string_view prefix) {
  const size_t position = step_position(prefix);
  if (position == std::string_view::npos) return -1;
  int64_t step = -1;
  const auto [end, error] = std::from_chars(prefix.data() + position, prefix.data() + prefix.size(), step);
  return error == std::errc() ? step : -1;
}

}  // namespace panto
