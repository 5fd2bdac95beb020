// Converts features to tensors.
#include "panto/device/cpu/parsing/features.h"

#include <algorithm>
#include <numeric>

#include "panto/device/cpu/parsing/each_record.h"
#include "panto/device/cpu/parsing/typed.h"
#include "panto/lib/base/checked.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/io/example_wire.h"

namespace panto::cpu {
namespace {

using example_wire::FeatureView;

std::string place(const FeatureColumn& column, int64_t i) {
  return fmt::format("feature '{}' of {}", printable(column.key), column.records->name(i));
}

int64_t count(const FeatureColumn& column) { return static_cast<int64_t>(column.cells.size()); }
std::string_view cell(const FeatureColumn& column, int64_t i) { return column.cells[static_cast<size_t>(i)]; }
int64_t bytes_of(const FeatureColumn& column) {
  return std::accumulate(column.cells.begin(), column.cells.end(), int64_t{0},
                         [](int64_t sum, std::string_view c) { return sum + static_cast<int64_t>(c.size()); });
}

// Calls body(i) for each record; errors name the record.
template <class Body>
void for_each_cell(const FeatureColumn& column, const Body& body) {
  for_each_record(count(column), bytes_of(column),
                  [&](int64_t i) { with_context([&] { return place(column, i); }, [&] { body(i); }); });
}

// Returns the values of a feature; `list` is 0 if it has none. Throws InvalidArgument for another type.
template <class T>
FeatureView view_of(std::string_view feature) {
  const FeatureView view = example_wire::view_feature(feature);
  if (view.list != 0 && view.list != example_wire::kListOf<T>) {
    invalid("feature: expected {}, got {}", dtype_name(dtype_of<T>),
            dtype_name(example_wire::dtype_of_list(view.list)));
  }
  return view;
}

template <class T>
int64_t count_of(std::string_view feature) {
  const FeatureView view = view_of<T>(feature);
  return view.list == 0 ? 0 : example_wire::count_values<T>(view);
}

// Returns where each record's values begin, followed by the total.
std::vector<int64_t> starts_of(const std::vector<int64_t>& counts) {
  std::vector<int64_t> starts(counts.size() + 1, 0);
  std::partial_sum(counts.begin(), counts.end(), starts.begin() + 1);
  return starts;
}

Shape behind(std::span<const int64_t> first, const Shape& rest) {
  std::vector<int64_t> dims(first.begin(), first.end());
  dims.insert(dims.end(), rest.dims().begin(), rest.dims().end());
  return Shape(dims);
}
// [batch, size, *rest] or, of a single record, [size, *rest].
Shape batched(const FeatureColumn& column, int64_t size, const Shape& rest) {
  const int64_t first[] = {count(column), size};
  return behind(std::span(first).subspan(column.records->single ? 1 : 0), rest);
}

Tensor integers(const std::vector<int64_t>& values) {
  Tensor t = allocate_tensor(cpu_device(), kInt64, Shape{values.size()});
  std::ranges::copy(values, mutable_data<int64_t>(t));
  return t;
}

Tensor splits_of(const std::vector<int64_t>& starts, DType dtype) {
  if (dtype == kInt64) return integers(starts);
  Tensor t = allocate_tensor(cpu_device(), kInt32, Shape{starts.size()});
  std::ranges::transform(starts, mutable_data<int32_t>(t),
                         [](int64_t at) { return checked_cast<int32_t>(at, "row splits"); });
  return t;
}

// Returns the trivial splits of a single record.
Tensor no_splits(DType dtype, const Shape& shape) {
  Tensor t = allocate_tensor(cpu_device(), dtype, shape);
  if (t.numel() > 0) dtype == kInt64 ? *mutable_data<int64_t>(t) = 0 : *mutable_data<int32_t>(t) = 0;
  return t;
}

template <class T>
std::vector<int64_t> counts_of(const FeatureColumn& column) {
  std::vector<int64_t> counts(column.cells.size());
  for_each_cell(column, [&](int64_t i) { counts[static_cast<size_t>(i)] = count_of<T>(cell(column, i)); });
  return counts;
}

// Concatenates all records' values.
template <class T>
Tensor values_of(const FeatureColumn& column, const std::vector<int64_t>& starts) {
  Tensor values = allocate_tensor(cpu_device(), dtype_of<T>, Shape{starts.back()});
  T* const to = mutable_data<T>(values);
  for_each_cell(column, [&](int64_t i) {
    const FeatureView view = view_of<T>(cell(column, i));
    if (view.list != 0) example_wire::copy_values<T>(view, to + starts[static_cast<size_t>(i)]);
  });
  return values;
}

template <class T>
Tensor dense(const FeatureColumn& column, const Shape& shape, const Tensor& standard) {
  const Shape all = column.records->single ? shape : behind(std::vector<int64_t>{count(column)}, shape);
  const int64_t size = shape.numel();
  Tensor out = allocate_tensor(cpu_device(), dtype_of<T>, all);
  T* const to = mutable_data<T>(out);
  const T* const usual = static_cast<const T*>(standard.impl()->data);
  for_each_cell(column, [&](int64_t i) {
    const FeatureView view = view_of<T>(cell(column, i));
    if (view.list == 0) {
      if (standard.numel() == 0)
        invalid("feature: expected {} of it, since there is no default, got none", dtype_name(dtype_of<T>));
      std::copy_n(usual, size, to + i * size);
      return;
    }
    const int64_t there = example_wire::count_values<T>(view);
    if (there != size) invalid("feature: expected {} values for shape {}, got {}", size, shape.to_string(), there);
    example_wire::copy_values<T>(view, to + i * size);
  });
  return out;
}

// Pads all records to the longest one.
template <class T>
Tensor padded(const FeatureColumn& column, const Shape& inner, const Tensor& standard) {
  const int64_t stride = inner.numel();
  const std::vector<int64_t> counts = counts_of<T>(column);
  int64_t most = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] % stride != 0) {
      with_context([&] { return place(column, static_cast<int64_t>(i)); },
                   [&] { invalid("feature: expected a multiple of {} values, got {}", stride, counts[i]); });
    }
    most = std::max(most, counts[i]);
  }
  Tensor out = allocate_tensor(cpu_device(), dtype_of<T>, batched(column, most / stride, inner));
  T* const to = mutable_data<T>(out);
  for_each_cell(column, [&](int64_t i) {
    T* at = to + i * most;
    T* const end = at + most;
    const FeatureView view = view_of<T>(cell(column, i));
    if (view.list != 0) at = example_wire::copy_values<T>(view, at);
    if (at != end) std::fill(at, end, *static_cast<const T*>(standard.impl()->data));
  });
  return out;
}

