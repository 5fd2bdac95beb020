// x[i], x(i, j): indexing is an op, and says what is wrong before it runs.
#include <numeric>

#include "panto/lib/core/call/recorder.h"
#include "panto/lib/core/tensor/tensor.h"
#include "panto/lib/core/tensor/tensor_alloc.h"
#include "panto/tests/expect.h"

namespace panto {
namespace {

Tensor counting(const Shape& shape) {
  std::vector<float> values(static_cast<size_t>(shape.numel()));
  std::iota(values.begin(), values.end(), 0.F);
  return tensor(values, shape);
}

class Names final : public Recorder {
 public:
  bool keeps(const Call&) override { return false; }
  void record(const Call& call) override { names.push_back(call.op->name()); }
  void record_custom(std::span<const Tensor>, std::span<const Tensor>, std::shared_ptr<CustomBackward>) override {}
  std::vector<std::string> names;
};

BOOST_AUTO_TEST_SUITE(indexing)

BOOST_AUTO_TEST_CASE(elements_and_slices) {
  const Tensor t = counting(Shape{3, 4, 5});
  BOOST_TEST(t(1, 2, 3).item<float>() == 33.F);
  BOOST_TEST(t(-1, -1, -1).item<float>() == 59.F);
  BOOST_TEST(t(0, -4, 0).item<float>() == 0.F);
  BOOST_TEST(t[2].shape().to_string() == "[4,5]");
  BOOST_TEST(t[2][3][4].item<float>() == 59.F);
  BOOST_TEST((t(1, 1).to_vector<float>() == std::vector<float>{25, 26, 27, 28, 29}));
  BOOST_TEST(t.at({}).id() == t.id());
  BOOST_TEST(tensor(std::vector<std::string>{"a", "b"})[1].item<std::string>() == "b");
  BOOST_TEST(counting(Shape{2, 0})[1].shape().to_string() == "[0]");
}

BOOST_AUTO_TEST_CASE(outside) {
  const Tensor t = counting(Shape{3, 4});
  expect_error_begins([&] { (void)t[3]; }, "OutOfRange: index: expected one in [-3, 3) along dimension 0, got 3");
  expect_error_begins([&] { (void)t(0, -5); }, "OutOfRange: index: expected one in [-4, 4) along dimension 1, got -5");
  expect_error_begins([&] { (void)t(0, 0, 0); },
                      "InvalidArgument: index: expected at most 2 numbers for shape [3,4], got 3");
  expect_error_begins([] { (void)tensor(1.F)[0]; },
                      "InvalidArgument: index: expected at most 0 numbers for shape [], got 1");
  expect_error_begins([] { (void)counting(Shape{0})[0]; },
                      "OutOfRange: index: expected one in [0, 0) along dimension 0, got 0");
}

BOOST_AUTO_TEST_CASE(symbolic) {
  const Tensor t = meta_tensor(kFloat32, {-1, 4});
  BOOST_TEST(t[0].partial_shape().to_string() == "[4]");
  BOOST_TEST(t[-1].partial_shape().to_string() == "[4]");
  BOOST_TEST(t(7, 3).partial_shape().to_string() == "[]");
  expect_error_begins([&] { (void)t(0, 4); }, "OutOfRange: index: expected one in [-4, 4) along dimension 1, got 4");
}

BOOST_AUTO_TEST_CASE(is_recorded) {
  const Tensor t = counting(Shape{3, 4});
  Names recorder;
  {
    const RecorderScope scope(&recorder);
    (void)t(1, 2);
  }
  BOOST_TEST((recorder.names == std::vector<std::string>{"StridedSlice"}));
}

BOOST_AUTO_TEST_CASE(copies_between_devices_are_recorded_as_identities) {
  set_cpu_device_count(2);
  const Tensor t = counting(Shape{3});
  Names recorder;
  Tensor moved;
  {
    const RecorderScope scope(&recorder);
    moved = t.to(find_device("/cpu:1"));
  }
  BOOST_TEST((recorder.names == std::vector<std::string>{"Identity"}));
  BOOST_TEST(moved.device().name() == "/device:CPU:1");
  BOOST_TEST((moved.to_vector<float>() == t.to_vector<float>()));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
