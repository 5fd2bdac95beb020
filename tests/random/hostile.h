// Calls that are wrong: made of signatures, of the domains of attributes and of the op table's samples, with other
// ranks, sizes, types, indices, handles and attributes than an op can take. Whatever is asked, an op answers or throws
// Error.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "panto/lib/core/op/attr.h"
#include "panto/lib/core/op/op.h"
#include "panto/lib/core/tensor/tensor.h"

namespace panto::random {

struct HostileCall {
  enum class Way : uint8_t {
    kEager,
    kSymbolic,  // some inputs have no bytes: their shapes, or less, is all that is known
    kPrepared,  // prepared for unknown shapes, then run twice
  };
  const Op* op = nullptr;
  std::vector<Tensor> inputs = {};
  std::vector<std::pair<std::string, AttrValue>> attrs = {};
  Way way = Way::kEager;

  std::string text() const;
};

// Ops that are called: all but those that tests define, and what stands for ops that are none.
const std::vector<const Op*>& hostile_ops();
// The same call for the same number, but for the handles in it, which are new.
HostileCall make_hostile_call(const Op& op, uint64_t number);
struct HostileOutcome {
  std::string wrong;      // empty, or another exception than Error, or one that says it is the library's own fault
  bool answered = false;  // it was no error at all
};
// Makes it, and reads all bytes of what it gives.
HostileOutcome try_hostile_call(const HostileCall& call);

}  // namespace panto::random
