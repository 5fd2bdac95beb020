#include "panto/nn/training/checkpoint.h"

#include <algorithm>
#include <map>
#include <set>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/recorder.h"
#include "panto/lib/core/io/tensor_files.h"
#include "panto/lib/core/tensor/print.h"
#include "panto/lib/core/tensor/resource.h"
#include "panto/lib/graph/checkpoints/checkpoint_file.h"
#include "panto/nn/training/matching.h"

namespace panto {
namespace {

VariableResource& resource_of(const Variable& v) {
  if (!v.defined()) {
    fail(Code::kFailedPrecondition, "variables: expected ones with values, got a default-constructed one");
  }
  if (v.handle().is_meta()) {
    failf(Code::kFailedPrecondition, "variables: expected ones with values, got symbolic '{}'", v.name());
  }
  return variable_of(v.handle());
}

// Makes names unique: puts a number before the last slash, so that variables of one layer keep a common prefix.
class Names {
 public:
  void begin_list() { numbers_.clear(); }
  std::string unique(const std::string& base) {
    const size_t slash = base.rfind('/');
    const std::string owner = slash == std::string::npos ? base : base.substr(0, slash);
    const std::string rest = slash == std::string::npos ? "" : base.substr(slash);
    for (int64_t& number = numbers_[owner];; ++number) {
      std::string name = number == 0 ? base : fmt::format("{}_{}{}", owner, number, rest);
      if (used_.insert(name).second) return name;
    }
  }

