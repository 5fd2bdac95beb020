// Parts: what a layer is made of, as it lists it.
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
// The list is looked at when it is asked for, so copies, moved layers and members that are assigned to or added to
// later are as right as the list is. The order of variables, and their names in files, are the list's. A variable that
// occurs several times is there once. What the list lacks is found when the layer is called (Layer::operator()).
// Thread-safety: as that of what is listed.
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
// What is no layer, but has variables of its own: an LstmCell.
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

// Layers, variables, an LstmCell, pointers to layers (std::optional among them; empty ones count as none), ranges of
// these, and other lists. It refers to layers: they must outlive it, as members do.
class PANTO_EXPORT Parts {
 public:
  Parts() = default;
  Parts(std::initializer_list<Parts> parts);
  // NOLINTBEGIN(google-explicit-constructor): implicit on purpose
  Parts(const Layer& layer);
  Parts(const Layer&&) = delete;  // it would be gone when it is asked
  // None, if it is default-constructed: a bias that a layer is made without.
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

  // Those that are trained: floating (or complex) ones that are not frozen.
  std::vector<Variable> variables() const;
  // The others.
  std::vector<Variable> state() const;
  // The layers, in order, frozen ones too.
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

// The same as a part of what was learned that is not trained: saved and loaded, but not among variables().
PANTO_EXPORT Parts frozen(Parts parts);

}  // namespace panto
