// Lookup tables: values by key.

#include <algorithm>
#include <array>
#include <functional>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "panto/device/cpu/collections/declared.h"
#include "panto/device/cpu/collections/storage.h"
#include "panto/device/cpu/kernel.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/collections/lookup_table.h"

namespace panto {
namespace {

// ---- Keys ----------------------------------------------------------------------------------------------------------

// A key as elements of a tensor: one element, or several for a vector.
template <class K>
struct KeyElements {
  using Element = K;
  static const K& read(const K* from, size_t) { return *from; }
  static void write(const K& key, K* to) { *to = key; }
  static std::string text(const K& key) {
    if constexpr (std::is_same_v<K, std::string>) {
      return fmt::format("\"{}\"", key);
    } else {
      return fmt::format("{}", key);
    }
  }
  struct Hash : std::hash<K> {};
};
template <class E>
struct KeyElements<std::vector<E>> {
  using Element = E;
  static std::vector<E> read(const E* from, size_t width) { return {from, from + width}; }
  static void write(const std::vector<E>& key, E* to) { std::ranges::copy(key, to); }
  static std::string text(const std::vector<E>& key) {
    std::string all;
    for (const E& e : key) all += (all.empty() ? "" : ", ") + KeyElements<E>::text(e);
    return "[" + all + "]";
  }
  struct Hash {
    size_t operator()(const std::vector<E>& key) const {
      size_t hash = key.size();
      for (const E& e : key) hash = hash * 0x9e3779b97f4a7c15u + std::hash<E>()(e);
      return hash;
    }
  };
};

// ---- The table -----------------------------------------------------------------------------------------------------

// K: the key type. V: the storage type of values (with_storage). `none`: keys that no entry may have.
template <class K, class V>
class HashTable final : public LookupTable {
  using Elements = KeyElements<K>;
  using Element = typename Elements::Element;

 public:
  HashTable(std::string container, std::string name, Form form, std::vector<K> none)
      : LookupTable(std::move(container), std::move(name), std::move(form)),
        none_(std::move(none)),
        key_width_(static_cast<size_t>(this->form().key_shape.numel())),
        width_(static_cast<size_t>(this->form().value_shape.numel())) {}

  Tensor find(const Tensor& keys, const Tensor& default_value) const override {
    expect_table_dtypes(form(), keys.dtype(), default_value.dtype());
    const Tensor values = allocate_tensor(cpu_device(), form().value_dtype, shape_of_values(keys));
    const bool each = !(default_value.shape() == form().value_shape);
    if (each && !(default_value.shape() == values.shape())) {
      invalid("default_value: expected shape {} or {}, got {}", form().value_shape.to_string(),
              values.shape().to_string(), default_value.shape().to_string());
    }
    check_keys(keys);
    const V* other = static_cast<const V*>(default_value.impl()->data);
    V* out = mutable_data<V>(values);
    const std::shared_lock lock(mutex_);
    expect_set();
    for_each_key(keys, [&](const K& key) {
      const auto found = rows_.find(key);
      std::copy_n(found == rows_.end() ? other : values_.data() + found->second * width_, width_, out);
      out += width_;
      if (each) other += width_;
    });
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
    HashTable next(container(), name(), form(), none_);
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
    shape_of_values(keys);
    check_keys(keys);
    const std::lock_guard lock(mutex_);
    for_each_key(keys, [&](const K& key) {
      const auto found = rows_.find(key);
      if (found == rows_.end()) return;
      // The last entry moves to its row.
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
    });
  }

