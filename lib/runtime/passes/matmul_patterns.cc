// Simplifies matrix products. A transposed operand becomes an attribute of the product. If only a Slice reads a
// product, just that part is computed, from parts of the operands (an example is the gradient of x in concat({data,
// x}), as in cells of recurrent networks). Sums of products may be taken in another order than by the separate ops, so
// results may differ in the last bits. A product whose inner dimension is 1, as in the gradient of a layer's weights
// from one example, becomes a Mul of columns by rows, which elementwise loops and their final reductions can take.
//
// Names ops (as objects, never as text), which few files outside op blocks may do.
#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "panto/lib/runtime/passes/rules.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"

namespace panto::passes {

namespace {

// Copying one element of an operand costs as much as this many multiplications.
constexpr double kProductsOfCopy = 32;

// A range of one dimension.
struct Range {
  int64_t begin, size;
};

class Narrower {
 public:
  explicit Narrower(PassContext& context) : context_(context), graph_(context.graph) {}

  int run() {
    for (int id : graph_.topological_order()) {
      if (graph_.find(id) == nullptr || context_.fixed(id)) continue;
      const Op& op = graph_.at(id).op();
      if (&op == &kMatMul) fold_transposes(id);
      if (&op == &kMatMul || &op == &kBatchMatMul) multiply_elementwise(id);
      if (&op == &kSlice) multiply_what_is_read(id);
    }
    return changes_;
  }

 private:
  // matmul(transpose(x), y) as matmul(x, y, transpose_a).
  void fold_transposes(int id) {
    for (const int side : {0, 1}) {
      const Node& product = graph_.at(id);
      const Node& operand = graph_.at(product.input(side).node);
      if (&operand.op() != &kTranspose || operand.device() != product.device() || !operand.control_inputs().empty()) {
        continue;
      }
      if (constant_integers(graph_, operand.input(1)) != std::vector<int64_t>{1, 0}) continue;
      const bool already = transposed(product, side);
      graph_.set_attr(id, kTransposes[side], AttrValue(!already));
      graph_.set_input(id, side, operand.input(0));
      ++changes_;
    }
  }

  // Turns a product with inner dimension 1 into a Mul, if an elementwise op or reduction reads it; on its own it is not
  // faster.
  void multiply_elementwise(int id) {
    const Node& product = graph_.at(id);
    const bool batch = &product.op() == &kBatchMatMul;
    const DType type = product.output(0).dtype;
    const PartialShape shapes[] = {graph_.info(product.input(0)).shape, graph_.info(product.input(1)).shape};
    if (!shapes[0].fully_known() || !shapes[1].fully_known() || !product.output(0).shape.fully_known() ||
        kMul.kernel(device_kind(product), type).run == nullptr) {
      return;
    }
    const bool turned[] = {transposed(product, 0), transposed(product, 1)};
    if (batch && dtypes::kComplex.contains(type) && (turned[0] || turned[1])) return;  // conjugates
    const int rank = shapes[0].rank();
    if (shapes[0].dim(rank - (turned[0] ? 2 : 1)) != 1) return;
    const bool read = std::ranges::any_of(product.consumers(), [&](const NodeUse& use) {
      const Op& op = graph_.at(use.node).op();
      return use.slot != NodeUse::kControl && (op.has(Trait::kElementwise) || reduction_name(op) != nullptr);
    });
    if (!read) return;

    NodeSpec spec = product.spec();
    spec.op = &kMul;
    spec.attrs.clear();
    set_by_name(kMul, spec.attrs, "T", AttrValue(type));
    spec.name = free_name(graph_, product.name());
    for (const int side : {0, 1}) {
      if (turned[side]) spec.inputs[static_cast<size_t>(side)] = turned_vector(product, side, shapes[side]);
    }
    take_place(graph_, id, add_inferred(graph_, std::move(spec)));
    ++changes_;
  }

  // Vectors [..., 1, n] as [..., n, 1], or the other way round: the same elements.
  NodeOutput turned_vector(const Node& product, int side, const PartialShape& shape) {
    std::vector<int64_t> dims(shape.dims().begin(), shape.dims().end());
    std::swap(dims[dims.size() - 2], dims[dims.size() - 1]);
    NodeSpec spec;
    spec.op = &kReshape;
    spec.name = free_name(graph_, product.name() + "/operand");
    spec.device = product.device();
    spec.where = product.where();
    spec.inputs = {product.input(side), add_const(graph_, product.name() + "/shape", tensor(dims), product)};
    set_by_name(kReshape, spec.attrs, "T", AttrValue(product.output(0).dtype));
    set_by_name(kReshape, spec.attrs, "Tshape", AttrValue(kInt64));
    return {add_inferred(graph_, std::move(spec)), 0};
  }

