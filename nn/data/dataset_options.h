// Options of a Dataset's sources and stages.
//
// What cannot be read (a record that is damaged, a row that is no such row, an image that does not decode, an element
// that a function refuses) is an Error that says where it is. With `.skip_bad = true` it is left out: `on_bad` is told,
// perhaps by several threads at once; without one, the first of each source or stage is logged as a warning.
// Requests to stop, and faults of the library itself, are never left out.
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

// What is told of input that is left out.
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
  int64_t skip_lines = 0;  // at the beginning of each file, as headers
};

struct RecordOptions {
  Compression compression = Compression::kNone;
  bool skip_bad = false;  // behind a length that is damaged, the rest of the file is left out too
  BadInput on_bad = {};
};

struct FixedRecordOptions {
  int64_t header_bytes = 0;  // in front of the first record of each file
  int64_t footer_bytes = 0;  // behind the last
  Compression compression = Compression::kNone;
};

struct CsvColumn {
  std::string name;
  DType dtype = kFloat32;                   // float32, float64, an integer type, or string
  std::optional<std::string> missing = {};  // what an empty field stands for; none: it is an error, and text is ""
};
struct CsvRowOptions {
  bool header = true;  // the first line of each file has the columns' names; without it they are "0", "1", ...
  char separator = ',';
  Compression compression = Compression::kNone;
  bool skip_bad = false;
  BadInput on_bad = {};
};

struct ImageFolderOptions {
  // As ImageOptions::channels, of all images: batches need them alike.
  int64_t channels = 3;
  // Of the images that are given, by bilinear interpolation; they are float32 then. 0: as in the file, of uint8.
  int64_t height = 0, width = 0;
  int threads = 1;  // that read and decode
  bool skip_bad = false;
  BadInput on_bad = {};
};

// ---- Stages --------------------------------------------------------------------------------------------------------

struct MapOptions {
  int threads = 1;      // that call the function at the same time; 1: the one that asks for elements
  bool ordered = true;  // false: elements come as they get ready, and passes have no position to save
  bool skip_bad = false;
  BadInput on_bad = {};
};

struct ShuffleOptions {
  std::optional<uint64_t> seed = {};  // none: one that is drawn now, from the process's generator (set_seed)
  bool reshuffle_each_pass = true;    // false: every pass has the order of the first
};

struct BatchOptions {
  bool drop_remainder = false;  // leave out a last batch that is smaller
};

struct PaddedBatchOptions {
  // Of each tensor: its shape in the batch, with -1 for the largest size in it. Empty: -1 everywhere.
  std::vector<std::vector<int64_t>> shapes = {};
  // What is put behind the elements of each tensor of numbers; the last stands for those that follow. bools: 0 or not.
  std::vector<double> values = {0};
  bool drop_remainder = false;
};

struct BucketOptions {
  // Lengths become the upper bound of their bucket less one, rather than the largest in the batch. Elements beyond the
  // last bound are then InvalidArgument.
  bool pad_to_bound = false;
  std::vector<double> values = {0};  // as in PaddedBatchOptions
  bool drop_remainder = false;
};

struct InterleaveOptions {
  int64_t cycle = 4;  // datasets that are open at the same time
  int64_t block = 1;  // elements in a row of each
};

struct WindowOptions {
  int64_t shift = 0;            // from the beginning of a window to that of the next; 0: its size
  int64_t stride = 1;           // from an element of a window to the next
  bool drop_remainder = false;  // leave out windows at the end that are smaller
};

}  // namespace panto
