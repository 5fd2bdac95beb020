// Conversion of numbers to text and back.
#include <string>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/call.h"
#include "panto/lib/ops/batching.h"
#include "panto/lib/ops/strings/format.h"
#include "panto/ops/strings.h"

namespace panto {
namespace {

void as_string_shape(ShapeContext& c) {
  const DType type = c.type("T");
  const bool whole_number = type == kBool || dtypes::kInteger.contains(type);
  const bool scientific = c.flag("scientific"), shortest = c.flag("shortest");
  const std::string_view fill = c.text("fill");
  if (whole_number && c.integer("precision") > -1) {
    invalid("precision: expected -1 for {}, got {}", dtype_name(type), c.integer("precision"));
  }
  if (whole_number && (scientific || shortest)) {
    invalid("{}: expected false for {}, got true", scientific ? "scientific" : "shortest", dtype_name(type));
  }
  if (scientific && shortest) invalid("notation: expected one of scientific and shortest, got both");
  if (fill.size() > 1) invalid("fill: expected one character at most, got '{}'", fill);
  if (!fill.empty() && std::string_view(" +-0#").find(fill) == std::string_view::npos) {
    invalid("fill: expected one of ' ', '+', '-', '0' and '#', got '{}'", fill);
  }
  const auto expect_at_most = [](int64_t value, const char* name) {
    if (value > kWidestText) invalid("{}: expected at most {}, got {}", name, kWidestText, value);
  };
  expect_at_most(c.integer("width"), "width");
  expect_at_most(c.integer("precision"), "precision");
  shapes::same_as_input(c);
}

void format_shape(ShapeContext& c) {
  const size_t places = template_pieces(c.text("template"), c.text("placeholder")).size() - 1;
  if (places != static_cast<size_t>(c.num_inputs())) {
    invalid("template: expected as many placeholders as there are inputs, {}, got {}", c.num_inputs(), places);
  }
  shapes::scalar(c);
}

}  // namespace

const Op& kAsString = define_op(
    "AsString(input: T; T: numeric|bool|string|variant, precision: int = -1, scientific: bool = false, "
    "shortest: bool = false, width: int = -1, fill: string = \"\") -> (output: string)",
    {.doc = "The elements as text, as C's printf writes them: whole numbers by %d, floating ones by %f, by %e if they "
            "are `scientific`, by %g if the `shortest` of both is asked for. `precision` is the number of digits (6 "
            "where it is negative), `width` the least number of characters; `fill`, one of printf's flags, says how "
            "to get there: ' ', '0', '-' (on the right), '+' (with a sign), '#'. Complex numbers are (1.0,2.0), "
            "each part as wide; bool is true or false, whatever the width; of a string that is given a width above 0, "
            "`precision` is the number of bytes that are kept. Width and precision are at most 65536.",
     .shape = as_string_shape,
     .no_gradient = "text is not differentiable",
     .types_reason = "what a variant holds has no text",
     .batch = batching::elementwise});

const Op& kStringToNumber = define_op(
    "StringToNumber(string_tensor: string; out_type: float32|float64|int32|int64|uint32|uint64 = float32)"
    " -> (output: out_type)",
    {.doc = "The numbers that strings say in decimal digits; floating ones may be hexadecimal (0x1.8p3), inf, infinity "
            "or nan. White space around them is left out. Floating numbers beyond the type's are infinite; integers "
            "beyond it, and text that is no number, are InvalidArgument.",
     .shape = shapes::same_as_input,
     .no_gradient = "strings are not differentiable",
     .batch = batching::elementwise});

const Op& kStringFormat = define_op(
    "StringFormat(inputs: T; T: list(type) >= 0, template: string = \"%s\", placeholder: string = \"%s\", "
    "summarize: int = 3) -> (output: string)",
    {.doc = "The text `template` with the values of the inputs for its placeholders, in order. Of every dimension the "
            "first and last `summarize` elements are shown (all, if it is negative) with ... between; rows begin lines "
            "of their own. Strings are between quotes, with what is not ASCII text in C's escapes. Bool is 0 or 1; "
            "types without text, complex ones among them, are question marks, as in TensorFlow.",
     .shape = format_shape,
     .no_gradient = "text is not differentiable",
     .batch = batching::loop});

}  // namespace panto
