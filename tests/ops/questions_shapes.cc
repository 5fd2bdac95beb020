// Does the shape function say the same of META tensors as the kernel does of real ones, however little it is told?
#include <fmt/format.h>

#include <boost/test/unit_test.hpp>

#include "panto/lib/core/dispatch.h"
#include "panto/tests/ops/questions.h"

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
      BOOST_ERROR(what << " (" << bound.text() << "): " << error.what());
      return;
    }
    if (got.size() != real.size()) {
      BOOST_ERROR(what << " (" << bound.text() << "): expected " << real.size() << " outputs, got " << got.size());
      return;
    }
    for (size_t k = 0; k < got.size(); ++k) {
      const PartialShape& inferred = got[k].partial_shape();
      const PartialShape& actual = real[k].partial_shape();
      const std::string context = fmt::format("{} ({}): output {}: ", what, bound.text(), k);
      BOOST_CHECK_MESSAGE(got[k].is_meta() || !exact, context << "expected a META tensor");
      BOOST_CHECK_MESSAGE(got[k].dtype() == real[k].dtype(), context << "dtype " << dtype_name(got[k].dtype())
                                                                     << " instead of " << dtype_name(real[k].dtype()));
      BOOST_CHECK_MESSAGE(inferred.compatible_with(actual),
                          context << "inferred " << inferred.to_string() << ", real " << actual.to_string());
      if (exact) {
        BOOST_CHECK_MESSAGE(inferred == actual,
                            context << "inferred only " << inferred.to_string() << " of " << actual.to_string());
      }
      check_values(got[k], real[k], context);
    }
  }

  // Integer values that inference claims to know must be the real ones.
  static void check_values(const Tensor& inferred, const Tensor& actual, const std::string& context) {
    const auto claimed = known_integers(inferred);
    const auto values = claimed ? known_integers(actual) : std::nullopt;
    if (!values) return;
    BOOST_CHECK_MESSAGE(claimed->size() == values->size(), context << "number of known values");
    for (size_t i = 0; i < std::min(claimed->size(), values->size()); ++i) {
      if (!(*claimed)[i]) continue;
      BOOST_CHECK_MESSAGE((*claimed)[i] == (*values)[i],
                          context << "value " << i << ": inferred " << *(*claimed)[i] << ", real " << *(*values)[i]);
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
      BOOST_ERROR(b.text() << ": " << error.what());
      return;
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
