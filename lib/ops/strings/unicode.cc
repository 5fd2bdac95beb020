// Conversion between text encodings and code points.
#include "panto/lib/base/checked.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/call.h"
#include "panto/lib/core/op/op.h"
#include "panto/lib/ops/batching.h"

namespace panto {
namespace {

constexpr const char* kText = "text is not differentiable";

void expect_character(const ShapeContext& c) {
  constexpr int64_t kLast = 0x10FFFF;
  const int64_t replacement = c.integer("replacement_char");
  if (replacement < 0 || replacement > kLast) {
    invalid("replacement_char: expected 0 to {}, got {}", kLast, replacement);
  }
}

void decode_shape(ShapeContext& c) {
  expect_character(c);
  const int64_t count = c.shape(0).numel();
  c.output(0, PartialShape{count < 0 ? kUnknownDim : checked_add(count, 1)});
  for (int k = 1; k < c.num_outputs(); ++k) c.output(k, PartialShape{kUnknownDim});
}

}  // namespace

const Op& kUnicodeTranscode = define_op(
    "UnicodeTranscode(input: string; input_encoding: string, output_encoding: {\"UTF-8\", \"UTF-16-BE\", "
    "\"UTF-32-BE\"}, errors: {\"strict\", \"replace\", \"ignore\"} = \"replace\", replacement_char: int = 65533, "
    "replace_control_characters: bool = false) -> (output: string)",
    {.doc =
         "The strings in another encoding. `input_encoding` is one that ICU knows; others are InvalidArgument. Where "
         "bytes are none of it, that is InvalidArgument with `errors` strict, or they become `replacement_char`, or "
         "nothing with ignore. With `replace_control_characters` so are characters up to U+001F.",
     .shape =
         [](ShapeContext& c) {
           expect_character(c);
           shapes::same_as_input(c);
         },
     .no_gradient = kText,
     .batch = batching::elementwise});

const Op& kUnicodeDecode = define_op(
    "UnicodeDecode(input: string; input_encoding: string, errors: {\"strict\", \"replace\", \"ignore\"} = \"replace\", "
    "replacement_char: int = 65533, replace_control_characters: bool = false, Tsplits: int32|int64 = int64)"
    " -> (row_splits: Tsplits, char_values: int32)",
    {.doc =
         "The numbers of the strings' characters, one string after the other in `char_values`: those of string i are "
         "from row_splits[i] to row_splits[i + 1]. `input_encoding` is one that ICU knows; others are "
         "InvalidArgument. Where bytes are none of it, that is InvalidArgument with `errors` strict, or they become "
         "`replacement_char`, or nothing with ignore. With `replace_control_characters` characters up to U+001F are "
         "replaced, or left out, too.",
     .traits = {Trait::kSelfAllocating},
     .shape = decode_shape,
     .no_gradient = kText,
     .batch = batching::loop});

const Op& kUnicodeDecodeWithOffsets = define_op(
    "UnicodeDecodeWithOffsets(input: string; input_encoding: string, errors: {\"strict\", \"replace\", \"ignore\"} = "
    "\"replace\", replacement_char: int = 65533, replace_control_characters: bool = false, Tsplits: int32|int64 = "
    "int64) -> (row_splits: Tsplits, char_values: int32, char_to_byte_starts: int64)",
    {.doc = "UnicodeDecode, and for each character the byte of its string where it begins.",
     .traits = {Trait::kSelfAllocating},
     .shape = decode_shape,
     .no_gradient = kText,
     .batch = batching::loop});

const Op& kUnicodeEncode = define_op(
    "UnicodeEncode(input_values: int32, input_splits: Tsplits; errors: {\"ignore\", \"replace\", \"strict\"} = "
    "\"replace\", output_encoding: {\"UTF-8\", \"UTF-16-BE\", \"UTF-32-BE\"}, replacement_char: int = 65533, Tsplits: "
    "int32|int64 = int64) -> (output: string)",
    {.doc = "Strings of the characters with these numbers: string i has those from input_splits[i] to input_splits[i + "
            "1]. What is no character, surrogates included, is InvalidArgument with `errors` strict, or becomes "
            "`replacement_char`, or nothing with ignore.",
     .shape =
         [](ShapeContext& c) {
           expect_character(c);
           c.vector(0);
           const int64_t splits = c.vector(1);
           if (splits == 0) invalid("input_splits: expected at least one, got none");
           c.output(PartialShape{splits < 0 ? kUnknownDim : splits - 1});
         },
     .no_gradient = kText,
     .batch = batching::loop});

const Op& kUnicodeScript =
    define_op("UnicodeScript(input: int32) -> (output: int32)",
              {.doc = "The scripts that characters with these numbers belong to, by ICU's numbers (UScriptCode: 25 is "
                      "Latin, 17 Han); -1 of what is no character.",
               .shape = shapes::same_as_input,
               .no_gradient = kText,
               .batch = batching::elementwise});

}  // namespace panto
