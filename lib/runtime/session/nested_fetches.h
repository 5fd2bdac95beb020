// Nested fetches: lists in lists, and named fetches, like Python's tuples and dictionaries.
//
//   const Fetched r = run_nested(session, {loss, {w, b}}, {{"x", x}});
//   r[0].value();  r[1][0].value();
//   const Fetched n = run_nested(session, FetchTree::named({{"loss", loss}, {"rest", {w, b}}}), {{"x", x}});
//   n["rest"][1].value();
//
// Everything is fetched in one run.
#pragma once

#include <concepts>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/lib/core/tensor/tensor.h"
#include "panto/lib/graph/graph_element.h"
#include "panto/lib/runtime/session.h"

namespace panto {

class PANTO_EXPORT FetchTree {
 public:
  // NOLINTBEGIN(google-explicit-constructor): written as {loss, {"a", w}}
  template <class Element>
    requires std::convertible_to<const Element&, GraphElement>
  FetchTree(const Element& element) : element_(element) {}
  FetchTree(std::initializer_list<FetchTree> items);
  // NOLINTEND(google-explicit-constructor)
  static FetchTree named(std::initializer_list<std::pair<std::string, FetchTree>> items);

 private:
  friend class Fetched;
  GraphElement element_ = "";
  bool is_list_ = false;
  std::vector<FetchTree> items_;
  std::vector<std::string> names_;  // of the items; empty: unnamed
};

// The values of a FetchTree, in the same structure.
class PANTO_EXPORT Fetched {
 public:
  // Throws InvalidArgument for a list.
  const Tensor& value() const;
  // The number of items of a list.
  size_t size() const noexcept { return items_.size(); }
  // Throw OutOfRange or NotFound if there is no such item.
  const Fetched& operator[](size_t i) const;
  const Fetched& operator[](std::string_view name) const;
  // Overloads that avoid ambiguous conversions of literals.
  const Fetched& operator[](const char* name) const { return (*this)[std::string_view(name)]; }
  const Fetched& operator[](int i) const { return (*this)[static_cast<size_t>(i)]; }

 private:
  friend PANTO_EXPORT Fetched run_nested(Session& session, const FetchTree& fetches, const Feeds& feeds);
  static void flatten(const FetchTree& tree, Fetches& fetches);
  Fetched(const FetchTree& tree, std::vector<Tensor>& values, size_t& next);

  bool is_list_ = false;
  Tensor value_;
  std::vector<Fetched> items_;
  std::vector<std::string> names_;
};

// Throws what Session::run throws.
PANTO_EXPORT Fetched run_nested(Session& session, const FetchTree& fetches, const Feeds& feeds);

}  // namespace panto
