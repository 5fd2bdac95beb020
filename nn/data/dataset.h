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
// generator, or `map` is told not to keep the order. `state` and `restore` make a pass go on where another one was. No
// tape or trace hears what a pipeline does. The calling thread's DeviceScope and TrainingScope hold in the pipeline's
// own threads too. docs/data.md shows all of it.
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
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "panto/lib/base/callable.h"
#include "panto/lib/base/export.h"
#include "panto/lib/base/shared_impl.h"
#include "panto/lib/core/tensor/tensor.h"
#include "panto/nn/data/csv.h"
#include "panto/nn/data/dataset_options.h"
#include "panto/nn/data/element.h"

namespace panto {

namespace data {
struct StageAccess;  // nn/data/stages/stage.h
}  // namespace data

class Dataset;
// What `flat_map` and `interleave` call.
using DatasetFunction = Callable<Dataset(const Element&)>;

template <size_t N>
class DatasetView;

class PANTO_EXPORT Dataset {
 public:
  // ---- Sources ----

  // The slices of the tensors along the first dimension: element i of {x, y} is (x[i], y[i]). Throws InvalidArgument
  // unless there are tensors, all of the same first dimension and of numbers, bools or strings; FailedPrecondition for
  // symbolic ones. Values are kept in host memory.
  static Dataset from_tensors(std::vector<Tensor> tensors);
  // int64 scalars start, start + step, ... before stop. Throws InvalidArgument for a step of 0.
  static Dataset range(int64_t stop);
  static Dataset range(int64_t start, int64_t stop, int64_t step = 1);
  // The elements of a range of C++, which the dataset owns and every pass begins anew: of Tensors, numbers, strings,
  // std::vectors of those, pairs of any of them, std::arrays and std::vectors of Tensors, or Elements.
  template <class Range>
  static Dataset from_range(Range range) {
    auto owned = std::make_shared<Range>(std::move(range));
    std::optional<int64_t> size;
    if constexpr (requires { owned->size(); }) size = static_cast<int64_t>(owned->size());
    return from_streams([owned] { return detail::stream_of_range(owned); }, size);
  }
  // Every pass calls `generator` and has what it gives: a range, or a function that returns a std::optional of what a
  // range may have, without a value at the end.
  //
  //   Dataset::from_generator([] { return [i = 0]() mutable { return i < 3 ? std::optional(i++) : std::nullopt; }; })
  //
  // A pass that is restored makes, and drops, what the one that was saved had.
  template <class F>
  static Dataset from_generator(F generator) {
    return from_streams([generator = std::move(generator)]() mutable { return detail::stream_of(generator()); });
  }
  // What both are made of: begin() is a function that makes a pass's elements, of which there are `size`, if that is
  // known.
  static Dataset from_streams(Callable<ElementStream()> begin, std::optional<int64_t> size = {});

  // The lines of text files, each a string scalar without its end. Files are opened when their turn comes; the loop
  // throws what opening and reading them does (lib/core/io/input_stream.h).
  static Dataset from_lines(const FileNames& files, const LineOptions& options = {});
  // The records of TFRecord files, each a string scalar. DataLoss names the file and the byte.
  static Dataset from_tfrecord(const FileNames& files, const RecordOptions& options = {});
  // Pieces of `bytes` bytes, each a string scalar. Throws InvalidArgument unless bytes is positive; the loop throws
  // DataLoss for a file whose size is not that of a number of records.
  static Dataset from_fixed_records(const FileNames& files, int64_t bytes, const FixedRecordOptions& options = {});
  // The rows of a CSV file: a vector of the columns' numbers and, where options.label names a column, its value as a
  // second tensor. The file is read, and its faults are thrown, at once: see read_csv.
  static Dataset from_csv(const std::string& path, const CsvOptions& options = {});
  // The rows of CSV files of any size, read as they are asked for: a scalar of each of `columns`, in that order.
  //
  //   Dataset::from_csv_rows("people.csv", {{"age", kInt32, "0"}, {"city", kString}})
  //
  // Throws InvalidArgument without columns and for types that no field has. The loop throws as read_csv does.
  static Dataset from_csv_rows(const FileNames& files, std::vector<CsvColumn> columns,
                               const CsvRowOptions& options = {});
  // The slices of the arrays of an .npz file, as from_tensors: of those that are named, or of all, in the file's order.
  // Throws as read_npz and from_tensors; NotFound for a name that the file lacks.
  static Dataset from_npz(const std::string& path, const std::vector<std::string>& names = {});
  // Images in folders, a folder a class: (image, int32 number of the class), the classes and their files in the order
  // of their names: see list_image_folder. Throws as that; the loop as read_image, for each image.
  static Dataset from_image_folder(const std::string& folder, const ImageFolderOptions& options = {});

