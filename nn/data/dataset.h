// Dataset: a pipeline that yields elements one after the other, for training loops.
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
// An element is a list of tensors, often two: an input and its label. `for (auto [x, y] : dataset)` takes pairs, `for
// (Tensor x : dataset)` single tensors, `for (auto [a, b, c] : dataset.as<3>())` any other number.
//
// A dataset of file names becomes one of images by a `map` that reads them:
//
//   Dataset::from_tensors({names, labels})
//       .map([](const Tensor& file, const Tensor& y) { return std::pair(read_image(file.item<std::string>()), y); })
//
// A pipeline computes only when an element is asked for. Each loop is a pass of its own: it starts at the beginning
// and, with a shuffle, in a new order. Several passes may run at the same time, in one thread or in several. The
// elements of the n-th pass are the same in every run of a program, unless functions in several threads draw from the
// process's generator, or `map` does not keep the order. `state` and `restore` continue a pass where another one was.
// Tapes and traces do not record what a pipeline does. The calling thread's DeviceScope and TrainingScope also apply in
// the pipeline's own threads. docs/data.md shows all of it.
//
// An Error thrown by a function of `map` or by reading a file reaches the loop in place of the element; the pass is
// then over. Leaving a loop early stops the pipeline's threads after the elements they are working on.
//
// Datasets are handles: copies share their stages. Thread-safety: passes may begin in several threads at once; an
// iterator belongs to one thread at a time.
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
// The function that `flat_map` and `interleave` call.
using DatasetFunction = Callable<Dataset(const Element&)>;

template <size_t N>
class DatasetView;

class PANTO_EXPORT Dataset {
 public:
  // ---- Sources ----

  // Slices the tensors along the first dimension: element i of {x, y} is (x[i], y[i]). Throws InvalidArgument if there
  // are no tensors, if their first dimensions differ, or unless they hold numbers, bools or strings; FailedPrecondition
  // for symbolic ones. Values are kept in host memory.
  static Dataset from_tensors(std::vector<Tensor> tensors);
  // int64 scalars start, start + step, ... before stop. Throws InvalidArgument for a step of 0.
  static Dataset range(int64_t stop);
  static Dataset range(int64_t start, int64_t stop, int64_t step = 1);
  // The elements of a C++ range, which the dataset owns and every pass iterates anew: a range of Tensors, numbers,
  // strings, std::vectors of those, pairs of any of them, std::arrays and std::vectors of Tensors, or Elements.
  template <class Range>
  static Dataset from_range(Range range) {
    auto owned = std::make_shared<Range>(std::move(range));
    std::optional<int64_t> size;
    if constexpr (requires { owned->size(); }) size = static_cast<int64_t>(owned->size());
    return from_streams([owned] { return detail::stream_of_range(owned); }, size);
  }
  // Every pass calls `generator` and takes the elements of its result: a range, or a function that returns a
  // std::optional of an element (the types that a range may have), empty at the end.
  //
  //   Dataset::from_generator([] { return [i = 0]() mutable { return i < 3 ? std::optional(i++) : std::nullopt; }; })
  //
  // A restored pass generates, and drops, the elements that the saved pass had already given.
  template <class F>
  static Dataset from_generator(F generator) {
    return from_streams([generator = std::move(generator)]() mutable { return detail::stream_of(generator()); });
  }
  // The general form of the two above: begin() returns the function that makes a pass's elements; `size` is their
  // number, if known.
  static Dataset from_streams(Callable<ElementStream()> begin, std::optional<int64_t> size = {});

