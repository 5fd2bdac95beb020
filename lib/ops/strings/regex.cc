// Regular expressions in RE2's syntax, which match in time linear in the text.
#include "panto/lib/core/call/call.h"
#include "panto/lib/ops/batching.h"
#include "panto/ops/strings.h"

namespace panto {
namespace {

void scalars_beside(ShapeContext& c) {
  for (int i = 1; i < c.num_inputs(); ++i) c.expect_scalar(i);
  shapes::same_as_input(c);
}

}  // namespace

const Op& kStaticRegexFullMatch = define_op(
    "StaticRegexFullMatch(input: string; pattern: string) -> (output: bool)",
    {.doc = "Which strings match `pattern` from beginning to end. Patterns are RE2's, of UTF-8; one that is none, "
            "that would take more than RE2's 8 MiB, or that has more than 1 MiB or 1,000 named classes (\\pL), is "
            "InvalidArgument.",
     .shape = shapes::same_as_input,
     .no_gradient = "strings are not differentiable",
     .batch = batching::elementwise});

const Op& kRegexFullMatch = define_op("RegexFullMatch(input: string, pattern: string) -> (output: bool)",
                                      {.doc = "StaticRegexFullMatch with a pattern that is a tensor, a scalar.",
                                       .shape = scalars_beside,
                                       .no_gradient = "strings are not differentiable",
                                       .batch = [](BatchContext& c) {
                                         if (c.batched(1)) return c.loop();
                                         c.set_out(0, regex_full_match(c.in(0), c.in(1)));
                                       }});

const Op& kStaticRegexReplace = define_op(
    "StaticRegexReplace(input: string; pattern: string, rewrite: string, replace_global: bool = true)"
    " -> (output: string)",
    {.doc =
         "The strings with `rewrite` for what matches `pattern`: every time, or (without `replace_global`) the first "
         "one. In `rewrite`, \\0 is what matched, \\1 to \\9 the groups in parentheses, \\\\ a backslash. Where it "
         "names more groups than there are, strings stay; other escapes are RE2's: nothing is put there, or, of "
         "the first match only, the string stays. Patterns as for StaticRegexFullMatch.",
     .shape = shapes::same_as_input,
     .no_gradient = "strings are not differentiable",
     .batch = batching::elementwise});

const Op& kRegexReplace = define_op(
    "RegexReplace(input: string, pattern: string, rewrite: string; replace_global: bool = true) -> (output: string)",
    {.doc = "StaticRegexReplace with a pattern and a rewrite that are tensors, scalars.",
     .shape = scalars_beside,
     .no_gradient = "strings are not differentiable",
     .batch = [](BatchContext& c) {
       if (c.batched(1) || c.batched(2)) return c.loop();
       c.set_out(0, regex_replace(c.in(0), c.in(1), c.in(2), {.replace_global = c.flag("replace_global")}));
     }});

}  // namespace panto
