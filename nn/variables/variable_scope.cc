#include "panto/nn/variables/variable_scope.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/caller.h"
#include "panto/lib/core/call/recorder.h"
#include "panto/lib/core/tensor/print.h"
#include "panto/lib/ops/operators.h"
#include "panto/nn/layers/core/merge.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"
#include "panto/trace/graph_scope.h"

namespace panto {

struct VariableStore::Impl {
  struct Entry {
    std::string name;
    Variable variable;
    Regularizer regularizer;
    bool trainable;
    bool local;
    std::string made_at;
  };
  std::mutex mutex;
  std::vector<Entry> entries;  // in the order in which they were made
  std::map<std::string, size_t, std::less<>> by_name;
};

namespace {

// The options of a scope, including those of the scopes around it.
struct Frame {
  std::string path;  // "" or ends with '/'
  Reuse reuse = Reuse::kNo;
  DType dtype = DType::kInvalid;
  Initializer initializer;
  Regularizer regularizer;
  Partitioner partitioner;
  std::vector<CustomGetter> getters;  // innermost last
  std::set<std::string> opened;       // paths of the scopes that were opened in it
};

std::vector<Frame>& frames() {
  static thread_local std::vector<Frame> open(1);  // one is always there
  return open;
}

std::optional<VariableStore>& open_store() {
  static thread_local std::optional<VariableStore> store;
  return store;
}

std::string text_of(const Tensor& t) { return t.defined() ? type_text(t.dtype(), t.partial_shape()) : "none"; }

std::string line_of(const std::source_location& where) {
  return SourceLine{where.file_name(), static_cast<int>(where.line())}.to_string();
}

}  // namespace

// ---- Stores --------------------------------------------------------------------------------------------------------

VariableStore::VariableStore() : impl_(std::make_shared<Impl>()) {}

std::vector<Variable> VariableStore::variables(std::string_view scope) const {
  const std::lock_guard lock(impl_->mutex);
  std::vector<Variable> found;
  for (const Impl::Entry& e : impl_->entries) {
    if (e.name.starts_with(scope)) found.push_back(e.variable);
  }
  return found;
}

std::vector<Variable> VariableStore::trainable_variables(std::string_view scope) const {
  const std::lock_guard lock(impl_->mutex);
  std::vector<Variable> found;
  for (const Impl::Entry& e : impl_->entries) {
    if (e.trainable && e.name.starts_with(scope)) found.push_back(e.variable);
  }
  return found;
}

std::vector<Variable> VariableStore::global_variables(std::string_view scope) const {
  const std::lock_guard lock(impl_->mutex);
  std::vector<Variable> found;
  for (const Impl::Entry& e : impl_->entries) {
    if (!e.local && e.name.starts_with(scope)) found.push_back(e.variable);
  }
  return found;
}

std::vector<std::string> VariableStore::names() const {
  const std::lock_guard lock(impl_->mutex);
  std::vector<std::string> names;
  for (const Impl::Entry& e : impl_->entries) names.push_back(e.name);
  return names;
}

void VariableStore::clear() {
  const std::lock_guard lock(impl_->mutex);
  impl_->entries.clear();
  impl_->by_name.clear();
}

VariableStore current_variable_store() {
  static const auto* const of_process = new VariableStore;  // leaked on purpose: variables may be used at exit
  return open_store().value_or(*of_process);
}

VariableStoreScope::VariableStoreScope(const VariableStore& store) : previous_(std::exchange(open_store(), store)) {}
VariableStoreScope::~VariableStoreScope() { open_store() = std::move(previous_); }

// ---- Scopes --------------------------------------------------------------------------------------------------------

namespace {

// Whether a variable's name begins with `path`.
bool is_used(std::string_view path) {
  const auto begins = [&](const auto& v) { return std::string_view(v).starts_with(path); };
  if (in_graph_scope()) {
    return std::ranges::any_of(current_graph().variables(), [&](const GraphVariable& v) { return begins(v.name); });
  }
  return std::ranges::any_of(current_variable_store().names(), begins);
}

// Finds an unused path. At the top level, where the next graph or store starts anew, a path without variables is free;
// inside a scope, a path that was not opened since the scope was. So the layers of a reopened scope get the same names.
std::string unused_path(const Frame& outer, std::string_view name) {
  const auto taken = [&](const std::string& path) {
    return outer.path.empty() ? is_used(path) : outer.opened.contains(path);
  };
  std::string path = fmt::format("{}{}/", outer.path, name);
  for (int i = 1; taken(path); ++i) path = fmt::format("{}{}_{}/", outer.path, name, i);
  return path;
}

}  // namespace

VariableScope::VariableScope(std::string_view name, const VariableScopeOptions& options) {
  Frame frame = frames().back();
  if (!name.empty()) {
    const size_t outer = frame.path.size();
    frame.path = options.unique ? unused_path(frame, name) : fmt::format("{}{}/", frame.path, name);
    names_.emplace(std::string_view(frame.path).substr(outer, frame.path.size() - outer - 1));
    if (outer > 0) frames().back().opened.insert(frame.path);
    frame.opened.clear();
  }
  if (options.reuse && frame.reuse != Reuse::kYes) frame.reuse = *options.reuse;
  if (options.dtype != DType::kInvalid) frame.dtype = options.dtype;
  if (options.initializer) frame.initializer = options.initializer;
  if (options.regularizer) frame.regularizer = options.regularizer;
  if (options.partitioner) frame.partitioner = options.partitioner;
  if (options.custom_getter) frame.getters.push_back(options.custom_getter);
  frames().push_back(std::move(frame));
}

VariableScope::~VariableScope() {
  Frame closed = std::move(frames().back());
  frames().pop_back();
  // A scope without a name counts as a part of the scope around it.
  if (closed.path == frames().back().path) frames().back().opened = std::move(closed.opened);
}

std::string VariableScope::current() {
  std::string path = frames().back().path;
  if (!path.empty()) path.pop_back();
  return path;
}

void VariableScope::reuse_variables() { frames().back().reuse = Reuse::kYes; }

// ---- Variables -----------------------------------------------------------------------------------------------------

GetVariableOptions VariableScope::filled_in(GetVariableOptions options) {
  const Frame& frame = frames().back();
  if (options.dtype == DType::kInvalid) options.dtype = frame.dtype == DType::kInvalid ? kFloat32 : frame.dtype;
  if (!options.initializer) options.initializer = frame.initializer;
  if (!options.initializer) {
    options.initializer = dtypes::kFloating.contains(options.dtype) ? glorot_uniform() : constant_initializer(0);
  }
  if (!options.regularizer) options.regularizer = frame.regularizer;
  if (!options.partitioner) options.partitioner = frame.partitioner;
  return options;
}

// Finds and makes variables where this thread keeps them: in the graph or the store.
class VariableFinder {
 public:
  struct Found {
    Variable variable;
    std::string made_at;
  };

