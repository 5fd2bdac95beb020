// Ops on characters of strings: length, substrings, case.
#include <algorithm>
#include <string>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/call.h"
#include "panto/lib/ops/batching.h"
#include "panto/ops/strings.h"

namespace panto {
namespace {

void case_shape(ShapeContext& c) {
  const std::string_view encoding = c.text("encoding");
  if (!encoding.empty() && encoding != "utf-8") invalid("encoding: expected utf-8 or none, got '{}'", encoding);
  shapes::same_as_input(c);
}

void substr_shape(ShapeContext& c) {
  const PartialShape &pos = c.shape(1), &len = c.shape(2);
  if (!pos.compatible_with(len)) {
    invalid("len: expected the shape {} of pos, got {}", whole(pos.to_string()), whole(len.to_string()));
  }
  c.output(c.broadcast(0, pos.known_rank() ? 1 : 2));
}

// `input` and the positions may differ in rank; `pos` and `len` have the same shape.
void substr_batch(BatchContext& c) {
  if (c.batched(1) != c.batched(2)) return c.loop();
  const int rank = std::max(c.rank(0), c.rank(1));
  if (std::min(c.rank(0), c.rank(1)) < 0) return c.loop();
  const auto aligned = [&](int i) { return c.batched(i) ? c.with_rank(i, rank) : c.in(i); };
  c.set_out(0, substr(aligned(0), aligned(1), aligned(2), {.unit = std::string(c.text("unit"))}));
}

void split_shape(ShapeContext& c) {
  c.vector(0);
  c.expect_scalar(1);
  c.output(0, PartialShape{kUnknownDim, 2});
  c.output(1, PartialShape{kUnknownDim});
  c.output(2, PartialShape{2});
}

}  // namespace

const Op& kStringLength =
    define_op("StringLength(input: string; unit: {\"BYTE\", \"UTF8_CHAR\"} = \"BYTE\") -> (output: int32)",
              {.doc = "How many bytes each string has, or characters: bytes that do not continue one of UTF-8.",
               .shape = shapes::same_as_input,
               .no_gradient = "strings are not differentiable",
               .batch = batching::elementwise});

const Op& kStringLower = define_op(
    "StringLower(input: string; encoding: string = \"\") -> (output: string)",
    {.doc = "The strings with small letters for capital ones: those of ASCII, and bytes that are none stay. Where "
            "`encoding` is utf-8, all that Unicode knows, whatever the locale, in context (a final sigma); bytes that "
            "are no UTF-8 become U+FFFD, and strings have at most 228 MiB.",
     .shape = case_shape,
     .no_gradient = "strings are not differentiable",
     .batch = batching::elementwise});

const Op& kStringUpper = define_op(
    "StringUpper(input: string; encoding: string = \"\") -> (output: string)",
    {.doc = "The strings with capital letters for small ones: those of ASCII, and bytes that are none stay. Where "
            "`encoding` is utf-8, all that Unicode knows, whatever the locale (one may become two, SS); bytes that "
            "are no UTF-8 become U+FFFD, and strings have at most 228 MiB.",
     .shape = case_shape,
     .no_gradient = "strings are not differentiable",
     .batch = batching::elementwise});

const Op& kStringStrip =
    define_op("StringStrip(input: string) -> (output: string)",
              {.doc = "The strings without white space (that of ASCII) at their beginnings and ends.",
               .shape = shapes::same_as_input,
               .no_gradient = "strings are not differentiable",
               .batch = batching::elementwise});

const Op& kSubstr = define_op(
    "Substr(input: string, pos: T, len: T; T: index, unit: {\"BYTE\", \"UTF8_CHAR\"} = \"BYTE\") -> (output: string)",
    {.doc = "Of each string `len` bytes, or characters of UTF-8, from number `pos` on, or as many as there are. A "
            "negative `pos` counts from the end; beyond either end is InvalidArgument. A negative `len` is all of the "
            "bytes and none of the characters, as in TensorFlow. `pos` and `len` have one shape, which broadcasts with "
            "that of the strings.",
     .shape = substr_shape,
     .no_gradient = "strings are not differentiable",
     .batch = substr_batch});

const Op& kStringSplitV2 = define_op(
    "StringSplitV2(input: string, sep: string; maxsplit: int = -1) -> (indices: int64, values: string, shape: int64)",
    {.doc = "The pieces of a vector's strings between one `sep` and the next, as a sparse matrix: for each piece its "
            "row (the string's number) and column in `indices`, the pieces, and the matrix's shape. Without a `sep` "
            "the pieces are between white space, and none is empty. After `maxsplit` pieces the rest is one; negative: "
            "all are split.",
     .traits = {Trait::kSelfAllocating},
     .shape = split_shape,
     .no_gradient = "strings are not differentiable",
     .batch = batching::loop});

const Op& kStringSplit = define_op(
    "StringSplit(input: string, delimiter: string; skip_empty: bool = true)"
    " -> (indices: int64, values: string, shape: int64)",
    {.doc = "StringSplitV2 of the first version: each byte of `delimiter` ends a piece; without one each byte is a "
            "piece. Empty pieces are left out unless `skip_empty` is false; an empty string has none.",
     .cpp = "string_split_v1",
     .traits = {Trait::kSelfAllocating},
     .shape = split_shape,
     .no_gradient = "strings are not differentiable",
     .batch = batching::loop});

const Op& kEncodeBase64 = define_op(
    "EncodeBase64(input: string; pad: bool = false) -> (output: string)",
    {.doc = "The bytes of strings in the alphabet of RFC 4648 that is safe in names of files and addresses (with - and "
            "_), 6 bits in each letter. With `pad`, = at the end makes it a multiple of 4.",
     .shape = shapes::same_as_input,
     .no_gradient = "strings are not differentiable",
     .batch = batching::elementwise});

const Op& kDecodeBase64 = define_op(
    "DecodeBase64(input: string) -> (output: string)",
    {.doc = "What EncodeBase64 was given, with padding or without. Other letters are InvalidArgument, and lengths that "
            "are a multiple of 4 and 1.",
     .shape = shapes::same_as_input,
     .no_gradient = "strings are not differentiable",
     .batch = batching::elementwise});

}  // namespace panto
