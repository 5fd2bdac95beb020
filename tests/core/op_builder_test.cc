// Ops that a program defines piece by piece.
#include "panto/lib/core/op/op_builder.h"

#include <boost/test/unit_test.hpp>

#include "panto/lib/core/call/call.h"
#include "panto/lib/core/call/composite.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/tests/expect.h"
#include "panto/tests/near.h"

namespace panto {
namespace {

BOOST_AUTO_TEST_SUITE(op_builder)

BOOST_AUTO_TEST_CASE(all_mistakes_at_once) {
  const OpBuilder b = std::move(OpBuilder("Mat Mul")
                                    .input("x: S")
                                    .input("y: T")
                                    .output("z T")
                                    .attr("T: numric")
                                    .attr("k: int = 3")
                                    .attr("k: int"));
  BOOST_TEST(b.signature() == "Mat Mul(x: S, y: T; T: numric, k: int = 3, k: int) -> (z T)");
  const std::string text = error_text([&] { b.build(); });
  BOOST_TEST(text.starts_with("InvalidArgument: op 'Mat Mul': expected one without mistakes, got 6: name: "), text);
  for (const char* part : {"attribute \"T: numric\": ", "attribute \"k: int\": ", "input \"x: S\": ",
                           "input \"y: T\": ", "output \"z T\": "}) {
    BOOST_TEST(text.find(part) != std::string::npos, part << " in " << text);
  }
  expect_error_begins([] { OpBuilder("MatMul").build(); },
                      "InvalidArgument: op 'MatMul': expected one without mistakes");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