  // The elements of several datasets side by side, as long as all have one: element i of zip({a, b}) has the tensors of
  // a's and behind them those of b's. Throws InvalidArgument for none.
  static Dataset zip(const std::vector<Dataset>& datasets);

  // ---- Stages ----

  // Elements by `function`, which takes one to three tensors, or an Element, and returns a Tensor, a number, a string,
  // a pair of those, an array or a vector of tensors, or an Element. The order stays, whatever the number of threads,
  // unless options.ordered is false; each computes with its share of num_threads(). Throws InvalidArgument unless
  // 1 <= threads <= 1024.
  template <class F>
  Dataset map(F function, const MapOptions& options = {}) const {
    return map_elements(detail::element_function(std::move(function)), options);
  }
  Dataset map_elements(ElementFunction function, const MapOptions& options = {}) const;

  // Those of which `predicate` says true: it takes what a function of `map` does and returns a bool or a bool scalar.
  template <class F>
  Dataset filter(F predicate) const {
    return filter_elements(detail::element_predicate(std::move(predicate)));
  }
  Dataset filter_elements(ElementPredicate predicate) const;

  // The elements of all the datasets that `function` makes of elements, one dataset after the other.
  template <class F>
  Dataset flat_map(F function) const {
    return flat_map_elements(
        [f = std::move(function)](const Element& e) mutable -> Dataset { return detail::call_with(f, e); });
  }
  Dataset flat_map_elements(DatasetFunction function) const;
  // The same, of options.cycle datasets in turn: options.block elements of each. Where one ends the next takes its
  // place. The order is the same in every run. For files that are read at the same time, let `function` give datasets
  // that end in `prefetch`. Throws InvalidArgument unless both are positive.
  template <class F>
  Dataset interleave(F function, InterleaveOptions options = {}) const {
    return interleave_elements(
        [f = std::move(function)](const Element& e) mutable -> Dataset { return detail::call_with(f, e); }, options);
  }
  Dataset interleave_elements(DatasetFunction function, InterleaveOptions options = {}) const;

  // These elements and then those of `next`.
  Dataset concatenate(const Dataset& next) const;
  // (number, tensors...): an int64 scalar in front, counted from `first`.
  Dataset enumerate(int64_t first = 0) const;

  // Elements in random order: of a buffer of that many elements a random one is given and replaced by the next. A
  // buffer as large as the dataset makes every order possible. Every pass has another order, unless options say
  // otherwise; which, depends on the seed and the number of the pass only, on every machine. Without a seed it is drawn
  // now, from the process's generator (set_seed). Throws InvalidArgument unless buffer is positive.
  Dataset shuffle(int64_t buffer) const;
  Dataset shuffle(int64_t buffer, uint64_t seed) const;
  Dataset shuffle(int64_t buffer, const ShuffleOptions& options) const;

  // Elements of `size` elements each, whose tensors are stacked along a new first dimension. The last one may have
  // fewer unless they are dropped. Throws InvalidArgument unless size is positive; the loop does where dtypes or shapes
  // of the elements differ.
  Dataset batch(int64_t size, BatchOptions options = {}) const;
  // The same, of tensors whose sizes differ: they are padded to those that options state, or to the largest in the
  // batch. Text is padded with "". Throws InvalidArgument as batch, and for shapes that cannot be; the loop does where
  // an element is larger, or of another rank or dtype.
  Dataset padded_batch(int64_t size, const PaddedBatchOptions& options = {}) const;
  // Padded batches of elements of similar length: bucket i has those shorter than bounds[i], and not shorter than
  // bounds[i - 1]; one more has the others. It gives a batch when it has as many as sizes[i] (or the only size); at the
  // end come those that are left, unless they are dropped. The length is the first dimension of the first tensor, or
  // what `length` says. Throws InvalidArgument unless bounds rise, and there is one positive size or one more than
  // bounds.
  Dataset bucket_by_length(std::vector<int64_t> bounds, std::vector<int64_t> sizes,
                           const BucketOptions& options = {}) const;
  template <class F>
    requires(!std::is_convertible_v<F, BucketOptions>)
  Dataset bucket_by_length(F length, std::vector<int64_t> bounds, std::vector<int64_t> sizes,
                           const BucketOptions& options = {}) const {
    return bucket_elements(detail::element_length(std::move(length)), std::move(bounds), std::move(sizes), options);
  }
  Dataset bucket_elements(ElementLength length, std::vector<int64_t> bounds, std::vector<int64_t> sizes,
                          const BucketOptions& options = {}) const;
  // `size` elements that follow each other (each options.stride-th), stacked as in a batch; windows begin
  // options.shift elements apart. Throws InvalidArgument for a size or stride that is not positive, and a negative
  // shift.
  Dataset window(int64_t size, WindowOptions options = {}) const;
  // What a batch is made of: the slices of each element's tensors along their first dimension. The loop throws
  // InvalidArgument where these differ, and for scalars.
  Dataset unbatch() const;

