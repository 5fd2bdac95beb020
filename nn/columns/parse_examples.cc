#include "panto/nn/columns/parse_examples.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/caller.h"
#include "panto/lib/core/tensor/print.h"
#include "panto/lib/core/tensor/tensor_alloc.h"
#include "panto/lib/ops/arrays.h"
#include "panto/ops/array.h"
#include "panto/ops/parsing.h"
#include "panto/ops/sparse.h"

namespace panto {
namespace {

Tensor no_strings() { return tensor_from_strings(Shape{0}, {}); }
Tensor keys_of(const std::vector<std::string>& keys) { return tensor_from_strings(Shape{keys.size()}, keys); }

void expect_type(const std::string& key, DType dtype) {
  if (dtype == kFloat32 || dtype == kInt64 || dtype == kString) return;
  invalid("feature '{}': expected float32, int64 or string, got {}", key, dtype_name(dtype));
}

// The default element: 0 or "".
Tensor nothing_of(DType dtype) {
  switch (dtype) {
    case kFloat32: return tensor(0.0f);
    case kInt64: return tensor(int64_t{0});
    default: return tensor("");
  }
}

// The default of a missing feature, in this shape; a tensor without elements if the feature is required.
Tensor standard_of(const std::string& key, const Tensor& given, DType dtype, const Shape& shape) {
  if (!given.defined()) return allocate_tensor(cpu_device(), dtype, Shape{0});
  if (given.dtype() != dtype || given.partial_shape().numel() != shape.numel()) {
    invalid("default_value of feature '{}': expected {}, got {}", key, type_text(dtype, shape),
            type_text(given.dtype(), given.partial_shape()));
  }
  return given.partial_shape() == shape ? given : reshape(given, shape);
}

// The spec in the form that the ops take.
struct Form {
  std::vector<std::string> sparse, dense, ragged;
  std::vector<DType> sparse_types, dense_types, ragged_types, split_types;
  std::vector<PartialShape> shapes;
  std::vector<Tensor> defaults;
  std::vector<uint8_t> may_miss;
  std::vector<bool> shown;  // per sparse feature: whether the spec names it
  std::vector<std::pair<std::string, SparseFeature>> placed;

