// What the graphs of a SavedModel's folder are called with, and what they give.
//
//   for (const SavedModelGraph& graph : read_saved_model_signatures("model"))
//     for (const SavedModelSignature& s : graph.signatures) std::cout << s.name << '\n';   // serving_default
//
// Its variables are a checkpoint, FOLDER/variables/variables. Its graphs are not run by this library.
// Thread-safety: plain functions.
#pragma once

#include <string>
#include <vector>

#include "panto/lib/base/export.h"

namespace panto {

struct SavedModelTensor {
  std::string name = "";    // by which a signature's callers know it
  std::string output = "";  // of the graph: "serving_default_x:0"; of a sparse one those of indices, values and shape
  std::string type = "";    // "float32[-1,784]"; "sparse float32[-1,10]"; of a type that is not known here its number
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

// Throws as read_file, for FOLDER/saved_model.pb; DataLoss for bytes that are no SavedModel.
PANTO_EXPORT std::vector<SavedModelGraph> read_saved_model_signatures(const std::string& folder);

}  // namespace panto
