// The passes "dependencies" and "reshapes": optimize(A) prints the same as B.
#include <boost/test/unit_test.hpp>

#include "panto/lib/runtime/session.h"
#include "panto/tests/expect.h"
#include "panto/tests/near.h"
#include "panto/tests/runtime/passes/pass_case.h"

namespace panto::test {
namespace {

BOOST_AUTO_TEST_SUITE(dependencies)

BOOST_AUTO_TEST_CASE(edges_that_say_nothing_go) {
  const PassCase cases[] = {
      // Implied by data, and by other edges.
      {"dependencies",
       R"(
         v = VarHandleOp(; shared_name="v", dtype=float32, shape=[])
         one = Const(; value=float32{1})
         a = AssignAddVariableOp(v, one)
         r = ReadVariableOp(v, ^a; dtype=float32)
         b = AssignAddVariableOp(v, r, ^a, ^r)
         y = ReadVariableOp(v, ^a, ^b; dtype=float32)
       )",
       R"(
         v = VarHandleOp(; shared_name="v", dtype=float32, shape=[])
         one = Const(; value=float32{1})
         a = AssignAddVariableOp(v, one)
         r = ReadVariableOp(v, ^a; dtype=float32)
         b = AssignAddVariableOp(v, r)
         y = ReadVariableOp(v, ^b; dtype=float32)
       )"},
      // From what has no effect and cannot fail: what that follows is waited for.
      {"dependencies",
       R"(
         v = VarHandleOp(; shared_name="v", dtype=float32, shape=[2])
         x = Placeholder(; dtype=float32, shape=[2])
         one = Const(; value=float32[2]{1, 2})
         c = Const(^x; value=float32[2]{3, 4})
         n = Neg(x)
         r = ReadVariableOp(v; dtype=float32)
         s = Neg(r)
         a = AssignAddVariableOp(v, one, ^n, ^s, ^c)
         m = Mul(n, s)
       )",
       R"(
         v = VarHandleOp(; shared_name="v", dtype=float32, shape=[2])
         x = Placeholder(; dtype=float32, shape=[2])
         one = Const(; value=float32[2]{1, 2})
         c = Const(; value=float32[2]{3, 4})
         n = Neg(x)
         r = ReadVariableOp(v; dtype=float32)
         s = Neg(r)
         a = AssignAddVariableOp(v, one, ^r)
         m = Mul(n, s)
       )"},
      // What may fail is waited for: a division of integers, and what has a shape that may turn out not to fit.
      {"dependencies",
       R"(
         v = VarHandleOp(; shared_name="v", dtype=float32, shape=[2])
         i = Placeholder(; dtype=int32, shape=[])
         u = Placeholder(; dtype=float32, shape=[?])
         one = Const(; value=float32[2]{1, 2})
         quotient = FloorDiv(i, i)
         sum = AddV2(u, one)
         a = AssignAddVariableOp(v, one, ^quotient, ^sum)
       )"},
      // A NoOp with one reader, or with one that it waits for; not one that would make more edges.
      {"dependencies",
       R"(
         v = VarHandleOp(; shared_name="v", dtype=float32, shape=[])
         w = VarHandleOp(; shared_name="w", dtype=float32, shape=[])
         one = Const(; value=float32{1})
         a = AssignAddVariableOp(v, one)
         b = AssignAddVariableOp(w, one)
         both = NoOp(^a, ^b)
         c = AssignAddVariableOp(v, one, ^both)
         first = NoOp(^c)
         d = AssignAddVariableOp(w, one, ^first)
         e = AssignAddVariableOp(v, one, ^first)
         f = AssignAddVariableOp(v, one, ^e)
         g = AssignAddVariableOp(w, one, ^d)
         all = NoOp(^f, ^g)
         y = ReadVariableOp(v, ^all; dtype=float32)
         z = ReadVariableOp(w, ^all; dtype=float32)
         x = ReadVariableOp(w, ^all; dtype=float32)
       )",
       R"(
         v = VarHandleOp(; shared_name="v", dtype=float32, shape=[])
         w = VarHandleOp(; shared_name="w", dtype=float32, shape=[])
         one = Const(; value=float32{1})
         a = AssignAddVariableOp(v, one)
         b = AssignAddVariableOp(w, one)
         c = AssignAddVariableOp(v, one, ^a, ^b)
         d = AssignAddVariableOp(w, one, ^c)
         e = AssignAddVariableOp(v, one, ^c)
         f = AssignAddVariableOp(v, one, ^e)
         g = AssignAddVariableOp(w, one, ^d)
         all = NoOp(^f, ^g)
         y = ReadVariableOp(v, ^all; dtype=float32)
         z = ReadVariableOp(w, ^all; dtype=float32)
         x = ReadVariableOp(w, ^all; dtype=float32)
       )"},
      // What somebody asks for stays: a target is a node that nobody waits for.
      {"dependencies",
       R"(
         v = VarHandleOp(; shared_name="v", dtype=float32, shape=[])
         one = Const(; value=float32{1})
         a = AssignAddVariableOp(v, one)
         step = NoOp(^a)
       )"},
      // In a loop of TensorFlow 1 an edge says which round a constant is in.
      {"dependencies",
       R"(
         x0 = Placeholder(; dtype=float32, shape=[])
         x_enter = Enter(x0; frame_name="loop")
         x = Merge(x_enter, x_next)
         limit = Const(^x; value=float32{9})
         more = Less(x, limit)
         go = LoopCond(more)
         x_s = Switch(x, go)
         same = Identity(x_s:1)
         two = Const(^same; value=float32{2})
         twice = Mul(same, two)
         x_next = NextIteration(twice)
         y = Exit(x_s)
       )"},
  };
  for (const PassCase& c : cases) check(c);
}

