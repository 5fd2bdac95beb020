// Pieces of a GraphDef in text form, for nodes of ops that `text_graph` cannot write: those that are not here.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

namespace panto::test {

inline std::string attr(const std::string& name, const std::string& value) {
  return "attr { key: '" + name + "' value { " + value + " } } ";
}
inline std::string type_attr(const std::string& name, const std::string& type) { return attr(name, "type: " + type); }
inline const std::string kFloatT = type_attr("T", "DT_FLOAT");

inline std::string node(const std::string& name, const std::string& op, const std::vector<std::string>& inputs = {},
                        const std::string& attrs = "") {
  std::string text = "node { name: '" + name + "' op: '" + op + "' ";
  for (const std::string& input : inputs) text += "input: '" + input + "' ";
  return text + attrs + "} ";
}

// -1: an unknown dimension.
inline std::string dims(std::initializer_list<int> sizes) {
  std::string text;
  for (int size : sizes) text += "dim { size: " + std::to_string(size) + " } ";
  return text;
}
inline const std::string kUnknownRank = "unknown_rank: true";

inline std::string placeholder(const std::string& name, const std::string& dtype, const std::string& shape) {
  return node(name, "Placeholder", {}, type_attr("dtype", dtype) + attr("shape", "shape { " + shape + " }"));
}
// "float_val: 1 float_val: 2".
inline std::string constant(const std::string& name, const std::string& dtype, const std::string& shape,
                            const std::string& values) {
  return node(name, "Const", {},
              type_attr("dtype", dtype) +
                  attr("value", "tensor { dtype: " + dtype + " tensor_shape { " + shape + " } " + values + " }"));
}

}  // namespace panto::test