  // All elements `times` times, or without end; each time is a pass of its own to a shuffle before it. Throws
  // InvalidArgument for negative times.
  Dataset repeat() const;
  Dataset repeat(int64_t times) const;
  // The first `count` elements, and those behind them: parts for training and validation. To be called before a
  // shuffle. Throw InvalidArgument for a negative count.
  Dataset take(int64_t count) const;
  Dataset skip(int64_t count) const;
  // Every `count`-th element, from `index` on: what one of `count` workers trains with. To be called before a shuffle.
  // Throws InvalidArgument unless 0 <= index < count.
  Dataset shard(int64_t count, int64_t index) const;

  // Makes elements once: the first pass that comes to its end keeps them, in memory or in a file; later ones give
  // those. They are the ones of the first pass over what comes before it: shuffle behind it. The file appears when it
  // is whole; one that is there, from an earlier run too, is used as it is. The loop throws DataLoss where it is
  // damaged, Unimplemented where a file is to have resources or variants.
  Dataset cache() const;
  Dataset cache(const std::string& file) const;

  // Up to `count` elements are made ahead by a thread of their own, while the loop is at work. Throws InvalidArgument
  // unless 1 <= count.
  Dataset prefetch(int64_t count) const;

  // ---- What it has ----

  // The number of elements of a pass; none where it does not end, or nobody knows before it does.
  std::optional<int64_t> size() const;
  // Whether a pass is known to have no end.
  bool endless() const;
  // "Dataset of 10 elements", "Dataset without end", "Dataset of elements".
  std::string to_string() const;

  struct End {};
  class PANTO_EXPORT Iterator {
   public:
    // In the loop, the element belongs to it: `auto [x, y]` and `Element e` may be assigned to.
    const Element& operator*() const { return element_; }
    const Element* operator->() const { return &element_; }
    Iterator& operator++();
    bool operator==(End) const { return ended_; }
    // As Dataset::state, of this pass: what follows is what comes behind `**this`.
    std::string state() const;

   private:
    friend class Dataset;
    class Pass;
    explicit Iterator(std::shared_ptr<Pass> pass);
    SharedImpl<Pass> pass_;
    Element element_;
    bool ended_ = true;
  };
  // Begins a pass: computes the first element. Copies of an iterator share the pass.
  Iterator begin() const;
  static End end() { return {}; }

  // Where the pass that was begun last stands, as bytes to keep with a model: which elements follow those that its
  // loop has had, orders of shuffles, buffers and the number of the pass included. Between passes: that the next one is
  // to begin.
  //
  //   for (auto [x, y] : train) {
  //     step(x, y);
  //     if (time_to_save()) write_file("position", train.state());
  //   }
  //   ...
  //   train.restore(read_file("position"));
  //   for (auto [x, y] : train) step(x, y);    // the rest of the pass
  //   for (auto [x, y] : train) step(x, y);    // the next pass, in the order that it would have had
  //
  // Elements that stages hold (a shuffle's buffer, what is read ahead) are among the bytes. A pass's elements are the
  // same where functions of `map` and such give the same for the same elements, and files have what they had.
  // Throws FailedPrecondition for a pass that failed and for a stage whose order differs from run to run; Unimplemented
  // where held elements are resources or variants. May be called while another thread is in the loop.
  std::string state() const;
  // Makes the next pass go on where `state` says. To be called with a dataset that is made as that one was. Throws
  // InvalidArgument for the state of other stages, DataLoss for bytes that are none.
  void restore(std::string_view state) const;

  // The elements as arrays of N tensors. The loop throws InvalidArgument where there are more or fewer.
  template <size_t N>
  DatasetView<N> as() const {
    return DatasetView<N>(*this);
  }

 private:
  struct Impl;
  friend struct data::StageAccess;
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