// The read comes before the write that waited for what is made of it.
BOOST_AUTO_TEST_CASE(reads_stay_before_writes) {
  const Graph graph = text_graph(R"(
    v = VarHandleOp(; shared_name="v", dtype=float32, shape=[2])
    start = Const(; value=float32[2]{1, 2})
    init = AssignVariableOp(v, start; dtype=float32)
    r = ReadVariableOp(v; dtype=float32)
    n = Neg(r)
    ten = Const(; value=float32[2]{10, 20})
    a = AssignVariableOp(v, ten, ^n; dtype=float32)
    y = Mul(n, ten, ^a)
  )");
  for (const char* passes : {"off", "dependencies", ""}) {
    Session session(graph, {.passes = passes});
    session.run(Fetches{"^init"});
    expect_near(session.run("y"), {2}, {-10, -40});
    expect_near(session.run("r"), {2}, {10, 20});
  }
}

BOOST_AUTO_TEST_CASE(chains_of_reshapes_are_one) {
  const PassCase cases[] = {
      {"reshapes",
       R"(
         x = Placeholder(; dtype=float32, shape=[2,3])
         first = Const(; value=int32{0})
         e = ExpandDims(x, first)
         flat = Const(; value=int32[1]{-1})
         y = Reshape(e, flat)
       )",
       R"(
         x = Placeholder(; dtype=float32, shape=[2,3])
         y = Reshape(x, y/shape)
         y/shape = Const(; value=int64[1]{6})
       )"},
      {"reshapes",
       R"(
         x = Placeholder(; dtype=float32, shape=[2,3])
         first = Const(; value=int32{1})
         e = ExpandDims(x, first)
         s = Squeeze(e; squeeze_dims=[1])
         y = Neg(s)
       )",
       R"(
         x = Placeholder(; dtype=float32, shape=[2,3])
         y = Neg(x)
       )"},
      // A Transpose that moves a dimension of 1, and one that does not.
      {"reshapes",
       R"(
         x = Placeholder(; dtype=float32, shape=[1,3,2])
         perm = Const(; value=int32[3]{1, 0, 2})
         t = Transpose(x, perm)
         other = Const(; value=int32[3]{0, 2, 1})
         u = Transpose(x, other)
         s = Squeeze(t)
         y = Neg(s)
         z = Neg(u)
       )",
       R"(
         x = Placeholder(; dtype=float32, shape=[1,3,2])
         other = Const(; value=int32[3]{0, 2, 1})
         u = Transpose(x, other)
         s = Reshape(x, s/shape)
         s/shape = Const(; value=int64[2]{3, 2})
         y = Neg(s)
         z = Neg(u)
       )"},
      // Not where shapes are not known, or what is in between waits for something.
      {"reshapes",
       R"(
         x = Placeholder(; dtype=float32, shape=[?,3])
         first = Const(; value=int32{0})
         e = ExpandDims(x, first)
         y = Squeeze(e; squeeze_dims=[0])
       )"},
      {"reshapes",
       R"(
         v = VarHandleOp(; shared_name="v", dtype=float32, shape=[])
         one = Const(; value=float32{1})
         a = AssignAddVariableOp(v, one)
         x = Placeholder(; dtype=float32, shape=[2,3])
         first = Const(; value=int32{0})
         e = ExpandDims(x, first, ^a)
         flat = Const(; value=int32[1]{-1})
         y = Reshape(e, flat)
       )"},
  };
  for (const PassCase& c : cases) check(c);
  // The numbers.
  const Graph graph = text_graph(R"(
    x = Placeholder(; dtype=float32, shape=[1,3,2])
    perm = Const(; value=int32[3]{1, 0, 2})
    t = Transpose(x, perm)
    s = Squeeze(t)
    flat = Const(; value=int32[1]{-1})
    y = Reshape(s, flat)
  )");
  for (const char* passes : {"off", "reshapes", ""}) {
    Session session(graph, {.passes = passes});
    expect_near(session.run("y", {{"x", tensor({{{1.f, 2.f}, {3.f, 4.f}, {5.f, 6.f}}})}}), {6}, {1, 2, 3, 4, 5, 6});
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto::test
