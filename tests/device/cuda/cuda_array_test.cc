// Kernels that move elements or go by indices, on the GPU against the CPU: sizes, types, alignments and numbers of
// dimensions that the rows of the op table do not have. Without a GPU these are skipped.
#include <boost/test/unit_test.hpp>

#include "panto/lib/core/tensor/device.h"
#include "panto/lib/ops/ops.h"
#include "panto/lib/runtime/session.h"
#include "panto/tests/expect.h"
#include "panto/tests/gpu.h"
#include "panto/tests/graph/text_graph.h"
#include "panto/tests/ops/array_value.h"

namespace panto {
namespace {

namespace utf = boost::unit_test;
using test::gpu;
using test::has_gpu;
using Inputs = std::vector<Tensor>;
using Dims = std::vector<int64_t>;

constexpr DType kSizes[] = {kBool, kInt16, kFloat32, kInt64, kComplex128};  // 1, 2, 4, 8 and 16 bytes

// 1, 2, 3, ..., or what of them fits the type.
Tensor counted(const Shape& shape, DType type = kFloat32) {
  const int64_t n = shape.numel();
  const Tensor numbers = reshape(range(1, n + 1, 1), shape);
  if (type == kBool) return less(floor_mod(mul(numbers, 7), 5), 2);
  if (type == kInt16) return cast(floor_mod(numbers, 30'011), type);
  return cast(numbers, type);
}

// Numbers in [low, high), without a pattern.
Tensor spread(int64_t n, int64_t low, int64_t high, DType type = kInt32) {
  std::vector<int64_t> values(static_cast<size_t>(n));
  uint64_t state = 12345;
  for (int64_t& v : values) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    v = low + static_cast<int64_t>((state >> 33) % static_cast<uint64_t>(high - low));
  }
  return cast(tensor(values), type);
}

// `f` of the tensors on the GPU and on the CPU: the same bytes.
template <class Function>
void compare(Function f, const Inputs& inputs) {
  Inputs there;
  for (const Tensor& t : inputs) there.push_back(t.to(*gpu()));
  const Tensor expected = f(inputs);
  const Tensor got = f(there);
  BOOST_TEST(&got.device() == gpu());
  const std::string what = test::difference(expected, got.cpu());
  BOOST_TEST(what == "", "from " << inputs[0].shape().to_string() << " of " << dtype_name(inputs[0].dtype()) << " to "
                                 << expected.shape().to_string() << ": " << what);
}

void give_memory_back() {
  if (gpu() != nullptr) gpu()->trim();
}

BOOST_AUTO_TEST_SUITE(cuda_array,
                      *utf::label("cuda") * utf::precondition(has_gpu) * utf::fixture([] {}, give_memory_back))

BOOST_AUTO_TEST_CASE(transpositions) {
  struct Case {
    Shape shape;
    Dims perm;
  };
  const Case cases[] = {{{33, 65}, {1, 0}},
                        {{7, 5}, {1, 0}},
                        {{1000, 3}, {1, 0}},
                        {{3, 1000}, {1, 0}},
                        {{64, 64, 4}, {1, 0, 2}},
                        {{40, 50, 3}, {1, 0, 2}},
                        {{5, 70, 90}, {0, 2, 1}},
                        {{5, 70, 90}, {2, 1, 0}},
                        {{2, 3, 4, 5, 6}, {4, 2, 0, 3, 1}},
                        {{4, 3, 20, 30}, {0, 2, 3, 1}},
                        {{4, 20, 30, 3}, {0, 3, 1, 2}},
                        {{1, 100, 1, 40}, {3, 2, 1, 0}},
                        {{2049, 1027}, {1, 0}},
                        {{0, 3}, {1, 0}},
                        {{}, Dims{}}};
  for (const Case& c : cases) {
    for (const DType type : kSizes) {
      const Tensor perm = tensor(c.perm);
      compare([&](const Inputs& in) { return transpose(in[0], perm); }, {counted(c.shape, type)});
    }
  }
}

BOOST_AUTO_TEST_CASE(transpositions_of_many_dimensions) {
  for (const size_t rank : {16u, 20u}) {
    const Dims dims(rank, 2);
    Dims back(rank), pairs(rank);
    for (size_t i = 0; i < rank; ++i) {
      back[i] = static_cast<int64_t>(rank - 1 - i);
      pairs[i] = static_cast<int64_t>(i ^ 1);
    }
    const Tensor x = counted(Shape(std::span<const int64_t>(dims)));
    for (const Dims& perm : {back, pairs}) {
      compare([&](const Inputs& in) { return transpose(in[0], tensor(perm)); }, {x});
    }
  }
}

// Views begin anywhere: only elements are aligned.
BOOST_AUTO_TEST_CASE(views_that_are_not_aligned) {
  for (const DType type : kSizes) {
    const Tensor x = counted({67 * 64}, type);
    for (const int64_t begin : {1, 2, 3, 4, 8}) {
      const auto view = [&](const Inputs& in) { return reshape(slice(in[0], {begin}, {64 * 64}), {64, 64}); };
      compare([&](const Inputs& in) { return transpose(view(in), {1, 0}); }, {x});
      compare([&](const Inputs& in) { return tile(view(in), {2, 3}); }, {x});
      compare([&](const Inputs& in) { return concat({view(in), view(in)}, 1); }, {x});
      compare([&](const Inputs& in) { return slice(view(in), {0, 8}, {64, 16}); }, {x});
      compare([&](const Inputs& in) { return gather(view(in), {5, 3, 63}, 0); }, {x});
    }
  }
}

BOOST_AUTO_TEST_CASE(repetition) {
  struct Case {
    Shape from;
    Dims to;
  };
  const Case broadcasts[] = {{{1, 5}, {3, 5}},       {{4, 1}, {4, 64}},
                             {{4, 1}, {4, 63}},      {{}, {1000}},
                             {{3, 1, 1}, {3, 5, 7}}, {{5, 1, 7, 1}, {2, 5, 3, 7, 16}},
                             {{300}, {200, 300}},    {{1, 300, 1}, {3, 300, 1}},
                             {{0}, {3, 0}},          {{1}, {0}},
                             {{8}, {2, 2, 8}}};
  const Case tiles[] = {{{3, 5}, {2, 4}}, {{16, 64}, {3, 1}}, {{7}, {1000}}, {{2, 1, 3}, {1, 5, 2}}, {{2, 3}, {0, 2}}};
  for (const DType type : kSizes) {
    for (const Case& c : broadcasts) {
      compare([&](const Inputs& in) { return broadcast_to(in[0], tensor(c.to)); }, {counted(c.from, type)});
    }
    for (const Case& c : tiles) {
      compare([&](const Inputs& in) { return tile(in[0], tensor(c.to)); }, {counted(c.from, type)});
    }
  }
}

BOOST_AUTO_TEST_CASE(joining_and_splitting) {
  for (const DType type : kSizes) {
    for (const int64_t axis : {0, 1, 2}) {
      Inputs parts;
      for (const int64_t size : {4, 1, 0, 7, 64}) {
        Dims dims = {6, 5, 8};
        dims[static_cast<size_t>(axis)] = size;
        parts.push_back(counted(Shape(std::span<const int64_t>(dims)), type));
      }
      compare([&](const Inputs& in) { return concat(in, axis); }, parts);
      const Tensor whole = counted({12, 24, 36}, type);
      for (const int64_t part : {0, 1, 5}) {
        compare([&](const Inputs& in) { return split(axis, in[0], 6)[static_cast<size_t>(part)]; }, {whole});
      }
      compare([&](const Inputs& in) { return unpack(in[0], whole.shape().dim(static_cast<int>(axis)), {axis})[3]; },
              {whole});
      compare([&](const Inputs& in) { return pack(in, {axis}); },
              Inputs{whole, reshape(slice(reshape(whole, {-1}), {0}, {-1}), whole.shape()), whole});
    }
  }
  // More than go with one kernel, and scalars.
  Inputs many, scalars;
  for (int64_t i = 0; i < 150; ++i) {
    many.push_back(counted({9, i % 4 + 1}));
    scalars.push_back(tensor(static_cast<float>(i)));
  }
  compare([](const Inputs& in) { return concat(in, 1); }, many);
  compare([](const Inputs& in) { return pack(in); }, scalars);
}

BOOST_AUTO_TEST_CASE(slices_and_padding) {
  for (const DType type : kSizes) {
    const Tensor x = counted({20, 30, 40}, type);
    compare([](const Inputs& in) { return slice(in[0], {2, 0, 0}, {5, 30, 40}); }, {x});
    compare([](const Inputs& in) { return slice(in[0], {2, 3, 5}, {7, 11, 13}); }, {x});
    compare([](const Inputs& in) { return slice(in[0], {2, 4, 8}, {8, 16, 32}); }, {x});
    compare([](const Inputs& in) { return slice(in[0], {2, 4, 8}, {8, 0, 32}); }, {x});
    compare([](const Inputs& in) { return strided_slice(in[0], {1, 2, 3}, {20, 30, 40}, {3, 2, 1}); }, {x});
    compare([](const Inputs& in) { return strided_slice(in[0], {19, 29, 39}, {0, 2, 3}, {-1, -3, -2}); }, {x});
    compare([](const Inputs& in) { return strided_slice(in[0], {0, 29, 0}, {20, 0, 40}, {1, -1, 1}); }, {x});
    compare([](const Inputs& in) { return pad(in[0], tensor({{1, 2}, {0, 3}, {4, 0}})); }, {x});
    compare([](const Inputs& in) { return pad(in[0], tensor({{0, 0}, {1, 1}, {0, 0}})); }, {x});
    compare([](const Inputs& in) { return pad(in[0], tensor({{0, 0}, {0, 0}, {0, 0}})); }, {x});
    compare([](const Inputs& in) { return pad(in[0], tensor({{1, 0}, {2, 2}, {8, 24}})); }, {x});
    compare([](const Inputs& in) { return pad(in[0], tensor({{3, 1}})); }, {counted({0}, type)});
    compare([](const Inputs& in) { return pad(in[0], tensor({{3, 1}})); }, {counted({1}, type)});
    compare(
        [](const Inputs& in) { return strided_slice_grad({20, 30, 40}, {19, 29, 39}, {0, 0, 0}, {-1, -1, -1}, in[0]); },
        {counted({19, 29, 39}, type)});
    compare([](const Inputs& in) { return strided_slice_grad({12}, {11}, {0}, {-1}, in[0], {.end_mask = 1}); },
            {counted({12}, type)});
    const Tensor dy = counted({7, 10, 12}, type);
    compare(
        [](const Inputs& in) {
          return strided_slice_grad({20, 30, 40}, {0, 29, 39}, {20, 0, 2}, {3, -3, -3}, in[0], {.end_mask = 2});
        },
        {slice(counted({7, 10, 13}, type), {0, 0, 0}, {7, 10, 13})});
    compare([](const Inputs& in) { return strided_slice_grad({20, 30, 40}, {1, 2, 3}, {8, 12, 15}, {1, 1, 1}, in[0]); },
            {dy});
  }
}

BOOST_AUTO_TEST_CASE(gathers) {
  for (const DType type : kSizes) {
    const Tensor x = counted({50, 12, 8}, type);
    for (const DType index : {kInt16, kInt32, kInt64}) {
      compare([](const Inputs& in) { return gather(in[0], in[1], 0); }, {x, spread(1000, 0, 50, index)});
      compare([](const Inputs& in) { return gather(in[0], in[1], 1); }, {x, spread(33, 0, 12, index)});
      compare([](const Inputs& in) { return gather(in[0], in[1], 2); }, {x, spread(5, 0, 8, index)});
      compare([](const Inputs& in) { return gather(in[0], in[1], 2, {.batch_dims = 2}); },
              {x, reshape(spread(50 * 12 * 3, 0, 8, index), {50, 12, 3})});
      compare([](const Inputs& in) { return gather(in[0], in[1], 2, {.batch_dims = 1}); },
              {x, reshape(spread(50 * 6, 0, 8, index), {50, 2, 3})});
    }
  }
}

// Also where the output is empty, of which nothing is read.
template <class Function>
void expect_fault(Function f, std::string_view text) {
  expect_error_begins(
      [&] {
        static_cast<void>(f());
        gpu()->synchronize();
      },
      text);
}
template <class Function>
void expect_bad_index(Function f) {
  expect_fault(f, "InvalidArgument: indices: expected all in range");
}

BOOST_AUTO_TEST_CASE(bad_indices_are_faults) {
  const Tensor x = counted({4, 3}).to(*gpu());
  const auto at = [](int32_t i) { return tensor({0, i, 1}).to(*gpu()); };
  const Tensor empty = counted({4, 0}).to(*gpu());
  for (const int32_t i : {4, -1, 2'000'000'000}) {
    expect_bad_index([&] { return gather(x, at(i), 0); });
    expect_bad_index([&] { return gather(empty, at(i), 0); });
  }
  const Tensor rows = counted({3, 2}).to(*gpu());
  expect_bad_index([&] { return unsorted_segment_sum(rows, at(2), 2); });
  expect_bad_index([&] { return unsorted_segment_sum(counted({3, 0}).to(*gpu()), at(2), 2); });
  expect_bad_index([&] { return unsorted_segment_sum(rows, at(0), 0); });
  expect_bad_index([&] { return invert_permutation(at(3)); });
  expect_bad_index([&] { return invert_permutation(at(-1)); });
  expect_fault([&] { return invert_permutation(at(0)); }, "InvalidArgument: permutation: expected every number once");
  // A fault is thrown once.
  BOOST_TEST((gather(x, at(2), 0).cpu().to_vector<float>() == std::vector<float>{1, 2, 3, 7, 8, 9, 4, 5, 6}));
}

// Whole numbers, so that sums are exact in any order.
BOOST_AUTO_TEST_CASE(segment_sums) {
  for (const int64_t rows : {1, 17, 1000, 70'001}) {
    for (const int64_t columns : {1, 3, 33, 300}) {
      if (rows * columns > 3'000'000) continue;
      for (const int64_t segments : {1, 2, 100, 20'000}) {
        for (const DType type : {kFloat32, kInt64}) {
          const Tensor data = reshape(spread(rows * columns, -8, 9, type), {rows, columns});
          const auto sums = [&](const Inputs& in) { return unsorted_segment_sum(in[0], in[1], segments); };
          compare(sums, {data, spread(rows, -1, segments)});
          compare(sums, {data, spread(rows, segments - 1, segments, kInt64)});  // all in one
          compare(sums, {data, spread(rows, -2, 0)});                           // none
        }
      }
    }
  }
  for (const DType type : {kInt8, kUint8, kInt16, kUint16, kInt32, kUint32, kUint64, kFloat64}) {
    const Tensor data = reshape(spread(999 * 5, 0, 90, type), {999, 5});
    compare([](const Inputs& in) { return unsorted_segment_sum(in[0], in[1], 10); }, {data, spread(999, 0, 10)});
  }
  compare([](const Inputs& in) { return unsorted_segment_sum(in[0], in[1], 3); }, {counted({0, 4}), spread(0, 0, 1)});
}

BOOST_AUTO_TEST_CASE(segment_sums_are_the_same_at_every_run) {
  const Tensor data = div(cast(spread(200'000, -1000, 1000), kFloat32), 7.f).to(*gpu());
  const Tensor ids = spread(200'000, 0, 50).to(*gpu());
  const Tensor first = unsorted_segment_sum(data, ids, 50).cpu();
  for (int i = 0; i < 5; ++i) BOOST_TEST(test::difference(first, unsorted_segment_sum(data, ids, 50).cpu()) == "");
}

BOOST_AUTO_TEST_CASE(one_hots) {
  for (const DType index : {kInt8, kUint8, kInt32, kInt64}) {
    for (const DType type : kSizes) {
      for (const int64_t axis : {-1, 0, 1}) {
        for (const int32_t depth : {0, 1, 5, 129}) {
          compare(
              [&](const Inputs& in) { return one_hot(in[0], depth, in[1], in[2], {.axis = axis}); },
              {reshape(spread(7 * 11, 0, 120, index), {7, 11}), reshape(slice(counted({9}, type), {2}, {1}), Shape{}),
               reshape(slice(counted({9}, type), {6}, {1}), Shape{})});
        }
      }
    }
  }
}

// Its inputs are in host memory.
BOOST_AUTO_TEST_CASE(ranges) {
  const Inputs real = {tensor(0.25f), tensor(1e4f), tensor(0.37f)};
  const Inputs down = {tensor(int64_t{1} << 40), tensor(int64_t{0}), tensor(-((int64_t{1} << 20) + 1))};
  for (const Inputs& in : {real, down}) {
    const Tensor expected = range(in[0], in[1], in[2]);
    const DeviceScope scope("/gpu:0");
    const Tensor got = range(in[0], in[1], in[2]);
    BOOST_TEST(&got.device() == gpu());
    BOOST_TEST(test::difference(expected, got.cpu()) == "");
  }
}

BOOST_AUTO_TEST_CASE(permutations) {
  for (const DType type : {kInt32, kInt64}) {
    // 7 and the length have no common divisor.
    const Tensor perm = cast(floor_mod(mul(range(0, 100'003, 1), 7), 100'003), type);
    compare([](const Inputs& in) { return invert_permutation(in[0]); }, {perm});
  }
}

BOOST_AUTO_TEST_CASE(shapes_are_in_host_memory) {
  const Tensor x = counted({3, 4}).to(*gpu());
  for (const Tensor& t : {shape(x), rank(x), size(x)}) BOOST_TEST(t.device().host_memory());
  BOOST_TEST((shape(x).to_vector<int32_t>() == std::vector<int32_t>{3, 4}));
}

// What a node says of a shape is planned to be on the host, where the next nodes read it.
BOOST_AUTO_TEST_CASE(shapes_in_graphs) {
  Session session(test::text_graph(R"(
    x = Placeholder(; dtype=float32, shape=[?,2])
    doubled = Add(x, x)
    dims = Shape(doubled)
    one = Const(; value=int32[1]{1})
    both = Mul(dims, dims)
    back = Reshape(doubled, dims)
    begin = Const(; value=int32[1]{0})
    rows = Slice(dims, begin, one)
    filled = Fill(rows, value)
    value = Const(; value=float32{3})
    count = Size(x)
  )"));
  const Tensor x = tensor({{1.f, 2.f}, {3.f, 4.f}, {5.f, 6.f}});
  for (int i = 0; i < 2; ++i) {
    const auto r = session.run({"back", "dims", "filled", "both", "count"}, {{"x", x}});
    BOOST_TEST((r[0].cpu().to_vector<float>() == std::vector<float>{2, 4, 6, 8, 10, 12}));
    BOOST_TEST((r[1].cpu().to_vector<int32_t>() == std::vector<int32_t>{3, 2}));
    BOOST_TEST((r[2].cpu().to_vector<float>() == std::vector<float>{3, 3, 3}));
    BOOST_TEST((r[3].cpu().to_vector<int32_t>() == std::vector<int32_t>{9, 4}));
    BOOST_TEST(r[4].cpu().item<int32_t>() == 6);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
