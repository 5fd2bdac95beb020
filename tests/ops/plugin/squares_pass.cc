// A user's pass in a shared library, as docs/add-a-pass.md has it.
#include <panto/lib/base/export.h>
#include <panto/lib/runtime/optimizer.h>

#include <utility>

namespace {

using namespace panto;

// x^2 as x * x.
int squares_to_products(PassContext& c) {
  int changes = 0;
  for (const int id : c.graph.topological_order()) {
    const Node& node = c.graph.at(id);
    if (c.fixed(id) || node.op().name() != "Square") continue;  // lint: allow(op-names) a user's pass may
    NodeSpec product = node.spec();
    product.op = &get_op("Mul");
    product.name = c.graph.unique_name(node.name() + "_product");
    product.inputs = {node.input(0), node.input(0)};
    c.graph.replace_output({id, 0}, {c.graph.add(std::move(product)), 0});
    ++changes;
  }
  return changes;
}

}  // namespace

extern "C" PANTO_EXPORT void panto_add_passes() {
  add_pass({.name = "squares_to_products", .doc = "x^2 as x * x.", .run = squares_to_products}, "arithmetic");
}
