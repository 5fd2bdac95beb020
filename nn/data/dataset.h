// Dataset: a pipeline that gives elements one after the other, as a training loop wants them.
//
//   Dataset train = Dataset::from_tensors({images, labels})
//                       .shuffle(1000, 7)
//                       .map([](const Tensor& x, const Tensor& y) { return std::pair(x / 255.f, y); }, {.threads = 4})
//                       .batch(64)
//                       .prefetch(2);
//   for (int epoch = 0; epoch < 5; ++epoch) {
//     for (auto [x, y] : train) ...
//   }
//
// An element is some tensors, often two: an input and its label. `for (auto [x, y] : dataset)` takes pairs,
// `for (Tensor x : dataset)` single ones, `for (auto [a, b, c] : dataset.as<3>())` any other number.
//
// A dataset of file names becomes one of images by a function that reads them:
//
//   Dataset::from_tensors({names, labels})
//       .map([](const Tensor& file, const Tensor& y) { return std::pair(read_image(file.item<std::string>()), y); })
//
// Nothing is computed before somebody asks for an element. Each loop is a pass of its own, from the beginning and,
// where there is a shuffle, in a new order; several may run at the same time, in one thread or in several. The elements
// of the n-th pass are the same in every run of a program, unless functions in several threads draw from the process's
// generator. No tape or trace hears what a pipeline does. The calling thread's DeviceScope and TrainingScope hold in
// the pipeline's own threads too.
//
// What a function of `map` or a file throws reaches the loop, where the element would have; the pass is then over. A
// loop that is left early stops the pipeline's threads, after the elements that they are at.
//
// Datasets are handles: copies share what they are made of. Thread-safety: passes may begin in several threads at once;
// an iterator belongs to one thread at a time.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "panto/lib/base/callable.h"
#include "panto/lib/base/export.h"
#include "panto/lib/base/shared_impl.h"
#include "panto/lib/core/tensor/tensor.h"
#include "panto/nn/data/csv.h"

namespace panto {

// The tensors of one element, in order.
class PANTO_EXPORT Element {
 public:
  Element() = default;
  explicit Element(Tensor tensor);
  explicit Element(std::vector<Tensor> tensors);
  Element(std::initializer_list<Tensor> tensors);

  size_t size() const { return tensors_.size(); }
  // Throws OutOfRange.
  const Tensor& operator[](size_t i) const;
  std::vector<Tensor>::const_iterator begin() const;
  std::vector<Tensor>::const_iterator end() const;
  // The only tensor. Throws InvalidArgument where there are others.
  operator Tensor() const;  // NOLINT(google-explicit-constructor): for (Tensor x : dataset)
  // "(float32[28,28], int32[])".
  std::string to_string() const;

  // `auto [x, y] = element`. Throws InvalidArgument where there are not two.
  template <size_t I> Tensor& get() & { return of_pair(I); }
  template <size_t I> const Tensor& get() const& { return of_pair(I); }
  template <size_t I> Tensor&& get() && { return std::move(of_pair(I)); }
  // Throws InvalidArgument unless there are `count`.
  void expect_size(size_t count) const;

 private:
  Tensor& of_pair(size_t i);
  const Tensor& of_pair(size_t i) const;

  std::vector<Tensor> tensors_;
};

// What `map` calls: from several threads at once where it was given several.
using ElementFunction = Callable<Element(const Element&)>;

namespace detail {

// What a function of `map` may return.
inline Element to_element(Element e) { return e; }
inline Element to_element(Tensor t) { return Element(std::move(t)); }
PANTO_EXPORT Element to_element(std::vector<Tensor> tensors);
inline Element to_element(std::pair<Tensor, Tensor> pair) {
  return Element{std::move(pair.first), std::move(pair.second)};
}
template <size_t N>
Element to_element(const std::array<Tensor, N>& tensors) {
  return Element(std::vector<Tensor>(tensors.begin(), tensors.end()));
}

// A function of one to three tensors, or of an Element, as one of an Element.
template <class F>
ElementFunction element_function(F f) {
  if constexpr (std::is_invocable_v<F&, const Tensor&, const Tensor&, const Tensor&>) {
    return [f = std::move(f)](const Element& e) mutable -> Element {
      e.expect_size(3);
      return to_element(f(e[0], e[1], e[2]));
    };
  } else if constexpr (std::is_invocable_v<F&, const Tensor&, const Tensor&>) {
    return [f = std::move(f)](const Element& e) mutable -> Element {
      e.expect_size(2);
      return to_element(f(e[0], e[1]));
    };
  } else if constexpr (std::is_invocable_v<F&, const Tensor&>) {
    return [f = std::move(f)](const Element& e) mutable -> Element {
      e.expect_size(1);
      return to_element(f(e[0]));
    };
  } else {
    static_assert(std::is_invocable_v<F&, const Element&>, "expected a function of one to three tensors or an Element");
    return [f = std::move(f)](const Element& e) mutable -> Element { return to_element(f(e)); };
  }
}

}  // namespace detail

struct MapOptions {
  int threads = 1;  // that call the function at the same time; 1: the one that asks for elements
};
struct BatchOptions {
  bool drop_remainder = false;  // leave out a last batch that is smaller
};

template <size_t N>
class DatasetView;

class PANTO_EXPORT Dataset {
 public:
  // The slices of the tensors along the first dimension: element i of {x, y} is (x[i], y[i]). Throws InvalidArgument
  // unless there are tensors, all of the same first dimension and of numbers, bools or strings; FailedPrecondition for
  // symbolic ones. Values are kept in host memory.
  static Dataset from_tensors(std::vector<Tensor> tensors);
  // The rows of a CSV file: a vector of the columns' numbers and, where options.label names a column, its value as a
  // second tensor. The file is read, and its faults are thrown, at once: see read_csv.
  static Dataset from_csv(const std::string& path, const CsvOptions& options = {});

