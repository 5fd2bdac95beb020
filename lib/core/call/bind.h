// The dispatcher's first half: turns the caller's arguments into inputs and attributes that fit the op's signature.
// Internal to lib/core.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "panto/lib/core/call/arg.h"
#include "panto/lib/core/call/call.h"
#include "panto/lib/core/call/dispatch.h"

namespace panto::dispatch {

// Fills in inferred and defaulted attributes and checks inputs and attributes against the signature. Throws
// InvalidArgument; Unimplemented never (kernels are looked up later).
void bind_inputs(Call& call, BindStorage& storage);
// Sizes the empty lists `specs` and `outputs` and sets the dtypes of `specs`. Attributes must be bound.
void bind_outputs(Call& call);

// True if two tensors that share a type attribute have different dtypes.
bool types_differ(const Op& op, std::span<const Tensor* const> inputs);
// Turns literals and variables into tensors and casts to common types where arguments share a type attribute.
void resolve_arguments(const Op& op, std::span<Arg* const> args, std::span<AttrSlot> attrs);
// The same for calls with list arguments. Appends the tensors of the lists, after casting, to `converted`.
void resolve_list_arguments(const Op& op, std::span<TypedArg> args, std::span<AttrSlot> attrs,
                            std::vector<Tensor>& converted);
// Converts a number (kInt, kReal or kBool) to a scalar of type `t`. Throws InvalidArgument, beginning with `what`, if
// it does not fit.
PANTO_EXPORT Tensor literal_tensor(const Arg& number, DType t, std::string_view what);
bool is_number(const Arg& a);
// Replaces the numbers among `items` by tensors of the common type of the defined tensors. `tensors` has one element
// for each item.
void numbers_to_tensors(std::initializer_list<Arg> items, std::vector<Tensor>& tensors);
// Converts a list of integers (kIntegers, kList) to a vector of type `t`; if `t` is not int32 or is too small, of
// int64. A list that holds tensors is packed by an op. Throws InvalidArgument for tensors that are not integer scalars.
PANTO_EXPORT Tensor list_tensor(const Arg& list, DType t);
// Converts a variable, a number, a list of integers or text to a tensor; numbers and lists get type `t`.
void make_tensor_of(Arg& a, DType t, std::string_view what);

}  // namespace panto::dispatch