template <class T>
SparseParts sparse(const FeatureColumn& column) {
  const std::vector<int64_t> counts = counts_of<T>(column), starts = starts_of(counts);
  const bool single = column.records->single;
  const int64_t rank = single ? 1 : 2;
  Tensor indices = allocate_tensor(cpu_device(), kInt64, Shape{starts.back(), rank});
  auto* at = mutable_data<int64_t>(indices);
  for (size_t i = 0; i < counts.size(); ++i) {
    for (int64_t k = 0; k < counts[i]; ++k) {
      if (!single) *at++ = static_cast<int64_t>(i);
      *at++ = k;
    }
  }
  const int64_t most = counts.empty() ? 0 : *std::ranges::max_element(counts);
  std::vector<int64_t> dims = {count(column), most};
  if (single) dims.erase(dims.begin());
  return {std::move(indices), values_of<T>(column, starts), integers(dims)};
}

// ---- Lists of features ----------------------------------------------------------------------------------------------

struct ListCounts {
  std::vector<int64_t> features, values;  // by record
  int64_t longest = 0, widest = 0;        // features of a record, values of a feature
};

template <class T>
ListCounts count_lists(const FeatureColumn& column) {
  const size_t n = column.cells.size();
  ListCounts counts{std::vector<int64_t>(n), std::vector<int64_t>(n)};
  std::vector<int64_t> widest(n);
  for_each_cell(column, [&](int64_t i) {
    int64_t features = 0, values = 0, most = 0;
    example_wire::for_each_message(cell(column, i), 1, [&](std::string_view feature) {
      const int64_t there = count_of<T>(feature);
      ++features;
      values += there;
      most = std::max(most, there);
    });
    const auto k = static_cast<size_t>(i);
    counts.features[k] = features;
    counts.values[k] = values;
    widest[k] = most;
  });
  for (size_t i = 0; i < n; ++i) {
    counts.longest = std::max(counts.longest, counts.features[i]);
    counts.widest = std::max(counts.widest, widest[i]);
  }
  return counts;
}

// Copies all values, and calls each(record, number of the feature in it, start, number of values) for each feature.
template <class T, class Each>
Tensor list_values(const FeatureColumn& column, const std::vector<int64_t>& starts, const Each& each) {
  Tensor values = allocate_tensor(cpu_device(), dtype_of<T>, Shape{starts.back()});
  T* const all = mutable_data<T>(values);
  for_each_cell(column, [&](int64_t i) {
    T* const first = all + starts[static_cast<size_t>(i)];
    T* to = first;
    int64_t number = 0;
    example_wire::for_each_message(cell(column, i), 1, [&](std::string_view feature) {
      const FeatureView view = view_of<T>(feature);
      T* const end = view.list == 0 ? to : example_wire::copy_values<T>(view, to);
      each(i, number++, to - all, end - to);
      to = end;
    });
  });
  return values;
}

