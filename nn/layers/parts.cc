#include "panto/nn/layers/parts.h"

#include <set>
#include <utility>

#include "panto/nn/layers/layer.h"

namespace panto {
namespace {

// Collects variables without duplicates.
class Unique {
 public:
  void add(Variable v) {
    if (seen_.insert(v.handle().id()).second) all_.push_back(std::move(v));
  }
  void add_all(std::vector<Variable> variables) {
    for (Variable& v : variables) add(std::move(v));
  }
  std::vector<Variable> take() { return std::move(all_); }

 private:
  std::set<int64_t> seen_;
  std::vector<Variable> all_;
};

bool trainable(const Variable& v) { return dtypes::kDifferentiable.contains(v.dtype()); }

}  // namespace

Parts::Parts(const Layer& layer) { entries_.push_back({.layer = &layer}); }

Parts::Parts(const Variable& variable) {
  if (variable.defined()) entries_.push_back({.variable = variable});
}

void Parts::append(const Parts& parts) {
  entries_.insert(entries_.end(), parts.entries_.begin(), parts.entries_.end());
}

Parts::Parts(std::initializer_list<Parts> parts) {
  for (const Parts& part : parts) append(part);
}

std::vector<Variable> Parts::variables() const {
  Unique trained;
  for (const Entry& e : entries_) {
    if (e.frozen || (e.layer != nullptr && !e.layer->trainable())) continue;
    if (e.layer != nullptr) {
      trained.add_all(e.layer->variables());
    } else if (trainable(e.variable)) {
      trained.add(e.variable);
    }
  }
  return trained.take();
}

std::vector<Variable> Parts::state() const {
  Unique kept;
  for (const Entry& e : entries_) {
    if (e.layer != nullptr) {
      if (e.frozen) kept.add_all(e.layer->variables());
      kept.add_all(e.layer->state());
    } else if (e.frozen || !trainable(e.variable)) {
      kept.add(e.variable);
    }
  }
  return kept.take();
}

std::vector<const Layer*> Parts::layers() const {
  std::vector<const Layer*> all;
  for (const Entry& e : entries_) {
    if (e.layer != nullptr) all.push_back(e.layer);
  }
  return all;
}

Parts frozen(Parts parts) {
  for (Parts::Entry& e : parts.entries_) e.frozen = true;
  return parts;
}

}  // namespace panto
