// Lists of ops for others to read, and those that others write: TensorFlow's OpList, as text (.pbtxt) or as JSON.
//
//   write_file("ops.pbtxt", op_list(all_ops()));
//   for (const ListedOp& op : parse_op_list(read_file("theirs.pbtxt"))) ...
//
// What an OpDef has no room for is not in a list: which inputs stay in host memory, and defaults of C++ arguments.
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

// The first sentence of its doc: an OpDef's summary.
PANTO_EXPORT std::string op_summary(const Op& op);

struct ListedOp {
  std::string name;
  // Of allowed types, those that this library has.
  Signature signature;
  // Not empty: why the signature is none of this library's (a type that it does not have, reference arguments).
  std::string unreadable;
};

// In words what `theirs` has that `ours` has not, or otherwise: arguments, attributes, defaults, types allowed. In
// lists that others wrote, what lists have no room for does not count.
PANTO_EXPORT std::vector<std::string> signature_differences(const Signature& theirs, const Signature& ours);

// Either format, in the order of the text. Throws DataLoss for what is no list of ops.
PANTO_EXPORT std::vector<ListedOp> parse_op_list(std::string_view text);

}  // namespace panto
