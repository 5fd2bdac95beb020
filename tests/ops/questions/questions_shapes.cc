// Does the shape function say the same of META tensors as the kernel does of real ones, however little it is told?
#include <fmt/format.h>

#include "panto/lib/core/call/dispatch.h"
#include "panto/tests/ops/questions/questions.h"

namespace panto::test {
namespace {

PartialShape without_dim(const Shape& shape, int dim) {
  std::vector<int64_t> dims(shape.dims().begin(), shape.dims().end());
  dims[static_cast<size_t>(dim)] = kUnknownDim;
  return PartialShape(std::span<const int64_t>(dims));
}

struct Inference {
  const Bound& bound;
  const std::vector<Tensor>& real;  // the outputs

  // Infers from `inputs`; what is known must be true, and all must be where `exact`.
  void check(const std::vector<Tensor>& inputs, const std::string& what, bool exact = false) const {
    std::vector<Tensor> got;
    try {
      got = bound.call(inputs);
    } catch (const Error& error) {
      return complain(bound, what + ": " + error.what());
    }
    if (got.size() != real.size()) {
      return complain(bound, fmt::format("{}: expected {} outputs, got {}", what, real.size(), got.size()));
    }
    for (size_t k = 0; k < got.size(); ++k) check_output(got[k], real[k], fmt::format("{}: output {}", what, k), exact);
  }

 private:
  void check_output(const Tensor& got, const Tensor& actual, const std::string& what, bool exact) const {
    const PartialShape& inferred = got.partial_shape();
    if (exact && !got.is_meta()) complain(bound, what + " is not symbolic");
    if (got.dtype() != actual.dtype()) {
      complain(bound, fmt::format("{} is {}, really {}", what, dtype_name(got.dtype()), dtype_name(actual.dtype())));
    }
    if (exact ? !(inferred == actual.partial_shape()) : !inferred.compatible_with(actual.partial_shape())) {
      complain(bound,
               fmt::format("{} has shape {}, really {}", what, inferred.to_string(), actual.shape().to_string()));
    }
    // Integer values that inference claims to know must be the real ones.
    const auto claimed = known_integers(got);
    const auto values = claimed ? known_integers(actual) : std::nullopt;
    if (!values) return;
    if (claimed->size() != values->size()) return complain(bound, what + " has another number of known values");
    for (size_t i = 0; i < values->size(); ++i) {
      if (!(*claimed)[i] || (*claimed)[i] == (*values)[i]) continue;
      complain(bound, fmt::format("{} has value {} = {}, really {}", what, i, *(*claimed)[i], *(*values)[i]));
    }
  }
};

}  // namespace

void ask_inference(const Row& row) {
  const Op& op = row.op();
  for_each_sample(row, [&](const Sample& sample, const Bound& b) {
    std::vector<Tensor> real;
    try {
      real = b.call();
    } catch (const Error& error) {
      return complain(b, error.what());
    }
    if (b.in.empty()) return;
    const std::vector<int> args = argument_of_inputs(op, b.in.size(), sample.attrs);
    auto is_host = [&](size_t i) { return args[i] >= 0 && op.signature().inputs[static_cast<size_t>(args[i])].host; };
    auto symbolic = [](const Tensor& t, const PartialShape& shape) { return meta_tensor(t.dtype(), shape); };

    // All shapes known; inputs whose values size the output have them.
    std::vector<Tensor> known;
    std::vector<Tensor> rankless;
    bool any_symbolic = false;
    for (size_t i = 0; i < b.in.size(); ++i) {
      known.push_back(is_host(i) ? b.in[i] : symbolic(b.in[i], b.in[i].partial_shape()));
      rankless.push_back(symbolic(b.in[i], PartialShape()));
      any_symbolic = any_symbolic || !is_host(i);
    }
    const Inference inference{b, real};
    if (any_symbolic) inference.check(known, "known shapes", !row.d.data_dependent_shape);
    inference.check(rankless, "unknown ranks");
    for (size_t i = 0; i < b.in.size(); ++i) {
      std::vector<Tensor> inputs = known;
      if (is_host(i)) {
        // Only the values are unknown; then some of them.
        inputs[i] = symbolic(b.in[i], b.in[i].partial_shape());
        inference.check(inputs, fmt::format("unknown values of input {}", i));
        if (const auto values = known_integers(b.in[i])) {
          inputs[i] = meta_tensor(b.in[i].dtype(), b.in[i].partial_shape(), values);
          inference.check(inputs, fmt::format("symbolic input {} with values", i), !row.d.data_dependent_shape);
          for (size_t v = 0; v < values->size(); ++v) {
            auto partial = *values;
            partial[v] = std::nullopt;
            inputs[i] = meta_tensor(b.in[i].dtype(), b.in[i].partial_shape(), partial);
            inference.check(inputs, fmt::format("unknown value {} of input {}", v, i));
          }
        }
      }
      inputs[i] = symbolic(b.in[i], PartialShape());
      inference.check(inputs, fmt::format("unknown rank of input {}", i));
      inputs[i] = symbolic(b.in[i], PartialShape::of_rank(b.in[i].rank()));
      inference.check(inputs, fmt::format("unknown dimensions of input {}", i));
      for (int k = 0; k < b.in[i].rank(); ++k) {
        inputs[i] = symbolic(b.in[i], without_dim(b.in[i].shape(), k));
        inference.check(inputs, fmt::format("unknown dimension {} of input {}", k, i));
      }
    }
  });
}

}  // namespace panto::test
