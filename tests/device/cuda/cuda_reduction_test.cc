// Reductions on the GPU against the CPU: sizes, alignments and numbers of dimensions that the rows of the op table do
// not have. Without a GPU these are skipped.
#include <boost/test/unit_test.hpp>
#include <limits>

#include "panto/lib/core/tensor/tensor_alloc.h"
#include "panto/tests/device/cuda/gpu_compare.h"
#include "panto/tests/device/support.h"

namespace panto {
namespace {

namespace utf = boost::unit_test;
using test::compare_on_gpu;
using test::gpu;
using test::has_gpu;
using test::random_tensor;
using test::same_bits;
using test::Tensors;
using Axes = std::vector<int64_t>;

struct Case {
  Shape shape;
  Axes axes;
};

std::string describe(const Case& c) {
  std::string text = c.shape.to_string() + " over";
  for (const int64_t axis : c.axes) text += " " + std::to_string(axis);
  return text;
}

// Rows, columns and what is neither; whole units of 16 bytes and not; one part and several.
const Case kCases[] = {
    {{1}, {0}},
    {{7}, {0}},
    {{1000}, {0}},
    {{100'003}, {0}},
    {{1 << 18}, {0}},
    {{3, 100'001}, {1}},
    {{30'000, 3}, {1}},
    {{5000, 4}, {1}},
    {{3000, 20}, {1}},
    {{999, 129}, {1}},
    {{30, 4096}, {1}},
    {{15, 4099}, {1}},
    {{30'003, 3}, {0}},
    {{30'000, 1}, {0}},
    {{1099, 65}, {0}},
    {{256, 1024}, {0}},
    {{3, 100'000}, {0}},
    {{1, 77}, {0}},
    {{8, 5, 12}, {1}},
    {{30, 2, 500}, {1}},
    {{64, 100, 7}, {0, 2}},
    {{5, 32, 28, 28}, {0, 2, 3}},
    {{7, 33, 5, 5}, {0, 2, 3}},
    {{9, 8, 7, 6}, {0, 2}},
    {{9, 8, 7, 6}, {1, 3}},
    {{3, 4, 5, 6, 7, 8}, {0, 2, 4}},
    {{3, 4, 5, 6, 7, 8}, {1, 3, 5}},
    {{2, 3, 4, 5}, {}},
    {{2, 3, 4, 5}, {0, 1, 2, 3}},
    {{0, 3}, {0}},
    {{3, 0}, {1}},
    {{0, 3}, {1}},
    {{3, 0, 4}, {1}},
};

Tensor numbers(DType type, const Shape& shape) {
  switch (type) {
    case kFloat32: return random_tensor<float>(shape);
    case kFloat64: return random_tensor<double>(shape);
    case kInt32: return random_tensor<int32_t>(shape);
    default: return random_tensor<int64_t>(shape);
  }
}

BOOST_AUTO_TEST_SUITE(cuda_reduction, *utf::label("cuda") * utf::precondition(has_gpu))

BOOST_AUTO_TEST_CASE(arithmetic) {
  for (const DType type : {kFloat32, kFloat64, kInt32, kInt64}) {
    // Sums of numbers of both signs: what rounding leaves is compared with 1.
    const double tolerance = type == kFloat32 ? 2e-5 : type == kFloat64 ? 1e-13 : 0;
    for (const Case& c : kCases) {
      const auto all = [&](const Tensors& in) {
        return Tensors{sum(in[0], c.axes), mean(in[0], c.axes), reduce_max(in[0], c.axes),
                       reduce_min(in[0], c.axes, {.keep_dims = true})};
      };
      compare_on_gpu(all, {numbers(type, c.shape)}, tolerance, describe(c) + " of " + std::string(dtype_name(type)));
    }
  }
}

BOOST_AUTO_TEST_CASE(products) {
  for (const Case& c : kCases) {
    const auto product = [&](const Tensors& in) { return Tensors{reduce_prod(in[0], c.axes)}; };
    for (const DType type : {kFloat32, kFloat64}) {
      // Near 1, so that neither zero nor infinity is all that is left.
      const Tensor x = add(mul(numbers(type, c.shape), cast(1e-6, type)), cast(1, type));
      compare_on_gpu(product, {x}, type == kFloat32 ? 1e-6 : 1e-9, describe(c));
    }
    // These wrap, the same in any order.
    for (const DType type : {kInt32, kInt64}) {
      const Tensor odd = add(mul(numbers(type, c.shape), cast(2, type)), cast(1, type));
      compare_on_gpu(product, {odd}, 0, describe(c));
    }
  }
}

BOOST_AUTO_TEST_CASE(truth_values) {
  for (const Case& c : kCases) {
    const auto both = [&](const Tensors& in) { return Tensors{reduce_all(in[0], c.axes), reduce_any(in[0], c.axes)}; };
    const Tensor x = random_tensor<int32_t>(c.shape);
    compare_on_gpu(both, {less(x, 0)}, 0, describe(c));
    compare_on_gpu(both, {less(x, 100)}, 0, describe(c));
    compare_on_gpu(both, {less(x, -100)}, 0, describe(c));
  }
}

BOOST_AUTO_TEST_CASE(positions) {
  for (const Case& c : kCases) {
    if (c.axes.size() != 1 || c.shape[static_cast<int>(c.axes[0])] == 0) continue;
    const auto axis = c.axes[0];
    const auto both = [&](const Tensors& in) {
      return Tensors{argmax(in[0], axis), argmin(in[0], axis, {.output_type = kInt32})};
    };
    // Of integers many are equal: the first one counts.
    for (const DType type : {kFloat32, kFloat64, kInt32, kInt64}) {
      compare_on_gpu(both, {numbers(type, c.shape)}, 0, describe(c));
    }
    compare_on_gpu(both, {less(random_tensor<int32_t>(c.shape), 90)}, 0, describe(c));
  }
}

BOOST_AUTO_TEST_CASE(numbers_that_are_none) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  std::vector<float> values(3000, -infinity);
  values[100] = nan;
  for (size_t i = 1000; i < 2000; ++i) values[i] = nan;
  values[2500] = 3;
  values[2600] = infinity;
  const auto all = [](const Tensors& in) {
    Tensors out;
    for (const int64_t axis : {0, 1}) {
      const Axes axes{axis};
      out.insert(out.end(), {sum(in[0], axes), reduce_max(in[0], axes), reduce_min(in[0], axes), argmax(in[0], axis),
                             argmin(in[0], axis)});
    }
    return out;
  };
  compare_on_gpu(all, {tensor(values, Shape{3, 1000})}, 0, "rows of 1000");
  compare_on_gpu(all, {tensor(values, Shape{1000, 3})}, 0, "rows of 3");
}

BOOST_AUTO_TEST_CASE(unaligned_rows) {
  const Tensor x = random_tensor<float>({3, 40, 1027});
  const auto f = [](const Tensors& in) {
    const Tensor row = view_tensor(in[0], {40, 1027}, 40 * 1027);
    return Tensors{sum(row), sum(row, {0}), sum(row, {1}), argmax(row, 1), cumsum(row, 1)};
  };
  compare_on_gpu(f, {x}, 2e-5, "a view");
  // Where a tensor begins does not change the order of its additions.
  const Tensor x_there = random_tensor<float>({(1 << 18) + 1}).to(*gpu());
  const Tensor view = view_tensor(x_there, {1 << 18}, 1);
  BOOST_TEST(same_bits(sum(view).cpu(), sum(neg(neg(view))).cpu()));
}

BOOST_AUTO_TEST_CASE(running_sums) {
  struct ScanCase {
    Shape shape;
    int64_t axis;
  };
  for (const auto& [shape, axis] : {ScanCase{{100'003}, 0}, ScanCase{{5}, 0}, ScanCase{{3, 5000}, 1},
                                    ScanCase{{1000, 129}, 1}, ScanCase{{5000, 3}, 0}, ScanCase{{7, 100, 40}, 1},
                                    ScanCase{{1, 4097, 1}, 1}, ScanCase{{64, 1}, 0}, ScanCase{{0, 3}, 0}}) {
    for (const bool exclusive : {false, true}) {
      for (const bool reverse : {false, true}) {
        const auto f = [&, axis = axis](const Tensors& in) {
          return Tensors{cumsum(in[0], axis, {.exclusive = exclusive, .reverse = reverse})};
        };
        for (const DType type : {kFloat32, kFloat64, kInt32, kInt64}) {
          compare_on_gpu(f, {numbers(type, shape)},
                         type == kFloat32   ? 1e-6
                         : type == kFloat64 ? 1e-12
                                            : 0,
                         shape.to_string());
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(many_dimensions) {
  // Every second one is reduced: none can be merged.
  const std::vector<int64_t> dims(18, 2);
  const Shape shape{std::span<const int64_t>(dims)};
  for (const int64_t first : {0, 1}) {
    Axes axes;
    for (int64_t k = first; k < 18; k += 2) axes.push_back(k);
    compare_on_gpu([&](const Tensors& in) { return Tensors{sum(in[0], axes)}; }, {random_tensor<float>(shape)}, 1e-4,
                   "18 dimensions");
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
