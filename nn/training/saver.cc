#include "panto/nn/training/saver.h"

#include <algorithm>
#include <set>

#include "panto/lib/base/text/format.h"
#include "panto/lib/graph/checkpoints/checkpoint_file.h"
#include "panto/lib/graph/checkpoints/checkpoint_state.h"
#include "panto/lib/graph/checkpoints/tensor_part.h"
#include "panto/lib/runtime/session.h"
#include "panto/nn/training/checkpoints/graph_values.h"
#include "panto/nn/training/checkpoints/kept_checkpoints.h"
#include "panto/nn/training/matching.h"

namespace panto {
namespace {

// Names for files; a graph's variables keep their names, which are unique there.
std::vector<NamedVariable> names_of(const std::vector<Variable>& variables) {
  if (std::ranges::none_of(variables, [](const Variable& v) { return v.defined() && v.handle().is_meta(); })) {
    return named_variables(variables);
  }
  std::vector<NamedVariable> named;
  for (const Variable& v : variables) named.emplace_back(v.name(), v);
  return named;
}

// A whole variable, or a part of a partitioned tensor.
struct SavedVariable {
  std::string name;
  Variable variable;
  std::optional<TensorPart> part = std::nullopt;
};

// The variables to save; parts get the names of their partitioned variables.
std::vector<SavedVariable> saved_of(std::vector<NamedVariable> variables, const SaverOptions& options) {
  if (!options.partitioned.empty() && options.object_graph) {
    invalid("saver: expected no partitioned variables in an object-based checkpoint, got {}",
            options.partitioned.size());
  }
  std::vector<SavedVariable> saved;
  std::set<std::string> names;
  const auto is_part = [&](const Variable& v) {
    return std::ranges::any_of(options.partitioned, [&](const PartitionedVariable& p) {
      return std::ranges::any_of(p.variables(),
                                 [&](const Variable& part) { return part.handle().impl() == v.handle().impl(); });
    });
  };
  for (auto& [name, v] : variables) {
    if (v.defined() && is_part(v)) continue;
    if (!names.insert(name).second) invalid("saver: expected each name once, got '{}' twice", name);
    saved.push_back({std::move(name), std::move(v)});
  }
  for (const PartitionedVariable& p : options.partitioned) {
    if (!names.insert(p.name()).second) invalid("saver: expected each name once, got '{}' twice", p.name());
    int64_t start = 0;
    for (const Variable& v : p.variables()) {
      if (p.variables().size() == 1) {
        saved.push_back({p.name(), v});
        continue;
      }
      const auto rank = static_cast<size_t>(p.shape().rank());
      TensorPart part{p.shape(), std::vector<int64_t>(rank, 0), std::vector<int64_t>(rank, -1)};
      part.starts[static_cast<size_t>(p.axis())] = start;
      start += part.lengths[static_cast<size_t>(p.axis())] = v.shape().dim(p.axis());
      saved.push_back({p.name(), v, std::move(part)});
    }
  }
  return saved;
}

// The variables of a graph. Throws InvalidArgument if only some are a graph's.
std::vector<Variable> of_graph(const std::vector<SavedVariable>& variables) {
  std::vector<Variable> found;
  for (const SavedVariable& v : variables) {
    if (v.variable.handle().is_meta()) found.push_back(v.variable);
  }
  if (!found.empty() && found.size() < variables.size()) {
    invalid("saver: expected variables of a graph only, or none, got {} of a graph and {} others", found.size(),
            variables.size() - found.size());
  }
  return found;
}

}  // namespace

struct Saver::Impl {
  Impl(const std::string& prefix, std::vector<NamedVariable> given, SaverOptions with)
      : variables(saved_of(std::move(given), with)),
        in_parts(!with.partitioned.empty()),
        graph(of_graph(variables)),
        files(prefix, {.who = "saver",
                       .max_to_keep = with.max_to_keep,
                       .keep_every_n_hours = with.keep_every_n_hours,
                       .clock = std::move(with.clock),
                       .object_graph = with.object_graph}) {}

