// Parts: the list of layers and variables that a layer consists of.
//
//   struct Net : Layer {
//     Dense a{784, 128}, b{128, 10};
//     std::vector<Dense> more;
//     std::shared_ptr<Layer> last;              // none, where it is null
//     Variable scale{ones({1}), "scale"};
//     Sequential backbone;                      // trained before
//     Parts parts() const override { return {a, b, more, last, scale, frozen(backbone)}; }
//     Tensor forward(const Tensor& x) const override { ... }
//   };
//   struct Wider : Net {
//     Dense c{10, 10};
//     Parts parts() const override { return {Net::parts(), c}; }
//   };
//
// The list is made whenever it is asked for, so it is right for copies, moved layers and members that are assigned to
// or added to later. It gives the order of variables and their names in files. A variable that occurs several times is
// listed once. A call of the layer finds variables that the list lacks (Layer::operator()). Thread-safety: as that of
// the listed parts.
#pragma once

#include <concepts>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <type_traits>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/lib/core/tensor/variable.h"

namespace panto {

class Layer;
class Parts;

namespace detail {
template <class P>
concept PartPointer = !std::is_array_v<P> && !std::convertible_to<const P&, const Layer&> && requires(const P& p) {
  static_cast<bool>(p);
  requires std::convertible_to<decltype(*p), const Layer&>;
};
// A type that is not a layer but has variables: an LstmCell.
template <class T>
concept HasVariables = !std::convertible_to<const T&, const Layer&> && requires(const T& t) {
  { t.variables() } -> std::same_as<std::vector<Variable>>;
};
template <class R>
concept PartRange = requires(const R& r) {
  std::begin(r);
  std::end(r);
  requires std::convertible_to<decltype(*std::begin(r)), Parts>;
};
}  // namespace detail

// Layers, variables, an LstmCell, pointers to layers (including std::optional; empty ones are skipped), ranges of
// these, and other lists. A list refers to layers: they must outlive it, as members do.
class PANTO_EXPORT Parts {
 public:
  Parts() = default;
  Parts(std::initializer_list<Parts> parts);
  // NOLINTBEGIN(google-explicit-constructor): implicit on purpose
  Parts(const Layer& layer);
  Parts(const Layer&&) = delete;  // a dangling reference
  // A default-constructed variable is skipped: a layer made without a bias lists it.
  Parts(const Variable& variable);
  template <detail::HasVariables T>
    requires(!std::same_as<T, Parts>)
  Parts(const T& with_variables) : Parts(with_variables.variables()) {}
  template <detail::PartPointer P>
  Parts(const P& pointer) {
    if (pointer) append(Parts(static_cast<const Layer&>(*pointer)));
  }
  template <detail::PartRange R>
    requires(!detail::PartPointer<R>)
  Parts(const R& range) {
    for (const auto& part : range) append(Parts(part));
  }
  template <detail::PartRange R>
    requires(!detail::PartPointer<R> && !std::is_lvalue_reference_v<R> &&
             !std::same_as<std::decay_t<decltype(*std::begin(std::declval<R&>()))>, Variable>)
  Parts(const R&&) = delete;
  // NOLINTEND(google-explicit-constructor)

  // The trained variables: floating (or complex) and not frozen.
  std::vector<Variable> variables() const;
  // The other variables.
  std::vector<Variable> state() const;
  // The layers, in order, including frozen ones.
  std::vector<const Layer*> layers() const;

 private:
  friend PANTO_EXPORT Parts frozen(Parts parts);
  struct Entry {
    const Layer* layer = nullptr;
    Variable variable = {};
    bool frozen = false;
  };
  void append(const Parts& parts);

  std::vector<Entry> entries_;
};

// The same parts, not trained: saved and loaded, but not in variables().
PANTO_EXPORT Parts frozen(Parts parts);

}  // namespace panto
