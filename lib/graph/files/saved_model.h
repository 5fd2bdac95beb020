// The signatures of a SavedModel: names and types of the inputs and outputs of its graphs.
//
//   for (const SavedModelGraph& graph : read_saved_model_signatures("model"))
//     for (const SavedModelSignature& s : graph.signatures) std::cout << s.name << '\n';   // serving_default
//
// A SavedModel's variables are a checkpoint, FOLDER/variables/variables. This library does not run its graphs.
// Thread-safety: plain functions.
#pragma once

#include <string>
#include <vector>

#include "panto/lib/base/export.h"

namespace panto {

struct SavedModelTensor {
  std::string name = "";    // the name in the signature
  std::string output = "";  // of the graph: "serving_default_x:0"; for a sparse tensor indices, values and shape
  std::string type = "";    // "float32[-1,784]"; "sparse float32[-1,10]"; for an unknown type its number
};

struct SavedModelSignature {
  std::string name = "";
  std::string method = "";                                  // "tensorflow/serving/predict"
  std::vector<SavedModelTensor> inputs = {}, outputs = {};  // by name
};

struct SavedModelGraph {
  std::vector<std::string> tags;
  std::vector<SavedModelSignature> signatures;  // by name
};

// Throws as read_file, for FOLDER/saved_model.pb; DataLoss for bytes that are not a SavedModel.
PANTO_EXPORT std::vector<SavedModelGraph> read_saved_model_signatures(const std::string& folder);

}  // namespace panto
