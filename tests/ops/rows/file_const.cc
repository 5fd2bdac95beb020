// Numbers of files: what is read, what is refused, and nodes of graphs.
#include <boost/test/unit_test.hpp>
#include <string>

#include "panto/lib/base/file.h"
#include "panto/lib/core/call/scopes.h"
#include "panto/lib/core/io/graph_files.h"
#include "panto/lib/ops/ops.h"
#include "panto/tests/expect.h"
#include "panto/tests/folder.h"
#include "panto/tests/ops/saved.h"
#include "panto/tests/ops/table.h"

namespace panto::test::file_const_rows {
namespace {

void reads() {
  const TestFolder folder;
  const std::string path = folder / "numbers";
  write_file(path, std::string("\1\0\2\0\3\0", 6));
  BOOST_TEST(immutable_const(kInt16, Shape{3}, path).to_string() == "[1 2 3]");
  BOOST_TEST(immutable_const(kUint8, Shape{2, 2}, path).to_string() == "[[1 0]\n [2 0]]");
  BOOST_TEST(immutable_const(kFloat32, Shape{0}, path).to_string() == "[]");
  expect_error_begins([&] { immutable_const(kInt32, Shape{2}, path); }, "DataLoss: file '");
  expect_error_begins([&] { immutable_const(kFloat64, Shape{1LL << 40, 1LL << 10}, path); }, "DataLoss: file '");
  expect_error_begins([&] { immutable_const(kBool, Shape{3}, path); }, "DataLoss: file '");
  expect_error_begins([&] { immutable_const(kInt16, PartialShape{kUnknownDim}, path); },
                      "InvalidArgument: shape: expected a known one, got [?]");
  expect_error_begins([&] { immutable_const(kInt16, Shape{1}, folder / "none"); }, "NotFound: ");
  const struct Refused {
    Refused() { allow_graph_files(false); }
    ~Refused() { allow_graph_files(true); }
  } refused;
  expect_error_begins([&] { immutable_const(kInt16, Shape{3}, path); }, "PermissionDenied: file '");
}

void in_saved_graphs() {
  const TestFolder folder;
  const std::string path = folder / "numbers";
  write_file(path, std::string("\1\0\2\0", 4));
  for (const Graph& graph : saved_and_loaded([&] { named("y", immutable_const(kInt16, Shape{2}, path)); })) {
    Session session(graph);
    BOOST_TEST(session.run("y").to_string() == "[1 2]");
  }
}

const Family file_const("readers", {{"ImmutableConst", {.own = {{"reads", reads}, {"saved", in_saved_graphs}}}}});

}  // namespace
}  // namespace panto::test::file_const_rows
