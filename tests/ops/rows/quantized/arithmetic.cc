// Rows of arithmetic on quantized tensors. What is expected are TensorFlow's answers; more of them are replayed
// (replay_test.cc).
#include <cmath>
#include <random>
#include <vector>

#include "panto/lib/core/tensor/tensor_alloc.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/products.h"
#include "panto/lib/ops/reductions.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"
#include "panto/ops/quantized.h"
#include "panto/tests/expect.h"
#include "panto/tests/ops/families.h"
#include "panto/tests/ops/table.h"

namespace panto::test::arithmetic_rows {
namespace {

const Array kBytes = array({2, 3}, {0, 100, 255, 7, 128, 200}), kTurned = array({2, 3}, {7, 128, 200, 0, 100, 255});
const Array kSigned = array({2, 3}, {-128, -28, 127, -121, 0, 72});
const Array kVector = list({3, 90, 250}), kFactor = array({3, 2}, {0, 100, 255, 7, 128, 200});
const Array kWholes = array({2, 2}, {-2000000000, 5, 1000, 2000000000});

// Two tensors and their ranges.
std::vector<Array> pair(const Array& x, const Array& y, double low = 0, double high = 4) {
  return {x, y.as(kQUint8), scalar(-1), scalar(2), scalar(low), scalar(high)};
}

Tensor bytes(DType type, const Shape& shape, int seed) {
  std::mt19937 random(static_cast<unsigned>(seed));
  std::vector<uint8_t> values(static_cast<size_t>(shape.numel()));
  for (uint8_t& v : values) v = static_cast<uint8_t>(random());
  return tensor_from_bytes(type, shape, values.data(), values.size());
}
Tensor whole(const Tensor& t) {
  return cast(bitcast(t, t.dtype() == kQInt8 ? kInt8 : t.dtype() == kQUint8 ? kUint8 : kInt32), kInt64);
}

// Beside products of 64 bits: tiles, their edges, both signs, zeros inside of the range and outside.
void products_of_any_size() {
  const DType types[] = {kQUint8, kQInt8};
  int seed = 0;
  for (const auto& [m, n, k] : std::vector<std::array<int64_t, 3>>{{1, 1, 1},
                                                                   {5, 3, 2},
                                                                   {6, 64, 4},
                                                                   {7, 65, 5},
                                                                   {13, 130, 37},
                                                                   {100, 17, 300},
                                                                   {1, 200, 64},
                                                                   {97, 1, 3},
                                                                   {1, 33, 9},
                                                                   {2, 16, 8},
                                                                   {16, 47, 31},
                                                                   {11, 1000, 23},
                                                                   {16, 64, 64},
                                                                   {17, 128, 128},
                                                                   {32, 65, 63},
                                                                   {33, 192, 256},
                                                                   {49, 70, 130},
                                                                   {130, 64, 192},
                                                                   {3, 4, 0}}) {
    for (int turns = 0; turns < 4; ++turns) {
      const bool a_turned = (turns & 1) != 0, b_turned = (turns & 2) != 0;
      const Tensor a = bytes(types[seed % 2], a_turned ? Shape{k, m} : Shape{m, k}, seed);
      const Tensor b = bytes(types[seed / 2 % 2], b_turned ? Shape{n, k} : Shape{k, n}, seed + 1);
      const float low = seed % 3 == 0 ? 1.0F : -1.0F;
      ++seed;
      const auto product = quantized_mat_mul(a, b, low, 2, -3, 4, {.transpose_a = a_turned, .transpose_b = b_turned});
      const auto zero = [](const Tensor& q, double from, double to) {
        const double steps = q.dtype() == kQInt8 ? -128 : 0;
        return static_cast<int64_t>(std::round(-std::round(from * 255 / (to - from)) + steps));
      };
      const Tensor exact = matmul(whole(a) - tensor(zero(a, low, 2)), whole(b) - tensor(zero(b, -3, 4)),
                                  {.transpose_a = a_turned, .transpose_b = b_turned});
      BOOST_TEST(all(equal(whole(product.out), exact)).item<bool>(), m << " x " << n << " x " << k << ", " << turns);
    }
  }
}

const Family quantized_arithmetic(
    "quantized",
    {
        {"QuantizedAdd",
         {.samples = {{.in = pair(kBytes, kTurned),
                       .out = {array({2, 3}, {-29170, 71624, 168462, -30066, 68040, 175502}), scalar(-65536.0),
                               scalar(65536.0)}},
                      {.in = pair(kBytes, kVector),
                       .out = {array({2, 3}, {-31226, 52092, 194162, -28524, 62900, 172932}), scalar(-65536.0),
                               scalar(65536.0)}},
                      {.in = pair(kBytes, scalar(90)),
                       .out = {array({2, 3}, {13493, 52093, 111923, 16195, 62901, 90693}), scalar(-65536.0),
                               scalar(65536.0)}}},
          .errors = {{.in = {kBytes, kBytes.as(kQUint8), scalar(2), scalar(2), scalar(0), scalar(1)},
                      .text = "max_x: expected more than min_x, which is 2, got 2"},
                     {.in = {kBytes, kBytes.as(kQUint8), scalar(0), scalar(2), scalar(1), scalar(0)},
                      .text = "max_y: expected more than min_y, which is 1, got 0"},
                     {.in = {kBytes, kBytes.as(kQUint8), list({0}), scalar(2), scalar(0), scalar(1)},
                      .text = "min_x: expected a scalar, got shape [1]"},
                     {.in = {kBytes, kBytes.as(kQInt16), scalar(0), scalar(2), scalar(0), scalar(1)},
                      .code = Code::kUnimplemented,
                      .text = "T2: expected quint8 or qint8, got qint16"},
                     {.in = pair(kBytes, kBytes),
                      .attrs = {{"Toutput", kQInt16}},
                      .code = Code::kUnimplemented,
                      .text = "Toutput: expected qint32, got qint16"}},
          .types = {kQUint8}}},
        {"QuantizedMul",
         {.samples = {{.in = pair(kBytes, kTurned),
                       .out = {array({2, 3}, {-595, 1920, 34000, 0, 4300, 29325}), scalar(-396306.125),
                               scalar(396306.125)}},
                      {.in = pair(kBytes, kVector),
                       .out = {array({2, 3}, {-255, 1350, 42500, -234, 3870, 28750}), scalar(-396306.125),
                               scalar(396306.125)}},
                      {.in = pair(kBytes, scalar(90)),
                       .out = {array({2, 3}, {-7650, 1350, 15300, -7020, 3870, 10350}), scalar(-396306.125),
                               scalar(396306.125)}}},
          .errors = {{.in = {kBytes, kBytes.as(kQUint8), scalar(2), scalar(2), scalar(0), scalar(1)},
                      .text = "max_x: expected more than min_x, which is 2, got 2"}},
          .types = {kQUint8}}},
        {"QuantizedMatMul",
         {.samples = {{.in = pair(kBytes, kFactor, -3, 4),
                       .out = {array({2, 2}, {14685, 14705, 16965, 6781}), scalar(-693535.6875), scalar(693535.6875)}}},
          .errors = {{.in = pair(kBytes, kBytes), .text = "the inner dimension of b: expected 3, got 2"},
                     {.in = pair(kBytes, kVector), .text = "b: expected a matrix, got shape [3]"},
                     {.in = {kBytes, kFactor.as(kQUint8), scalar(2), scalar(1), scalar(0), scalar(1)},
                      .text = "max_a: expected more than min_a, which is 2, got 1"}},
          .own = {{"any_size", products_of_any_size}},
          .types = {kQUint8}}},
        {"QuantizedBiasAdd",
         {.samples = {{.in = pair(kBytes, kVector),
                       .attrs = {{"out_type", kQInt32}},
                       .out = {array({2, 3}, {-3903, 6506, 24255, -3566, 7855, 21605}), scalar(-524288.0),
                               scalar(524288.0)}}},
          .errors = {{.in = pair(kBytes, list({1, 2})),
                      .attrs = {{"out_type", kQInt32}},
                      .text = "length of bias: expected 3, got 2"},
                     {.in = pair(kBytes, kVector),
                      .attrs = {{"out_type", kQUint8}},
                      .code = Code::kUnimplemented,
                      .text = "out_type: expected qint32, got quint8"}},
          .types = {kQUint8}}},
        {"QuantizedBiasAdd",
         {.samples = {{.in = {kSigned, list({-125, -38, 122}).as(kQInt8), scalar(-1), scalar(2), scalar(0), scalar(4)},
                       .attrs = {{"out_type", kQInt32}},
                       .out = {array({2, 3}, {-3903, 6506, 24255, -3566, 7855, 21605}), scalar(-524288.0),
                               scalar(524288.0)}}},
          .label = "signed",
          .types = {kQInt8}}},
        {"QuantizedRelu",
         {.samples = {{.in = {kBytes, scalar(-4), scalar(8)},
                       .out = {array({2, 3}, {85, 100, 255, 85, 128, 200}), scalar(-4.0), scalar(8.0)}}},
          .errors = {{.in = {kBytes, list({-4}), scalar(8)}, .text = "min_features: expected a scalar, got shape [1]"},
                     {.in = {kBytes, scalar(-4), scalar(8)},
                      .attrs = {{"out_type", kQInt32}},
                      .code = Code::kUnimplemented,
                      .text = "out_type: expected quint8, the type of the input, got qint32"}},
          .types = {kQUint8}}},
        {"QuantizedRelu6",
         {.samples = {{.in = {kBytes, scalar(-4), scalar(8)},
                       .out = {array({2, 3}, {85, 100, 213, 85, 128, 200}), scalar(-4.0), scalar(8.0)}}},
          .types = {kQUint8}}},
        {"QuantizedRelu6",
         {.samples = {{.in = {list({-2000000000, -5, 0, 8, 2000000000}), scalar(-8), scalar(8)},
                       .attrs = {{"out_type", kQInt32}},
                       .out = {array({5}, {0, 0, 0, 8, 1610612736}), scalar(-8.0), scalar(8.0)}}},
          .label = "32-bits",
          .types = {kQInt32}}},
        {"QuantizedReluX",
         {.samples = {{.in = {kBytes, scalar(6), scalar(-4), scalar(8)},
                       .out = {array({2, 3}, {85, 100, 213, 85, 128, 200}), scalar(-4.0), scalar(8.0)}}},
          .errors = {{.in = {kBytes, list({6}), scalar(-4), scalar(8)},
                      .text = "max_value: expected a scalar, got shape [1]"}},
          .types = {kQUint8}}},
        {"QuantizedConcat",
         {.samples = {{.in = {scalar(1).as(kInt32), kBytes, array({2, 2}, {0, 100, 7, 128}), scalar(-1), scalar(0),
                              scalar(2), scalar(4)},
                       .attrs = {{"N", 2}},
                       .out = {array({2, 5}, {0, 60, 153, 51, 131, 4, 77, 120, 57, 153}), scalar(-1.0), scalar(4.0)}}},
          .errors = {{.in = {scalar(0).as(kInt32), kBytes, kFactor, scalar(-1), scalar(0), scalar(2), scalar(4)},
                      .attrs = {{"N", 2}},
                      .text = "dimension of values: expected 3, got 2"},
                     {.in = {scalar(2).as(kInt32), kBytes, kBytes, scalar(-1), scalar(0), scalar(2), scalar(4)},
                      .attrs = {{"N", 2}},
                      .text = "concat_dim: expected"},
                     {.in = {scalar(0).as(kInt32), kBytes, kVector, scalar(-1), scalar(0), scalar(2), scalar(4)},
                      .attrs = {{"N", 2}},
                      .text = "rank of values[1]: expected 2, that of those before, got 1"}},
          .types = {kQUint8}}},
        {"QuantizedConcat",
         {.samples = {{.in = {scalar(0).as(kInt32), kWholes, array({1, 2}, {-2000000000, 5}), scalar(-1), scalar(0),
                              scalar(2), scalar(4)},
                       .attrs = {{"N", 2}},
                       .out = {array({3, 2}, {-481564544, 268435456, 268435840, 1018435456, 73741824, 1073741824}),
                               scalar(-4.0), scalar(4.0)}}},
          .label = "32-bits",
          .types = {kQInt32}}},
        {"QuantizedReshape",
         {.samples = {{.in = {iota({2, 6}), list({3, -1}), scalar(-1), scalar(2)},
                       .out = {iota({3, 4}), scalar(-1), scalar(2)}}},
          .errors = {{.in = {iota({2, 6}), list({5, -1}), scalar(-1), scalar(2)}, .text = "shape: expected"}},
          .types = dtypes::kQuantized}},
    });

}  // namespace
}  // namespace panto::test::arithmetic_rows
