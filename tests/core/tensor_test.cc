#include "panto/lib/core/tensor/tensor.h"

#include <cmath>
#include <complex>
#include <limits>

#include "panto/lib/core/call/recorder.h"
#include "panto/lib/core/tensor/tensor_alloc.h"
#include "panto/tests/expect.h"

namespace panto {
namespace {

std::string here(const char* leaf, int line) {
  return std::string(leaf) + " [at " + __FILE__ + ":" + std::to_string(line) + "]";
}

template <class T>
Tensor scalar(T value) {
  return tensor(std::span<const T>(&value, 1), Shape{});
}

// Hears of values that are read.
class ReadCounter final : public Recorder {
 public:
  bool keeps(const Call&) override { return false; }
  void record(const Call&) override {}
  void record_custom(std::span<const Tensor>, std::span<const Tensor>, std::shared_ptr<CustomBackward>) override {}
  void value_read(const Tensor& value, const std::source_location& where) override {
    ++reads;
    id = value.id();
    line = static_cast<int>(where.line());
  }
  int reads = 0;
  int64_t id = 0;
  int line = 0;
};

BOOST_AUTO_TEST_SUITE(tensors)

BOOST_AUTO_TEST_CASE(from_nested_lists) {
  const Tensor t = tensor({{1.f, 2.f, 3.f}, {4.f, 5.f, 6.f}});
  BOOST_TEST((t.dtype() == kFloat32));
  BOOST_TEST(t.shape().to_string() == "[2,3]");
  BOOST_TEST((t.to_vector<float>() == std::vector<float>{1, 2, 3, 4, 5, 6}));
  BOOST_TEST((tensor({1, 2}).dtype() == kInt32));
  BOOST_TEST((tensor({1., 2.}).dtype() == kFloat64));
  BOOST_TEST((tensor({int64_t{1}}).dtype() == kInt64));
  BOOST_TEST((tensor({true, false}).dtype() == kBool));
  BOOST_TEST(tensor({{{{1}, {2}}}}).shape().to_string() == "[1,1,2,1]");
  BOOST_TEST((tensor(1.5).dtype() == kFloat64));
  BOOST_TEST(tensor(1.5).rank() == 0);
  BOOST_TEST(tensor("abc").item<std::string>() == "abc");
}

BOOST_AUTO_TEST_CASE(ragged_lists) {
  expect_error([] { tensor({{1, 2}, {3}}); },
               "InvalidArgument: nested list: expected 2 elements as in the first list of that depth, got 1");
  expect_error([] { tensor({{{1}, {2}}, {{3}, {4}, {5}}}); },
               "InvalidArgument: nested list: expected 2 elements as in the first list of that depth, got 3");
}

BOOST_AUTO_TEST_CASE(from_vectors_and_spans) {
  const std::vector<int64_t> values = {1, 2, 3, 4, 5, 6};
  BOOST_TEST(tensor(values).shape().to_string() == "[6]");
  BOOST_TEST(tensor(values, Shape{2, 3}).dim(-1) == 3);
  BOOST_TEST((tensor(std::vector<bool>{true, false}).to_vector<bool>() == std::vector<bool>{true, false}));
  BOOST_TEST(tensor(std::vector<float>{}).numel() == 0);
  BOOST_TEST(tensor(std::vector<float>{}, Shape{0, 5}).shape().to_string() == "[0,5]");
  expect_error([&] { tensor(values, Shape{4}); },
               "InvalidArgument: tensor: expected 4 elements of int64 for shape [4], got 48 bytes");
  expect_error([&] { tensor_from_bytes(kInt32, Shape{1}, values.data(), 5); },
               "InvalidArgument: tensor: expected 1 elements of int32 for shape [1], got 5 bytes");
  expect_error([&] { tensor_from_bytes(kString, Shape{1}, values.data(), 32); },
               "InvalidArgument: tensor: expected an element type that can be copied as bytes, got string");
  expect_error([] { tensor_from_strings(Shape{2}, {"a"}); },
               "InvalidArgument: tensor: expected 2 strings for shape [2], got 1");
}

BOOST_AUTO_TEST_CASE(an_undefined_handle) {
  const Tensor t;
  BOOST_TEST(!t.defined());
  const std::string text = "FailedPrecondition: tensor: expected one with a value, got a default-constructed handle";
  expect_error([&] { (void)t.dtype(); }, text);
  expect_error([&] { (void)t.shape(); }, text);
  expect_error([&] { (void)t.item<float>(); }, text);
  expect_error([&] { (void)t.data<float>(); }, text);
  expect_error_begins([&] { (void)t[0]; }, text);
  expect_error([&] { (void)t.cpu(); }, text);
}

BOOST_AUTO_TEST_CASE(data_of_the_wrong_type) {
  const Tensor t = tensor({1, 2});
  expect_error([&] { (void)t.data<float>(); },
               here("InvalidArgument: element type: expected int32, got float32", __LINE__ - 1));
  expect_error([&] { (void)t.to_vector<int64_t>(); },
               here("InvalidArgument: element type: expected int32, got int64", __LINE__ - 1));
}

BOOST_AUTO_TEST_CASE(item_converts) {
  BOOST_TEST(tensor(2.75f).item<double>() == 2.75);
  BOOST_TEST(tensor(2.75f).item<int32_t>() == 2);
  BOOST_TEST(tensor({{7}}).item<int64_t>() == 7);
  BOOST_TEST(tensor(-3).item<float>() == -3.F);
  BOOST_TEST(tensor(true).item<int32_t>() == 1);
  BOOST_TEST(tensor(0.5).item<bool>());
  BOOST_TEST(!tensor(0).item<bool>());
  BOOST_TEST(scalar(Half(1.5F)).item<float>() == 1.5F);
  BOOST_TEST(scalar(BFloat16(-2.F)).item<int64_t>() == -2);
  BOOST_TEST(scalar(uint8_t{200}).item<int32_t>() == 200);
  BOOST_TEST(scalar(std::numeric_limits<uint64_t>::max()).item<double>() == 0x1p64);
  BOOST_TEST(tensor(-2147483648.9).item<int32_t>() == std::numeric_limits<int32_t>::min());
  BOOST_TEST(tensor(-0x1p63).item<int64_t>() == std::numeric_limits<int64_t>::min());
}

BOOST_AUTO_TEST_CASE(items_that_do_not_fit) {
  const auto from = [](auto value) { return error_text([&] { (void)scalar(value).template item<int32_t>(); }); };
  const auto begins = [](const std::string& text, std::string_view expected) {
    BOOST_TEST(text.substr(0, expected.size()) == expected);
  };
  begins(from(2147483648.0), "OutOfRange: item: expected a value that fits int32, got 2147483648");
  begins(from(-2147483649.0), "OutOfRange: item: expected a value that fits int32, got -2147483649");
  begins(from(std::nan("")), "OutOfRange: item: expected a value that fits int32, got nan");
  begins(from(std::numeric_limits<float>::infinity()), "OutOfRange: item: expected a value that fits int32, got inf");
  begins(from(int64_t{1} << 31), "OutOfRange: item: expected a value that fits int32, got 2147483648");
  begins(from(uint32_t{0xffffffff}), "OutOfRange: item: expected a value that fits int32, got 4294967295");
  begins(from(std::complex<float>(1, 2)), "InvalidArgument: item: expected a real number's type, got complex64");
  expect_error([] { (void)tensor(0x1p63).item<int64_t>(); },
               here("OutOfRange: item: expected a value that fits int64, got 9.223372036854776e+18", __LINE__ - 1));
  expect_error([] { (void)tensor("7").item<float>(); },
               here("InvalidArgument: item: expected a real number's type, got string", __LINE__ - 1));
  expect_error([] { (void)tensor(7).item<std::string>(); },
               here("InvalidArgument: item: expected a string tensor, got int32", __LINE__ - 1));
  expect_error([] { (void)tensor({1, 2}).item<int32_t>(); },
               here("InvalidArgument: item: expected a tensor with one element, got shape [2]", __LINE__ - 1));
  expect_error([] { (void)tensor(std::vector<float>{}).item<float>(); },
               here("InvalidArgument: item: expected a tensor with one element, got shape [0]", __LINE__ - 1));
}

// Design decision 6: the user's line and the fix.
BOOST_AUTO_TEST_CASE(values_of_symbolic_tensors) {
  const Tensor t = meta_tensor(kFloat32, {-1, 2});
  const char* text =
      "FailedPrecondition: value: expected a tensor that has one, got symbolic float32[?,2] (it gets values when the "
      "graph runs); to decide by a value inside a trace use cond, switch_case or while_loop, or select, of which both "
      "sides are computed, or trace with "
      "real values (trace_with), which lists what it baked in";
  expect_error([&] { (void)t.item<float>(); }, here(text, __LINE__));
  expect_error([&] { (void)t.data<float>(); }, here(text, __LINE__));
  expect_error([&] { (void)t.to_vector<float>(); }, here(text, __LINE__));
  expect_error(
      [&] { (void)t.shape(); },
      "FailedPrecondition: shape: expected a known one, got [?,2] of a symbolic tensor (partial_shape() tells what "
      "is known, the op shape(x) gives it when the graph runs)");
  BOOST_TEST(t.partial_shape().to_string() == "[?,2]");
  BOOST_TEST((meta_tensor(kInt32, {2, 3}).shape() == Shape{2, 3}));
  expect_error([&] { (void)copy_to_device(t, cpu_device()); },
               "FailedPrecondition: copy: expected a tensor with a value, got symbolic float32[?,2]");
}

BOOST_AUTO_TEST_CASE(recorders_hear_of_reads) {
  ReadCounter counter;
  const Tensor t = tensor({1.f, 2.f});
  const Tensor one = tensor(3.f);
  {
    const RecorderScope scope(&counter);
    (void)t.data<float>();
    BOOST_TEST(counter.line == __LINE__ - 1);
    BOOST_TEST(counter.reads == 1);
    BOOST_TEST(counter.id == t.id());
    (void)one.item<float>();
    BOOST_TEST(counter.line == __LINE__ - 1);
    BOOST_TEST(counter.id == one.id());
    (void)t.to_string();
    BOOST_TEST(counter.id == t.id());
    // Types and shapes are no values.
    counter.reads = 0;
    (void)t.shape();
    (void)t.nbytes();
    BOOST_TEST(counter.reads == 0);
  }
  (void)one.item<float>();
  BOOST_TEST(counter.reads == 0);
}

BOOST_AUTO_TEST_CASE(handles) {
  Tensor a = tensor({1.f, 2.f});
  const Tensor b = a;
  BOOST_TEST(a.id() == b.id());
  Tensor c = std::move(a);
  BOOST_TEST(!a.defined());  // NOLINT(bugprone-use-after-move): documented
  BOOST_TEST(c.id() == b.id());
  const Tensor& self = c;
  c = self;
  BOOST_TEST(c.defined());
  c = Tensor();
  BOOST_TEST(b.data<float>()[1] == 2.F);
}

BOOST_AUTO_TEST_CASE(copies_to_other_cpu_devices) {
  set_cpu_device_count(2);
  Device& other = find_device("/cpu:1");
  for (const Tensor& t : {tensor({1.f, 2.f}), tensor(std::vector<float>(1000, 3.F)), tensor(std::vector<float>{})}) {
    const Tensor there = t.to(other);
    BOOST_TEST(&there.device() == &other);
    BOOST_TEST((there.to_vector<float>() == t.to_vector<float>()));
    BOOST_TEST(there.id() != t.id());
    BOOST_TEST(t.to(cpu_device()).id() == t.id());
    BOOST_TEST(there.cpu().id() == there.id());  // it is in a CPU's memory
  }
  const Tensor text = tensor("abc").to(other);
  BOOST_TEST(text.item<std::string>() == "abc");
  BOOST_TEST(tensor({1, 2}).to(meta_device()).is_meta());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