  void expect_of_graph(bool expected) const {
    if (expected == !graph.variables().empty()) return;
    fail(Code::kFailedPrecondition, expected
                                        ? "saver: expected variables of a graph, since there is a session, got others"
                                        : "saver: expected a session, since the variables are of a graph, got none");
  }

  std::vector<CheckpointPart> values(int64_t step) const {
    files.expect_can_write(step);
    expect_of_graph(false);
    std::vector<Tensor> read;
    for (NamedTensor& value : variable_values(named())) read.push_back(std::move(value.second));
    return parts_of(std::move(read));
  }

  std::vector<CheckpointPart> values(Session& session, int64_t step) const {
    files.expect_can_write(step);
    expect_of_graph(true);
    return parts_of(graph.read(session));
  }

  // Combines values, in the variables' order, with names and parts.
  std::vector<CheckpointPart> parts_of(std::vector<Tensor> values) const {
    std::vector<CheckpointPart> parts;
    for (size_t i = 0; i < values.size(); ++i) {
      parts.push_back({variables[i].name, std::move(values[i]), variables[i].part});
    }
    return parts;
  }

  std::vector<NamedVariable> named() const {
    std::vector<NamedVariable> all;
    for (const SavedVariable& v : variables) all.emplace_back(v.name, v.variable);
    return all;
  }

  // Restores variables that are not in a graph.
  void restore(const std::string& prefix) const {
    expect_of_graph(false);
    if (!in_parts) return load_variables(prefix, named());
    std::vector<std::optional<TensorPart>> parts;
    for (const SavedVariable& v : variables) parts.push_back(v.part);
    load_checkpoint(prefix, named(), parts);
  }

  void restore(Session& session, const std::string& prefix) const {
    expect_of_graph(true);
    std::vector<WantedValue> wanted;
    for (const auto& [name, v, part] : variables) wanted.push_back({name, v.dtype(), v.shape(), part});
    const CheckpointReader reader(prefix);
    graph.assign(session, with_context([&] { return fmt::format("in file '{}'", printable(prefix)); },
                                       [&] { return matching_values(reader, wanted); }));
  }

  std::vector<SavedVariable> variables;
  bool in_parts;
  GraphValues graph;
  KeptCheckpoints files;
};

Saver::Saver(const std::string& prefix, std::vector<NamedVariable> variables, SaverOptions options)
    : impl_(std::make_unique<Impl>(prefix, std::move(variables), std::move(options))) {}
Saver::Saver(const std::string& prefix, std::vector<NamedVariable> variables)
    : Saver(prefix, std::move(variables), SaverOptions{}) {}
Saver::Saver(const std::string& prefix, const std::vector<Variable>& variables, SaverOptions options)
    : Saver(prefix, names_of(variables), std::move(options)) {}
Saver::Saver(const std::string& prefix, const std::vector<Variable>& variables)
    : Saver(prefix, variables, SaverOptions{}) {}
Saver::~Saver() = default;

std::string Saver::save(int64_t step) { return impl_->files.write_now(step, impl_->values(step)); }
std::string Saver::save(Session& session, int64_t step) {
  return impl_->files.write_now(step, impl_->values(session, step));
}
PendingSave Saver::save_async(int64_t step) { return impl_->files.write_later(step, impl_->values(step)); }
PendingSave Saver::save_async(Session& session, int64_t step) {
  return impl_->files.write_later(step, impl_->values(session, step));
}

void Saver::restore(const std::string& prefix) const { impl_->restore(prefix); }

void Saver::restore(Session& session, const std::string& prefix) const { impl_->restore(session, prefix); }

std::optional<int64_t> Saver::restore_latest() const {
  const auto prefix = latest_checkpoint(impl_->files.folder());
  if (!prefix) return std::nullopt;
  restore(*prefix);
  return std::max<int64_t>(checkpoint_step(*prefix), 0);
}

std::optional<int64_t> Saver::restore_latest(Session& session) const {
  const auto prefix = latest_checkpoint(impl_->files.folder());
  if (!prefix) return std::nullopt;
  restore(session, *prefix);
  return std::max<int64_t>(checkpoint_step(*prefix), 0);
}

std::vector<std::string> Saver::checkpoints() const { return impl_->files.checkpoints(); }

}  // namespace panto
