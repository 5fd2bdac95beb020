// Matrix products against the definition in long double, on both sides of every size at which another engine takes
// over, and their independence of the number of threads.
#include <dlfcn.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <complex>
#include <cstdlib>
#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <thread>

#include "panto/device/cpu/gemm/gemm.h"
#include "panto/lib/base/error.h"
#include "panto/lib/core/call/dispatch.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/lib/ops/products.h"
#include "panto/tests/device/support.h"

namespace panto {
namespace {

using test::random_tensor;
using test::same_bits;
using test::ThreadCount;

struct Size {
  int64_t m, n, k;
};

std::ostream& operator<<(std::ostream& out, const Size& s) { return out << s.m << 'x' << s.n << 'x' << s.k; }

// How far a number may be from one of 1 that it was rounded from, at most.
template <class T>
constexpr double kRounding = std::is_same_v<T, BFloat16> ? 0x1p-8
                             : std::is_same_v<T, Half>   ? 0x1p-11
                                                         : 0;

// Elements of the product at `count` places spread over it, against the definition. Floats may differ by a few units of
// the sum of the absolute products; smaller types are added up in floats and rounded once.
template <class T>
void check_product(const Tensor& a, const Tensor& b, const Tensor& c, Size s, bool ta, bool tb, int64_t count = 200) {
  BOOST_REQUIRE(c.shape() == Shape({s.m, s.n}));
  const auto x = a.data<T>(), y = b.data<T>(), z = c.data<T>();
  const int64_t step = std::max<int64_t>(1, s.m * s.n / count);
  for (int64_t at = 0; at < s.m * s.n; at += step) {
    const int64_t i = at / s.n, j = at % s.n;
    if constexpr (std::is_integral_v<T>) {
      uint64_t sum = 0;
      for (int64_t p = 0; p < s.k; ++p) {
        sum += static_cast<uint64_t>(x[static_cast<size_t>(ta ? p * s.m + i : i * s.k + p)]) *
               static_cast<uint64_t>(y[static_cast<size_t>(tb ? j * s.k + p : p * s.n + j)]);
      }
      BOOST_REQUIRE_EQUAL(z[static_cast<size_t>(at)], static_cast<T>(sum));
    } else {
      using Sum = std::conditional_t<is_half_type<T>, float, T>;
      const auto number = [](const T& v) { return static_cast<long double>(static_cast<Sum>(v)); };
      long double sum = 0, size = 0;
      for (int64_t p = 0; p < s.k; ++p) {
        const long double term = number(x[static_cast<size_t>(ta ? p * s.m + i : i * s.k + p)]) *
                                 number(y[static_cast<size_t>(tb ? j * s.k + p : p * s.n + j)]);
        sum += term;
        size += std::abs(term);
      }
      const long double got = number(z[static_cast<size_t>(at)]);
      const long double subnormal = is_half_type<T> ? 0x1p-25 : 0;  // half of float16's least
      const long double bound = static_cast<long double>(std::numeric_limits<Sum>::epsilon()) * 8 * size +
                                kRounding<T> * std::abs(sum) + subnormal;
      BOOST_REQUIRE_MESSAGE(std::abs(got - sum) <= bound,
                            s << " at " << i << ',' << j << ": " << got << ", expected " << static_cast<double>(sum));
    }
  }
}

template <class T>
void try_product(Size s) {
  for (const bool ta : {false, true}) {
    for (const bool tb : {false, true}) {
      const Tensor a = random_tensor<T>(ta ? Shape{s.k, s.m} : Shape{s.m, s.k}, 1);
      const Tensor b = random_tensor<T>(tb ? Shape{s.n, s.k} : Shape{s.k, s.n}, 2);
      check_product<T>(a, b, matmul(a, b, {.transpose_a = ta, .transpose_b = tb}), s, ta, tb);
    }
  }
}

// Whether oneDNN has a layout of its own for a factor of floats here, which PANTO_CPU does not change.
bool onednn_packs() {
#ifdef __x86_64__
  return __builtin_cpu_supports("avx512vl") != 0;
#else
  return false;
#endif
}

BOOST_AUTO_TEST_SUITE(linalg)

BOOST_AUTO_TEST_CASE(every_small_size) {
  for (int64_t m : {1, 2, 3, 4, 5, 7, 8, 9, 13, 17}) {
    for (int64_t n : {1, 3, 7, 8, 9, 15, 16, 17, 25, 33}) {
      for (int64_t k : {1, 2, 5, 16, 31}) {
        try_product<float>({m, n, k});
        try_product<int32_t>({m, n, k});
      }
      try_product<double>({m, n, 6});
      try_product<int64_t>({m, n, 6});
    }
  }
}

BOOST_AUTO_TEST_CASE(sizes_around_the_crossovers, *boost::unit_test::label("heavy")) {
  const Size sizes[] = {{16, 16, 16},    {16, 16, 17},    {63, 64, 64},     {64, 64, 64},    {64, 64, 65},
                        {65, 65, 65},    {1, 256, 256},   {1, 257, 256},    {256, 1, 256},   {7, 100, 100},
                        {8, 100, 100},   {128, 128, 128}, {64, 10, 784},    {200, 300, 70},  {129, 257, 300},
                        {1, 1, 5000},    {1, 1, 40000},   {300, 300, 300},  {901, 70, 50},   {790, 530, 61},
                        {17, 2048, 300}, {96, 4096, 70},  {127, 2048, 257}, {128, 2048, 33}, {1, 2049, 300},
                        {3, 4100, 70},   {4, 257, 1000}};
  for (const Size& s : sizes) {
    try_product<float>(s);
    try_product<double>(s);
    try_product<BFloat16>(s);
    try_product<Half>(s);
  }
  for (const Size& s : {Size{40, 50, 300}, Size{100, 64, 513}, Size{450, 70, 260}, Size{400, 530, 40}}) {
    try_product<int32_t>(s);
    try_product<int64_t>(s);
  }
}

// Such products are read row by row. Each row is what it would be alone; that is checked against the definition.
BOOST_AUTO_TEST_CASE(a_few_rows_by_a_large_matrix) {
  for (const auto& [n, k] :
       {std::pair<int64_t, int64_t>{600, 500}, {1555, 259}, {2049, 515}, {300, 1801}, {5000, 61}}) {
    const Tensor b = random_tensor<float>({k, n}, 2);
    const Tensor rows = random_tensor<float>({17, k}, 1);
    for (int64_t m : {2, 3, 4, 5, 7, 8, 9, 13, 16, 17}) {
      const Tensor a = slice(rows, {0, 0}, {m, k});
      const Tensor c = matmul(a, b);
      check_product<float>(a, b, c, {m, n, k}, false, false);
      const Tensor columns = transpose(a, {1, 0});
      check_product<float>(columns, b, matmul(columns, b, {.transpose_a = true}), {m, n, k}, true, false);
      const bool by_rows = m == 2 || (m <= 8 && n >= k / 2);
      for (int64_t i = 0; by_rows && i < m; ++i) {
        BOOST_TEST(same_bits(slice(c, {i, 0}, {1, n}), matmul(slice(a, {i, 0}, {1, k}), b)), m << 'x' << n << 'x' << k);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(integers_wrap) {
  const Tensor a = tensor({{2147483647, 2}}), b = tensor({{2}, {3}});
  BOOST_TEST(matmul(a, b).item<int32_t>() == 4);
}

#ifdef __x86_64__
// An OpenBLAS that does not know the processor takes kernels of 2004 by itself.
BOOST_AUTO_TEST_CASE(openblas_uses_the_vectors_that_there_are) {
  const Tensor x = random_tensor<double>({64, 64});
  matmul(x, x);
  void* const openblas = dlopen("libopenblas.so.0", RTLD_LAZY | RTLD_NOLOAD);
  const char* const level = std::getenv("PANTO_CPU");
  const bool portable = level != nullptr && std::string_view(level) == "portable";
  if (openblas == nullptr || portable || !__builtin_cpu_supports("avx2")) return;
  const auto core = reinterpret_cast<char* (*)()>(dlsym(openblas, "openblas_get_corename"));
  BOOST_REQUIRE(core != nullptr);
  const std::set<std::string> narrow = {"Prescott", "Core2", "Penryn", "Nehalem", "Generic", "Unknown"};
  BOOST_TEST(narrow.count(core()) == 0, core());
}
#endif

BOOST_AUTO_TEST_CASE(no_inner_dimension_gives_zeros) {
  for (int64_t m : {0, 2}) {
    for (int64_t n : {0, 3}) {
      const Tensor c = matmul(random_tensor<float>({m, 0}), random_tensor<float>({0, n}));
      BOOST_TEST((c.shape() == Shape{m, n}));
      for (float v : c.data<float>()) BOOST_TEST(v == 0.f);
      BOOST_TEST((matmul(random_tensor<double>({m, 4}), random_tensor<double>({4, n})).shape() == Shape{m, n}));
    }
  }
  BOOST_TEST((batch_matmul(random_tensor<float>({0, 2, 3}), random_tensor<float>({3, 4})).shape() == Shape{0, 2, 4}));
  const Tensor c = batch_matmul(random_tensor<float>({2, 1, 2, 0}), random_tensor<float>({3, 0, 2}));
  BOOST_TEST((c.shape() == Shape{2, 3, 2, 2}));
  for (float v : c.data<float>()) BOOST_TEST(v == 0.f);
}

// Shapes for which oneDNN or OpenBLAS, asked directly, give other bits on two threads than on one; and long inner
// dimensions.
BOOST_AUTO_TEST_CASE(bits_do_not_depend_on_the_number_of_threads, *boost::unit_test::label("heavy")) {
  const Size sizes[] = {{64, 64, 64},   {96, 96, 96},    {1, 512, 512},    {64, 10, 256},    {1, 1, 100000},
                        {8, 8, 100000}, {64, 64, 40000}, {100, 10, 60000}, {10, 1024, 1024}, {300, 290, 310},
                        {512, 512, 64}, {257, 129, 500}, {1, 3001, 700},   {2500, 1, 300},   {3, 1600, 500},
                        {8, 700, 600},  {16, 2000, 300}, {2, 600, 1500},   {50, 4096, 300}};
  for (const Size& s : sizes) {
    for (const bool transposed : {false, true}) {
      const auto run = [&]<class T>(T) {
        const Tensor a = random_tensor<T>(transposed ? Shape{s.k, s.m} : Shape{s.m, s.k}, 1);
        const Tensor b = random_tensor<T>(transposed ? Shape{s.n, s.k} : Shape{s.k, s.n}, 2);
        const auto product = [&](int threads) {
          const ThreadCount scope(threads);
          return matmul(a, b, {.transpose_a = transposed, .transpose_b = transposed});
        };
        const Tensor one = product(1);
        for (int threads : {2, 3, 8}) BOOST_TEST(same_bits(one, product(threads)), s << " on " << threads);
        check_product<T>(a, b, one, s, transposed, transposed, 20);
      };
      run(float{});
      run(double{});
      run(BFloat16{});
      run(Half{});
    }
  }
}

// Small and large products; broadcasting on either side and in the middle.
template <class T>
void try_batches() {
  for (const Size& s : {Size{3, 4, 5}, Size{90, 80, 70}}) {
    for (const bool adj : {false, true}) {
      const Tensor x = random_tensor<T>(adj ? Shape{2, 1, 3, s.k, s.m} : Shape{2, 1, 3, s.m, s.k}, 1);
      const Tensor y = random_tensor<T>(adj ? Shape{4, 1, s.n, s.k} : Shape{4, 1, s.k, s.n}, 2);
      const auto product = [&](int threads) {
        const ThreadCount scope(threads);
        return batch_matmul(x, y, {.adj_x = adj, .adj_y = adj});
      };
      const Tensor z = product(1);
      BOOST_REQUIRE(z.shape() == Shape({2, 4, 3, s.m, s.n}));
      BOOST_TEST(same_bits(z, product(2)));
      for (int64_t i = 0; i < 2; ++i) {
        for (int64_t j = 0; j < 4; ++j) {
          for (int64_t l = 0; l < 3; ++l) check_product<T>(x(i, 0, l), y(j, 0), z(i, j, l), s, adj, adj, 30);
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(batches) {
  try_batches<float>();
  try_batches<BFloat16>();
  try_batches<Half>();
  const Tensor x = random_tensor<int32_t>({5, 20, 300}), y = random_tensor<int32_t>({300, 30});
  const Tensor z = batch_matmul(x, y);
  for (int64_t i = 0; i < 5; ++i) check_product<int32_t>(x[i], y, z[i], {20, 30, 300}, false, false);
  // A long inner dimension.
  const Tensor v = random_tensor<float>({2, 4, 40000}), w = random_tensor<float>({2, 40000, 4});
  const Tensor u = batch_matmul(v, w);
  for (int64_t i = 0; i < 2; ++i) check_product<float>(v[i], w[i], u[i], {4, 4, 40000}, false, false);
}

// With an inner dimension of 1 there is nothing to add up: products are Mul's.
template <class T>
void try_outer(Size s) {
  for (const bool ta : {false, true}) {
    for (const bool tb : {false, true}) {
      const Tensor a = random_tensor<T>(ta ? Shape{1, s.m} : Shape{s.m, 1}, 1);
      const Tensor b = random_tensor<T>(tb ? Shape{s.n, 1} : Shape{1, s.n}, 2);
      const Tensor c = matmul(a, b, {.transpose_a = ta, .transpose_b = tb});
      check_product<T>(a, b, c, {s.m, s.n, 1}, ta, tb);
      BOOST_TEST(same_bits(c, reshape(a, {s.m, 1}) * reshape(b, {1, s.n})));
      // Two of the left factor by three of the right one.
      const Tensor x = random_tensor<T>(ta ? Shape{2, 1, 1, s.m} : Shape{2, 1, s.m, 1}, 3);
      const Tensor y = random_tensor<T>(tb ? Shape{3, s.n, 1} : Shape{3, 1, s.n}, 4);
      const auto products = [&](int threads) {
        const ThreadCount scope(threads);
        return batch_matmul(x, y, {.adj_x = ta, .adj_y = tb});
      };
      const Tensor z = products(1);
      BOOST_REQUIRE(z.shape() == Shape({2, 3, s.m, s.n}));
      BOOST_TEST(same_bits(z, products(2)));
      BOOST_TEST(same_bits(z, reshape(x, {2, 1, s.m, 1}) * reshape(y, {3, 1, s.n})));
      check_product<T>(x(1, 0), y[2], z(1, 2), {s.m, s.n, 1}, ta, tb, 30);
    }
  }
}

BOOST_AUTO_TEST_CASE(outer_products) {
  for (const Size& s : {Size{1, 1, 1}, Size{3, 4, 1}, Size{1, 300, 1}, Size{300, 1, 1}, Size{90, 80, 1}}) {
    try_outer<float>(s);
    try_outer<double>(s);
    try_outer<BFloat16>(s);
    try_outer<Half>(s);
    try_outer<int32_t>(s);
  }
  try_outer<float>({1200, 1300, 1});  // the batch goes past the caches
  const Tensor zeros = tensor({{0.f}, {-0.f}, {1.f}, {-1.f}}), signs = tile(tensor({{-1.f, 1.f, -0.f}}), {1, 6});
  BOOST_TEST(same_bits(matmul(zeros, signs), zeros * signs));
  BOOST_TEST(same_bits(fused_matmul(zeros, signs, {}, {.fused_ops = {"Relu"}}), relu(zeros * signs)));
  // Complex factors that are transposed are conjugated in batches.
  using Complex = std::complex<double>;
  const std::vector<Complex> numbers = {{1, 2}, {3, -4}, {-5, 6}, {0.5, 7}};
  const Tensor z = tensor(numbers, {2, 1, 2}), turned = reshape(z, {2, 2, 1});
  const auto plain = batch_matmul(turned, z).to_vector<Complex>();
  const auto adjoint = batch_matmul(z, z, {.adj_x = true}).to_vector<Complex>();
  for (size_t at = 0; at < 8; ++at) {
    const Complex left = numbers[at / 4 * 2 + at / 2 % 2], right = numbers[at / 4 * 2 + at % 2];
    BOOST_TEST(plain[at] == left * right);
    BOOST_TEST(adjoint[at] == std::conj(left) * right);
  }
}

BOOST_AUTO_TEST_CASE(plans_are_made_once) {
  const auto product = [](int64_t m) { matmul(random_tensor<float>({m, 100}), random_tensor<float>({100, 100})); };
  product(80);
  const int64_t before = cpu::gemm_plans_made();
  for (int i = 0; i < 3; ++i) product(80);
  BOOST_TEST(cpu::gemm_plans_made() == before);
  // The cache is bounded: what was not used for long is made anew.
  for (int64_t m = 100; m < 200; ++m) product(m);
  BOOST_TEST(cpu::gemm_plans_made() == before + 100);
  product(80);
  BOOST_TEST(cpu::gemm_plans_made() == before + 101);
  product(199);
  BOOST_TEST(cpu::gemm_plans_made() == before + 101);
}

BOOST_AUTO_TEST_CASE(prepared_calls_have_their_own_plan) {
  const Tensor a = random_tensor<float>({90, 80}, 1), b = random_tensor<float>({80, 70}, 2);
  const Tensor symbols[] = {meta_tensor(kFloat32, {90, 80}), meta_tensor(kFloat32, {80, 70})};
  const std::vector<AttrValue> attrs(get_op("MatMul").signature().attrs.size());
  const auto prepared = dispatch::prepare(get_op("MatMul"), symbols, attrs, cpu_device(), "mm");
  const int64_t before = cpu::gemm_plans_made();
  const Tensor* inputs[] = {&a, &b};
  const auto run = [&] {
    Tensor output[1];
    dispatch::run(*prepared, current_step(), inputs, output);
    return output[0];
  };
  const Tensor first = run();
  BOOST_TEST(cpu::gemm_plans_made() == before);
  BOOST_TEST(same_bits(first, matmul(a, b)));
  // The same prepared call in several threads at once.
  std::vector<Tensor> results(4);
  std::vector<std::thread> threads;
  for (Tensor& r : results) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) r = run();
    });
  }
  for (std::thread& t : threads) t.join();
  for (const Tensor& r : results) BOOST_TEST(same_bits(first, r));
}

// Whoever plans a call tells what is constant: a right factor is then laid out once. The bits stay.
BOOST_AUTO_TEST_CASE(constant_right_factors, *boost::unit_test::label("heavy")) {
  const auto prepared = [](const char* op, const Tensor& a, const Tensor& b, const std::vector<std::string>& flags) {
    const Signature& signature = get_op(op).signature();
    std::vector<AttrValue> attrs(signature.attrs.size());
    for (const std::string& flag : flags) attrs[static_cast<size_t>(signature.find_attr(flag))] = AttrValue(true);
    const Tensor inputs[] = {meta_tensor(a.dtype(), a.shape()), b};
    return dispatch::prepare(get_op(op), inputs, attrs, cpu_device(), op);
  };
  const auto run = [](const std::shared_ptr<dispatch::Prepared>& call, const Tensor& a, const Tensor& b) {
    const Tensor* inputs[] = {&a, &b};
    Tensor output[1];
    dispatch::run(*call, current_step(), inputs, output);
    return output[0];
  };
  for (const Size& s : {Size{4, 512, 784}, Size{16, 1000, 300}, Size{65, 200, 300}, Size{1000, 530, 300},
                        Size{1030, 70, 90}, Size{9, 512, 4608}, Size{3, 40, 40'000}, Size{300, 23, 77},
                        Size{1, 700, 900}, Size{900, 1, 700}, Size{5, 6, 7}}) {
    for (const bool ta : {false, true}) {
      for (const bool tb : {false, true}) {
        std::vector<std::string> flags;
        if (ta) flags.emplace_back("transpose_a");
        if (tb) flags.emplace_back("transpose_b");
        const auto check = [&]<class T>(T) {
          const Tensor a = random_tensor<T>(ta ? Shape{s.k, s.m} : Shape{s.m, s.k}, 1);
          const Tensor b = random_tensor<T>(tb ? Shape{s.n, s.k} : Shape{s.k, s.n}, 2);
          const auto call = prepared("MatMul", a, b, flags);
          const auto product = [&](const Tensor& right) {
            return matmul(a, right, {.transpose_a = ta, .transpose_b = tb});
          };
          for (const int threads : {1, 3}) {
            const ThreadCount scope(threads);
            BOOST_TEST(same_bits(run(call, a, b), product(b)), s << ", " << ta << tb);
          }
          // The copy is that tensor's and no other's.
          const Tensor other = random_tensor<T>(b.shape(), 3);
          BOOST_TEST(same_bits(run(call, a, other), product(other)), s << ", " << ta << tb);
        };
        check(float{});
        check(BFloat16{});
      }
    }
  }
  const Tensor a = random_tensor<float>({3, 40, 200}, 1), b = random_tensor<float>({200, 100}, 2);
  const auto batch = prepared("BatchMatMulV2", a, b, {});
  BOOST_TEST(same_bits(run(batch, a, b), batch_matmul(a, b)));
  // Plans share copies, which go with the last of them.
  const int64_t before = cpu::packed_factors_alive();
  const Tensor factor = random_tensor<float>({200, 100}, 3);
  auto one = prepared("MatMul", random_tensor<float>({16, 200}), factor, {});
  const int64_t each = cpu::packed_factors_alive() - before;
  BOOST_TEST(each == (onednn_packs() ? 1 : 0));
  auto two = prepared("MatMul", random_tensor<float>({24, 200}), factor, {});
  BOOST_TEST(cpu::packed_factors_alive() == before + each);
  one.reset();
  BOOST_TEST(cpu::packed_factors_alive() == before + each);
  two.reset();
  BOOST_TEST(cpu::packed_factors_alive() == before);
}

BOOST_AUTO_TEST_CASE(fused_is_the_separate_ops_bit_by_bit) {
  struct Case {
    const char* name;
    Tensor (*op)(Arg);
  };
  const auto identity = [](Arg x) { return x.tensor(); };
  const Case cases[] = {{"Relu", [](Arg x) { return relu(x.tensor()); }},
                        {"Tanh", [](Arg x) { return tanh(x.tensor()); }},
                        {"Sigmoid", [](Arg x) { return sigmoid(x.tensor()); }},
                        {"", identity}};
  for (const Size& s : {Size{5, 7, 3}, Size{64, 128, 784}, Size{64, 200, 300}, Size{500, 260, 100}, Size{500, 100, 3},
                        Size{1, 700, 900}, Size{900, 1, 700}, Size{2, 40, 20'000}, Size{70'000, 4, 8}}) {
    const ThreadCount scope(static_cast<int>(s.m % 3) + 1);
    const Tensor a = random_tensor<float>({s.m, s.k}, 1), b = random_tensor<float>({s.k, s.n}, 2);
    const Tensor bias = random_tensor<float>({s.n}, 3), other = random_tensor<float>({s.m, s.n}, 4);
    const Tensor product = matmul(a, b);
    for (const Case& c : cases) {
      const auto fused = [&](std::vector<std::string> ops, const std::vector<Tensor>& args) {
        if (*c.name != '\0') ops.emplace_back(c.name);
        return fused_matmul(a, b, args, {.fused_ops = ops});
      };
      BOOST_TEST(same_bits(fused({}, {}), c.op(product)), c.name);
      BOOST_TEST(same_bits(fused({"BiasAdd"}, {bias}), c.op(bias_add(product, bias))), c.name);
      BOOST_TEST(same_bits(fused({"Add"}, {other}), c.op(add(other, product))), c.name);
      BOOST_TEST(same_bits(fused({"BiasAdd", "Add"}, {bias, other}), c.op(add(bias_add(product, bias), other))),
                 c.name);
    }
  }
  // NaN goes through Relu, as in the op of that name.
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor y = fused_matmul(tensor({{nan}}), tensor({{1.f}}), {tensor({0.f})}, {.fused_ops = {"BiasAdd", "Relu"}});
  BOOST_TEST(std::isnan(y.item<float>()));
}

BOOST_AUTO_TEST_CASE(other_fused_activations) {
  const Tensor x = tensor({{-3.f, -0.5f, 0.f, 0.5f, 3.f, 7.f}}), one = tensor({{1.f}}),
               none = tensor(std::vector<float>(6));
  const auto fused = [&](const char* name) {
    return fused_matmul(one, x, {none}, {.fused_ops = {"BiasAdd", name}}).to_vector<float>();
  };
  const auto expect = [&](const char* name, double (*f)(double)) {
    const std::vector<float> got = fused(name), in = x.to_vector<float>();
    for (size_t i = 0; i < in.size(); ++i) BOOST_TEST(std::abs(got[i] - f(in[i])) <= 2e-6, name << ' ' << in[i]);
  };
  expect("Relu6", [](double v) { return std::min(std::max(v, 0.), 6.); });
  expect("Elu", [](double v) { return v < 0 ? std::expm1(v) : v; });
  expect("LeakyRelu", [](double v) { return v < 0 ? double{0.2f} * v : v; });
  expect("GeluExact", [](double v) { return v / 2 * (1 + std::erf(v / std::sqrt(2.))); });
  expect("GeluApproximate",
         [](double v) { return v / 2 * (1 + std::tanh(std::sqrt(2 / std::acos(-1.)) * (v + 0.044715 * v * v * v))); });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