  std::pair<Tensor, Tensor> entries() const override {
    const std::shared_lock lock(mutex_);
    expect_set();
    std::vector<int64_t> dims = {static_cast<int64_t>(keys_.size())};
    dims.insert(dims.end(), form().key_shape.dims().begin(), form().key_shape.dims().end());
    const Tensor keys = allocate_tensor(cpu_device(), form().key_dtype, Shape(dims));
    Element* to = mutable_data<Element>(keys);
    for (const K& key : keys_) {
      Elements::write(key, to);
      to += key_width_;
    }
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
    const std::span<const int64_t> of_key = form().key_shape.dims();
    if (dims.size() < of_key.size() || !std::ranges::equal(std::span(dims).last(of_key.size()), of_key)) {
      invalid("keys: expected a shape that ends with {}, got {}", form().key_shape.to_string(),
              keys.shape().to_string());
    }
    dims.resize(dims.size() - of_key.size());
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
    if (values.shape() == wanted) return check_keys(keys);
    invalid("values: expected shape {}, got {}", wanted.to_string(), values.shape().to_string());
  }
  template <class F>
  void for_each_key(const Tensor& keys, const F& f) const {
    const auto all = keys.data<Element>();
    if (key_width_ == 0) return;
    for (size_t i = 0; i + key_width_ <= all.size(); i += key_width_) f(Elements::read(&all[i], key_width_));
  }
  void check_keys(const Tensor& keys) const {
    if (none_.empty()) return;
    for_each_key(keys, [&](const K& key) {
      if (std::ranges::find(none_, key) != none_.end()) {
        invalid("keys: expected neither the empty_key nor the deleted_key, got {}", Elements::text(key));
      }
    });
  }
  void clear() {
    keys_.clear();
    values_.clear();
    rows_.clear();
  }

