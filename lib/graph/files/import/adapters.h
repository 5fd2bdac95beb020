// Old ops of TensorFlow are replaced when a graph is read, by one table (adapters.cc). Internal.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/lib/core/op/attr.h"
#include "panto/lib/core/op/signature.h"
#include "panto/lib/core/tensor/tensor.h"

namespace panto {

// A node of an old op, as seen by its body function: symbolic inputs (constants have their values), and attributes by
// the old signature.
class AdapterCall {
 public:
  AdapterCall(const Signature& signature, std::span<const AttrValue> attrs, std::span<const Tensor* const> inputs)
      : signature_(signature), attrs_(attrs), inputs_(inputs) {}

  const Tensor& in(size_t i) const { return *inputs_[i]; }
  // All inputs from number `first` on.
  std::vector<Tensor> from(size_t first) const;
  template <class T>
  const T& attr(std::string_view name) const {
    return attrs_[static_cast<size_t>(signature_.find_attr(name))].as<T>();
  }
  // The integers of input i. Throws Unimplemented if they are not known when the graph is read.
  std::vector<int64_t> constant(size_t i) const;

 private:
  const Signature& signature_;
  std::span<const AttrValue> attrs_;
  std::span<const Tensor* const> inputs_;
};

struct Adapter {
  enum class Kind : uint8_t {
    kRenamed,      // `becomes` with the same inputs and attributes
    kBody,         // the ops that `body` calls
    kVariable,     // a reference variable: becomes VarHandleOp
    kOldVariable,  // the same; a scalar shape means an unknown shape
    kUpdate,       // `becomes`, with handles as its first `references` inputs; output 0 is input 0 after the update
    kAssign,       // the same, and checks the shape unless an attribute says otherwise
    kQuestion,     // the same, but the output is the op's own
    kTemporary,    // a reference to a variable that belongs to the node: becomes VarHandleOp
    kLastValue,    // the final value of such a reference
    kChoice,       // selects one of several references
    kPassed,       // `becomes`; of the first input's handle if that is a reference: then the outputs are references
  };
  std::string_view op;
  Kind kind = Kind::kRenamed;
  const char* becomes = nullptr;
  const char* signature = nullptr;  // in TensorFlow's words; null: the same as that of `becomes`
  std::vector<Tensor> (*body)(const AdapterCall&) = nullptr;
  int references = 0;

  bool makes_variable() const {
    return kind == Kind::kVariable || kind == Kind::kOldVariable || kind == Kind::kTemporary;
  }
  // The parsed `signature`; precondition: it is not null.
  const Signature& parsed() const;
};

// Null if there is none.
PANTO_EXPORT const Adapter* find_adapter(std::string_view op);

// Graphs from writers before version 22 use a scalar shape for an unknown shape of a Placeholder. The op Variable does
// so in every version.
void forgive_scalar_shape(const Signature& signature, std::vector<AttrValue>& attrs);

// TensorFlow's default for an attribute that is a tensor, which signatures here cannot express: the colour of pixels
// that are not finite, red. Undefined if there is no default.
Tensor default_tensor(std::string_view op, std::string_view attr);

}  // namespace panto
