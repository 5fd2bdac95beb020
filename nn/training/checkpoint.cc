#include "panto/nn/training/checkpoint.h"

#include <algorithm>
#include <map>
#include <set>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/recorder.h"
#include "panto/lib/core/io/tensor_files.h"
#include "panto/lib/core/tensor/print.h"
#include "panto/lib/core/tensor/resource.h"

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

// Gives each name once: a number goes behind the part before the last slash, so that what belongs together stays so.
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

void expect_no_trace(std::string_view what) {
  if (std::ranges::any_of(recorders(), [](const Recorder* r) { return r->symbolic(); })) {
    failf(Code::kFailedPrecondition,
          "{}: expected to be called outside a trace (calls of the traced function would not do it again), got a call "
          "inside one",
          what);
  }
}

// Pairs of a variable and its value, all of which fit.
std::vector<std::pair<VariableResource*, Tensor>> matched(const std::vector<NamedVariable>& variables,
                                                          std::vector<NamedTensor> values) {
  std::map<std::string, Tensor, std::less<>> by_name;
  for (auto& [name, value] : values) by_name.emplace(std::move(name), std::move(value));
  std::vector<std::pair<VariableResource*, Tensor>> pairs;
  std::set<std::string_view> names;
  for (const auto& [name, v] : variables) {
    VariableResource& resource = resource_of(v);
    if (!names.insert(name).second) invalid("load: expected each name once, got '{}' twice", name);
    const auto found = by_name.find(name);
    if (found == by_name.end()) {
      invalid("load: expected a value of variable '{}' ({}), got none of that name", name,
              type_text(resource.dtype(), resource.shape()));
    }
    Tensor value = std::move(found->second);
    by_name.erase(found);
    if (value.dtype() != resource.dtype() || !resource.shape().compatible_with(value.shape())) {
      invalid("load: expected {} for variable '{}', got {}", type_text(resource.dtype(), resource.shape()), name,
              type_text(value.dtype(), value.shape()));
    }
    pairs.emplace_back(&resource, std::move(value));
  }
  if (!by_name.empty()) {
    const auto& [name, value] = *by_name.begin();
    invalid("load: expected values of {} variables, got {} more, such as '{}' ({})", variables.size(), by_name.size(),
            name, type_text(value.dtype(), value.shape()));
  }
  return pairs;
}

}  // namespace

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

void save_variables(const std::string& path, const std::vector<NamedVariable>& variables) {
  expect_no_trace("save");
  std::vector<NamedTensor> values;
  for (const auto& [name, v] : variables) values.emplace_back(name, resource_of(v).read());
  write_tensors(path, values);
}

void save_variables(const std::string& path, const std::vector<Variable>& variables) {
  save_variables(path, named_variables(variables));
}

void load_variables(const std::string& path, const std::vector<NamedVariable>& variables) {
  expect_no_trace("load");
  std::vector<NamedTensor> values = read_tensors(path);
  const auto pairs = with_context([&] { return fmt::format("in file '{}'", printable(path)); },
                                  [&] { return matched(variables, std::move(values)); });
  for (const auto& [resource, value] : pairs) resource->assign(value);
}

void load_variables(const std::string& path, const std::vector<Variable>& variables) {
  load_variables(path, named_variables(variables));
}

}  // namespace panto
