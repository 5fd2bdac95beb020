// What older ops of TensorFlow become when a graph is read: one table (adapters.cc). Internal.
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

// A node of an old op, for its body: symbolic inputs (constants have their values), attributes by the old signature.
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
  // The integers that input i is. Throws Unimplemented where they are not known when the graph is read.
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
    kVariable,     // a reference to a variable: VarHandleOp
    kOldVariable,  // the same; a scalar shape means that it is not known
    kUpdate,       // `becomes`, of which the first `references` inputs are handles; output 0 is input 0, later
    kAssign,       // the same, that sees to the shape unless it is told otherwise
    kQuestion,     // the same, and the output is its own
    kTemporary,    // a reference to a variable of the node's: VarHandleOp
    kLastValue,    // the value of such a reference
    kChoice,       // one of several references
    kPassed,       // `becomes` of the first input's handle, if that is a reference: so are the outputs
  };
  std::string_view op;
  Kind kind = Kind::kRenamed;
  const char* becomes = nullptr;
  const char* signature = nullptr;  // in TensorFlow's words; null: that of `becomes`
  std::vector<Tensor> (*body)(const AdapterCall&) = nullptr;
  int references = 0;

  bool makes_variable() const {
    return kind == Kind::kVariable || kind == Kind::kOldVariable || kind == Kind::kTemporary;
  }
  // Of one that has it.
  const Signature& parsed() const;
};

// Null if there is none.
PANTO_EXPORT const Adapter* find_adapter(std::string_view op);

// In graphs of writers before version 22 a scalar shape of a Placeholder, and of the op Variable at any time, means
// that the shape is not known.
void forgive_scalar_shape(const Signature& signature, std::vector<AttrValue>& attrs);

// What TensorFlow takes for an attribute that is a tensor, which signatures here cannot say: the colour of pixels that
// are not finite, red. Undefined where it takes nothing.
Tensor default_tensor(std::string_view op, std::string_view attr);

}  // namespace panto