template <class T>
SparseParts sparse_lists(const FeatureColumn& column) {
  const ListCounts counts = count_lists<T>(column);
  const std::vector<int64_t> starts = starts_of(counts.values);
  const bool single = column.records->single;
  const int64_t rank = single ? 2 : 3;
  Tensor indices = allocate_tensor(cpu_device(), kInt64, Shape{starts.back(), rank});
  auto* const index = mutable_data<int64_t>(indices);
  Tensor values = list_values<T>(column, starts, [&](int64_t record, int64_t feature, int64_t start, int64_t there) {
    int64_t* at = index + start * rank;
    for (int64_t k = 0; k < there; ++k) {
      if (!single) *at++ = record;
      *at++ = feature;
      *at++ = k;
    }
  });
  std::vector<int64_t> dims = {count(column), counts.longest, counts.widest};
  if (single) dims.erase(dims.begin());
  return {std::move(indices), std::move(values), integers(dims)};
}

template <class T>
RaggedListParts ragged_lists(const FeatureColumn& column, DType splits) {
  const ListCounts counts = count_lists<T>(column);
  const std::vector<int64_t> starts = starts_of(counts.values), outer = starts_of(counts.features);
  std::vector<int64_t> inner(static_cast<size_t>(outer.back()) + 1, 0);
  Tensor values = list_values<T>(column, starts, [&](int64_t record, int64_t feature, int64_t start, int64_t there) {
    inner[static_cast<size_t>(outer[static_cast<size_t>(record)] + feature) + 1] = start + there;
  });
  return {std::move(values), column.records->single ? no_splits(splits, Shape{}) : splits_of(outer, splits),
          splits_of(inner, splits)};
}

template <class T>
DenseListParts dense_lists(const FeatureColumn& column, const Shape& shape, bool may_miss) {
  const int64_t size = shape.numel();
  std::vector<int64_t> lengths(column.cells.size());
  for_each_cell(column, [&](int64_t i) {
    if (cell(column, i).data() == nullptr && !may_miss) {
      invalid("feature: expected a list of {}, got none", dtype_name(dtype_of<T>));
    }
    int64_t features = 0;
    example_wire::for_each_message(cell(column, i), 1, [&](std::string_view feature) {
      const int64_t there = count_of<T>(feature);
      if (there != size) {
        invalid("feature {} of the list: expected {} values for shape {}, got {}", features, size, shape.to_string(),
                there);
      }
      ++features;
    });
    lengths[static_cast<size_t>(i)] = features;
  });
  const int64_t longest = lengths.empty() ? 0 : *std::ranges::max_element(lengths);
  Tensor values = allocate_tensor(cpu_device(), dtype_of<T>, batched(column, longest, shape));
  T* const all = mutable_data<T>(values);
  for_each_cell(column, [&](int64_t i) {
    T* to = all + i * longest * size;
    T* const end = to + longest * size;
    example_wire::for_each_message(cell(column, i), 1, [&](std::string_view feature) {
      const FeatureView view = view_of<T>(feature);
      if (view.list != 0) to = example_wire::copy_values<T>(view, to);
    });
    std::fill(to, end, T{});
  });
  Tensor counts = integers(lengths);
  return {std::move(values), column.records->single ? view_tensor(counts, Shape{}) : std::move(counts)};
}

}  // namespace

Tensor parse_dense(const FeatureColumn& column, const PartialShape& shape, const Tensor& standard) {
  return with_feature_type(standard.dtype(), [&]<class T>() {
    if (shape.rank() == 0 || shape.dims()[0] >= 0) return dense<T>(column, Shape(shape.dims()), standard);
    return padded<T>(column, Shape(shape.dims().subspan(1)), standard);
  });
}

SparseParts parse_sparse(const FeatureColumn& column, DType dtype) {
  return with_feature_type(dtype, [&]<class T>() { return sparse<T>(column); });
}

RaggedParts parse_ragged(const FeatureColumn& column, DType dtype, DType splits, const Shape& single_splits) {
  return with_feature_type(dtype, [&]<class T>() -> RaggedParts {
    const std::vector<int64_t> starts = starts_of(counts_of<T>(column));
    return {values_of<T>(column, starts),
            column.records->single ? no_splits(splits, single_splits) : splits_of(starts, splits)};
  });
}

DenseListParts parse_dense_lists(const FeatureColumn& column, DType dtype, const Shape& shape, bool may_miss) {
  return with_feature_type(dtype, [&]<class T>() { return dense_lists<T>(column, shape, may_miss); });
}

SparseParts parse_sparse_lists(const FeatureColumn& column, DType dtype) {
  return with_feature_type(dtype, [&]<class T>() { return sparse_lists<T>(column); });
}

RaggedListParts parse_ragged_lists(const FeatureColumn& column, DType dtype, DType splits) {
  return with_feature_type(dtype, [&]<class T>() { return ragged_lists<T>(column, splits); });
}

}  // namespace panto::cpu
