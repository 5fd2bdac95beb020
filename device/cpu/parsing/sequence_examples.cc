// Kernels that parse SequenceExamples.
#include <algorithm>

#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/parsing/features.h"
#include "panto/lib/ops/parsing/example_shapes.h"

namespace panto {
namespace {

using cpu::FeatureTable;
using cpu::Records;

constexpr uint32_t kContext = 1, kFeatureLists = 2;

using Keys = std::vector<std::string_view>;
struct Wanted {
  Keys context_sparse = {}, context_dense = {}, context_ragged = {}, sparse = {}, dense = {}, ragged = {};
  std::vector<bool> may_miss = {};  // by dense key
  int defaults = 0;                 // the input of the first
  bool lengths = true;              // whether lengths of dense lists are outputs
};

Keys joined(const Keys& a, const Keys& b, const Keys& c) {
  Keys all = a;
  all.insert(all.end(), b.begin(), b.end());
  all.insert(all.end(), c.begin(), c.end());
  return all;
}

void put_sparse(cpu::Outputs& outputs, std::span<const DType> types, const auto& make) {
  std::vector<Tensor> indices, values, dims;
  for (const DType type : types) {
    cpu::SparseParts parts = make(type);
    indices.push_back(std::move(parts.indices));
    values.push_back(std::move(parts.values));
    dims.push_back(std::move(parts.shape));
  }
  outputs.put(std::move(indices));
  outputs.put(std::move(values));
  outputs.put(std::move(dims));
}

void put_context(KernelContext& c, cpu::Outputs& outputs, const Records& records, const Wanted& wanted) {
  const FeatureTable table(records, kContext,
                           joined(wanted.context_sparse, wanted.context_dense, wanted.context_ragged));
  size_t next = 0;
  put_sparse(outputs, c.types("context_sparse_types"),
             [&](DType type) { return cpu::parse_sparse(table.column(next++), type); });
  std::vector<Tensor> dense, ragged, splits;
  const auto shapes = c.shapes("context_dense_shapes");
  for (size_t k = 0; k < shapes.size(); ++k) {
    dense.push_back(cpu::parse_dense(table.column(next++), shapes[k], c.in(wanted.defaults + static_cast<int>(k))));
  }
  outputs.put(std::move(dense));
  if (wanted.context_ragged.empty()) return;
  const auto types = c.types("context_ragged_value_types"), split_types = c.types("context_ragged_split_types");
  for (size_t k = 0; k < types.size(); ++k) {
    cpu::RaggedParts parts = cpu::parse_ragged(table.column(next++), types[k], split_types[k], Shape{});
    ragged.push_back(std::move(parts.values));
    splits.push_back(std::move(parts.splits));
  }
  outputs.put(std::move(ragged));
  outputs.put(std::move(splits));
}

void put_lists(KernelContext& c, cpu::Outputs& outputs, const Records& records, const Wanted& wanted) {
  const FeatureTable table(records, kFeatureLists, joined(wanted.sparse, wanted.dense, wanted.ragged));
  size_t next = 0;
  put_sparse(outputs, c.types("feature_list_sparse_types"),
             [&](DType type) { return cpu::parse_sparse_lists(table.column(next++), type); });
  std::vector<Tensor> dense, lengths, ragged, outer, inner;
  const auto shapes = c.shapes("feature_list_dense_shapes");
  const auto dense_types = c.types("feature_list_dense_types");
  for (size_t k = 0; k < shapes.size(); ++k) {
    cpu::DenseListParts parts =
        cpu::parse_dense_lists(table.column(next++), dense_types[k], Shape(shapes[k].dims()), wanted.may_miss[k]);
    dense.push_back(std::move(parts.values));
    lengths.push_back(std::move(parts.lengths));
  }
  outputs.put(std::move(dense));
  if (wanted.lengths) outputs.put(std::move(lengths));
  if (wanted.ragged.empty()) return;
  const auto types = c.types("feature_list_ragged_value_types"),
             split_types = c.types("feature_list_ragged_split_types");
  for (size_t k = 0; k < types.size(); ++k) {
    cpu::RaggedListParts parts = cpu::parse_ragged_lists(table.column(next++), types[k], split_types[k]);
    ragged.push_back(std::move(parts.values));
    outer.push_back(std::move(parts.outer_splits));
    inner.push_back(std::move(parts.inner_splits));
  }
  outputs.put(std::move(ragged));
  outputs.put(std::move(outer));
  outputs.put(std::move(inner));
}

void parse(KernelContext& c, const Records& records, const Wanted& wanted) {
  cpu::Outputs outputs(c);
  put_context(c, outputs, records, wanted);
  put_lists(c, outputs, records, wanted);
}

// Returns for each key whether it is in `named`.
std::vector<bool> among(const Keys& keys, const Keys& named) {
  std::vector<bool> flags;
  for (const std::string_view key : keys) flags.push_back(std::ranges::find(named, key) != named.end());
  return flags;
}

void run_sequence(KernelContext& c) {
  const auto keys = [&](AttrName name) {
    const auto texts = c.texts(name);
    return Keys(texts.begin(), texts.end());
  };
  Wanted wanted{.context_sparse = keys("context_sparse_keys"),
                .context_dense = keys("context_dense_keys"),
                .sparse = keys("feature_list_sparse_keys"),
                .dense = keys("feature_list_dense_keys"),
                .defaults = c.list(2).first};
  wanted.may_miss = among(wanted.dense, keys("feature_list_dense_missing_assumed_empty"));
  parse(c, cpu::records_in(c, 1), wanted);
}

void run_sequence_v2(KernelContext& c) {
  const auto* missing = c.data<bool>(8);
  parse(c, cpu::records_in(c, 1),
        {.context_sparse = cpu::keys_in(c.in(2)),
         .context_dense = cpu::keys_in(c.in(3)),
         .context_ragged = cpu::keys_in(c.in(4)),
         .sparse = cpu::keys_in(c.in(5)),
         .dense = cpu::keys_in(c.in(6)),
         .ragged = cpu::keys_in(c.in(7)),
         .may_miss = std::vector<bool>(missing, missing + c.numel(8)),
         .defaults = c.list(9).first});
}

void run_single_sequence(KernelContext& c) {
  Wanted wanted{.context_sparse = cpu::keys_in(c, 2),
                .context_dense = cpu::keys_in(c, 3),
                .sparse = cpu::keys_in(c, 4),
                .dense = cpu::keys_in(c, 5),
                .defaults = c.list(6).first,
                .lengths = false};
  wanted.may_miss = among(wanted.dense, cpu::keys_in(c.in(1)));
  parse(c, cpu::records_in(c, c.list(7).first), wanted);
}

const CpuKernel sequence_kernel("ParseSequenceExample", run_sequence);
const CpuKernel sequence_v2_kernel("ParseSequenceExampleV2", run_sequence_v2);
const CpuKernel single_sequence_kernel("ParseSingleSequenceExample", run_single_sequence);

}  // namespace
}  // namespace panto
