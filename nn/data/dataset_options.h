// Options of a Dataset's sources and stages.
//
//   Dataset::from_tfrecord("train.tfrecord", {.skip_bad = true}).shuffle(1000, {.seed = 7}).batch(32);
//
// Input that cannot be processed (a damaged record, a malformed row, an image that does not decode, an element that a
// function refuses) raises an Error that says where it is. With `.skip_bad = true` it is skipped and the Error is
// passed to `on_bad`, possibly from several threads at once; without `on_bad`, the first one of each source or stage is
// logged as a warning. Requests to stop, and internal errors of the library, are never skipped.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "panto/lib/base/callable.h"
#include "panto/lib/base/error.h"
#include "panto/lib/core/io/input_stream.h"
#include "panto/lib/core/tensor/dtype.h"

namespace panto {

// Called with the Error of each skipped input.
using BadInput = Callable<void(const Error&)>;

// One file or several, read one after the other.
class FileNames {
 public:
  FileNames(const char* name) : names_{name} {}                            // NOLINT(google-explicit-constructor)
  FileNames(std::string name) { names_.push_back(std::move(name)); }       // NOLINT(google-explicit-constructor)
  FileNames(std::vector<std::string> names) : names_(std::move(names)) {}  // NOLINT(google-explicit-constructor)
  FileNames(std::initializer_list<std::string> names) : names_(names) {}
  const std::vector<std::string>& names() const { return names_; }

 private:
  std::vector<std::string> names_;
};

// ---- Sources -------------------------------------------------------------------------------------------------------

struct LineOptions {
  Compression compression = Compression::kNone;
  int64_t skip_lines = 0;  // at the beginning of each file, such as headers
};

struct RecordOptions {
  Compression compression = Compression::kNone;
  bool skip_bad = false;  // after a damaged length, the rest of the file is skipped too
  BadInput on_bad = {};
};

struct FixedRecordOptions {
  int64_t header_bytes = 0;  // in front of the first record of each file
  int64_t footer_bytes = 0;  // after the last record
  Compression compression = Compression::kNone;
};

struct CsvColumn {
  std::string name;
  DType dtype = kFloat32;                   // float32, float64, an integer type, or string
  std::optional<std::string> missing = {};  // the text that an empty field stands for; none: an error, but "" for text
};
struct CsvRowOptions {
  bool header = true;  // the first line of each file has the columns' names; without it they are "0", "1", ...
  char separator = ',';
  Compression compression = Compression::kNone;
  bool skip_bad = false;
  BadInput on_bad = {};
};

struct ImageFolderOptions {
  // As ImageOptions::channels, for all images: the images of a batch must have the same number.
  int64_t channels = 3;
  // The size to resize to, by bilinear interpolation, as float32. 0: the file's size, as uint8.
  int64_t height = 0, width = 0;
  int threads = 1;  // threads that read and decode
  bool skip_bad = false;
  BadInput on_bad = {};
};

// ---- Stages --------------------------------------------------------------------------------------------------------

struct MapOptions {
  int threads = 1;      // that call the function at the same time; 1: the calling thread
  bool ordered = true;  // false: elements come when they are ready, and passes have no position to save
  bool skip_bad = false;
  BadInput on_bad = {};
};

struct ShuffleOptions {
  std::optional<uint64_t> seed = {};  // none: drawn now, from the process's generator (set_seed)
  bool reshuffle_each_pass = true;    // false: every pass has the order of the first
};

struct BatchOptions {
  bool drop_remainder = false;  // drop a last batch that is smaller
};

struct PaddedBatchOptions {
  // For each tensor its shape in the batch, with -1 for the largest size in it. Empty: -1 everywhere.
  std::vector<std::vector<int64_t>> shapes = {};
  // The padding value of each tensor of numbers; the last one also holds for all further tensors. bools: nonzero is
  // true.
  std::vector<double> values = {0};
  bool drop_remainder = false;
};

struct BucketOptions {
  // Pad to the upper bound of the bucket less one, instead of the largest length in the batch. An element beyond the
  // last bound is then InvalidArgument.
  bool pad_to_bound = false;
  std::vector<double> values = {0};  // as in PaddedBatchOptions
  bool drop_remainder = false;
};

struct InterleaveOptions {
  int64_t cycle = 4;  // datasets that are open at the same time
  int64_t block = 1;  // successive elements taken from each
};

struct WindowOptions {
  int64_t shift = 0;            // from the start of one window to the next; 0: the window's size
  int64_t stride = 1;           // from one element of a window to the next
  bool drop_remainder = false;  // drop smaller windows at the end
};

}  // namespace panto
