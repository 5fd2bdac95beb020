// Lookup tables whose entries are the lines of a file.

#include <algorithm>
#include <charconv>
#include <string>
#include <vector>

#include "panto/device/cpu/kernel.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/collections/lookup_table.h"
#include "panto/lib/core/io/graph_files.h"
#include "panto/lib/core/io/input_stream.h"
#include "panto/lib/core/tensor/tensor_alloc.h"

namespace panto {
namespace {

constexpr int64_t kLineNumber = -1;
constexpr int64_t kWholeLine = -2;

// Collects one column of the table: a part of each line.
class Column {
 public:
  Column(std::string_view name, int64_t index, DType dtype) : name_(name), index_(index), dtype_(dtype) {
    if (index == kLineNumber && dtype != kInt64) {
      invalid("{}: expected int64 for the number of a line, got {}", name, dtype_name(dtype));
    }
    if (index == kWholeLine && dtype != kString) {
      invalid("{}: expected string for a whole line, got {}", name, dtype_name(dtype));
    }
  }

  void add(std::string_view line, int64_t number, int64_t line_number, char delimiter) {
    if (index_ == kLineNumber) return void(integers_.push_back(line_number));
    std::string_view part = line;
    for (int64_t skipped = 0; index_ >= 0; ++skipped) {
      const size_t end = part.find(delimiter);
      if (skipped == index_) {
        part = part.substr(0, end);
        break;
      }
      if (end == std::string_view::npos) {
        invalid("line {}: expected more than {} columns, got {}", number, index_, skipped + 1);
      }
      part.remove_prefix(end + 1);
    }
    switch (dtype_) {
      case kString: return void(texts_.emplace_back(part));
      case kInt32:
      case kInt64: return void(integers_.push_back(parsed<int64_t>(part, number)));
      case kFloat32: return void(reals_.push_back(static_cast<double>(parsed<float>(part, number))));
      case kFloat64: return void(reals_.push_back(parsed<double>(part, number)));
      default: failf(Code::kUnimplemented, "{}: expected a type that files have, got {}", name_, dtype_name(dtype_));
    }
  }

  Tensor tensor() const {
    switch (dtype_) {
      case kString: return tensor_from_strings(Shape{texts_.size()}, texts_);
      case kInt32: return filled<int32_t>(integers_);
      case kInt64: return filled<int64_t>(integers_);
      case kFloat32: return filled<float>(reals_);
      default: return filled<double>(reals_);
    }
  }

 private:
  template <class T>
  T parsed(std::string_view text, int64_t number) const {
    T value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    bool fits = error == std::errc() && end == text.data() + text.size();
    if constexpr (std::is_same_v<T, int64_t>) fits = fits && (dtype_ == kInt64 || static_cast<int32_t>(value) == value);
    if (!fits)
      invalid("{} in line {}: expected a number that is {}, got \"{}\"", name_, number, dtype_name(dtype_), text);
    return value;
  }
  template <class T, class From>
  Tensor filled(const std::vector<From>& values) const {
    Tensor t = allocate_tensor(cpu_device(), dtype_, Shape{values.size()});
    std::ranges::transform(values, mutable_data<T>(t), [](From v) { return static_cast<T>(v); });
    return t;
  }

  std::string_view name_;
  int64_t index_;
  DType dtype_;
  std::vector<std::string> texts_;
  std::vector<int64_t> integers_;
  std::vector<double> reals_;
};

void run_initialize_from_file(KernelContext& c) {
  const std::shared_ptr<LookupTable> table = lookup_table_of(c.in(0));
  if (!table->form().fixed) invalid("table: expected a HashTable, got a {}", table->kind());
  Column keys("key", c.integer("key_index"), table->form().key_dtype);
  Column values("value", c.integer("value_index"), table->form().value_dtype);
  const int64_t most = c.integer("vocab_size");
  const int64_t offset = c.integer("offset");
  const char delimiter = c.text("delimiter")[0];
  const std::string& path = *c.data<std::string>(1);
  expect_graph_files_allowed(path);
  InputStream file(path);
  int64_t number = 0;
  for (std::string line; number != most && file.read_line(line); ++number) {
    keys.add(line, number, number + offset, delimiter);
    values.add(line, number, number + offset, delimiter);
  }
  if (number < most) invalid("file '{}': expected at least {} lines, got {}", path, most, number);
  table->set(keys.tensor(), values.tensor());
}

const CpuKernel initialize_from_file_kernel("InitializeTableFromTextFileV2", run_initialize_from_file);

}  // namespace
}  // namespace panto
