// Pieces of a GraphDef in text form, for graphs with functions.
#pragma once

#include <string>
#include <vector>

#include "panto/tests/graph/graph_def_text.h"

namespace panto::test {

inline const std::string kInt = "type: DT_INT32 ", kFloat = "type: DT_FLOAT ";

inline std::string types_attr(const std::string& name, const std::string& types) {
  return attr(name, "list { " + types + " }");
}
inline std::string function_attr(const std::string& name, const std::string& function, const std::string& attrs = "") {
  return attr(name, "func { name: '" + function + "' " + attrs + "}");
}
// A node of a function.
inline std::string inner(const std::string& name, const std::string& op, const std::vector<std::string>& inputs,
                         const std::string& attrs) {
  return "node_def" + node(name, op, inputs, attrs).substr(4);
}
inline std::string input_arg(const std::string& name, const std::string& type) {
  return "input_arg { name: '" + name + "' " + type + " } ";
}
inline std::string output_arg(const std::string& name, const std::string& type) {
  return "output_arg { name: '" + name + "' " + type + " } ";
}
// With one output, "r".
inline std::string function(const std::string& name, const std::string& arguments, const std::string& body,
                            const std::string& result) {
  return "function { signature { name: '" + name + "' " + arguments + "} " + body + "ret { key: 'r' value: '" + result +
         "' } }\n";
}
inline std::string library(const std::string& functions) { return "library { " + functions + "}\n"; }

inline const std::string kIntToInt = input_arg("n", kInt) + output_arg("r", kInt);
inline const std::string kFloatToFloat = input_arg("x", kFloat) + output_arg("r", kFloat);
// One of `types` in, one out.
inline std::string call_attrs(const std::string& callee, const std::string& types = kInt) {
  return types_attr("Tin", types) + types_attr("Tout", types) + function_attr("f", callee);
}
inline std::string if_attrs(const std::string& then, const std::string& otherwise, const std::string& types = kInt) {
  return type_attr("Tcond", "DT_BOOL") + types_attr("Tin", types) + types_attr("Tout", types) +
         function_attr("then_branch", then) + function_attr("else_branch", otherwise);
}
inline std::string while_attrs(const std::string& condition, const std::string& body, const std::string& types) {
  return types_attr("T", types) + function_attr("cond", condition) + function_attr("body", body);
}

inline const std::string kIntT = type_attr("T", "DT_INT32");
inline const std::string kOne = "node_def" + constant("one", "DT_INT32", "", "int_val: 1").substr(4);

// y = n!
inline std::string factorial() {
  return placeholder("n", "DT_INT32", kUnknownRank) + node("y", "PartitionedCall", {"n"}, call_attrs("factorial")) +
         library(function("factorial", kIntToInt,
                          kOne + inner("less", "Less", {"n", "one:output:0"}, kIntT) +
                              inner("choice", "StatelessIf", {"less:z:0", "n"}, if_attrs("end", "further")),
                          "choice:output:0") +
                 function("end", kIntToInt, kOne, "one:output:0") +
                 function("further", kIntToInt,
                          kOne + inner("less", "Sub", {"n", "one:output:0"}, kIntT) +
                              inner("rest", "PartitionedCall", {"less:z:0"}, call_attrs("factorial")) +
                              inner("product", "Mul", {"n", "rest:output:0"}, kIntT),
                          "product:z:0"));
}

// With `nodes`: a function "square", x * x, of which the library says that its gradient is 10 dy: not what it is, so
// that one sees who made it. Placeholders x and dy.
inline std::string with_own_gradient(const std::string& nodes) {
  return placeholder("x", "DT_FLOAT", kUnknownRank) + placeholder("dy", "DT_FLOAT", kUnknownRank) + nodes +
         library(function("square", kFloatToFloat, inner("p", "Mul", {"x", "x"}, kFloatT), "p:z:0") +
                 function("ten_times", input_arg("x", kFloat) + input_arg("dy", kFloat) + output_arg("r", kFloat),
                          "node_def" + constant("ten", "DT_FLOAT", "", "float_val: 10").substr(4) +
                              inner("p", "Mul", {"dy", "ten:output:0"}, kFloatT),
                          "p:z:0") +
                 "gradient { function_name: 'square' gradient_func: 'ten_times' } ");
}

}  // namespace panto::test
