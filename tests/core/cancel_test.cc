#include "panto/lib/core/step/cancel.h"

#include <boost/test/unit_test.hpp>

#include "panto/autograd/tape.h"
#include "panto/lib/core/call/recorder.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/lib/ops/random/random.h"
#include "panto/tests/expect.h"
#include "panto/trace/trace.h"

using namespace panto;

BOOST_AUTO_TEST_SUITE(cancel)

namespace {
struct Cleared {
  ~Cleared() { clear_cancel(); }
};
bool is_cancelled(const Error& error) { return error.code() == Code::kCancelled; }
}  // namespace

BOOST_AUTO_TEST_CASE(the_next_op_throws_and_the_ones_after_do_not) {
  const Cleared cleared;
  const Tensor x = tensor({1.f, 2.f});
  request_cancel();
  BOOST_CHECK_EXCEPTION(x + x, Error, is_cancelled);
  BOOST_TEST((x + x).to_vector<float>() == (std::vector<float>{2, 4}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_request_taken_back_stops_nothing) {
  const Tensor x = tensor({1.f, 2.f});
  request_cancel();
  BOOST_TEST(cancel_requested());
  clear_cancel();
  BOOST_TEST(!cancel_requested());
  BOOST_CHECK_NO_THROW(x + x);
  BOOST_TEST(recorders().size() == 0u);
}

BOOST_AUTO_TEST_CASE(long_loops_and_graphs_throw_until_it_is_taken_back) {
  const Cleared cleared;
  const Tensor big = random_normal({600, 600}, {.seed = 1});
  const Function f = trace([](const Tensor& a) { return a * 2.0f; }, {TensorSpec(kFloat32, {2})});
  f(tensor({1.f, 2.f}));
  request_cancel();
  BOOST_CHECK_EXCEPTION(big + big, Error, is_cancelled);
  BOOST_CHECK_EXCEPTION(big + big, Error, is_cancelled);
  BOOST_CHECK_EXCEPTION(f(tensor({1.f, 2.f})), Error, is_cancelled);
  clear_cancel();
  BOOST_CHECK_NO_THROW(big + big);
}

BOOST_AUTO_TEST_CASE(a_tape_that_was_stopped_in_goes_on) {
  const Cleared cleared;
  const Tensor x = tensor(3.f);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = x * x;
  request_cancel();
  BOOST_CHECK_EXCEPTION(y * x, Error, is_cancelled);
  clear_cancel();
  const Tensor z = y * x;
  BOOST_TEST(tape.gradient(z, x).item<float>() == 27.f);
}

BOOST_AUTO_TEST_CASE(a_mark_closes_the_scopes_opened_since) {
  const ScopeMark mark;
  auto* left = new GradientTape;  // as code that is left without running destructors leaves it
  BOOST_TEST(recorders().size() == 1u);
  mark.restore();
  BOOST_TEST(recorders().size() == 0u);
  delete left;
}

BOOST_AUTO_TEST_SUITE_END()