  // The lock must be held, or the table not yet shared.
  void put(const Tensor& keys, const Tensor& values) {
    const V* from = static_cast<const V*>(values.impl()->data);
    for_each_key(keys, [&](const K& key) {
      const auto [found, added] = rows_.try_emplace(key, keys_.size());
      if (added) {
        keys_.push_back(key);
        values_.insert(values_.end(), from, from + width_);
      } else {
        V* there = values_.data() + found->second * width_;
        if (form().fixed && !same_values(there, from)) {
          invalid("keys: expected one value for each, got two for {}", Elements::text(key));
        }
        std::copy_n(from, width_, there);
      }
      from += width_;
    });
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

  std::vector<K> none_;
  size_t key_width_;  // elements of a key
  size_t width_;      // elements of a value
  mutable std::shared_mutex mutex_;
  bool set_ = false;
  std::vector<K> keys_;
  std::vector<V> values_;
  std::unordered_map<K, size_t, typename Elements::Hash> rows_;  // the row of each key
};

// ---- Creating tables -----------------------------------------------------------------------------------------------

// For dense tables: the empty and the deleted key, which no entry may have. Else undefined.
using NoKeys = std::array<Tensor, 2>;

template <class K>
ResourceHandle make_with_keys(const std::string& container, const std::string& name, const LookupTable::Form& form,
                              const NoKeys& none) {
  std::vector<K> keys;
  for (const Tensor& t : none) {
    if (!t.defined()) continue;
    keys.push_back(
        KeyElements<K>::read(t.data<typename KeyElements<K>::Element>().data(), static_cast<size_t>(t.numel())));
  }
  if (keys.size() == 2 && keys[0] == keys[1]) {
    invalid("deleted_key: expected another one than the empty_key, got {}", KeyElements<K>::text(keys[0]));
  }
  ResourceHandle made;
  with_storage(form.value_dtype,
               [&]<class V>(V) { made = std::make_shared<HashTable<K, V>>(container, name, form, keys); });
  return made;
}

ResourceHandle make_table(const std::string& container, const std::string& name, const LookupTable::Form& form,
                          const NoKeys& none = {}) {
  const auto of = [&]<class E>(E) {
    return form.key_shape.rank() == 0 ? make_with_keys<E>(container, name, form, none)
                                      : make_with_keys<std::vector<E>>(container, name, form, none);
  };
  switch (form.key_dtype) {
    case kInt32: return of(int32_t{});
    case kInt64: return of(int64_t{});
    case kString: return of(std::string());
    default:
      failf(Code::kUnimplemented, "key_dtype: expected int32, int64 or string, got {}", dtype_name(form.key_dtype));
  }
}

LookupTable::Form declared_form(const KernelContext& c, bool fixed, bool of_tensors) {
  return {c.type("key_dtype"), c.type("value_dtype"), of_tensors ? Shape(c.shape_attr("value_shape")) : Shape(), fixed};
}

void expect_as_declared(const Tensor& handle, const LookupTable::Form& form) {
  const std::shared_ptr<LookupTable> table = lookup_table_of(handle);
  if (table->form() == form) return;
  const LookupTable::Form& f = table->form();
  invalid("table \"{}\": expected it as it was declared before, a {} of {} by {}, got another", table->name(),
          table->kind(), dtype_name(f.value_dtype), dtype_name(f.key_dtype));
}

template <bool kFixed, bool kOfTensors>
void run_table(KernelContext& c) {
  const LookupTable::Form form = declared_form(c, kFixed, kOfTensors);
  Tensor out = declared_resource(
      c, [&](const std::string& container, const std::string& name) { return make_table(container, name, form); });
  expect_as_declared(out, form);
  c.set_out(0, std::move(out));
}

template <bool kFixed, bool kOfTensors>
void run_anonymous(KernelContext& c) {
  c.set_out(0, resource_tensor(make_table({}, {}, declared_form(c, kFixed, kOfTensors))));
}

// The bucket attributes matter to TensorFlow's implementation only, but bad values are rejected as they are there.
LookupTable::Form dense_form(const KernelContext& c) {
  LookupTable::Form form = declared_form(c, false, true);
  form.dense = true;
  form.key_shape = c.shape(0);
  if (form.key_shape.rank() > 1) {
    invalid("empty_key: expected a scalar or a vector, got shape {}", form.key_shape.to_string());
  }
  if (!(c.shape(1) == form.key_shape)) {
    invalid("deleted_key: expected the empty_key's shape {}, got {}", form.key_shape.to_string(),
            c.shape(1).to_string());
  }
  const int64_t buckets = c.integer("initial_num_buckets");
  if (buckets < 1 || (buckets & (buckets - 1)) != 0) {
    invalid("initial_num_buckets: expected a power of 2, got {}", buckets);
  }
  const float load = c.real("max_load_factor");
  if (!(load > 0 && load < 1)) invalid("max_load_factor: expected one between 0 and 1, got {}", load);
  return form;
}

void run_dense(KernelContext& c) {
  const LookupTable::Form form = dense_form(c);
  Tensor out = declared_resource(c, [&](const std::string& container, const std::string& name) {
    return make_table(container, name, form, {c.in(0), c.in(1)});
  });
  expect_as_declared(out, form);
  c.set_out(0, std::move(out));
}

void run_anonymous_dense(KernelContext& c) {
  c.set_out(0, resource_tensor(make_table({}, {}, dense_form(c), {c.in(0), c.in(1)})));
}

// ---- Reading and filling tables ------------------------------------------------------------------------------------

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

const CpuKernel hash_table_kernel("HashTableV2", run_table<true, false>);
const CpuKernel mutable_kernel("MutableHashTableV2", run_table<false, false>);
const CpuKernel of_tensors_kernel("MutableHashTableOfTensorsV2", run_table<false, true>);
const CpuKernel anonymous_kernel("AnonymousHashTable", run_anonymous<true, false>);
const CpuKernel anonymous_mutable_kernel("AnonymousMutableHashTable", run_anonymous<false, false>);
const CpuKernel anonymous_of_tensors_kernel("AnonymousMutableHashTableOfTensors", run_anonymous<false, true>);
const CpuKernel dense_kernel("MutableDenseHashTableV2", dtypes::kAny, run_dense);
const CpuKernel anonymous_dense_kernel("AnonymousMutableDenseHashTable", dtypes::kAny, run_anonymous_dense);
const CpuKernel find_kernel("LookupTableFindV2", dtypes::kAny, run_find);
const CpuKernel insert_kernel("LookupTableInsertV2", dtypes::kAny, run_insert);
const CpuKernel remove_kernel("LookupTableRemoveV2", dtypes::kAny, run_remove);
const CpuKernel import_kernel("LookupTableImportV2", dtypes::kAny, run_import);
const CpuKernel export_kernel("LookupTableExportV2", dtypes::kAny, run_export);
const CpuKernel size_kernel("LookupTableSizeV2", run_size);
const CpuKernel initialize_kernel("InitializeTableV2", dtypes::kAny, run_initialize);

}  // namespace
}  // namespace panto
