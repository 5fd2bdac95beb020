#include "panto/lib/graph/files/saved_model.h"

#include <algorithm>
#include <string_view>

#include "panto/lib/base/error.h"
#include "panto/lib/base/file.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/io/example_wire.h"
#include "panto/lib/core/tensor/print.h"
#include "panto/lib/graph/files/wire/proto_text.h"
#include "panto/lib/graph/files/wire/tensor_proto.h"

namespace panto {
namespace {

// The messages are parsed in place, because graphs of any size are between them.
using example_wire::Fields;
using example_wire::kBytes;
using example_wire::kVarint;

// SavedModel { repeated MetaGraphDef meta_graphs = 2; }
// MetaGraphDef { MetaInfoDef meta_info_def = 1; map<string, SignatureDef> signature_def = 5; }
// MetaInfoDef { repeated string tags = 4; }
// SignatureDef { map<string, TensorInfo> inputs = 1, outputs = 2; string method_name = 3; }
// TensorInfo { oneof { string name = 1; CooSparse coo_sparse = 4; CompositeTensor composite_tensor = 5; }
//              DataType dtype = 2; TensorShapeProto tensor_shape = 3; }
// CooSparse { string values = 1, indices = 2, shape = 3; }
namespace field {
constexpr uint32_t kMetaGraphs = 2;
constexpr uint32_t kMetaInfo = 1, kSignatures = 5;
constexpr uint32_t kTags = 4;
constexpr uint32_t kInputs = 1, kOutputs = 2, kMethod = 3;
constexpr uint32_t kName = 1, kDtype = 2, kShape = 3, kSparse = 4, kComposite = 5;
}  // namespace field

std::string type_of(int number, const PartialShape& shape) {
  if (number == 0) return "operation";  // the initializer of the graph has no outputs
  try {
    return type_text(dtype_from_proto(number), shape);
  } catch (const Error&) {  // a TensorFlow type that this library lacks: show its number
    return fmt::format("type {}{}", number, shape.to_string());
  }
}

// The outputs of a sparse tensor.
std::string parts_of(std::string_view message) {
  std::string parts[3];
  for (Fields part(message); part.next();) {
    if (part.wire() == kBytes && part.number() >= 1 && part.number() <= 3) parts[part.number() - 1] = part.bytes();
  }
  return fmt::format("{}, {}, {}", parts[1], parts[0], parts[2]);
}

SavedModelTensor tensor_of(std::string_view name, std::string_view message) {
  SavedModelTensor tensor{.name = std::string(name)};
  const char* form = "";
  int dtype = 0;
  graphdef::TensorShapeProto shape;
  for (Fields f(message); f.next();) {
    if (f.is(field::kName, kBytes)) tensor.output = f.bytes();
    if (f.is(field::kDtype, kVarint)) dtype = static_cast<int>(f.value());
    if (f.is(field::kShape, kBytes) && !parse_proto(f.bytes(), shape)) example_wire::malformed();
    if (f.is(field::kSparse, kBytes)) {
      form = "sparse ";
      tensor.output = parts_of(f.bytes());
    }
    if (f.is(field::kComposite, kBytes)) form = "composite ";
  }
  tensor.type = form + type_of(dtype, shape_from_proto(shape));
  return tensor;
}

// Calls entry(key, value) for an entry of a map.
template <class Entry>
void for_each_pair(const Fields& f, const Entry& entry) {
  std::string_view key = "", value = "";
  for (Fields pair(f.bytes()); pair.next();) {
    if (pair.is(1, kBytes)) key = pair.bytes();
    if (pair.is(2, kBytes)) value = pair.bytes();
  }
  entry(key, value);
}

SavedModelSignature signature_of(std::string_view name, std::string_view message) {
  SavedModelSignature signature{.name = std::string(name)};
  for (Fields f(message); f.next();) {
    if (f.is(field::kMethod, kBytes)) signature.method = f.bytes();
    if (!f.is(field::kInputs, kBytes) && !f.is(field::kOutputs, kBytes)) continue;
    auto& side = f.number() == field::kInputs ? signature.inputs : signature.outputs;
    for_each_pair(f, [&](std::string_view key, std::string_view value) { side.push_back(tensor_of(key, value)); });
  }
  std::ranges::sort(signature.inputs, {}, &SavedModelTensor::name);
  std::ranges::sort(signature.outputs, {}, &SavedModelTensor::name);
  return signature;
}

SavedModelGraph graph_of(std::string_view message) {
  SavedModelGraph graph;
  for (Fields f(message); f.next();) {
    if (f.is(field::kMetaInfo, kBytes)) {
      for (Fields info(f.bytes()); info.next();) {
        if (info.is(field::kTags, kBytes)) graph.tags.emplace_back(info.bytes());
      }
    }
    if (!f.is(field::kSignatures, kBytes)) continue;
    for_each_pair(
        f, [&](std::string_view key, std::string_view value) { graph.signatures.push_back(signature_of(key, value)); });
  }
  std::ranges::sort(graph.signatures, {}, &SavedModelSignature::name);
  return graph;
}

}  // namespace

std::vector<SavedModelGraph> read_saved_model_signatures(const std::string& folder) {
  const std::string path = folder + "/saved_model.pb";
  const std::string bytes = read_file(path);
  std::vector<SavedModelGraph> graphs;
  try {
    for (Fields f(bytes); f.next();) {
      if (f.is(field::kMetaGraphs, kBytes)) graphs.push_back(graph_of(f.bytes()));
    }
  } catch (const Error&) {
    failf(Code::kDataLoss, "SavedModel '{}': expected the bytes of a SavedModel, got others", path);
  }
  if (graphs.empty()) failf(Code::kDataLoss, "SavedModel '{}': expected a graph, got none", path);
  return graphs;
}

}  // namespace panto
