// Tables of values by keys.

#include <algorithm>
#include <charconv>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "panto/device/cpu/collections/storage.h"
#include "panto/device/cpu/kernel.h"
#include "panto/lib/base/file.h"
#include "panto/lib/base/format.h"
#include "panto/lib/core/collections/lookup_table.h"

namespace panto {
namespace {

// ---- The table -----------------------------------------------------------------------------------------------------

// Keys K; values are stored as V (with_storage).
template <class K, class V>
class HashTable final : public LookupTable {
 public:
  HashTable(std::string container, std::string name, Form form)
      : LookupTable(std::move(container), std::move(name), std::move(form)),
        width_(static_cast<size_t>(this->form().value_shape.numel())) {}

  Tensor find(const Tensor& keys, const Tensor& default_value) const override {
    expect_table_dtypes(form(), keys.dtype(), default_value.dtype());
    const Tensor values = allocate_tensor(cpu_device(), form().value_dtype, shape_of_values(keys));
    const bool each = !(default_value.shape() == form().value_shape);
    if (each && !(default_value.shape() == values.shape())) {
      invalid("default_value: expected shape {} or {}, got {}", form().value_shape.to_string(),
              values.shape().to_string(), default_value.shape().to_string());
    }
    const auto wanted = keys.data<K>();
    const V* other = static_cast<const V*>(default_value.impl()->data);
    V* out = mutable_data<V>(values);
    const std::shared_lock lock(mutex_);
    expect_set();
    for (const K& key : wanted) {
      const auto found = rows_.find(key);
      std::copy_n(found == rows_.end() ? other : values_.data() + found->second * width_, width_, out);
      out += width_;
      if (each) other += width_;
    }
    return values;
  }

  void insert(const Tensor& keys, const Tensor& values) override {
    expect_mutable();
    check(keys, values);
    const std::lock_guard lock(mutex_);
    put(keys, values);
  }

  void set(const Tensor& keys, const Tensor& values) override {
    check(keys, values);
    if (!form().fixed) {
      const std::lock_guard lock(mutex_);
      clear();
      return put(keys, values);
    }
    HashTable next(container(), name(), form());
    next.put(keys, values);
    const std::lock_guard lock(mutex_);
    if (set_ && !same_entries(next)) {
      fail(Code::kFailedPrecondition,
           "table: expected one without entries, or with the same ones, got one with others");
    }
    keys_.swap(next.keys_);
    values_.swap(next.values_);
    rows_.swap(next.rows_);
    set_ = true;
  }

  void remove(const Tensor& keys) override {
    expect_mutable();
    expect_table_dtypes(form(), keys.dtype(), form().value_dtype);
    const std::lock_guard lock(mutex_);
    for (const K& key : keys.data<K>()) {
      const auto found = rows_.find(key);
      if (found == rows_.end()) continue;
      // The last entry takes its place.
      const size_t row = found->second;
      rows_.erase(found);
      if (row + 1 != keys_.size()) {
        keys_[row] = std::move(keys_.back());
        std::move(values_.end() - static_cast<int64_t>(width_), values_.end(),
                  values_.begin() + static_cast<int64_t>(row * width_));
        rows_[keys_[row]] = row;
      }
      keys_.pop_back();
      values_.resize(values_.size() - width_);
    }
  }

  std::pair<Tensor, Tensor> entries() const override {
    const std::shared_lock lock(mutex_);
    expect_set();
    const Tensor keys = allocate_tensor(cpu_device(), form().key_dtype, Shape{keys_.size()});
    std::ranges::copy(keys_, mutable_data<K>(keys));
    const Tensor values = allocate_tensor(cpu_device(), form().value_dtype, shape_of_values(keys));
    std::ranges::copy(values_, mutable_data<V>(values));
    return {keys, values};
  }

  int64_t size() const override {
    const std::shared_lock lock(mutex_);
    return static_cast<int64_t>(keys_.size());
  }

