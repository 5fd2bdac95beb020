// Ops that convert between data formats: dimension numbers, and vectors with one entry per dimension.
#include <string_view>
#include <vector>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/call.h"
#include "panto/lib/core/op/op.h"
#include "panto/lib/ops/array/values.h"
#include "panto/lib/ops/batching.h"
#include "panto/lib/ops/operators.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"
#include "panto/ops/nn.h"

namespace panto {
namespace {

// Two formats of 4 or 5 letters, one a permutation of the other.
struct Formats {
  std::string_view from, to;
  explicit Formats(const CallView& c) : from(c.text("src_format")), to(c.text("dst_format")) {
    if (from.size() != 4 && from.size() != 5) invalid("src_format: expected 4 or 5 letters, got {}", from);
    bool same = from.size() == to.size();
    for (const char letter : from) same = same && count(from, letter) == 1 && count(to, letter) == 1;
    if (!same) invalid("dst_format: expected the letters of {} in some order, got {}", from, to);
  }
  static int64_t count(std::string_view text, char letter) {
    int64_t n = 0;
    for (const char c : text) n += c == letter ? 1 : 0;
    return n;
  }
};

// For each letter of `to`, in order, its position in `from`.
std::vector<int64_t> places(std::string_view to, std::string_view from) {
  std::vector<int64_t> result;
  for (const char letter : to) result.push_back(static_cast<int64_t>(from.find(letter)));
  return result;
}

void map_shape(ShapeContext& c) {
  const Formats formats(c);
  c.output(c.shape(0));
}

void permute_shape(ShapeContext& c) {
  const Formats formats(c);
  const int rank = c.rank(0);
  if (rank >= 0 && rank != 1 && rank != 2) invalid("x: expected rank 1 or 2, got shape {}", c.shape(0).to_string());
  const auto all = static_cast<int64_t>(formats.from.size());
  const int64_t n = rank < 0 ? kUnknownDim : c.dim(0, 0);
  if (n >= 0 && n != all && n != all - 2) {
    invalid("x: expected {} or {} rows, as many as dimensions or spatial ones, got {}", all, all - 2, n);
  }
  if (rank == 2) c.expect_equal(2, c.dim(0, 1), "dimension 1 of x");
  c.output(c.shape(0));
}

}  // namespace

const Op& kDataFormatDimMap = define_op(
    "DataFormatDimMap(x: T; T: index = int32, src_format: string = \"NHWC\", dst_format: string = \"NCHW\") -> (y: T)",
    {.doc =
         "The numbers that dimensions `x` of something in `src_format` have in `dst_format`. Negative ones count from "
         "the end.",
     .shape = map_shape,
     .body =
         [](CompositeContext& c) {
           const Formats formats(c);
           std::vector<int64_t> map = places(formats.from, formats.to);
           const auto n = static_cast<int64_t>(map.size());
           for (int64_t i = 0; i < n; ++i) map.push_back(map[static_cast<size_t>(i)]);
           const DType type = c.in(0).dtype();
           c.set_out(0, gather(cast(constant_integers(map), type), c.in(0) + cast(n, type), 0));
         },
     .in_tensorflow = true});

const Op& kDataFormatVecPermute = define_op(
    "DataFormatVecPermute(x: T; T: index = int32, src_format: string = \"NHWC\", dst_format: string = \"NCHW\")"
    " -> (y: T)",
    {.doc = "The rows of vector or matrix `x`, one for each dimension of something in `src_format` or for each spatial "
            "one, in the order of `dst_format`.",
     .shape = permute_shape,
     .no_gradient = "integers are not differentiable",
     .batch = batching::loop});

}  // namespace panto
