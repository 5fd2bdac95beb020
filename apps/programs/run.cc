#include "panto/apps/programs/run.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <utility>

#include "panto/apps/data.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/io/tensor_files.h"
#include "panto/lib/core/tensor/print.h"
#include "panto/panto.h"

namespace panto::apps {

Run::Run(RunSettings settings) : settings_(std::move(settings)) {
  set_seed(static_cast<uint64_t>(settings_.seed));
  if (!settings_.start.empty()) start_ = read_npz(settings_.start);
}

int64_t Run::steps(int64_t usual, int64_t quick) const {
  if (settings_.steps > 0) return settings_.steps;
  return settings_.quick ? quick : usual;
}

std::string Run::data(const std::string& name) const { return find_data(settings_.data, name); }

const Tensor& Run::from_file(const std::string& name) const {
  const auto found = std::ranges::find(start_, name, &NamedTensor::first);
  if (found == start_.end()) {
    failf(Code::kNotFound, "{}: expected an array '{}', got a file without one", settings_.start, name);
  }
  return found->second;
}

Tensor Run::first_value(const std::string& name, const Tensor& otherwise) const {
  if (start_.empty()) return otherwise;
  const Tensor& value = from_file(name);
  if (value.dtype() != otherwise.dtype() || !otherwise.partial_shape().compatible_with(value.shape())) {
    invalid("{}: expected '{}' to be {}, got {}", settings_.start, name,
            type_text(otherwise.dtype(), otherwise.partial_shape()), type_text(value.dtype(), value.shape()));
  }
  return value;
}

void Run::begin(const Layer& model) const { begin(model.named_variables()); }

void Run::begin(const std::vector<NamedVariable>& variables) const {
  if (start_.empty()) return;
  for (const auto& [name, variable] : variables) variable.assign(first_value(name, variable.value()));
}

void Run::begin(Session& session, Graph& graph, const std::vector<Variable>& variables) const {
  if (start_.empty()) return;
  std::vector<Operation> assigned;
  {
    const GraphScope building(graph);
    for (const Variable& v : variables) assigned.push_back(v.assign(first_value(v.name(), v.value())));
  }
  for (const Operation& operation : assigned) session.run(operation);
}

CustomGetter Run::first_values() const {
  return [this](const VariableGetter& getter, std::string_view name, const Shape& shape,
                const GetVariableOptions& options) {
    if (start_.empty()) return getter(name, shape, options);
    GetVariableOptions given = options;
    given.initializer = [value = from_file(std::string(name))](const Shape&, DType) { return value; };
    return getter(name, shape, given);
  };
}

Tensor Run::order_from_file(int64_t size, int64_t steps) const {
  const Tensor order = cast(from_file("order"), kInt64);
  if (order.rank() != 2 || order.dim(0) < steps || order.dim(1) != size) {
    invalid("{}: expected 'order' to be [{} or more, {}], got {}", settings_.start, steps, size,
            type_text(order.dtype(), order.shape()));
  }
  return order;
}

Tensor Run::drawn_batches(int64_t count, int64_t size, int64_t steps) const {
  return start_.empty() ? randint(count, {steps, size}) : order_from_file(size, steps);
}

Tensor Run::batches(int64_t count, int64_t size, int64_t steps) const {
  if (!start_.empty()) return order_from_file(size, steps);
  if (size > count) invalid("batches: expected {} examples or more, got {}", size, count);
  std::mt19937_64 random(static_cast<uint64_t>(settings_.seed));
  std::vector<int64_t> round(static_cast<size_t>(count)), order;
  std::iota(round.begin(), round.end(), 0);
  const int64_t used = count - count % size;  // examples per round that make whole batches
  order.reserve(static_cast<size_t>(steps * size));
  while (std::ssize(order) < steps * size) {
    std::ranges::shuffle(round, random);
    const int64_t more = std::min(used, steps * size - std::ssize(order));
    order.insert(order.end(), round.begin(), round.begin() + more);
  }
  return tensor(order).reshape({steps, size});
}

void Run::save(const Layer& model) const {
  if (!settings_.save.empty()) model.save(settings_.save);
}

void Run::save(const std::vector<NamedVariable>& variables) const {
  if (!settings_.save.empty()) save_variables(settings_.save, variables);
}

void Run::save(Session& session, const std::vector<Variable>& variables) const {
  if (settings_.save.empty()) return;
  std::vector<NamedTensor> values;
  for (const Variable& v : variables) values.emplace_back(v.name(), session.run(v));
  write_tensors(settings_.save, values);
}

void Run::save_graph(const Function& function) const {
  if (!settings_.graph.empty()) function.save(settings_.graph);
}

void Run::finish() const {
  if (!settings_.losses.empty()) write_npy(settings_.losses, tensor(losses_));
}

}  // namespace panto::apps