 private:
  std::set<std::string> used_;
  std::map<std::string, int64_t> numbers_;
};

using Pairs = std::vector<std::pair<VariableResource*, Tensor>>;

void expect_fits(const WantedValue& wanted, DType dtype, const Shape& shape) {
  if (dtype != wanted.dtype || !wanted.shape.compatible_with(shape)) {
    invalid("load: expected {} for variable '{}', got {}", type_text(wanted.dtype, wanted.shape), wanted.name,
            type_text(dtype, shape));
  }
}

[[noreturn]] void fail_missing(const WantedValue& wanted) {
  invalid("load: expected a value of variable '{}' ({}), got none of that name", wanted.name,
          type_text(wanted.dtype, wanted.shape));
}

// Pairs each variable with its value, after checking that all fit.
Pairs matched(const std::vector<NamedVariable>& variables, std::vector<NamedTensor> values) {
  std::map<std::string, Tensor, std::less<>> by_name;
  for (auto& [name, value] : values) by_name.emplace(std::move(name), std::move(value));
  Pairs pairs;
  std::set<std::string_view> names;
  for (const auto& [name, v] : variables) {
    VariableResource& resource = resource_of(v);
    if (!names.insert(name).second) invalid("load: expected each name once, got '{}' twice", name);
    const auto found = by_name.find(name);
    const WantedValue wanted{name, resource.dtype(), resource.shape()};
    if (found == by_name.end()) fail_missing(wanted);
    Tensor value = std::move(found->second);
    by_name.erase(found);
    expect_fits(wanted, value.dtype(), value.shape());
    pairs.emplace_back(&resource, std::move(value));
  }
  if (!by_name.empty()) {
    const auto& [name, value] = *by_name.begin();
    invalid("load: expected values of {} variables, got {} more, such as '{}' ({})", variables.size(), by_name.size(),
            name, type_text(value.dtype(), value.shape()));
  }
  return pairs;
}

// The same for a checkpoint, which may have more values.
Pairs matched(const std::vector<NamedVariable>& variables, const CheckpointReader& reader,
              std::span<const std::optional<TensorPart>> parts = {}) {
  std::vector<WantedValue> wanted;
  for (const auto& [name, v] : variables) {
    const VariableResource& resource = resource_of(v);
    wanted.push_back({name, resource.dtype(), resource.shape(), parts.empty() ? std::nullopt : parts[wanted.size()]});
  }
  std::vector<Tensor> values = matching_values(reader, wanted);
  Pairs pairs;
  for (size_t i = 0; i < values.size(); ++i) {
    pairs.emplace_back(&resource_of(variables[i].second), std::move(values[i]));
  }
  return pairs;
}

bool ends_as_one_file(const std::string& path) { return path.ends_with(".npz") || path.ends_with(".safetensors"); }

// Whether the path is a single file; otherwise it is a checkpoint. Throws InvalidArgument if it is neither.
bool is_one_file(const std::string& path) {
  const bool one_file = ends_as_one_file(path);
  if (!one_file && !is_checkpoint_name(path) && !checkpoint_exists(path)) {
    invalid("load: expected a name *.npz, *.safetensors or *.ckpt, or a checkpoint that is there, got '{}'", path);
  }
  return one_file;
}

}  // namespace

void expect_no_trace(std::string_view what) {
  if (std::ranges::any_of(recorders(), [](const Recorder* r) { return r->symbolic(); })) {
    failf(Code::kFailedPrecondition,
          "{}: expected to be called outside a trace (calls of the traced function would not do it again), got a call "
          "inside one",
          what);
  }
}

std::vector<Tensor> matching_values(const CheckpointReader& reader, std::span<const WantedValue> wanted) {
  std::set<std::string_view> names;
  for (const WantedValue& w : wanted) {
    if (!names.insert(w.name).second && !w.part) invalid("load: expected each name once, got '{}' twice", w.name);
    const CheckpointVariable* const found = reader.find(w.name);
    if (found == nullptr) fail_missing(w);
    if (found->dtype == DType::kInvalid) continue;
    expect_fits(w.part ? WantedValue{w.name, w.dtype, w.part->whole} : w, found->dtype, found->shape);
  }
  std::vector<Tensor> values;
  for (const WantedValue& w : wanted) values.push_back(w.part ? reader.read(w.name, *w.part) : reader.read(w.name));
  return values;
}

std::vector<NamedVariable> named_variables(std::span<const std::vector<Variable>> lists) {
  Names names;
  std::set<const VariableResource*> seen;
  std::vector<NamedVariable> named;
  for (const std::vector<Variable>& list : lists) {
    names.begin_list();
    for (const Variable& v : list) {
      const VariableResource& resource = resource_of(v);
      if (seen.insert(&resource).second) named.emplace_back(names.unique(resource.base_name()), v);
    }
  }
  return named;
}

std::vector<NamedVariable> named_variables(const std::vector<Variable>& variables) {
  return named_variables(std::span(&variables, 1));
}

std::vector<NamedTensor> variable_values(const std::vector<NamedVariable>& variables) {
  expect_no_trace("save");
  std::vector<NamedTensor> values;
  for (const auto& [name, v] : variables) values.emplace_back(name, resource_of(v).read());
  return values;
}

void save_variables(const std::string& path, const std::vector<NamedVariable>& variables) {
  const std::vector<NamedTensor> values = variable_values(variables);
  if (ends_as_one_file(path)) {
    write_tensors(path, values);
  } else if (is_checkpoint_name(path)) {
    write_checkpoint(path, values);
  } else {
    invalid("save: expected a name *.npz, *.safetensors or *.ckpt, got '{}'", path);
  }
}

void save_variables(const std::string& path, const std::vector<Variable>& variables) {
  save_variables(path, named_variables(variables));
}

std::optional<Tensor> value_in_file(const std::string& path, const std::string& name) {
  if (is_one_file(path)) {
    std::vector<NamedTensor> values = read_tensors(path);
    const auto found = std::ranges::find(values, name, &NamedTensor::first);
    return found == values.end() ? std::nullopt : std::optional(std::move(found->second));
  }
  const CheckpointReader reader(path);
  return reader.find(name) == nullptr ? std::nullopt : std::optional(reader.read(name));
}

void load_checkpoint(const std::string& prefix, const std::vector<NamedVariable>& variables,
                     std::span<const std::optional<TensorPart>> parts) {
  expect_no_trace("load");
  const CheckpointReader reader(prefix);
  const Pairs pairs = with_context([&] { return fmt::format("in file '{}'", printable(prefix)); },
                                   [&] { return matched(variables, reader, parts); });
  for (const auto& [resource, value] : pairs) resource->assign(value);
}

void load_variables(const std::string& path, const std::vector<NamedVariable>& variables) {
  expect_no_trace("load");
  const bool one_file = is_one_file(path);
  const auto in_file = [&] { return fmt::format("in file '{}'", printable(path)); };
  Pairs pairs;
  if (one_file) {
    std::vector<NamedTensor> values = read_tensors(path);
    pairs = with_context(in_file, [&] { return matched(variables, std::move(values)); });
  } else {
    const CheckpointReader reader(path);
    pairs = with_context(in_file, [&] { return matched(variables, reader); });
  }
  for (const auto& [resource, value] : pairs) resource->assign(value);
}

void load_variables(const std::string& path, const std::vector<Variable>& variables) {
  load_variables(path, named_variables(variables));
}

}  // namespace panto