 private:
  Shape shape_of_values(const Tensor& keys) const {
    std::vector<int64_t> dims(keys.shape().dims().begin(), keys.shape().dims().end());
    dims.insert(dims.end(), form().value_shape.dims().begin(), form().value_shape.dims().end());
    return Shape(dims);
  }
  void expect_mutable() const {
    if (!form().fixed) return;
    fail(Code::kUnimplemented, "table: expected a mutable one, got a HashTable, which is given its entries once");
  }
  void expect_set() const {
    if (form().fixed && !set_) {
      fail(Code::kFailedPrecondition, "table: expected an initialized one, got none initialized yet");
    }
  }
  void check(const Tensor& keys, const Tensor& values) const {
    expect_table_dtypes(form(), keys.dtype(), values.dtype());
    const Shape wanted = shape_of_values(keys);
    if (values.shape() == wanted) return;
    invalid("values: expected shape {}, got {}", wanted.to_string(), values.shape().to_string());
  }
  void clear() {
    keys_.clear();
    values_.clear();
    rows_.clear();
  }

  // The lock is held, or nobody else knows of the table.
  void put(const Tensor& keys, const Tensor& values) {
    const V* from = static_cast<const V*>(values.impl()->data);
    for (const K& key : keys.data<K>()) {
      const auto [found, added] = rows_.try_emplace(key, keys_.size());
      if (added) {
        keys_.push_back(key);
        values_.insert(values_.end(), from, from + width_);
      } else {
        V* there = values_.data() + found->second * width_;
        if (form().fixed && !same_values(there, from)) {
          if constexpr (std::is_same_v<K, std::string>) {
            invalid("keys: expected one value for each, got two for \"{}\"", key);
          } else {
            invalid("keys: expected one value for each, got two for {}", key);
          }
        }
        std::copy_n(from, width_, there);
      }
      from += width_;
    }
  }

  bool same_values(const V* a, const V* b) const {
    if constexpr (std::is_same_v<V, Variant>) {
      return std::equal(a, a + width_, b, [](const Variant& x, const Variant& y) { return x.value == y.value; });
    } else if constexpr (std::is_same_v<V, Bytes16>) {
      return std::equal(a, a + width_, b,
                        [](const Bytes16& x, const Bytes16& y) { return x.low == y.low && x.high == y.high; });
    } else {
      return std::equal(a, a + width_, b);
    }
  }
  bool same_entries(const HashTable& other) const {
    return keys_.size() == other.keys_.size() && std::ranges::all_of(rows_, [&](const auto& entry) {
             const auto found = other.rows_.find(entry.first);
             return found != other.rows_.end() &&
                    same_values(values_.data() + entry.second * width_, other.values_.data() + found->second * width_);
           });
  }