  static std::optional<Found> find(std::string_view name) {
    if (in_graph_scope()) {
      const std::optional<Variable> made = find_variable(name);
      if (!made) return std::nullopt;
      const Graph& graph = current_graph();
      return Found{*made, graph.at(graph.output_of(made->handle()).node).where().to_string()};
    }
    const VariableStore store = current_variable_store();
    const std::lock_guard lock(store.impl_->mutex);
    const auto at = store.impl_->by_name.find(name);
    if (at == store.impl_->by_name.end()) return std::nullopt;
    const VariableStore::Impl::Entry& entry = store.impl_->entries[at->second];
    return Found{entry.variable, entry.made_at};
  }

  static Variable make(std::string_view name, const Shape& shape, const GetVariableOptions& options,
                       const std::source_location& where) {
    const VariableUse use = options.local       ? VariableUse::kLocal
                            : options.trainable ? VariableUse::kTrained
                                                : VariableUse::kKept;
    const VariableUseScope used(use);
    const NameScope whole_name("");
    if (in_graph_scope()) return make_node(name, shape, options, where);
    const RecorderPause unheard;
    Variable v(first_value(name, shape, options), name, {.validate_shape = options.validate_shape}, where);
    const VariableStore store = current_variable_store();
    const std::lock_guard lock(store.impl_->mutex);
    VariableStore::Impl& impl = *store.impl_;
    const auto [at, fresh] = impl.by_name.try_emplace(std::string(name), impl.entries.size());
    if (!fresh) return impl.entries[at->second].variable;  // another thread has made it in the meantime
    const bool trained = use == VariableUse::kTrained && dtypes::kFloating.contains(v.dtype());
    impl.entries.push_back({std::string(name), v, options.regularizer, trained, options.local, line_of(where)});
    return v;
  }

  // The penalties of variables with a regularizer, outside of graphs.
  static std::vector<Tensor> penalties(std::string_view scope) {
    std::vector<std::pair<Regularizer, Variable>> due;
    {
      const VariableStore store = current_variable_store();
      const std::lock_guard lock(store.impl_->mutex);
      for (const VariableStore::Impl::Entry& e : store.impl_->entries) {
        if (e.regularizer && e.name.starts_with(scope)) due.emplace_back(e.regularizer, e.variable);
      }
    }
    std::vector<Tensor> penalties;
    penalties.reserve(due.size());
    for (const auto& [regularizer, variable] : due) penalties.push_back(regularizer(variable.value()));
    return penalties;
  }

 private:
  static Tensor first_value(std::string_view name, const Shape& shape, const GetVariableOptions& options) {
    Tensor value = options.initializer(shape, options.dtype);
    if (!value.defined() || value.dtype() != options.dtype || !value.partial_shape().compatible_with(shape)) {
      invalid("variable '{}': expected a first value of {}, got {}", name, type_text(options.dtype, shape),
              text_of(value));
    }
    return value;
  }