  // The lines of text files, each a string scalar without its line end. A file is opened when its turn comes; the loop
  // throws what opening and reading it throws (lib/core/io/input_stream.h).
  static Dataset from_lines(const FileNames& files, const LineOptions& options = {});
  // The records of TFRecord files, each a string scalar. DataLoss names the file and the byte.
  static Dataset from_tfrecord(const FileNames& files, const RecordOptions& options = {});
  // Records of `bytes` bytes, each a string scalar. Throws InvalidArgument unless bytes is positive; the loop throws
  // DataLoss for a file that does not hold a whole number of records.
  static Dataset from_fixed_records(const FileNames& files, int64_t bytes, const FixedRecordOptions& options = {});
  // The rows of a CSV file: a vector of the columns' numbers and, if options.label names a column, its value as a
  // second tensor. Reads the whole file now, and throws its errors now: see read_csv.
  static Dataset from_csv(const std::string& path, const CsvOptions& options = {});
  // The rows of CSV files of any size, read as they are asked for: a scalar of each of `columns`, in that order.
  //
  //   Dataset::from_csv_rows("people.csv", {{"age", kInt32, "0"}, {"city", kString}})
  //
  // Throws InvalidArgument without columns, and for a type that a field cannot have. The loop throws as read_csv does.
  static Dataset from_csv_rows(const FileNames& files, std::vector<CsvColumn> columns,
                               const CsvRowOptions& options = {});
  // Slices the arrays of an .npz file as from_tensors: the named arrays, or all in the file's order. Throws as read_npz
  // and from_tensors; NotFound for a name that the file lacks.
  static Dataset from_npz(const std::string& path, const std::vector<std::string>& names = {});
  // Images in folders, one folder per class: (image, int32 class number). Classes, and the files of a class, are in the
  // order of their names: see list_image_folder. Throws as list_image_folder; the loop throws as read_image for each
  // image.
  static Dataset from_image_folder(const std::string& folder, const ImageFolderOptions& options = {});

  // Pairs up the elements of several datasets until one of them ends: element i of zip({a, b}) has the tensors of a's
  // element i, then those of b's. Throws InvalidArgument for an empty list.
  static Dataset zip(const std::vector<Dataset>& datasets);

  // ---- Stages ----

  // Applies `function`, which takes one to three tensors, or an Element, and returns a Tensor, a number, a string, a
  // pair of those, an array or a vector of tensors, or an Element. Elements keep their order for any number of threads,
  // unless options.ordered is false; each thread computes with its share of num_threads(). Throws InvalidArgument
  // unless 1 <= threads <= 1024.
  template <class F>
  Dataset map(F function, const MapOptions& options = {}) const {
    return map_elements(detail::element_function(std::move(function)), options);
  }
  Dataset map_elements(ElementFunction function, const MapOptions& options = {}) const;

  // Keeps the elements for which `predicate` returns true. It takes what a function of `map` takes and returns a bool
  // or a bool scalar.
  template <class F>
  Dataset filter(F predicate) const {
    return filter_elements(detail::element_predicate(std::move(predicate)));
  }
  Dataset filter_elements(ElementPredicate predicate) const;

  // Calls `function` on each element and concatenates the datasets that it returns.
  template <class F>
  Dataset flat_map(F function) const {
    return flat_map_elements(
        [f = std::move(function)](const Element& e) mutable -> Dataset { return detail::call_with(f, e); });
  }
  Dataset flat_map_elements(DatasetFunction function) const;
  // The same, but takes options.block elements in turn from each of options.cycle datasets. When one ends, the next
  // takes its place. The order is the same in every run. To read files at the same time, let `function` return datasets
  // that end in `prefetch`. Throws InvalidArgument unless both options are positive.
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

  // Elements in random order: the stage fills a buffer of that many elements, yields a random one and replaces it by
  // the next. A buffer as large as the dataset makes every order possible. Every pass has another order, unless options
  // say otherwise; it depends only on the seed and the number of the pass, on every machine. Without a seed one is
  // drawn now, from the process's generator (set_seed). Throws InvalidArgument unless buffer is positive.
  Dataset shuffle(int64_t buffer) const;
  Dataset shuffle(int64_t buffer, uint64_t seed) const;
  Dataset shuffle(int64_t buffer, const ShuffleOptions& options) const;