  size_t width_;  // elements of a value
  mutable std::shared_mutex mutex_;
  bool set_ = false;
  std::vector<K> keys_;
  std::vector<V> values_;
  std::unordered_map<K, size_t> rows_;  // of a key
};

// ---- Making them ---------------------------------------------------------------------------------------------------

struct Declared {
  std::string container, name;
  LookupTable::Form form;
};

template <class K>
ResourceHandle make_with_keys(const Declared& d) {
  ResourceHandle made;
  with_storage(d.form.value_dtype,
               [&]<class V>(V) { made = std::make_shared<HashTable<K, V>>(d.container, d.name, d.form); });
  return made;
}

ResourceHandle make_table(void* declared) {
  const Declared& d = *static_cast<const Declared*>(declared);
  switch (d.form.key_dtype) {
    case kInt32: return make_with_keys<int32_t>(d);
    case kInt64: return make_with_keys<int64_t>(d);
    case kString: return make_with_keys<std::string>(d);
    default:
      failf(Code::kUnimplemented, "key_dtype: expected int32, int64 or string, got {}", dtype_name(d.form.key_dtype));
  }
}

Declared declared(const KernelContext& c, bool fixed, bool of_tensors) {
  Declared d;
  d.form = {c.type("key_dtype"), c.type("value_dtype"), of_tensors ? Shape(c.shape_attr("value_shape")) : Shape(),
            fixed};
  return d;
}

template <bool kFixed, bool kOfTensors>
void run_table(KernelContext& c) {
  Declared d = declared(c, kFixed, kOfTensors);
  d.container = c.text("container");
  d.name = c.text("shared_name");
  if (d.name.empty()) d.name = c.call().node_name;
  if (d.name.empty()) return c.set_out(0, resource_tensor(make_table(&d)));
  Tensor out = resource_tensor(c.step().resource_manager().lookup_or_create(d.container, d.name, make_table, &d));
  const std::shared_ptr<LookupTable> table = lookup_table_of(out);
  if (!(table->form() == d.form)) {
    const LookupTable::Form& f = table->form();
    invalid("table \"{}\": expected it as it was declared before, a {} of {} by {}, got another", d.name, table->kind(),
            dtype_name(f.value_dtype), dtype_name(f.key_dtype));
  }
  c.set_out(0, std::move(out));
}

template <bool kFixed, bool kOfTensors>
void run_anonymous(KernelContext& c) {
  Declared d = declared(c, kFixed, kOfTensors);
  c.set_out(0, resource_tensor(make_table(&d)));
}

// ---- Asking and filling them ---------------------------------------------------------------------------------------

void run_find(KernelContext& c) { c.set_out(0, lookup_table_of(c.in(0))->find(c.in(1), c.in(2))); }
void run_insert(KernelContext& c) { lookup_table_of(c.in(0))->insert(c.in(1), c.in(2)); }
void run_remove(KernelContext& c) { lookup_table_of(c.in(0))->remove(c.in(1)); }
void run_import(KernelContext& c) { lookup_table_of(c.in(0))->set(c.in(1), c.in(2)); }
void run_export(KernelContext& c) {
  const std::shared_ptr<LookupTable> table = lookup_table_of(c.in(0));
  expect_table_dtypes(table->form(), c.type("Tkeys"), c.type("Tvalues"));
  auto [keys, values] = table->entries();
  c.set_out(0, std::move(keys));
  c.set_out(1, std::move(values));
}
void run_size(KernelContext& c) { *c.out_data<int64_t>(0) = lookup_table_of(c.in(0))->size(); }

void run_initialize(KernelContext& c) {
  const std::shared_ptr<LookupTable> table = lookup_table_of(c.in(0));
  if (!table->form().fixed) invalid("table: expected a HashTable, got a {}", table->kind());
  table->set(c.in(1), c.in(2));
}

// ---- From files ----------------------------------------------------------------------------------------------------

constexpr int64_t kLineNumber = -1;
constexpr int64_t kWholeLine = -2;

// The parts of lines that are one column of the table.
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
  const std::string text = read_file(path);
  std::string_view rest = text;
  int64_t number = 0;
  for (; !rest.empty() && number != most; ++number) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    keys.add(line, number, number + offset, delimiter);
    values.add(line, number, number + offset, delimiter);
  }
  if (number < most) invalid("file '{}': expected at least {} lines, got {}", path, most, number);
  table->set(keys.tensor(), values.tensor());
}

const CpuKernel hash_table_kernel("HashTableV2", run_table<true, false>);
const CpuKernel mutable_kernel("MutableHashTableV2", run_table<false, false>);
const CpuKernel of_tensors_kernel("MutableHashTableOfTensorsV2", run_table<false, true>);
const CpuKernel anonymous_kernel("AnonymousHashTable", run_anonymous<true, false>);
const CpuKernel anonymous_mutable_kernel("AnonymousMutableHashTable", run_anonymous<false, false>);
const CpuKernel anonymous_of_tensors_kernel("AnonymousMutableHashTableOfTensors", run_anonymous<false, true>);
const CpuKernel find_kernel("LookupTableFindV2", dtypes::kAny, run_find);
const CpuKernel insert_kernel("LookupTableInsertV2", dtypes::kAny, run_insert);
const CpuKernel remove_kernel("LookupTableRemoveV2", dtypes::kAny, run_remove);
const CpuKernel import_kernel("LookupTableImportV2", dtypes::kAny, run_import);
const CpuKernel export_kernel("LookupTableExportV2", dtypes::kAny, run_export);
const CpuKernel size_kernel("LookupTableSizeV2", run_size);
const CpuKernel initialize_kernel("InitializeTableV2", dtypes::kAny, run_initialize);
const CpuKernel initialize_from_file_kernel("InitializeTableFromTextFileV2", run_initialize_from_file);

}  // namespace
}  // namespace panto
