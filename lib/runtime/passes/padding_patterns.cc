// Has a convolution pad what it reads: conv2d(pad(x), w, "VALID") becomes conv2d(x, w, "EXPLICIT"), which writes no
// padded copy. Only for a constant filter without infinity and NaN, whose products with the zeros of the padding a
// convolution that pads leaves out. Sums of products may be taken in another order than by the separate ops.
//
// Names ops (as objects, never as text), which few files outside op blocks may do.
#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "panto/lib/core/tensor/device.h"
#include "panto/lib/runtime/passes/rules.h"
#include "panto/ops/array.h"
#include "panto/ops/nn.h"

namespace panto::passes {

namespace {

// False for elements that the host cannot read.
bool is_finite(const Tensor& t) {
  if (!t.device().host_memory()) return false;
  switch (t.dtype()) {
    case DType::kFloat32: return std::ranges::all_of(t.data<float>(), [](float v) { return std::isfinite(v); });
    case DType::kFloat64: return std::ranges::all_of(t.data<double>(), [](double v) { return std::isfinite(v); });
    default: return false;
  }
}

class Padder {
 public:
  explicit Padder(PassContext& context) : context_(context), graph_(context.graph) {}

  int run() {
    int changes = 0;
    for (const int id : graph_.topological_order()) {
      if (is_convolution(graph_.at(id).op()) && !context_.fixed(id) && pads(id)) ++changes;
    }
    return changes;
  }

 private:
  // What Pad `pad` adds along the four dimensions; nullopt if it is unknown, or an error.
  std::optional<std::vector<int64_t>> added_by(const Node& pad) const {
    std::optional<std::vector<int64_t>> sizes = constant_integers(graph_, pad.input(1));
    const bool fits = sizes && sizes->size() == 8 && std::ranges::all_of(*sizes, [](int64_t n) { return n >= 0; }) &&
                      graph_.info(pad.input(0)).shape.rank() == 4;
    return fits ? sizes : std::nullopt;
  }

  bool pads(int id) {
    const Node& node = graph_.at(id);
    const Node& pad = graph_.at(node.input(0).node);
    if (&pad.op() != &kPad || pad.device() != node.device() || !has_one_reader(pad) || context_.fixed(pad.id()) ||
        !pad.control_inputs().empty()) {
      return false;
    }
    const std::string padding = node.attr("padding").as<std::string>();
    if (padding != "VALID" && padding != "EXPLICIT") return false;
    std::optional<std::vector<int64_t>> sizes = added_by(pad);
    const Tensor* filter = constant_value(graph_, node.input(1));
    if (!sizes || filter == nullptr || !is_finite(*filter)) return false;
    const size_t channels = node.attr("data_format").as<std::string>() == "NCHW" ? 1 : 3;
    for (const size_t axis : {size_t{0}, channels}) {
      if ((*sizes)[2 * axis] != 0 || (*sizes)[2 * axis + 1] != 0) return false;
    }
    if (padding == "EXPLICIT") {
      const auto own = node.attr("explicit_paddings").as<std::vector<int64_t>>();
      if (own.size() != sizes->size()) return false;
      for (size_t i = 0; i < own.size(); ++i) {
        if (__builtin_add_overflow((*sizes)[i], own[i], &(*sizes)[i])) return false;
      }
    }
    NodeSpec spec = node.spec();
    spec.name = free_name(graph_, node.name());
    spec.inputs[0] = pad.input(0);
    set_by_name(node.op(), spec.attrs, "padding", AttrValue("EXPLICIT"));
    set_by_name(node.op(), spec.attrs, "explicit_paddings", AttrValue(*std::move(sizes)));
    take_place(graph_, id, add_inferred(graph_, std::move(spec)));
    return true;
  }

  PassContext& context_;
  Graph& graph_;
};

}  // namespace

int pad_in_convolutions(PassContext& context) { return Padder(context).run(); }

}  // namespace panto::passes