  // Stacks each `size` elements along a new first dimension. The last batch may have fewer, unless it is dropped.
  // Throws InvalidArgument unless size is positive; the loop does if dtypes or shapes of the elements differ.
  Dataset batch(int64_t size, BatchOptions options = {}) const;
  // Batches tensors of different sizes: pads them to the sizes in options, or to the largest in the batch. Text is
  // padded with "". Throws InvalidArgument as batch, and for invalid shapes; the loop does if an element is larger, or
  // of another rank or dtype.
  Dataset padded_batch(int64_t size, const PaddedBatchOptions& options = {}) const;
  // Padded batches of elements of similar length: bucket i takes lengths in [bounds[i - 1], bounds[i]), and one more
  // bucket takes longer elements. A bucket yields a batch when it holds sizes[i] elements (or the only size); at the
  // end each yields its rest, unless that is dropped. The length is the first dimension of the first tensor, or the
  // result of `length`. Throws InvalidArgument unless bounds ascend, and `sizes` has one positive size, or one more
  // than there are bounds.
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
  // Windows of `size` successive elements (every options.stride-th), stacked as in a batch; windows begin options.shift
  // elements apart. Throws InvalidArgument for a size or stride that is not positive, and for a negative shift.
  Dataset window(int64_t size, WindowOptions options = {}) const;
  // The inverse of batch: slices each element's tensors along their first dimension. The loop throws InvalidArgument if
  // these dimensions differ, and for scalars.
  Dataset unbatch() const;

  // All elements `times` times, or without end; each repetition is a new pass for a shuffle before it. Throws
  // InvalidArgument for negative times.
  Dataset repeat() const;
  Dataset repeat(int64_t times) const;
  // The first `count` elements; the elements after them: a training and a validation part. Call these before a shuffle.
  // Throw InvalidArgument for a negative count.
  Dataset take(int64_t count) const;
  Dataset skip(int64_t count) const;
  // Every `count`-th element, starting at `index`: the share of one of `count` workers. Call it before a shuffle.
  // Throws InvalidArgument unless 0 <= index < count.
  Dataset shard(int64_t count, int64_t index) const;

  // Computes the elements once: the first pass that reaches its end keeps them, in memory or in a file, and later
  // passes yield the kept ones. They are those of that first pass, so shuffle after the cache. The file appears when it
  // is complete; an existing file, also from an earlier run, is used as it is. The loop throws DataLoss if the file is
  // damaged, Unimplemented if resources or variants would have to be written to it.
  Dataset cache() const;
  Dataset cache(const std::string& file) const;

  // A thread makes up to `count` elements ahead while the loop works. Throws InvalidArgument unless 1 <= count.
  Dataset prefetch(int64_t count) const;

  // ---- Properties ----

  // The number of elements of a pass; none if it does not end, or the number is not known before it ends.
  std::optional<int64_t> size() const;
  // Whether a pass is known to have no end.
  bool endless() const;
  // "Dataset of 10 elements", "Dataset without end", "Dataset of elements".
  std::string to_string() const;

  struct End {};
  class PANTO_EXPORT Iterator {
   public:
    // The loop owns the element: `auto [x, y]` and `Element e` may be assigned to.
    const Element& operator*() const { return element_; }
    const Element* operator->() const { return &element_; }
    Iterator& operator++();
    bool operator==(End) const { return ended_; }
    // As Dataset::state, for this pass: it continues with the element after `**this`.
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

  // Returns the position of the pass that was begun last, as bytes to keep with a model: which elements follow those
  // that its loop has had, including shuffle orders, buffers and the number of the pass. Between passes it is the start
  // of the next pass.
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
  // The bytes include the elements that stages hold (a shuffle's buffer, elements read ahead). A restored pass yields
  // the same elements if functions of `map` and the like give the same results for the same elements, and the files are
  // unchanged. Throws FailedPrecondition for a pass that failed and for a stage whose order differs from run to run;
  // Unimplemented if held elements are resources or variants. May be called while another thread is in the loop.
  std::string state() const;
  // The next pass continues at `state`. Call it on a dataset built in the same way as the saved one. Throws
  // InvalidArgument for the state of other stages, DataLoss for bytes that are no state.
  void restore(std::string_view state) const;

  // The elements as arrays of N tensors. The loop throws InvalidArgument for an element with another number of tensors.
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
