// The content of a signature's text as plain data, and the names that follow from an op's name. The grammar is in
// signature.h.
//
// There are two users: the library makes a Signature from it (signature.cc), and the generator of typed functions runs
// a separate program (lib/ops/print_signatures.cc) that is built before every generated header. So this code needs only
// the standard library and dtype.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "panto/lib/core/tensor/dtype.h"

namespace panto {

struct ArgSyntax {
  std::string name;
  DType dtype = DType::kInvalid;  // fixed element type, if type_attr is -1
  int type_attr = -1;             // position of the attribute of kind type or list(type)
  int number_attr = -1;           // position of the int attribute that counts the list's tensors
  bool is_list = false;
  bool host = false;
  std::string cpp_default;  // "all", an integer, or integers: "{0, 1}"; empty: none
};

// A default value: one word, or a list of words. "-3", "1e-4" as written, "true", "float32", the characters of a
// string, "?" for a shape of unknown rank; ["2", "?"].
struct ValueSyntax {
  bool is_list = false;
  std::vector<std::string> items;
};

// A term of a set of types: "real", then "|int32", then "-int8".
struct TypeTerm {
  char sign = '|';  // '-': removes these types from the set
  std::string word;
  bool is_set = false;  // not a dtype
};

struct AttrSyntax {
  std::string name;
  std::string kind;             // "int", "list(type)", ...: attr_kind_name
  std::vector<TypeTerm> types;  // for kind type: the allowed types; empty: all
  DTypeSet allowed_types = dtypes::kAny;
  std::vector<std::string> allowed_strings;
  std::optional<int64_t> minimum;
  std::optional<ValueSyntax> default_value;
  bool inferred = false;  // follows from the inputs
};

struct SignatureSyntax {
  std::string name;
  std::vector<ArgSyntax> inputs;
  std::vector<ArgSyntax> outputs;
  std::vector<AttrSyntax> attrs;

  int find_attr(std::string_view attr_name) const;  // -1 if there is none
};

// The first fault found in a text.
struct SignatureFault : std::exception {
  size_t column = 0;  // from 1
  std::string op;     // the op's name, if the text is well-formed but something that it names is invalid
  std::string expected;
  std::string got;  // empty if `expected` says it all

  const char* what() const noexcept override { return expected.c_str(); }
};

// Throws SignatureFault.
SignatureSyntax read_signature(std::string_view text);

// The text of a set of types in a signature: one word if one matches, else dtypes separated by |.
std::string type_set_text(DTypeSet set);

// ConcatV2 -> Concat.
std::string_view without_version(std::string_view op_name);
// The default C++ function name of an op: BiasAdd -> bias_add, AddV2 -> add.
std::string function_name(std::string_view op_name);

}  // namespace panto
