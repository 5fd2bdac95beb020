// What the text of a signature says, as plain data, and the names that follow from an op's name. The grammar is that of
// signature.h.
//
// It has two readers. The library makes a Signature of it (signature.cc); the generator of typed functions asks a
// program of its own (lib/ops/print_signatures.cc), which is built before every generated header. So nothing here needs
// more than the standard library and dtype.h.
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

// A default as a word, or as the words of a list: "-3", "1e-4" as written, "true", "float32", the characters of a
// string, "?" for a shape of unknown rank; ["2", "?"].
struct ValueSyntax {
  bool is_list = false;
  std::vector<std::string> items;
};

// A part of a set of types: "real", then "|int32", then "-int8".
struct TypeTerm {
  char sign = '|';  // '-': these are taken away
  std::string word;
  bool is_set = false;  // not a dtype
};

struct AttrSyntax {
  std::string name;
  std::string kind;             // "int", "list(type)", ...: attr_kind_name
  std::vector<TypeTerm> types;  // of kind type: what it may be; none: all
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

// The first fault of a text.
struct SignatureFault : std::exception {
  size_t column = 0;  // from 1
  std::string op;     // its name, where the text can be read and names something that is not so
  std::string expected;
  std::string got;  // empty, where `expected` says it

  const char* what() const noexcept override { return expected.c_str(); }
};

// Throws SignatureFault.
SignatureSyntax read_signature(std::string_view text);

// A set of types as a signature writes it: one word if there is one, else dtypes with | between them.
std::string type_set_text(DTypeSet set);

// ConcatV2 -> Concat.
std::string_view without_version(std::string_view op_name);
// The name of an op's C++ function, where its block gives none: BiasAdd -> bias_add, AddV2 -> add.
std::string function_name(std::string_view op_name);

}  // namespace panto