  static Variable make_node(std::string_view name, const Shape& shape, const GetVariableOptions& options,
                            const std::source_location& where) {
    Tensor initial;
    {
      const NameScope beside(fmt::format("{}/Initializer/", name));
      initial = first_value(name, shape, options);
    }
    const Variable v(initial, name, {.validate_shape = options.validate_shape}, where);
    for (const std::string& key : options.collections) add_to_collection(key, {v});
    if (options.regularizer) {
      const NameScope beside(fmt::format("{}/Regularizer/", name));
      add_to_collection("regularization_losses", {options.regularizer(v.value())});
    }
    return v;
  }
};

namespace {

Variable find_or_make(std::string_view name, const Shape& shape, const GetVariableOptions& options,
                      const std::source_location& where) {
  const Reuse reuse = frames().back().reuse;
  const std::optional<VariableFinder::Found> found = VariableFinder::find(name);
  if (!found) {
    if (reuse == Reuse::kYes) {
      failf(
          Code::kNotFound,
          "variable '{}': expected one that get_variable has made, for the scope is opened with Reuse::kYes, got none "
          "(Reuse::kAuto makes what is not there)",
          name);
    }
    return VariableFinder::make(name, shape, options, where);
  }
  const Variable& v = found->variable;
  if (reuse == Reuse::kNo) {
    failf(Code::kAlreadyExists,
          "variable '{}': expected a name without a variable, got that of one made at {} (to get that one, open the "
          "scope with {{.reuse = Reuse::kYes}} or kAuto)",
          name, found->made_at.empty() ? "an unknown line" : found->made_at);
  }
  if (v.dtype() != options.dtype || !v.shape().compatible_with(shape)) {
    invalid("variable '{}': expected {} as it was made, got {}", name, type_text(v.dtype(), v.shape()),
            type_text(options.dtype, shape));
  }
  return v;
}

// Calls the innermost of the first k getters; each getter's `getter` argument is the next outer one.
Variable get_by(const std::vector<CustomGetter>& getters, size_t k, std::string_view name, const Shape& shape,
                const GetVariableOptions& options, const std::source_location& where) {
  if (k == 0) return find_or_make(name, shape, options, where);
  const VariableGetter next = [&](std::string_view other, const Shape& dims, const GetVariableOptions& changed) {
    return get_by(getters, k - 1, other, dims, changed, where);
  };
  Variable v = getters[k - 1](next, name, shape, options);
  if (!v.defined()) invalid("custom_getter of '{}': expected a variable, got a default-constructed one", name);
  return v;
}

void expect_one_part(std::string_view name, const Shape& shape, const GetVariableOptions& options) {
  if (!options.partitioner) return;
  int64_t parts = 1;
  for (const int64_t n : options.partitioner(shape, options.dtype)) parts = std::max(parts, n);
  if (parts == 1) return;
  invalid(
      "variable '{}': expected a partitioner that leaves it whole, got one that makes {} parts of it "
      "(get_partitioned_variable gives those)",
      name, parts);
}

}  // namespace

Variable get_variable(std::string_view name, const Shape& shape, const GetVariableOptions& options,
                      std::source_location where) {
  return from_caller(where, [&] {
    const Frame& frame = frames().back();
    const std::string whole = frame.path + std::string(name);
    const GetVariableOptions all = VariableScope::filled_in(options);
    expect_one_part(whole, shape, all);
    const std::vector<CustomGetter> getters = frame.getters;  // a copy, since getters may open scopes
    return get_by(getters, getters.size(), whole, shape, all, where);
  });
}

Variable get_variable_from(std::string_view name, const Tensor& initial, const GetVariableOptions& options,
                           std::source_location where) {
  return from_caller(where, [&] {
    if (!initial.defined() || !initial.partial_shape().fully_known()) {
      invalid("variable '{}': expected a first value of known shape, got {}", name, text_of(initial));
    }
    GetVariableOptions given = options;
    if (given.dtype == DType::kInvalid) given.dtype = initial.dtype();
    given.initializer = [initial](const Shape&, DType) { return initial; };
    return get_variable(name, initial.shape(), given, where);
  });
}

Variable get_variable(std::string_view name, std::source_location where) {
  return from_caller(where, [&] {
    const std::string whole = frames().back().path + std::string(name);
    const std::optional<VariableFinder::Found> found = VariableFinder::find(whole);
    if (!found) {
      failf(Code::kNotFound, "variable '{}': expected one that was made, or a shape to make it of, got neither", whole);
    }
    return found->variable;
  });
}

std::vector<Variable> all_variables(std::string_view scope) {
  return in_graph_scope() ? global_variables(scope) : current_variable_store().global_variables(scope);
}

// ---- Losses --------------------------------------------------------------------------------------------------------

std::vector<Tensor> regularization_losses(std::string_view scope) {
  return in_graph_scope() ? collected_tensors("regularization_losses", scope) : VariableFinder::penalties(scope);
}

std::vector<Tensor> get_losses(std::string_view scope) {
  return in_graph_scope() ? collected_tensors("losses", scope) : std::vector<Tensor>();
}

Tensor get_total_loss(bool add_regularization_losses) {
  std::vector<Tensor> losses = get_losses();
  if (add_regularization_losses) {
    for (Tensor& penalty : regularization_losses()) losses.push_back(std::move(penalty));
  }
  return losses.empty() ? tensor(0.f) : named("total_loss", identity(add(losses)));
}

}  // namespace panto
