// Kernels of datasets that parse Example protos.
#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "panto/device/cpu/datasets/arguments.h"
#include "panto/device/cpu/parsing/features.h"
#include "panto/lib/core/collections/ragged_value.h"
#include "panto/lib/core/collections/tensor_value.h"
#include "panto/lib/core/datasets/ahead.h"
#include "panto/lib/ops/parsing/example_shapes.h"

namespace panto {
namespace {

using namespace datasets;

constexpr uint32_t kFeatures = 1;

// The features to parse from each batch of records. It owns all its data, since iterators outlive the call.
struct Wanted {
  std::vector<std::string> keys;  // of sparse, then dense, then ragged features
  std::vector<DType> sparse_types, ragged_types, split_types;
  std::vector<PartialShape> shapes;
  std::vector<Tensor> defaults;
  std::vector<size_t> order;  // of the components: by ascending key

  ElementTensors parse(const ElementTensors& element) const {
    const Tensor& serialized = component_of(element, 0);
    if (serialized.dtype() != kString || serialized.rank() != 1) {
      invalid("element: expected a vector of strings, records, got {}{}", dtype_name(serialized.dtype()),
              serialized.shape().to_string());
    }
    const auto* first = static_cast<const std::string*>(serialized.impl()->data);
    const cpu::Records records{{first, static_cast<size_t>(serialized.numel())}, {}};
    const cpu::FeatureTable table(records, kFeatures, {keys.begin(), keys.end()});
    ElementTensors parsed;
    for (const size_t k : order) {
      const cpu::FeatureColumn column = table.column(k);
      const size_t ragged = sparse_types.size() + shapes.size();  // index of the first ragged feature
      if (k >= ragged) {
        cpu::RaggedParts parts = cpu::parse_ragged(column, ragged_types[k - ragged], split_types[k - ragged], Shape{0});
        parsed.push_back(ragged_tensor(RaggedValue({std::move(parts.splits)}, std::move(parts.values))));
      } else if (k < sparse_types.size()) {
        const cpu::SparseParts parts = cpu::parse_sparse(column, sparse_types[k]);
        parsed.push_back(sparse_variants(parts.indices, parts.values, parts.shape));
      } else {
        const size_t dense = k - sparse_types.size();
        parsed.push_back(cpu::parse_dense(column, shapes[dense], defaults[dense]));
      }
    }
    return parsed;
  }
};

void give_parsed(KernelContext& c, bool ordered) {
  const DatasetArguments a(c);
  Wanted wanted;
  for (const AttrName keys : {AttrName("sparse_keys"), AttrName("dense_keys"), AttrName("ragged_keys")}) {
    for (const auto& key : c.texts(keys)) wanted.keys.emplace_back(key);
  }
  const auto types = c.types("sparse_types");
  wanted.sparse_types.assign(types.begin(), types.end());
  const auto ragged = c.types("ragged_value_types"), splits = c.types("ragged_split_types");
  parsing::expect_feature_types(ragged, "ragged_value_types");
  parsing::expect_split_types(splits, "ragged_split_types");
  wanted.ragged_types.assign(ragged.begin(), ragged.end());
  wanted.split_types.assign(splits.begin(), splits.end());
  const auto shapes = c.shapes("dense_shapes");
  wanted.shapes.assign(shapes.begin(), shapes.end());
  wanted.defaults = a.tensors(2);
  const size_t dense = c.texts("dense_keys").size();
  if (c.texts("sparse_keys").size() != wanted.sparse_types.size() || dense != wanted.shapes.size() ||
      dense != wanted.defaults.size()) {
    invalid("keys: expected one for each type and shape, got {} and {}, {} and {}", c.texts("sparse_keys").size(),
            wanted.sparse_types.size(), dense, wanted.shapes.size());
  }
  if (c.texts("ragged_keys").size() != ragged.size() || splits.size() != ragged.size()) {
    invalid("ragged_keys: expected one for each type of values and of splits, got {}, {} and {}",
            c.texts("ragged_keys").size(), ragged.size(), splits.size());
  }
  wanted.order.resize(wanted.keys.size());
  std::iota(wanted.order.begin(), wanted.order.end(), size_t{0});
  std::ranges::sort(wanted.order, {}, [&](size_t k) -> const std::string& { return wanted.keys[k]; });
  const ElementSpec spec = a.spec();
  if (spec.types.size() != wanted.keys.size()) {
    invalid("output_types: expected {}, one for each key, got {}", wanted.keys.size(), spec.types.size());
  }
  give_dataset(
      c, parallel_map_dataset(
             c.op().name(), a.dataset(),
             [wanted = std::move(wanted)](const ElementTensors& element) { return wanted.parse(element); },
             {.calls = a.integer(1), .ordered = ordered, .preserve_cardinality = true, .keeps_batches = true}, spec));
}

void run_parse(KernelContext& c) { give_parsed(c, !c.flag("sloppy")); }
void run_parse_2(KernelContext& c) { give_parsed(c, c.text("deterministic") != "false"); }

const CpuKernel parse_kernel("ParseExampleDataset", run_parse);
const CpuKernel parse_2_kernel("ParseExampleDatasetV2", run_parse_2);

}  // namespace
}  // namespace panto
