// Kernels that parse Examples.
#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/parsing/features.h"
#include "panto/lib/ops/parsing/example_shapes.h"

namespace panto {
namespace {

using cpu::FeatureTable;
using cpu::Records;

constexpr uint32_t kFeatures = 1;

struct Wanted {
  std::vector<std::string_view> sparse, dense, ragged;
  int defaults = 0;  // the input of the first
};

void parse(KernelContext& c, const Records& records, const Wanted& wanted) {
  std::vector<std::string_view> keys = wanted.sparse;
  keys.insert(keys.end(), wanted.dense.begin(), wanted.dense.end());
  keys.insert(keys.end(), wanted.ragged.begin(), wanted.ragged.end());
  const FeatureTable table(records, kFeatures, std::move(keys));
  size_t next = 0;
  std::vector<Tensor> indices, values, dims, dense, ragged, splits;
  for (const DType type : c.types("sparse_types")) {
    cpu::SparseParts parts = cpu::parse_sparse(table.column(next++), type);
    indices.push_back(std::move(parts.indices));
    values.push_back(std::move(parts.values));
    dims.push_back(std::move(parts.shape));
  }
  const auto shapes = c.shapes("dense_shapes");
  for (size_t k = 0; k < shapes.size(); ++k) {
    dense.push_back(cpu::parse_dense(table.column(next++), shapes[k], c.in(wanted.defaults + static_cast<int>(k))));
  }
  if (!wanted.ragged.empty()) {
    const auto types = c.types("ragged_value_types"), split_types = c.types("ragged_split_types");
    for (size_t k = 0; k < types.size(); ++k) {
      cpu::RaggedParts parts = cpu::parse_ragged(table.column(next++), types[k], split_types[k], Shape{0});
      ragged.push_back(std::move(parts.values));
      splits.push_back(std::move(parts.splits));
    }
  }
  cpu::Outputs outputs(c);
  outputs.put(std::move(indices));
  outputs.put(std::move(values));
  outputs.put(std::move(dims));
  outputs.put(std::move(dense));
  outputs.put(std::move(ragged));
  outputs.put(std::move(splits));
}

void run_parse_example(KernelContext& c) {
  parse(c, cpu::records_in(c, 1), {cpu::keys_in(c, 2), cpu::keys_in(c, 3), {}, c.list(4).first});
}

void run_parse_example_v2(KernelContext& c) {
  parse(c, cpu::records_in(c, 1),
        {cpu::keys_in(c.in(2)), cpu::keys_in(c.in(3)), cpu::keys_in(c.in(4)), c.list(5).first});
}

void run_parse_single(KernelContext& c) {
  const auto sparse = c.texts("sparse_keys"), dense = c.texts("dense_keys");
  parse(c, cpu::records_in(c, -1), {{sparse.begin(), sparse.end()}, {dense.begin(), dense.end()}, {}, c.list(1).first});
}

const CpuKernel parse_example_kernel("ParseExample", run_parse_example);
const CpuKernel parse_example_v2_kernel("ParseExampleV2", run_parse_example_v2);
const CpuKernel parse_single_kernel("ParseSingleExample", run_parse_single);

}  // namespace
}  // namespace panto
