// The parsed form of a signature, whose text form in an op block is:
//
//   "MatMul(a: T, b: T; transpose_a: bool = false, transpose_b: bool = false, T: numeric) -> (product: T)"
//
//   signature := NAME "(" [args] [";" attrs] ")" "->" "(" [args] ")"
//   arg       := name ":" [ N "*" ] ( dtype | attr ) [ "@host" ] [ "=" default ]
//                  N an int attribute (a list of N tensors); an attr of kind list(type) is a list with a type each;
//                  @host: the value shapes the output, it stays in host memory;
//                  the default is for the C++ function only: an integer, "{...}" of integers, or "all" (all axes)
//   attr      := name ":" ( kind | typeset | "{" "text", ... "}" ) [ ">=" integer ] [ "=" default ]
//   kind      := int | float | bool | string | shape | tensor | func | type | list(int) | list(type) | ...
//   typeset   := word { ("|" | "-") word }; a word is a dtype or one of any plain numeric real floating integer
//                signed index complex quantized; an attribute with a typeset is of kind type
//
// Names and order are those of TensorFlow's OpDef, so that GraphDef import and export need only this text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/lib/core/op/attr.h"
#include "panto/lib/core/tensor/dtype.h"

namespace panto {

struct ArgDef {
  std::string name;
  DType dtype = DType::kInvalid;  // fixed element type, if type_attr and type_list_attr are -1
  int type_attr = -1;             // position of the type attribute
  int number_attr = -1;           // position of the int attribute that counts the list's tensors
  int type_list_attr = -1;        // position of the list(type) attribute
  bool host = false;
  std::string cpp_default;
  bool is_list() const { return number_attr >= 0 || type_list_attr >= 0; }
};

struct AttrDef {
  std::string name;
  AttrKind kind = AttrKind::kNone;
  AttrValue default_value;  // kind kNone: required
  AttrSlot default_slot;    // borrows from default_value; set when the op is linked
  DTypeSet allowed_types = dtypes::kAny;
  std::vector<std::string> allowed_strings;
  bool has_minimum = false;
  int64_t minimum = 0;
  bool inferred = false;  // follows from the inputs: not an argument of the C++ function
  bool has_default() const { return default_value.kind() != AttrKind::kNone; }
};

struct PANTO_EXPORT Signature {
  std::string name;
  std::vector<ArgDef> inputs;
  std::vector<ArgDef> outputs;
  std::vector<AttrDef> attrs;
  std::vector<uint32_t> attr_hashes;  // hashes of the attribute names, side by side because calls search them
  bool has_input_lists = false;
  bool has_output_lists = false;
  // Position of the type attribute that is the dtype of every input and output, if none of them is a list and all other
  // attributes are flags with defaults; otherwise -1.
  int one_type = -1;

  int find_attr(std::string_view name) const;  // -1 if there is none
  // One line in the text form above.
  std::string to_string() const;
};

// Throws InvalidArgument with the column of the first fault.
PANTO_EXPORT Signature parse_signature(std::string_view text);

}  // namespace panto