  void add_dense(const std::string& key, DType dtype, PartialShape shape) {
    dense.push_back(key);
    dense_types.push_back(dtype);
    shapes.push_back(std::move(shape));
  }
  void add(const std::string& key, const VarLenFeature& f) {
    sparse.push_back(key);
    sparse_types.push_back(f.dtype);
    shown.push_back(true);
  }
  // Adds a part of a SparseFeature, which another one, or a VarLenFeature, may share.
  void add_hidden(const std::string& key, DType dtype) {
    const size_t at = place_of(key);
    if (at == sparse.size()) {
      add(key, VarLenFeature{dtype});
      shown.back() = false;
    } else if (sparse_types[at] != dtype) {
      invalid("feature '{}': expected one type of it, got {} and {}", key, dtype_name(sparse_types[at]),
              dtype_name(dtype));
    }
  }
  size_t place_of(const std::string& key) const {
    return static_cast<size_t>(std::ranges::find(sparse, key) - sparse.begin());
  }
  void add(const std::string& key, const RaggedFeature& f) {
    ragged.push_back(key);
    ragged_types.push_back(f.dtype);
    split_types.push_back(f.row_splits_dtype);
  }
  template <class F>
  void add(const std::string&, const F&) = delete;
};

void expect_places(const std::string& key, const SparseFeature& f) {
  if (f.index_keys.empty() || f.index_keys.size() != f.size.size()) {
    invalid("feature '{}': expected a size for each index key, got {} and {}", key, f.size.size(), f.index_keys.size());
  }
}

Form example_form(const ExampleSpec& spec, bool sequences) {
  Form form;
  for (const auto& [name, feature] : spec) {
    const std::string& key = name;
    std::visit(
        [&]<class F>(const F& f) {
          expect_type(key, f.dtype);
          if constexpr (std::is_same_v<F, SparseFeature>) {
            expect_places(key, f);
            form.placed.emplace_back(key, f);
          } else if constexpr (std::is_same_v<F, FixedLenFeature>) {
            form.add_dense(key, f.dtype, f.shape);
            form.defaults.push_back(standard_of(key, f.default_value, f.dtype, f.shape));
          } else if constexpr (std::is_same_v<F, FixedLenSequenceFeature>) {
            if (!sequences) invalid("feature '{}': expected no FixedLenSequenceFeature in a context, got one", key);
            if (!f.allow_missing) {
              invalid("feature '{}': expected allow_missing of a FixedLenSequenceFeature in an Example, got false",
                      key);
            }
            std::vector<int64_t> dims(f.shape.dims().begin(), f.shape.dims().end());
            dims.insert(dims.begin(), kUnknownDim);
            form.add_dense(key, f.dtype, PartialShape(dims));
            form.defaults.push_back(
                standard_of(key, f.default_value.defined() ? f.default_value : nothing_of(f.dtype), f.dtype, Shape{}));
          } else {
            form.add(key, f);
          }
        },
        feature);
  }
  for (const auto& [key, f] : form.placed) {
    for (const std::string& index : f.index_keys) form.add_hidden(index, kInt64);
    form.add_hidden(f.value_key, f.dtype);
  }
  return form;
}

Form list_form(const ExampleSpec& spec) {
  Form form;
  for (const auto& [name, feature] : spec) {
    const std::string& key = name;
    std::visit(
        [&]<class F>(const F& f) {
          expect_type(key, f.dtype);
          if constexpr (std::is_same_v<F, FixedLenFeature>) {
            invalid("feature '{}': expected no FixedLenFeature of a list, got one", key);
          } else if constexpr (std::is_same_v<F, SparseFeature>) {
            invalid("feature '{}': expected no SparseFeature of a list, got one", key);
          } else if constexpr (std::is_same_v<F, FixedLenSequenceFeature>) {
            if (f.default_value.defined()) {
              invalid("feature '{}': expected no default_value of a list, which has zeros behind it, got one", key);
            }
            form.add_dense(key, f.dtype, f.shape);
            form.may_miss.push_back(f.allow_missing ? 1 : 0);
          } else {
            form.add(key, f);
          }
        },
        feature);
  }
  return form;
}

Tensor names_of(const ParseExampleOptions& options) { return options.names.defined() ? options.names : no_strings(); }

Tensor records_of(const Arg& serialized) {
  if (serialized.kind() == Arg::Kind::kText) return tensor(std::string(serialized.text()));
  if (serialized.kind() == Arg::Kind::kVariable) return serialized.variable().value();
  if (serialized.is_literal()) invalid("serialized: expected strings, got numbers");
  return serialized.tensor();
}

void expect_one(const Tensor& records) {
  const PartialShape& shape = records.partial_shape();
  if (shape.rank() > 0) invalid("serialized: expected a scalar, got shape {}", shape.to_string());
}

Tensor concatenated(const std::vector<Tensor>& all, int axis) { return all.size() == 1 ? all[0] : concat(all, axis); }

void put_sparse(Features& features, const Form& form, const std::vector<Tensor>& indices,
                const std::vector<Tensor>& values, const std::vector<Tensor>& shapes) {
  for (size_t k = 0; k < form.sparse.size(); ++k) {
    if (form.shown[k]) features.emplace(form.sparse[k], SparseTensor{indices[k], values[k], shapes[k]});
  }
  for (const auto& [key, f] : form.placed) {
    const size_t value = form.place_of(f.value_key);
    // Columns of indices: the example of each value, if there are several examples, then its positions.
    const int64_t rank = indices[value].partial_shape().dim(1);
    std::vector<Tensor> places, sizes;
    if (rank == 2) {
      places.push_back(slice(indices[value], {0, 0}, {-1, 1}));
      sizes.push_back(slice(shapes[value], {0}, {1}));
    }
    for (const std::string& index : f.index_keys) places.push_back(expand_dims(values[form.place_of(index)], 1));
    sizes.push_back(tensor(f.size));
    const Tensor all = concatenated(places, 1), size = concatenated(sizes, 0);
    if (f.already_sorted) {
      features.emplace(key, SparseTensor{all, values[value], size});
    } else {
      const auto sorted = sparse_reorder(all, values[value], size);
      features.emplace(key, SparseTensor{sorted.output_indices, sorted.output_values, size});
    }
  }
}
void put_dense(Features& features, const Form& form, const std::vector<Tensor>& values) {
  for (size_t k = 0; k < form.dense.size(); ++k) features.emplace(form.dense[k], values[k]);
}
void put_ragged(Features& features, const Form& form, bool single, const std::vector<Tensor>& values,
                const std::vector<Tensor>& splits) {
  for (size_t k = 0; k < form.ragged.size(); ++k) {
    features.emplace(form.ragged[k], single ? Feature(values[k]) : Feature(RaggedTensor{values[k], {splits[k]}}));
  }
}

Features parsed(const Tensor& records, const ExampleSpec& spec, const ParseExampleOptions& options) {
  const Form form = example_form(spec, true);
  const auto out = parse_example_v2(records, names_of(options), keys_of(form.sparse), keys_of(form.dense),
                                    keys_of(form.ragged), form.defaults, static_cast<int64_t>(form.sparse.size()),
                                    form.sparse_types, form.ragged_types, form.split_types, form.shapes);
  Features features;
  put_sparse(features, form, out.sparse_indices, out.sparse_values, out.sparse_shapes);
  put_dense(features, form, out.dense_values);
  put_ragged(features, form, records.partial_shape().rank() == 0, out.ragged_values, out.ragged_row_splits);
  return features;
}

SequenceFeaturesParsed parsed_sequences(const Tensor& records, const ExampleSpec& context_spec,
                                        const ExampleSpec& list_spec, const ParseExampleOptions& options) {
  const Form context = example_form(context_spec, false), lists = list_form(list_spec);
  const Tensor may_miss =
      tensor_from_bytes(kBool, Shape{lists.may_miss.size()}, lists.may_miss.data(), lists.may_miss.size());
  const auto out = parse_sequence_example_v2(records, names_of(options), keys_of(context.sparse),
                                             keys_of(context.dense), keys_of(context.ragged), keys_of(lists.sparse),
                                             keys_of(lists.dense), keys_of(lists.ragged), may_miss, context.defaults,
                                             {.Ncontext_sparse = static_cast<int64_t>(context.sparse.size()),
                                              .context_sparse_types = context.sparse_types,
                                              .context_ragged_value_types = context.ragged_types,
                                              .context_ragged_split_types = context.split_types,
                                              .context_dense_shapes = context.shapes,
                                              .Nfeature_list_sparse = static_cast<int64_t>(lists.sparse.size()),
                                              .Nfeature_list_dense = static_cast<int64_t>(lists.dense.size()),
                                              .feature_list_dense_types = lists.dense_types,
                                              .feature_list_sparse_types = lists.sparse_types,
                                              .feature_list_ragged_value_types = lists.ragged_types,
                                              .feature_list_ragged_split_types = lists.split_types,
                                              .feature_list_dense_shapes = lists.shapes});
  const bool single = records.partial_shape().rank() == 0;
  SequenceFeaturesParsed result;
  put_sparse(result.context, context, out.context_sparse_indices, out.context_sparse_values, out.context_sparse_shapes);
  put_dense(result.context, context, out.context_dense_values);
  put_ragged(result.context, context, single, out.context_ragged_values, out.context_ragged_row_splits);
  put_sparse(result.lists, lists, out.feature_list_sparse_indices, out.feature_list_sparse_values,
             out.feature_list_sparse_shapes);
  put_dense(result.lists, lists, out.feature_list_dense_values);
  for (size_t k = 0; k < lists.dense.size(); ++k) {
    result.lengths.emplace(lists.dense[k], out.feature_list_dense_lengths[k]);
  }
  for (size_t k = 0; k < lists.ragged.size(); ++k) {
    std::vector<Tensor> splits = {out.feature_list_ragged_inner_splits[k]};
    if (!single) splits.insert(splits.begin(), out.feature_list_ragged_outer_splits[k]);
    result.lists.emplace(lists.ragged[k], RaggedTensor{out.feature_list_ragged_values[k], std::move(splits)});
  }
  return result;
}

}  // namespace

Features parse_example(const Arg& serialized, const ExampleSpec& spec, const ParseExampleOptions& options,
                       std::source_location where) {
  return from_caller(where, [&] { return parsed(records_of(serialized), spec, options); });
}

Features parse_single_example(const Arg& serialized, const ExampleSpec& spec, std::source_location where) {
  return from_caller(where, [&] {
    const Tensor record = records_of(serialized);
    expect_one(record);
    return parsed(record, spec, {});
  });
}

SequenceFeaturesParsed parse_sequence_example(const Arg& serialized, const ExampleSpec& context,
                                              const ExampleSpec& lists, const ParseExampleOptions& options,
                                              std::source_location where) {
  return from_caller(where, [&] { return parsed_sequences(records_of(serialized), context, lists, options); });
}

SequenceFeaturesParsed parse_single_sequence_example(const Arg& serialized, const ExampleSpec& context,
                                                     const ExampleSpec& lists, std::source_location where) {
  return from_caller(where, [&] {
    const Tensor record = records_of(serialized);
    expect_one(record);
    return parsed_sequences(record, context, lists, {});
  });
}

}  // namespace panto