  // slice(matmul(x, y)) as matmul(slice(x), slice(y)), where that is less work.
  void multiply_what_is_read(int id) {
    const Node& slice = graph_.at(id);
    const Node& product = graph_.at(slice.input(0).node);
    if (&product.op() != &kMatMul || !has_one_reader(product) || context_.fixed(product.id()) ||
        product.device() != slice.device()) {
      return;
    }
    const PartialShape& whole = product.output(0).shape;
    const PartialShape& left = graph_.info(product.input(0)).shape;
    if (!whole.fully_known() || !left.fully_known() || !graph_.info(product.input(1)).shape.fully_known()) return;
    const std::optional<std::array<Range, 2>> read = ranges(slice, whole);
    if (!read) return;
    const auto [rows, columns] = *read;
    const int64_t depth = left.dim(transposed(product, 0) ? 0 : 1);
    double copied = 0;
    for (const int side : {0, 1}) {
      const int64_t size = (*read)[static_cast<size_t>(side)].size;
      if (size < whole.dim(side)) copied += static_cast<double>(size) * static_cast<double>(depth);
    }
    const double multiplied = static_cast<double>(rows.size) * static_cast<double>(columns.size),
                 asked = static_cast<double>(whole.dim(0)) * static_cast<double>(whole.dim(1));
    if ((asked - multiplied) * static_cast<double>(depth) <= kProductsOfCopy * copied) return;

    NodeSpec spec = product.spec();
    spec.name = free_name(graph_, slice.name());
    const auto controls = slice.control_inputs();
    spec.control_inputs.insert(spec.control_inputs.end(), controls.begin(), controls.end());
    for (const int side : {0, 1}) {
      const Range range = (*read)[static_cast<size_t>(side)];
      if (range.size == whole.dim(side)) continue;
      const int along = (side == 0) == transposed(product, side) ? 1 : 0;
      spec.inputs[static_cast<size_t>(side)] = part(slice, product.input(side), along, range);
    }
    take_place(graph_, id, add_inferred(graph_, std::move(spec)));
    ++changes_;
  }

  static bool transposed(const Node& product, int side) {
    return product.attr(&product.op() == &kBatchMatMul ? kAdjoints[side] : kTransposes[side]).as<bool>();
  }

  // The ranges of a matrix that a Slice reads; nullopt if they are unknown or out of bounds.
  std::optional<std::array<Range, 2>> ranges(const Node& slice, const PartialShape& matrix) const {
    const auto begin = constant_integers(graph_, slice.input(1)), size = constant_integers(graph_, slice.input(2));
    if (!begin || !size || begin->size() != 2 || size->size() != 2) return std::nullopt;
    std::array<Range, 2> found;
    for (const int d : {0, 1}) {
      const auto at = static_cast<size_t>(d);
      const int64_t first = (*begin)[at], all = matrix.dim(d);
      if (first < 0 || first > all) return std::nullopt;
      found[at] = {first, (*size)[at] == -1 ? all - first : (*size)[at]};
      if (found[at].size < 0 || found[at].size > all - first) return std::nullopt;
    }
    return found;
  }

  // Adds a Slice of a matrix along one dimension.
  NodeOutput part(const Node& like, NodeOutput matrix, int along, Range range) {
    const int64_t other = graph_.info(matrix).shape.dim(1 - along);
    const auto both = [&](int64_t here, int64_t there) {
      return tensor(along == 0 ? std::vector<int64_t>{here, there} : std::vector<int64_t>{there, here});
    };
    NodeSpec spec = like.spec();
    spec.control_inputs.clear();
    spec.inputs = {matrix, add_const(graph_, like.name() + "/begin", both(range.begin, 0), like),
                   add_const(graph_, like.name() + "/size", both(range.size, other), like)};
    spec.name = free_name(graph_, like.name() + "/operand");
    set_by_name(kSlice, spec.attrs, "Index", AttrValue(kInt64));
    return {add_inferred(graph_, std::move(spec)), 0};
  }

  static constexpr const char* kTransposes[] = {"transpose_a", "transpose_b"};
  static constexpr const char* kAdjoints[] = {"adj_x", "adj_y"};

  PassContext& context_;
  Graph& graph_;
  int changes_ = 0;
};

}  // namespace

int narrow_matmuls(PassContext& context) { return Narrower(context).run(); }

}  // namespace panto::passes
