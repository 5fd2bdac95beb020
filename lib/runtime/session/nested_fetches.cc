#include "panto/lib/runtime/session/nested_fetches.h"

#include <algorithm>

#include "panto/lib/base/text/format.h"

namespace panto {

FetchTree::FetchTree(std::initializer_list<FetchTree> items) : is_list_(true), items_(items) {}

FetchTree FetchTree::named(std::initializer_list<std::pair<std::string, FetchTree>> items) {
  FetchTree tree({});
  tree.is_list_ = true;
  for (const auto& [name, item] : items) {
    if (std::ranges::find(tree.names_, name) != tree.names_.end()) {
      invalid("fetches: expected each name once, got '{}' twice", name);
    }
    tree.names_.push_back(name);
    tree.items_.push_back(item);
  }
  return tree;
}

void Fetched::flatten(const FetchTree& tree, Fetches& fetches) {
  if (!tree.is_list_) return fetches.push_back(tree.element_);
  for (const FetchTree& item : tree.items_) flatten(item, fetches);
}

Fetched::Fetched(const FetchTree& tree, std::vector<Tensor>& values, size_t& next)
    : is_list_(tree.is_list_), names_(tree.names_) {
  if (!is_list_) {
    value_ = std::move(values[next++]);
    return;
  }
  for (const FetchTree& item : tree.items_) items_.push_back(Fetched(item, values, next));
}

const Tensor& Fetched::value() const {
  if (is_list_) invalid("fetched: expected a value, got a list of {}", items_.size());
  return value_;
}

const Fetched& Fetched::operator[](size_t i) const {
  if (i >= items_.size()) {
    failf(Code::kOutOfRange, "fetched: expected an item below {}, got {}", items_.size(), static_cast<int64_t>(i));
  }
  return items_[i];
}

const Fetched& Fetched::operator[](std::string_view name) const {
  const auto found = std::ranges::find(names_, name);
  if (found == names_.end()) failf(Code::kNotFound, "fetched: expected a name that was fetched, got '{}'", name);
  return items_[static_cast<size_t>(found - names_.begin())];
}

Fetched run_nested(Session& session, const FetchTree& fetches, const Feeds& feeds) {
  Fetches flat;
  Fetched::flatten(fetches, flat);
  std::vector<Tensor> values = session.run(flat, feeds);
  size_t next = 0;
  return Fetched(fetches, values, next);
}

}  // namespace panto
