// What this build cannot run stays in a graph as the file has it, and fails when a run needs it.
#include "panto/lib/graph/files/unknown.h"

#include <google/protobuf/text_format.h>
#include <google/protobuf/util/message_differencer.h>

#include <boost/test/unit_test.hpp>

#include "panto/lib/graph/files/io.h"
#include "panto/lib/graph/proto/graph.pb.h"
#include "panto/lib/graph/validate.h"
#include "panto/lib/runtime/optimizer.h"
#include "panto/lib/runtime/session.h"
#include "panto/panto.h"
#include "panto/tests/expect.h"
#include "panto/tests/folder.h"
#include "panto/tests/graph/graph_def_text.h"
#include "panto/trace/describe.h"
#include "panto/trace/graph_gradients.h"

namespace panto::test {
namespace {

std::string pair(const std::string& name) { return placeholder(name, "DT_FLOAT", dims({2})); }

graphdef::GraphDef message(const std::string& text) {
  graphdef::GraphDef proto;
  BOOST_REQUIRE(google::protobuf::TextFormat::ParseFromString(text, &proto));
  return proto;
}

// The graph as it is written, beside what was read.
void expect_same_file(const std::string& text) {
  graphdef::GraphDef written;
  BOOST_REQUIRE(written.ParseFromString(to_graph_def(parse_graph(text))));
  graphdef::GraphDef read = message(text);
  std::string difference;
  google::protobuf::util::MessageDifferencer differencer;
  differencer.ReportDifferencesToString(&difference);
  BOOST_TEST(differencer.Compare(read, written), difference);
}

BOOST_AUTO_TEST_SUITE(unknown_suite)

BOOST_AUTO_TEST_CASE(loads_and_fails_when_it_is_reached) {
  struct Fault {
    const char* graph;
    const char* error;
  };
  const Fault faults[] = {
      {"node { name: 'y' op: 'Tanhh' input: 'x' }", "op: expected one that this build has, got 'Tanhh' [node 'y']"},
      {"node { name: 'u' op: 'A' } node { name: 'v' op: 'B' } node { name: 'w' op: 'A' } "
       "node { name: 'y' op: 'NoOp' input: '^w' input: '^v' input: '^u' }",
       "op: expected one that this build has, got 'A' (also missing: 'B') [node 'u']"},
      {"node { name: 'y' op: '_Unknown' input: 'x' }",
       "op: expected one that this build has, got '_Unknown' [node 'y']"},
      {"node { name: 'y' op: 'PartitionedCall' input: 'x' attr { key: 'Tin' value { list { type: DT_FLOAT } } } "
       "attr { key: 'f' value { func { name: 'f' } } } }",
       "expected a function of the file, got 'f', which it does not have [attribute f] [node 'y']"},
      {"node { name: 'y' op: 'Cast' input: 'x' attr { key: 'DstT' value { type: DT_FLOAT_REF } } }",
       "attribute DstT: reference type: expected one of float32, float64, int32, uint8, int16, int8, string, "
       "complex64, "
       "int64, bool, qint8, quint8, qint32, bfloat16, qint16, quint16, uint16, complex128, float16, resource, variant, "
       "uint32, uint64, got DT_FLOAT_REF [node "
       "'y']"},
      {"node { name: 'y' op: 'Cast' input: 'x' attr { key: 'DstT' value { type: DT_INT4 } } }",
       "attribute DstT: dtype: expected one of float32, float64, int32, uint8, int16, int8, string, complex64, int64, "
       "bool, qint8, quint8, qint32, bfloat16, qint16, quint16, uint16, complex128, float16, resource, variant, "
       "uint32, uint64, got DT_INT4 [node 'y']"},
      {"node { name: 'y' op: 'Cast' input: 'x' attr { key: 'DstT' value { placeholder: 'U' } } }",
       "attribute DstT: expected type, got a placeholder 'U' for one [node 'y']"},
      {"node { name: 'y' op: 'Tanh' input: 'x' attr { key: 'alpha' value { f: 0.5 } } }",
       "attribute: expected one that Tanh has here, got 'alpha' with a value [node 'y']"},
      {"node { name: 'y' op: 'Const' attr { key: 'dtype' value { type: DT_RESOURCE } } attr { key: 'value' value { "
       "tensor { dtype: DT_RESOURCE } } } }",
       "attribute value: constant: expected a dtype with values, got resource [node 'y']"},
      {"node { name: 'u' op: 'Foo' } node { name: 'y' op: 'Tanh' input: 'u' }",
       "op: expected one that this build has, got 'Foo' (also missing: 'Tanh') [node 'u']"},
  };
  for (const Fault& fault : faults) {
    BOOST_TEST_CONTEXT(fault.graph) {
      const std::string rest = "node { name: 'z' op: 'Neg' input: 'x' " + kFloatT + "} ";
      Session session(parse_graph("versions { producer: 175 } " + pair("x") + fault.graph + rest));
      const Feeds feeds{{"x", tensor({1.f, 2.f})}};
      BOOST_TEST(session.run("z", feeds).to_vector<float>() == (std::vector<float>{-1, -2}));
      expect_error([&] { session.run(Fetches{"^y"}, feeds); }, std::string("Unimplemented: ") + fault.error);
      BOOST_TEST(session.run("z", feeds).to_vector<float>() == (std::vector<float>{-1, -2}));
    }
  }
}

// Types and number of its outputs are what its readers say.
BOOST_AUTO_TEST_CASE(readers_tell_its_outputs) {
  const Graph g = parse_graph(
      "versions { producer: 175 } node { name: 'y' op: 'Foo' } "
      "node { name: 'a' op: 'Bar' input: 'y:1' } "
      "node { name: 'z' op: 'Tanh' input: 'y:3' " +
      kFloatT +
      "} node { name: 'c' op: 'Concat' input: 'y' input: 'y:1' input: 'y:4' attr { key: 'N' value { i: 2 } } "
      "attr { key: 'T' value { type: DT_INT64 } } } "
      "node { name: 'p' op: 'Print' input: 'z' input: 'y:5' attr { key: 'T' value { type: DT_FLOAT } } "
      "attr { key: 'U' value { list { type: DT_BOOL } } } } "
      "node { name: 'q' op: 'Foo' attr { key: '_output_shapes' value { list { shape { dim { size: 3 } } shape { "
      "unknown_rank: true } } } } }");
  const Node& y = g.at("y");
  BOOST_REQUIRE(y.num_outputs() == 6);
  const DType expected[] = {kInt32, kInt64, DType::kInvalid, kFloat32, kInt64, kBool};
  for (int k = 0; k < 6; ++k) BOOST_TEST(y.output(k).dtype == expected[k]);
  BOOST_TEST(g.at("z").output(0).dtype == kFloat32);
  BOOST_TEST(!g.at("z").output(0).shape.known_rank());
  BOOST_TEST(g.at("q").num_outputs() == 2);
  BOOST_TEST(g.at("q").output(0).shape == (PartialShape{3}));
  BOOST_CHECK_NO_THROW(validate(g));
  BOOST_TEST(g.node_text(y) == "y = Foo?() -> int32?, int64?, ?, float32?, int64?, bool?");

  // Readers that differ in what they expect cannot both be right.
  expect_error(
      [&] {
        parse_graph("node { name: 'y' op: 'Foo' } node { name: 'a' op: 'Tanh' input: 'y' " + kFloatT +
                    "} node { name: 'b' op: 'Tanh' input: 'y' attr { key: 'T' value { type: DT_DOUBLE } } }");
      },
      "InvalidArgument: x: expected float64, got float32 [in Tanh(x: float32?)] [node 'b']");
  expect_error([&] { parse_graph("node { name: 'y' op: 'Foo' } node { name: 'a' op: 'Foo' input: 'y:70000' }"); },
               "InvalidArgument: input 0: expected an output of 'y' below 65536, got 70000 [node 'a']");
  std::string many;
  for (int i = 0; i < 5; ++i) {
    many += "node { name: 'y" + std::to_string(i) + "' op: 'Foo' } node { name: 'a" + std::to_string(i) +
            "' op: 'Foo' input: 'y" + std::to_string(i) + ":65535' }";
  }
  expect_error([&] { parse_graph(many); },
               "ResourceExhausted: outputs: expected at most 262144 of ops that are not here, got 327680 [node 'y4']");
}

BOOST_AUTO_TEST_CASE(what_it_gives_may_be_fed) {
  Session session(
      parse_graph("node { name: 'y' op: 'Foo' } node { name: 'u' op: 'Foo' input: 'y:1' } node { name: 'z' "
                  "op: 'Tanh' input: 'y' " +
                  kFloatT + "}"));
  const Tensor x = tensor({0.f, 1.f});
  BOOST_TEST(session.run("z", {{"y", x}}).to_vector<float>() == tanh(x).to_vector<float>());
  expect_error([&] { session.run("z", {{"y", tensor({1})}}); },
               "InvalidArgument: feed 'y': expected float32?, got int32[1]");
  // Of an output whose type nobody knows any value will do.
  BOOST_TEST(session.run("y:1", {{"y:1", tensor({1, 2})}}).to_vector<int>() == (std::vector<int>{1, 2}));
  BOOST_TEST(session.run("y:1", {{"y:1", x}}).to_vector<float>() == x.to_vector<float>());
  expect_error([&] { session.run("y:1", {{"y:1", 3}}); },
               "InvalidArgument: feed 'y:1': expected a tensor, as its type is not known, got a number");
  expect_error([&] { session.run("y:1"); },
               "Unimplemented: op: expected one that this build has, got 'Foo' [node 'y']");
  expect_error([&] { session.run("y:7"); },
               "Unimplemented: op: expected one that this build has, got 'Foo' [node 'y'] [fetch 'y:7']");
}

// What is known to fail fails before anything else is done.
BOOST_AUTO_TEST_CASE(nothing_happens_before_it_fails) {
  Session session(parse_graph(
      "node { name: 'v' op: 'VarHandleOp' attr { key: 'dtype' value { type: DT_FLOAT } } attr { key: 'shape' value { "
      "shape { } } } } node { name: 'one' op: 'Const' attr { key: 'dtype' value { type: DT_FLOAT } } attr { key: "
      "'value' "
      "value { tensor { dtype: DT_FLOAT float_val: 1 } } } } node { name: 'set' op: 'AssignVariableOp' input: 'v' "
      "input: "
      "'one' attr { key: 'dtype' value { type: DT_FLOAT } } } node { name: 'y' op: 'Foo' input: '^set' } node { name: "
      "'has' op: 'VarIsInitializedOp' input: 'v' }"));
  expect_error([&] { session.run(Fetches{"^set", "^y"}); },
               "Unimplemented: op: expected one that this build has, got 'Foo' [node 'y']");
  BOOST_TEST(!session.run("has").item<bool>());
  session.run(Fetches{"^set"});
  BOOST_TEST(session.run("has").item<bool>());
}

BOOST_AUTO_TEST_CASE(is_written_as_it_was_read) {
  expect_same_file(
      "versions { producer: 2000 min_consumer: 12 } " + pair("x") +
      "node { name: 'c' op: 'NoOp' } "
      "node { name: 'y' op: 'Foo' input: 'x' input: 'x' input: '^c' device: '/cpu:0' "
      "  attr { key: 'i' value { i: 0 } } attr { key: 'd' value { type: DT_INT4 } } "
      "  attr { key: 'f' value { func { name: 'g' attr { key: 'z' value { i: 1 } } } } } "
      "  attr { key: 'fs' value { list { func { name: 'g' } func { name: 'h' attr { key: 'T' value { placeholder: 'T' "
      "} } "
      "} } } } attr { key: 'p' value { placeholder: 'T' } } attr { key: 'nothing' value { } } "
      "  attr { key: 't' value { tensor { dtype: DT_FLOAT tensor_shape { dim { size: 3 } } float_val: 1 } } } "
      "  attr { key: '_output_shapes' value { list { shape { dim { size: 3 name: 'rows' } } } } } "
      "  attr { key: '_class' value { list { s: 'loc:@x' } } } "
      "  experimental_debug_info { original_node_names: 'old' } "
      "  experimental_type { type_id: TFT_TENSOR } } "
      // On an op that is here, what a value cannot hold is kept, too.
      "node { name: 'z' op: 'Neg' input: 'y:1' " +
      kFloatT +
      "  attr { key: '_f' value { func { name: 'g' attr { key: 'z' value { i: 1 } } } } } "
      "  attr { key: '_fs' value { list { func { name: 'g' } } } } attr { key: '_p' value { placeholder: 'T' } } "
      "  attr { key: '_t' value { tensor { dtype: DT_FLOAT float_val: 1 } } } attr { key: '_i' value { i: 3 } } } "
      "library { function { signature { name: 'g' input_arg { name: 'a' type_attr: 'T' } attr { name: 'T' type: 'type' "
      "} "
      "} node_def { name: 'n' op: 'Foo' input: 'a' attr { key: 'T' value { placeholder: 'T' } } } ret { key: 'r' "
      "value: "
      "'n:y:0' } attr { key: '_noinline' value { b: true } } } gradient { function_name: 'g' gradient_func: 'h' } }");
}

// TensorFlow 1's loops: there is one way back, also between nodes that cannot run here.
BOOST_AUTO_TEST_CASE(a_loop_is_kept) {
  const std::string type = "attr { key: 'T' value { type: DT_INT4 } } ";
  const std::string loop = "versions { producer: 175 } " + pair("x") +
                           "node { name: 'c' op: 'Foo' } "
                           "node { name: 'enter' op: 'Enter' input: 'c' " +
                           type +
                           "attr { key: 'frame_name' value { s: 'loop' } } } "
                           "node { name: 'merge' op: 'Merge' input: 'enter' input: 'next' " +
                           type +
                           "attr { key: 'N' value { i: 2 } } } "
                           "node { name: 'next' op: 'NextIteration' input: 'merge' " +
                           type + "} node { name: 'exit' op: 'Exit' input: 'merge' " + type +
                           "} node { name: 'z' op: 'Neg' input: 'x' " + kFloatT +
                           "} node { name: 'u' op: 'Bar' input: 'exit' } ";
  expect_same_file(loop);
  const Graph g = parse_graph(loop);
  BOOST_TEST((g.at("merge").input(1) == NodeOutput{g.at("next").id(), 0}));
  BOOST_TEST(g.topological_order().size() == 8u);
  Session session(g);
  const Feeds feeds{{"x", tensor({1.f, 2.f})}};
  BOOST_TEST(session.run("z", feeds).to_vector<float>() == (std::vector<float>{-1, -2}));
  expect_error_begins([&] { session.run(Fetches{"^u"}, feeds); },
                      "Unimplemented: op: expected one that this build has, got 'Foo' (also missing: 'Enter', 'Merge', "
                      "'NextIteration', 'Exit', 'Bar') [node 'c']");
  // A part without the loop has nothing of it.
  const NodeOutput fetch = g.output("z");
  BOOST_TEST(optimize(g, {&fetch, 1}).num_nodes() == 2);
  BOOST_TEST(optimize(g).at("merge").num_inputs() == 2);
  // Any other cycle is none that may be.
  expect_error(
      [&] {
        parse_graph(
            "node { name: 'a' op: 'Merge' input: 'b' attr { key: 'N' value { i: 1 } } attr { key: 'T' value { "
            "type: DT_FLOAT } } } node { name: 'b' op: 'NextIteration' input: 'a' attr { key: 'T' value { type: "
            "DT_FLOAT } } }");
      },
      "InvalidArgument: graph: expected no cycle, got 'a' -> 'b' -> 'a'");
  expect_error([&] { parse_graph("node { name: 'a' op: 'Foo' input: 'a' }"); },
               "InvalidArgument: graph: expected no cycle, got 'a' -> 'a'");
}

BOOST_AUTO_TEST_CASE(passes_leave_it_alone) {
  const Graph g = parse_graph(pair("x") +
                              "node { name: 'a' op: 'Foo' input: 'x' } node { name: 'b' op: 'Foo' input: 'x' } "
                              "node { name: 'c' op: 'Foo' } node { name: 'd' op: 'Neg' input: 'a' " +
                              kFloatT + "} node { name: 'e' op: 'Neg' input: 'b' " + kFloatT + "} " +
                              "node { name: 'g' op: 'Foo' input: 'c:1' }");
  for (const Graph& after : {optimize(g), optimize(g, {}, {}, "cse")}) {
    for (const char* name : {"a", "b", "c", "d", "e", "g"}) BOOST_TEST(after.find(name) != nullptr, name);
  }
  const int target = g.at("c").id();
  const Graph part = optimize(g, {}, {&target, 1});
  BOOST_TEST(part.num_nodes() == 2);  // with the input
  BOOST_TEST(is_unknown(part.at("c")));
}

BOOST_AUTO_TEST_CASE(there_is_no_gradient_through_it) {
  Graph g = parse_graph(pair("x") +
                        "node { name: 'y' op: 'Foo' input: 'x' } node { name: 'z' op: 'Neg' input: "
                        "'y' " +
                        kFloatT + "} node { name: 'w' op: 'Square' input: 'x' " + kFloatT + "}");
  const NodeOutput x = g.output("x"), z = g.output("z"), w = g.output("w");
  expect_error([&] { gradients(g, {&z, 1}, {&x, 1}); },
               "Unimplemented: op: expected one that this build has, got 'Foo' [node 'y']");
  BOOST_TEST(gradients(g, {&w, 1}, {&x, 1})[0].valid());
}

BOOST_AUTO_TEST_CASE(functions_with_it_load) {
  const TestFolder folder;
  write_graph(parse_graph(pair("x") +
                          "node { name: 'y' op: 'Foo' input: 'x' } node { name: 'z' op: 'Neg' input: "
                          "'x' " +
                          kFloatT + "} node { name: 'u' op: 'Neg' input: 'y' " + kFloatT + "}"),
              folder / "f.pb");
  const Tensor x = tensor({1.f, 2.f});
  const std::string error = "Unimplemented: op: expected one that this build has, got 'Foo' [node 'y']";
  const Function all = load(folder / "f.pb");
  BOOST_TEST(error_text([&] { all.call<2>(x); }).starts_with(error));
  BOOST_TEST(load(folder / "f.pb", {"x"}, {"z"})(x).to_vector<float>() == (std::vector<float>{-1, -2}));
  BOOST_TEST(load(folder / "f.pb", {"y"}, {"u"})(x).to_vector<float>() == (std::vector<float>{-1, -2}));
  GradientTape tape;
  tape.watch(x);
  BOOST_TEST(error_text([&] { all.call<2>(x); }).starts_with(error));
  BOOST_TEST(error_text([&] {
               trace([&](const Tensor& t) { return all.call<2>(t)[0]; }, {TensorSpec(kFloat32, {2})});
             }).starts_with(error));
}

BOOST_AUTO_TEST_CASE(people_are_told) {
  const Graph g = parse_graph(
      pair("x") +
      "node { name: 'y' op: 'Foo' input: 'x' } node { name: 'z' op: 'Foo' input: 'x' } node { "
      "name: 'a' op: 'Bar' } node { name: 'c' op: 'Tanh' input: 'x' attr { key: 'alpha' value { f: 0.5 } } }");
  BOOST_TEST(describe(g).ends_with("5 nodes: Bar?, Foo? x2, Placeholder, Tanh?"), describe(g));
  BOOST_TEST(missing_text(g) ==
             "3 nodes of 2 unknown ops: Foo (2), Bar (1)\n"
             "cannot be run here: node 'c' of Tanh: attribute: expected one that Tanh has here, got 'alpha' with a "
             "value\n");
  BOOST_TEST(missing_text(parse_graph(pair("x"))).empty());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto::test
