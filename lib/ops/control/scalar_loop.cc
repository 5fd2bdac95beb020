#include "panto/lib/ops/control/scalar_loop.h"

#include <algorithm>

#include "panto/lib/base/text/format.h"
#include "panto/lib/ops/batching.h"
#include "panto/ops/control.h"

namespace panto {

namespace {

std::vector<int> values_of(std::span<const int64_t> given, const ElementwiseProgram& program, std::string_view what) {
  std::vector<int> values;
  for (const int64_t value : given) {
    if (value < 0 || value >= program.num_values()) {
      invalid("{}: expected values in [0, {}), got {}", what, program.num_values(), value);
    }
    values.push_back(static_cast<int>(value));
  }
  return values;
}

// `count` of the shapes from `next` on; scalars where none are given.
std::vector<Shape> shapes_of(std::span<const PartialShape> given, size_t& next, size_t count) {
  if (given.empty()) return std::vector<Shape>(count);
  std::vector<Shape> shapes;
  for (const PartialShape& shape : given.subspan(next, count)) {
    if (!shape.fully_known() || shape.numel() != 1) invalid("shapes: expected one element, got {}", shape.to_string());
    shapes.emplace_back(shape);
  }
  next += count;
  return shapes;
}

}  // namespace

ScalarRound parse_scalar_round(const CallView& call) {
  ScalarRound loop;
  loop.program = parse_elementwise_program(call);
  loop.carried = values_of(call.integers("carried"), loop.program, "carried");
  loop.pushed = values_of(call.integers("pushed"), loop.program, "pushed");
  const std::span<const DType> types = call.types("T");
  const std::vector<DType>& inputs = loop.program.inputs;
  const auto read = static_cast<size_t>(call.integer("num_read"));
  const auto written = static_cast<size_t>(call.integer("num_written"));
  if (inputs.size() != types.size() + read || !std::ranges::equal(types, std::span(inputs).first(types.size()))) {
    invalid("Tin: expected the {} types of T, and one for each of {} lists, got others", types.size(), read);
  }
  if (loop.program.outputs.size() != 1 || loop.program.type_of(loop.program.outputs[0]) != kBool) {
    invalid("outputs: expected one of type bool, got {} of type {}", loop.program.outputs.size(),
            dtype_name(call.types("Tout")[0]));
  }
  if (loop.carried.size() != types.size()) {
    invalid("carried: expected {}, one for each of T, got {}", types.size(), loop.carried.size());
  }
  if (loop.pushed.size() != written) {
    invalid("pushed: expected {}, one for each list, got {}", written, loop.pushed.size());
  }
  const std::span<const PartialShape> shapes = call.shapes("shapes");
  if (!shapes.empty() && shapes.size() != types.size() + read + written) {
    invalid("shapes: expected none, or one for each of {} values and {} lists, got {}", types.size(), read + written,
            shapes.size());
  }
  size_t next_shape = 0;
  loop.shapes = shapes_of(shapes, next_shape, types.size());
  loop.read_shapes = shapes_of(shapes, next_shape, read);
  loop.pushed_shapes = shapes_of(shapes, next_shape, written);
  for (size_t i = 0; i < types.size(); ++i) {
    if (const DType next = loop.program.type_of(loop.carried[i]); next != types[i]) {
      invalid("carried[{}]: expected {}, got {}", i, dtype_name(types[i]), dtype_name(next));
    }
  }
  return loop;
}

const Op& kScalarLoop = define_op(
    "_ScalarLoop(values: T, read: num_read*variant, written: num_written*variant; T: list(type) >= 1,"
    " num_read: int >= 0, num_written: int >= 0, Tin: list(type) >= 1, Tout: list(type) >= 1, ops: list(string),"
    " types: list(type), operands: list(int), outputs: list(int), carried: list(int), pushed: list(int),"
    " shapes: list(shape) = []) ->"
    " (results: T, read_left: num_read*variant, written_more: num_written*variant, rounds: int64, more: bool)",
    {.doc =
         "Rounds of a loop whose values have one element each, until a round says that it was the last. A round is a "
         "program of elementwise ops (see _FusedElementwise) of `values` and of the last element of each list in "
         "`read`, "
         "which is taken away. Value i goes on as value `carried`[i] of the program, list i in `written` gets "
         "value `pushed`[i], and output 0 says whether there is another round. It stops, with `more` true, before a "
         "round that fails, or for which a list has no element or no room, or where the call is to stop; after "
         "`rounds` of them. `shapes` are those of the values, then of elements of `read`, then of those that `written` "
         "gets; without them all are scalars. Made when a loop runs; the results are those of its ops, bit by bit.",
     .cpp = "scalar_loop",
     .traits = {Trait::kSelfAllocating},
     .shape =
         [](ShapeContext& c) {
           const ScalarRound loop = parse_scalar_round(c);
           for (int i = loop.num_values(); i < c.num_inputs(); ++i) c.expect_scalar(i);
           for (int k = 0; k < c.num_outputs(); ++k) {
             if (k >= loop.num_values()) {
               c.output(k, Shape{});
               continue;
             }
             const Shape& shape = loop.shapes[static_cast<size_t>(k)];
             if (!c.shape(k).compatible_with(shape)) {
               invalid("shape of values[{}]: expected {}, got {}", k, shape.to_string(), c.shape(k).to_string());
             }
             c.output(k, shape);
           }
         },
     .no_gradient = "it is made when a loop runs, after gradients were taken",
     .batch = batching::loop});

}  // namespace panto
