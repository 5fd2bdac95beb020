// The profiler: eager calls, traced functions and sessions, on several threads.
#include "panto/lib/runtime/profile/profiler.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "panto/autograd/tape.h"
#include "panto/lib/base/file.h"
#include "panto/lib/ops/create.h"
#include "panto/lib/ops/ops.h"
#include "panto/lib/ops/products.h"
#include "panto/lib/ops/reductions.h"
#include "panto/lib/runtime/session.h"
#include "panto/lib/runtime/session/run_metadata.h"
#include "panto/tests/expect.h"
#include "panto/tests/folder.h"
#include "panto/tests/graph/text_graph.h"
#include "panto/trace/trace.h"

namespace panto::test {
namespace {

std::vector<ProfiledOp> of(const Profiler& profiler, std::string_view op) {
  std::vector<ProfiledOp> found;
  for (const ProfiledOp& o : profiler.ops()) {
    if (o.op == op) found.push_back(o);
  }
  return found;
}

BOOST_AUTO_TEST_SUITE(profiler_suite)

BOOST_AUTO_TEST_CASE(eager_calls_say_shapes_bytes_and_flops) {
  const Tensor x = ones({8, 16}), y = ones({16, 4});
  std::optional<Profiler> profiler(std::in_place);
  const Tensor z = matmul(x, y);
  profiler->stop();
  matmul(x, y);
  const std::vector<ProfiledOp> found = of(*profiler, "MatMul");
  BOOST_REQUIRE_EQUAL(found.size(), 1u);
  BOOST_TEST(found[0].inputs == "float32[8,16], float32[16,4]");
  BOOST_TEST(found[0].outputs == "float32[8,4]");
  BOOST_TEST(found[0].flops == 2 * 8 * 16 * 4);
  BOOST_TEST(found[0].bytes == 4 * (8 * 16 + 16 * 4 + 8 * 4));
  BOOST_TEST(found[0].device == cpu_device().name());
  BOOST_TEST(found[0].name.find("profiler_test.cc:") != std::string::npos, found[0].name);
  BOOST_TEST(found[0].eager);
  BOOST_TEST(found[0].waiting == 0);
  BOOST_TEST(found[0].self > 0);
  BOOST_TEST(found[0].self <= found[0].end - found[0].start);
}

BOOST_AUTO_TEST_CASE(functions_run_as_graphs_and_gradients_are_heard) {
  const Variable w(ones({4, 4}), "w");
  const Function f = trace([&](const Tensor& x) { return sum(tanh(matmul(x, w))); });
  const Tensor x = ones({2, 4});
  const Tensor expected = f(x);
  const Profiler profiler;
  BOOST_TEST(f(x).item<float>() == expected.item<float>());
  const std::vector<ProfiledOp> forward = profiler.ops();
  BOOST_TEST(std::ranges::any_of(forward, [](const ProfiledOp& o) { return !o.eager && o.flops > 0; }));
  BOOST_TEST(std::ranges::none_of(forward, &ProfiledOp::eager));
  GradientTape tape;
  const Tensor dw = tape.gradient(sum(square(matmul(x, w))), w);
  BOOST_TEST(of(profiler, "MatMul").size() >= 2u);
  // Inside of another: no time counts twice.
  int64_t self = 0, first = INT64_MAX, last = 0;
  for (const ProfiledOp& o : profiler.ops()) {
    self += o.self;
    first = std::min(first, o.start);
    last = std::max(last, o.end);
  }
  BOOST_TEST(self <= last - first);
  // What is traced computes nothing.
  const size_t before = of(profiler, "Cos").size();
  const Function g = trace([](const Tensor& t) { return cos(t); }, {TensorSpec(kFloat32, {-1})});
  BOOST_TEST(of(profiler, "Cos").size() == before);
}

BOOST_AUTO_TEST_CASE(sessions_and_other_threads_are_heard) {
  Session s(text_graph(R"(
  x = Placeholder(; dtype=float32, shape=[?,2])
  w = Const(; value=float32[2,1]{1, -0.5})
  product = MatMul(x, w)
)"));
  const Profiler profiler;
  s.run("product", {{"x", ones({3, 2})}});
  BOOST_REQUIRE_EQUAL(of(profiler, "MatMul").size(), 1u);
  BOOST_TEST(of(profiler, "MatMul")[0].name == "product");
  BOOST_TEST(of(profiler, "MatMul")[0].flops == 2 * 3 * 2);
  std::thread([&] {
    sin(ones({2}));
    const ProfilerThread heard(profiler);
    cos(ones({2}));
  }).join();
  BOOST_TEST(of(profiler, "Sin").empty());
  BOOST_REQUIRE_EQUAL(of(profiler, "Cos").size(), 1u);
  BOOST_TEST(of(profiler, "Cos")[0].thread == 1);
  // One that is watched itself.
  RunMetadata metadata;
  const RunOptions traced{.trace = RunOptions::Trace::kFull};
  s.run(Fetches{"product"}, {{"x", ones({3, 2})}}, traced, &metadata);
  BOOST_TEST(of(profiler, "MatMul").size() == 1u);
  BOOST_TEST(!metadata.nodes.empty());
}

BOOST_AUTO_TEST_CASE(they_nest_and_may_end_elsewhere) {
  const Profiler outer;
  {
    const Profiler inner;
    exp(ones({2}));
    BOOST_TEST(of(inner, "Exp").size() == 1u);
  }
  exp(ones({2}));
  BOOST_TEST(of(outer, "Exp").size() == 1u);
  auto first = std::make_unique<Profiler>(), second = std::make_unique<Profiler>(),
       third = std::make_unique<Profiler>();
  second.reset();
  first.reset();
  exp(ones({2}));
  BOOST_TEST(of(*third, "Exp").size() == 1u);
  third.reset();
  exp(ones({2}));
  BOOST_TEST(of(outer, "Exp").size() == 2u);
  std::thread([] {
    auto own = std::make_unique<Profiler>();
    std::thread([&] { own.reset(); }).join();
    exp(ones({2}));  // it hears nothing any more, and is still there
  }).join();
}

BOOST_AUTO_TEST_CASE(traces_are_files_and_tables_are_short) {
  const TestFolder folder;
  {
    const Profiler profiler(folder / "t.json");
    for (int i = 0; i < 3; ++i) exp(ones({2, 3}));
    const std::string table = profiler.table();
    BOOST_TEST(table.starts_with("op "), table);
    BOOST_TEST(table.find("\nExp ") != std::string::npos, table);
    BOOST_TEST(std::ranges::count(profiler.table(0), '\n') == 2);
  }
  const std::string trace = read_file(folder / "t.json");
  BOOST_TEST(trace.starts_with("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n"), trace);
  BOOST_TEST(trace.find(R"("op":"Exp","inputs":"float32[2,3]","outputs":"float32[2,3]","bytes":48,"flops":)") !=
                 std::string::npos,
             trace);
  expect_error([] { Profiler p(""); }, "InvalidArgument: profiler: expected the name of a file, got none");
  Profiler lost(folder / "none/t.json");
  expect_error_begins([&] { lost.stop(); }, "NotFound: ");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto::test
