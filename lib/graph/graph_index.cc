#include "panto/lib/graph/graph_index.h"

namespace panto {

namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

constexpr auto kAny = [](const auto&) { return true; };

// A bijection that also mixes the low bits: the final steps of splitmix64.
uint64_t mixed(uint64_t n) noexcept {
  n = (n ^ (n >> 30)) * 0xbf58476d1ce4e5b9u;
  n = (n ^ (n >> 27)) * 0x94d049bb133111ebu;
  return n ^ (n >> 31);
}

}  // namespace

// ---- Names ------------------------------------------------------------------------------------------------------

uint64_t Graph::Index::lower_hash_of(std::string_view name) { return std::hash<std::string>()(lower(name)); }

int Graph::Index::find_made(const Nodes& nodes, uint32_t hash, std::string_view name) const {
  const int* found = names_.find(hash, [&](int id) { return nodes[static_cast<size_t>(id)]->name() == name; });
  return found != nullptr ? *found : -1;
}

void Graph::Index::make_names(const Nodes& nodes) {
  if (names_made_.load(std::memory_order_acquire)) return;
  const std::lock_guard lock(making_);
  if (names_made_.load(std::memory_order_relaxed)) return;
  names_.reserve(nodes.size());
  for (const auto& node : nodes) {
    if (node != nullptr) names_.insert(name_hash(node->name()), node->id());
  }
  names_made_.store(true, std::memory_order_release);
}

int Graph::Index::find(const Nodes& nodes, std::string_view name) {
  make_names(nodes);
  return find_made(nodes, name_hash(name), name);
}

bool Graph::Index::add(const Nodes& nodes, const Node& node) {
  make_names(nodes);
  const uint32_t hash = name_hash(node.name());
  if (find_made(nodes, hash, node.name()) >= 0) return false;
  names_.insert(hash, node.id());
  if (lower_names_made_) count_lower(node.name());
  return true;
}

void Graph::Index::remove(const Node& node) {
  if (names_made_.load(std::memory_order_relaxed)) {
    names_.erase(name_hash(node.name()), [&](int id) { return id == node.id(); });
  }
  if (!lower_names_made_) return;
  const uint64_t hash = lower_hash_of(node.name());
  if (int* count = lower_names_.find(hash, kAny); --*count == 0) lower_names_.erase(hash, kAny);
}

// ---- Free names -------------------------------------------------------------------------------------------------

void Graph::Index::count_lower(std::string_view name) {
  const uint64_t hash = lower_hash_of(name);
  if (int* count = lower_names_.find(hash, kAny)) {
    ++*count;
  } else {
    lower_names_.insert(hash, 1);
  }
}

void Graph::Index::make_lower_names(const Nodes& nodes) {
  if (lower_names_made_) return;
  lower_names_.reserve(nodes.size());
  for (const auto& node : nodes) {
    if (node != nullptr) count_lower(node->name());
  }
  for (const std::string& scope : scopes_) count_lower(scope);
  lower_names_made_ = true;
}

std::string Graph::Index::free_name(const Nodes& nodes, const std::string& base) {
  make_lower_names(nodes);
  const auto taken = [&](const std::string& name) {
    return lower_names_.find(std::hash<std::string>()(name), kAny) != nullptr;
  };
  std::string key = lower(base);
  if (!taken(key)) return base;
  int& next = next_suffix_.try_emplace(key, 1).first->second;
  key += '_';
  const size_t stem = key.size();
  for (;; ++next) {
    key.resize(stem);
    key += std::to_string(next);
    if (!taken(key)) return base + key.substr(stem - 1);
  }
}

void Graph::Index::take_scope(const std::string& name) {
  scopes_.push_back(name);
  count_lower(name);
}

// ---- Symbolic tensors -------------------------------------------------------------------------------------------

void Graph::Index::bind(int64_t tensor, NodeOutput output) {
  const uint64_t hash = mixed(static_cast<uint64_t>(tensor));
  if (NodeOutput* known = bindings_.find(hash, kAny)) {
    *known = output;
  } else {
    bindings_.insert(hash, output);
  }
}

NodeOutput Graph::Index::output_of(int64_t tensor) const {
  const NodeOutput* found = bindings_.find(mixed(static_cast<uint64_t>(tensor)), kAny);
  return found != nullptr ? *found : NodeOutput();
}

void Graph::Index::copy_but_names(const Index& other) {
  scopes_ = other.scopes_;
  next_suffix_ = other.next_suffix_;
  bindings_ = other.bindings_;
  collections = other.collections;
  seed = other.seed;
  seeds_given = other.seeds_given;
}

}  // namespace panto
