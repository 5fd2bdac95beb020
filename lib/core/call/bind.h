// The dispatcher's front half: from what a caller wrote to inputs and attributes that fit the op's signature.
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
// Sizes `specs` and `outputs`, which are empty before, and sets the dtypes of `specs`. Attributes must be bound.
void bind_outputs(Call& call);

// True if two tensors that share a type attribute have different dtypes.
bool types_differ(const Op& op, std::span<const Tensor* const> inputs);
// Turns literals and variables into tensors and casts to common types where arguments share a type attribute.
void resolve_arguments(const Op& op, std::span<Arg* const> args, std::span<AttrSlot> attrs);
// The same where some arguments are lists; their tensors, cast, are appended to `converted`.
void resolve_list_arguments(const Op& op, std::span<TypedArg> args, std::span<AttrSlot> attrs,
                            std::vector<Tensor>& converted);
// A number (kInt, kReal or kBool) as a scalar of type `t`. Throws InvalidArgument, beginning with `what`, where it does
// not fit.
PANTO_EXPORT Tensor literal_tensor(const Arg& number, DType t, std::string_view what);
bool is_number(const Arg& a);
// The numbers among `items` as tensors of the type that `tensors`, which has one for each item, have in common.
void numbers_to_tensors(std::initializer_list<Arg> items, std::vector<Tensor>& tensors);
// A list of integers (kIntegers, kList) as a vector of type `t`, or of int64 where `t` is not int32 or too small. One
// that holds tensors is packed by an op. Throws InvalidArgument for tensors that are not integer scalars.
PANTO_EXPORT Tensor list_tensor(const Arg& list, DType t);
// Makes what is no tensor yet (a variable, a number, a list of integers, text) one: numbers and lists of type `t`.
void make_tensor_of(Arg& a, DType t, std::string_view what);

}  // namespace panto::dispatch