  // Elements by `function`, which takes one to three tensors, or an Element, and returns a Tensor, a pair, an array or
  // a vector of tensors, or an Element. The order stays, whatever the number of threads; each computes with its share
  // of num_threads(). Throws InvalidArgument unless 1 <= threads <= 1024.
  template <class F>
  Dataset map(F function, MapOptions options = {}) const {
    return map_elements(detail::element_function(std::move(function)), options);
  }
  Dataset map_elements(ElementFunction function, MapOptions options = {}) const;

  // Elements in random order: of a buffer of that many elements a random one is given and replaced by the next. A
  // buffer as large as the dataset makes every order possible. Every pass has another order; which, depends on the seed
  // and the number of the pass only, on every machine. Without a seed it is drawn now, from the process's generator
  // (set_seed). Throws InvalidArgument unless buffer is positive.
  Dataset shuffle(int64_t buffer) const;
  Dataset shuffle(int64_t buffer, uint64_t seed) const;

  // Elements of `size` elements each, whose tensors are stacked along a new first dimension. The last one may have
  // fewer unless they are dropped. Throws InvalidArgument unless size is positive; the loop does where dtypes or shapes
  // of the elements differ.
  Dataset batch(int64_t size, BatchOptions options = {}) const;

  // All elements `times` times, or without end; each time is a pass of its own to a shuffle before it. Throws
  // InvalidArgument for negative times.
  Dataset repeat() const;
  Dataset repeat(int64_t times) const;
  // The first `count` elements, and those behind them: parts for training and validation. To be called before a
  // shuffle. Throw InvalidArgument for a negative count.
  Dataset take(int64_t count) const;
  Dataset skip(int64_t count) const;

  // Up to `count` elements are made ahead by a thread of their own, while the loop is at work. Throws InvalidArgument
  // unless 1 <= count.
  Dataset prefetch(int64_t count) const;

  // The number of elements of a pass; none where it does not end.
  std::optional<int64_t> size() const;
  // "Dataset of 10 elements".
  std::string to_string() const;

  struct End {};
  class PANTO_EXPORT Iterator {
   public:
    // In the loop, the element belongs to it: `auto [x, y]` and `Element e` may be assigned to.
    const Element& operator*() const { return element_; }
    const Element* operator->() const { return &element_; }
    Iterator& operator++();
    bool operator==(End) const { return pass_ == nullptr; }

   private:
    friend class Dataset;
    class Pass;
    explicit Iterator(std::shared_ptr<Pass> pass);
    SharedImpl<Pass> pass_;  // null at the end
    Element element_;
  };
  // Begins a pass: computes the first element. Copies of an iterator share the pass.
  Iterator begin() const;
  static End end() { return {}; }

  // The elements as arrays of N tensors. The loop throws InvalidArgument where there are more or fewer.
  template <size_t N>
  DatasetView<N> as() const {
    return DatasetView<N>(*this);
  }

 private:
  struct Impl;
  explicit Dataset(std::shared_ptr<Impl> impl);
  SharedImpl<Impl> impl_;
};

template <size_t N>
class DatasetView {
 public:
  explicit DatasetView(Dataset dataset) : dataset_(std::move(dataset)) {}

  class Iterator {
   public:
    explicit Iterator(Dataset::Iterator at) : at_(std::move(at)) {}
    std::array<Tensor, N> operator*() const {
      at_->expect_size(N);
      std::array<Tensor, N> tensors;
      for (size_t i = 0; i < N; ++i) tensors[i] = (*at_)[i];
      return tensors;
    }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    bool operator==(Dataset::End end) const { return at_ == end; }

   private:
    Dataset::Iterator at_;
  };
  Iterator begin() const { return Iterator(dataset_.begin()); }
  static Dataset::End end() { return {}; }

 private:
  Dataset dataset_;
};

}  // namespace panto

// `auto [x, y] = element`.
template <>
struct std::tuple_size<panto::Element> : std::integral_constant<std::size_t, 2> {};
template <std::size_t I>
struct std::tuple_element<I, panto::Element> {
  using type = panto::Tensor;
};
