// Lists of ops, to write and to read: TensorFlow's OpList, as text (.pbtxt) or as JSON.
//
//   write_file("ops.pbtxt", op_list(all_ops()));
//   for (const ListedOp& op : parse_op_list(read_file("theirs.pbtxt"))) ...
//
// An OpDef, and so a list, lacks two things: which inputs stay in host memory, and defaults of C++ arguments.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/lib/core/op/op.h"
#include "panto/lib/core/op/signature.h"

namespace panto {

enum class OpListFormat : uint8_t { kText, kJson };

PANTO_EXPORT std::string op_list(const std::vector<const Op*>& ops, OpListFormat format = OpListFormat::kText);

// The first sentence of the op's doc: the summary of an OpDef.
PANTO_EXPORT std::string op_summary(const Op& op);

struct ListedOp {
  std::string name;
  // Its sets of allowed types contain only types that this library has.
  Signature signature;
  // If not empty: why this library cannot represent the signature (an unknown type, reference arguments).
  std::string unreadable;
};

// Describes in words how the signatures differ: arguments, attributes, defaults, allowed types. Ignores what a list
// cannot express.
PANTO_EXPORT std::vector<std::string> signature_differences(const Signature& theirs, const Signature& ours);

// Reads either format, in the order of the text. Throws DataLoss for malformed lists.
PANTO_EXPORT std::vector<ListedOp> parse_op_list(std::string_view text);

}  // namespace panto
