// What old ops become computes what TensorFlow's documentation says that they compute.
#include "panto/lib/graph/files/import/adapters.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <tuple>

#include "panto/lib/core/op/op.h"
#include "panto/lib/graph/files/io.h"
#include "panto/lib/graph/files/unknown.h"
#include "panto/lib/graph/validate.h"
#include "panto/lib/runtime/session.h"
#include "panto/panto.h"
#include "panto/tests/expect.h"
#include "panto/tests/graph/function_text.h"
#include "panto/tests/graph/graph_def_text.h"

namespace panto::test {
namespace {

std::string ints(const std::string& name, const std::vector<int>& values) {
  std::string text;
  for (int value : values) text += "int_val: " + std::to_string(value) + " ";
  return constant(name, "DT_INT32", dims({static_cast<int>(values.size())}), text);
}

using Floats = std::vector<float>;

void expect_close(const Tensor& got, const Floats& expected) {
  const auto values = got.to_vector<float>();
  BOOST_REQUIRE(values.size() == expected.size());
  for (size_t i = 0; i < values.size(); ++i) BOOST_TEST(values[i] == expected[i], boost::test_tools::tolerance(2e-5f));
}

BOOST_AUTO_TEST_SUITE(adapters_suite)

// No op of ours is adapted, and what an old op becomes is one.
BOOST_AUTO_TEST_CASE(the_table_is_of_old_ops_only) {
  for (const char* op :
       {"Select", "Concat", "TopK", "Reverse", "MaxPoolV2", "FusedBatchNorm", "VariableV2", "Assign"}) {
    const Adapter* adapter = find_adapter(op);
    BOOST_REQUIRE(adapter != nullptr);
    BOOST_TEST(find_op(op) == nullptr, op);
    BOOST_TEST((adapter->becomes == nullptr || find_op(adapter->becomes) != nullptr));
  }
  BOOST_TEST(find_adapter("SelectV2") == nullptr);
}

// TensorFlow has Send and Recv by two names each.
BOOST_AUTO_TEST_CASE(sends_and_receives) {
  const std::string meets = R"(
      attr { key: "tensor_name" value { s: "t" } }
      attr { key: "send_device" value { s: "/job:localhost/replica:0/task:0/device:CPU:0" } }
      attr { key: "send_device_incarnation" value { i: 1 } }
      attr { key: "recv_device" value { s: "/job:localhost/replica:0/task:0/device:CPU:0" } }
      attr { key: "client_terminated" value { b: false } } )";
  const Graph graph = parse_graph(constant("x", "DT_FLOAT", "", "float_val: 2.5 ") + R"(
    node { name: "send" op: "Send" input: "x" attr { key: "T" value { type: DT_FLOAT } } )" +
                                  meets + R"(}
    node { name: "y" op: "Recv" attr { key: "tensor_type" value { type: DT_FLOAT } } )" +
                                  meets + R"(}
    versions { producer: 1200 })");
  BOOST_TEST(graph.at("send").op().name() == "_Send");
  BOOST_TEST(graph.at("y").op().name() == "_Recv");
  Session session(graph);
  BOOST_TEST(session.run({"y", "send"})[0].item<float>() == 2.5f);
}

// Ops of TensorFlow 1 that take or give references, all of which can be read.
BOOST_AUTO_TEST_CASE(old_names_are_read) {
  for (const char* op : {"FIFOQueue",
                         "PaddingFIFOQueue",
                         "PriorityQueue",
                         "RandomShuffleQueue",
                         "QueueClose",
                         "QueueDequeue",
                         "QueueDequeueMany",
                         "QueueDequeueUpTo",
                         "QueueEnqueue",
                         "QueueEnqueueMany",
                         "QueueIsClosed",
                         "QueueSize",
                         "FixedLengthRecordReader",
                         "IdentityReader",
                         "TFRecordReader",
                         "TextLineReader",
                         "WholeFileReader",
                         "ReaderNumRecordsProduced",
                         "ReaderNumWorkUnitsCompleted",
                         "ReaderRead",
                         "ReaderReadUpTo",
                         "ReaderReset",
                         "ReaderRestoreState",
                         "ReaderSerializeState",
                         "HashTable",
                         "MutableDenseHashTable",
                         "MutableHashTable",
                         "MutableHashTableOfTensors",
                         "InitializeTable",
                         "InitializeTableFromTextFile",
                         "LookupTableExport",
                         "LookupTableFind",
                         "LookupTableImport",
                         "LookupTableInsert",
                         "LookupTableSize",
                         "TensorArray",
                         "TensorArrayClose",
                         "TensorArrayConcat",
                         "TensorArrayGather",
                         "TensorArrayGrad",
                         "TensorArrayRead",
                         "TensorArrayScatter",
                         "TensorArraySize",
                         "TensorArraySplit",
                         "TensorArrayWrite",
                         "TensorArrayV2",
                         "TensorArrayCloseV2",
                         "TensorArrayConcatV2",
                         "TensorArrayGatherV2",
                         "TensorArrayGradV2",
                         "TensorArrayReadV2",
                         "TensorArrayScatterV2",
                         "TensorArraySizeV2",
                         "TensorArraySplitV2",
                         "TensorArrayWriteV2",
                         "Stack",
                         "StackClose",
                         "StackPop",
                         "StackPush",
                         "RefEnter",
                         "RefExit",
                         "RefIdentity",
                         "RefMerge",
                         "RefNextIteration",
                         "RefSelect",
                         "RefSwitch",
                         "Assign",
                         "AssignAdd",
                         "AssignSub",
                         "CountUpTo",
                         "DestroyTemporaryVariable",
                         "IsVariableInitialized",
                         "ScatterAdd",
                         "ScatterDiv",
                         "ScatterMax",
                         "ScatterMin",
                         "ScatterMul",
                         "ScatterNdAdd",
                         "ScatterNdMax",
                         "ScatterNdMin",
                         "ScatterNdSub",
                         "ScatterNdUpdate",
                         "ScatterSub",
                         "ScatterUpdate",
                         "TemporaryVariable",
                         "Variable",
                         "VariableV2",
                         "For",
                         "TensorListConcat",
                         "TensorListScatter"}) {
    const Adapter* adapter = find_adapter(op);
    BOOST_REQUIRE_MESSAGE(adapter != nullptr, op);
    BOOST_TEST((adapter->body != nullptr || find_op(adapter->becomes) != nullptr), op);
  }
}

std::string for_attrs(const std::string& body) { return types_attr("T", kFloat) + function_attr("body", body); }
// x * 2 + i
const std::string kRound =
    function("round", input_arg("i", kInt) + input_arg("x", kFloat) + output_arg("r", kFloat),
             inner("f", "Cast", {"i"}, type_attr("SrcT", "DT_INT32") + type_attr("DstT", "DT_FLOAT")) +
                 inner("s", "AddV2", {"x", "x"}, kFloatT) + inner("y", "AddV2", {"s:z:0", "f:y:0"}, kFloatT),
             "y:z:0");

// The numbers, and the refusals, are TensorFlow's of the same loops.
BOOST_AUTO_TEST_CASE(for_loops) {
  const std::string text = placeholder("a", "DT_INT32", "") + placeholder("b", "DT_INT32", "") +
                           placeholder("d", "DT_INT32", "") + placeholder("x", "DT_FLOAT", "") +
                           node("y", "For", {"a", "b", "d", "x"}, for_attrs("round")) + library(kRound);
  Graph g = parse_graph(text);
  BOOST_CHECK_NO_THROW(validate(g));
  for (const Graph& graph : {g, parse_graph(to_graph_def(g))}) {
    Session session(graph);
    const auto run = [&](int a, int b, int d) {
      return session.run("y", {{"a", a}, {"b", b}, {"d", d}, {"x", 1.f}}).item<float>();
    };
    BOOST_TEST(run(0, 3, 1) == 12);
    BOOST_TEST(run(3, 0, -1) == 25);
    BOOST_TEST(run(0, 5, 2) == 16);
    BOOST_TEST(run(2, 2, 0) == 1);
    BOOST_TEST(run(2, 2, 1) == 1);
    for (const auto& [a, b, d] : {std::tuple(0, 3, -1), std::tuple(3, 0, 1), std::tuple(0, 3, 0)}) {
      BOOST_TEST(error_text([&] { run(a, b, d); }).starts_with("InvalidArgument: "));
    }
  }
  const NodeOutput ys[] = {g.output("y")}, xs[] = {g.output("x")};
  const NodeOutput dx = gradients(g, ys, xs)[0];
  Session session(g);
  BOOST_TEST(session.run(g.output_name(dx), {{"a", 0}, {"b", 3}, {"d", 1}, {"x", 1.f}}).item<float>() == 8);
}

// The condition is a scalar, of the others' shape, or a vector of rows: what TensorFlow's Select does and SelectV2 does
// otherwise, as [2] does not broadcast with [2,3].
BOOST_AUTO_TEST_CASE(select_takes_rows) {
  const Tensor t = tensor({{1.f, 2.f, 3.f}, {4.f, 5.f, 6.f}}), e = -t;
  struct Case {
    Tensor condition;
    Floats expected;
  };
  const Case cases[] = {{tensor({true, false}), {1, 2, 3, -4, -5, -6}},
                        {tensor(false), {-1, -2, -3, -4, -5, -6}},
                        {tensor({{true, false, true}, {false, true, false}}), {1, -2, 3, -4, 5, -6}}};
  for (const Case& c : cases) {
    const auto rank = static_cast<size_t>(c.condition.rank());
    const std::string known[] = {"", dims({2}), dims({2, 3})};
    for (const std::string& condition : {known[rank], kUnknownRank}) {
      for (const std::string& shape : {dims({2, 3}), dims({-1, 3}), kUnknownRank}) {
        const Graph g =
            parse_graph(placeholder("c", "DT_BOOL", condition) + placeholder("t", "DT_FLOAT", shape) +
                        placeholder("e", "DT_FLOAT", shape) + node("y", "Select", {"c", "t", "e"}, kFloatT));
        BOOST_CHECK_NO_THROW(validate(g));
        Session session(g);
        BOOST_TEST(session.run("y", {{"c", c.condition}, {"t", t}, {"e", e}}).to_vector<float>() == c.expected);
      }
    }
  }
  // Square matrices: a vector of rows that would broadcast as columns.
  Session square(parse_graph(placeholder("c", "DT_BOOL", dims({2})) + placeholder("t", "DT_FLOAT", dims({2, 2})) +
                             placeholder("e", "DT_FLOAT", dims({2, 2})) +
                             node("y", "Select", {"c", "t", "e"}, kFloatT)));
  BOOST_TEST(square
                 .run("y", {{"c", tensor({true, false})},
                            {"t", tensor({{1.f, 2.f}, {3.f, 4.f}})},
                            {"e", tensor({{5.f, 6.f}, {7.f, 8.f}})}})
                 .to_vector<float>() == (Floats{1, 2, 7, 8}));
}

// The names that the file gives are the file's, whatever is made before it comes to them.
BOOST_AUTO_TEST_CASE(names_of_the_file_stay) {
  const Graph g = parse_graph(placeholder("c", "DT_BOOL", dims({2})) + placeholder("t", "DT_FLOAT", dims({2, 3})) +
                              node("y", "Select", {"c", "t", "t"}, kFloatT) + node("y/Reshape", "Neg", {"t"}, kFloatT) +
                              node("y/Const", "NoOp") + node("y/Const_1", "NoOp"));
  BOOST_TEST(g.at("y").op().name() == "SelectV2");
  BOOST_TEST(g.at("y/Reshape").op().name() == "Neg");
  BOOST_TEST(g.at("y/Const").op().name() == "NoOp");
  BOOST_TEST(g.at("y/Const_1").op().name() == "NoOp");
  BOOST_TEST(g.num_nodes() == 8);
}

BOOST_AUTO_TEST_CASE(arrays) {
  const std::string x = placeholder("x", "DT_FLOAT", dims({2, 3})), z = ints("one", {1});
  const Tensor value = tensor({{1.f, 5.f, 3.f}, {6.f, 2.f, 4.f}});
  const Feeds feeds{{"x", value}};
  const std::string axis = constant("axis", "DT_INT32", "", "int_val: 1");
  Session concat(parse_graph(x + axis + node("y", "Concat", {"axis", "x", "x"}, kFloatT + attr("N", "i: 2"))));
  BOOST_TEST(concat.run("y", feeds).to_vector<float>() == (Floats{1, 5, 3, 1, 5, 3, 6, 2, 4, 6, 2, 4}));

  Session top(parse_graph(x + node("y", "TopK", {"x"}, kFloatT + attr("k", "i: 2"))));
  const auto [values, indices] = top.run<2>({"y:0", "y:1"}, feeds);
  BOOST_TEST(values.to_vector<float>() == (Floats{5, 3, 6, 4}));
  BOOST_TEST(indices.to_vector<int>() == (std::vector<int>{1, 2, 0, 2}));

  Session reverse(parse_graph(x + placeholder("d", "DT_BOOL", dims({2})) + node("y", "Reverse", {"x", "d"}, kFloatT)));
  BOOST_TEST(reverse.run("y", {{"x", value}, {"d", tensor({true, false})}}).to_vector<float>() ==
             (Floats{6, 2, 4, 1, 5, 3}));
  BOOST_TEST(reverse.run("y", {{"x", value}, {"d", tensor({true, true})}}).to_vector<float>() ==
             (Floats{4, 2, 6, 3, 5, 1}));
  BOOST_TEST(reverse.run("y", {{"x", value}, {"d", tensor({false, false})}}).to_vector<float>() ==
             value.to_vector<float>());

  Session gather(parse_graph(
      x + ints("i", {1, 1, 0}) +
      node("y", "Gather", {"x", "i"}, type_attr("Tparams", "DT_FLOAT") + type_attr("Tindices", "DT_INT32"))));
  BOOST_TEST(gather.run("y", feeds).to_vector<float>() == (Floats{6, 2, 4, 6, 2, 4, 1, 5, 3}));

  const std::string types = type_attr("Ta", "DT_FLOAT") + type_attr("Tb", "DT_FLOAT");
  Session product(parse_graph(
      x + node("y", "BatchMatMulV3", {"x", "x"}, types + type_attr("Tout", "DT_FLOAT") + attr("adj_y", "b: true"))));
  BOOST_TEST(product.run("y", feeds).to_vector<float>() == (Floats{35, 28, 28, 56}));
  Session other(parse_graph(x + node("y", "BatchMatMulV3", {"x", "x"}, types + type_attr("Tout", "DT_HALF"))));
  expect_error([&] { other.run("y", feeds); },
               "Unimplemented: BatchMatMulV3: expected one type, got float32 and float32 giving float16 [node 'y']");
}

BOOST_AUTO_TEST_CASE(images) {
  const std::string x = placeholder("x", "DT_FLOAT", dims({1, 2, 4, 1}));
  const Feeds feeds{{"x", reshape(tensor({1.f, 5.f, 3.f, 8.f, 6.f, 2.f, 4.f, 7.f}), {1, 2, 4, 1})}};
  const std::string window = ints("k", {1, 2, 2, 1}), attrs = kFloatT + attr("padding", "s: 'VALID'");
  Session pool(parse_graph(x + window + node("y", "MaxPoolV2", {"x", "k", "k"}, attrs)));
  BOOST_TEST(pool.run("y", feeds).to_vector<float>() == (Floats{6, 8}));
  Session grad(parse_graph(x + window + node("y", "MaxPoolV2", {"x", "k", "k"}, attrs) +
                           node("g", "MaxPoolGradV2", {"x", "y", "y", "k", "k"}, attrs)));
  BOOST_TEST(grad.run("g", feeds).to_vector<float>() == (Floats{0, 0, 0, 8, 6, 0, 0, 0}));
  // A window that is computed cannot be planned for.
  Session open(
      parse_graph(x + placeholder("k", "DT_INT32", dims({4})) + node("y", "MaxPoolV2", {"x", "k", "k"}, attrs)));
  expect_error(
      [&] { open.run("y", {feeds[0], {"k", tensor({1, 2, 2, 1})}}); },
      "Unimplemented: ksize: expected a constant, got values that are known only when the graph runs [node 'y']");
}

// By the formula of Ioffe and Szegedy, by hand: two channels of four numbers.
BOOST_AUTO_TEST_CASE(normalization) {
  const Floats numbers{1, 10, 2, 20, 3, 30, 6, 40};
  const Floats mean{3, 25}, variance{3.5, 125}, scale{2, 0.5}, offset{1, -1};
  Floats expected;
  for (size_t i = 0; i < 8; ++i) {
    const size_t c = i % 2;
    expected.push_back((numbers[i] - mean[c]) / std::sqrt(variance[c] + 0.001f) * scale[c] + offset[c]);
  }
  std::string inputs = placeholder("x", "DT_FLOAT", dims({1, 2, 2, 2}));
  for (const char* name : {"scale", "offset"}) inputs += placeholder(name, "DT_FLOAT", dims({2}));
  const std::string none = constant("none", "DT_FLOAT", dims({0}), "");
  const Feeds feeds{
      {"x", reshape(tensor(numbers), {1, 2, 2, 2})}, {"scale", tensor(scale)}, {"offset", tensor(offset)}};
  for (const char* op : {"FusedBatchNorm", "FusedBatchNormV2"}) {
    const std::string types = op == std::string("FusedBatchNormV2") ? type_attr("U", "DT_FLOAT") : "";
    const std::string gradient = op == std::string("FusedBatchNormV2") ? "FusedBatchNormGradV2" : "FusedBatchNormGrad";
    Session session(parse_graph(
        inputs + none +
        node("y", op, {"x", "scale", "offset", "none", "none"}, kFloatT + types + attr("epsilon", "f: 0.001")) +
        node("g", gradient, {"x", "x", "scale", "y:3", "y:4"}, kFloatT + types + attr("epsilon", "f: 0.001"))));
    const auto [y, m, v, dx, dscale, doffset] = session.run<6>({"y", "y:1", "y:2", "g", "g:1", "g:2"}, feeds);
    expect_close(y, expected);
    expect_close(m, mean);
    expect_close(v, {3.5f * 4 / 3, 125.f * 4 / 3});  // of the population
    // With dy = x: d offset is the sum of dy, d scale the sum of dy times the normalised x; d x has neither a sum nor a
    // part along x.
    expect_close(doffset, {12, 100});
    expect_close(dscale, {14 / std::sqrt(3.501f), 500 / std::sqrt(125.001f)});
    const auto d = dx.to_vector<float>();
    for (size_t c = 0; c < 2; ++c) BOOST_TEST(std::abs(d[c] + d[c + 2] + d[c + 4] + d[c + 6]) < 1e-4);
  }
  std::string moments = inputs;
  for (const char* name : {"m", "v"}) moments += placeholder(name, "DT_FLOAT", dims({2}));
  for (const bool scaled : {true, false}) {
    Session session(
        parse_graph(moments + node("y", "BatchNormWithGlobalNormalization", {"x", "m", "v", "offset", "scale"},
                                   kFloatT + attr("variance_epsilon", "f: 0.001") +
                                       attr("scale_after_normalization", scaled ? "b: true" : "b: false"))));
    Floats wanted;
    for (size_t i = 0; i < 8; ++i) {
      const float plain = (expected[i] - offset[i % 2]) / scale[i % 2];
      wanted.push_back((scaled ? plain * scale[i % 2] : plain) + offset[i % 2]);
    }
    expect_close(session.run("y", {feeds[0], feeds[1], feeds[2], {"m", tensor(mean)}, {"v", tensor(variance)}}),
                 wanted);
  }
}

// dy times the derivative, which is written by the result y (or, of Softplus, by x).
BOOST_AUTO_TEST_CASE(gradient_ops) {
  struct Row {
    const char* op;
    float (*derivative)(float);
  };
  const Row rows[] = {
      {"InvGrad", [](float y) { return -y * y; }},     {"ReciprocalGrad", [](float y) { return -y * y; }},
      {"SqrtGrad", [](float y) { return 0.5f / y; }},  {"RsqrtGrad", [](float y) { return -0.5f * y * y * y; }},
      {"TanhGrad", [](float y) { return 1 - y * y; }}, {"SigmoidGrad", [](float y) { return y * (1 - y); }},
  };
  const Floats y{0.25f, 0.5f, -0.75f}, dy{1, -2, 3};
  const std::string inputs = placeholder("a", "DT_FLOAT", dims({3})) + placeholder("b", "DT_FLOAT", dims({3}));
  for (const Row& row : rows) {
    Session session(parse_graph(inputs + node("z", row.op, {"a", "b"}, kFloatT)));
    Floats expected;
    for (size_t i = 0; i < 3; ++i) expected.push_back(dy[i] * row.derivative(y[i]));
    BOOST_TEST_CONTEXT(row.op) { expect_close(session.run("z", {{"a", tensor(y)}, {"b", tensor(dy)}}), expected); }
  }
  Session softplus(parse_graph(inputs + node("z", "SoftplusGrad", {"b", "a"}, kFloatT)));
  Floats expected;
  for (size_t i = 0; i < 3; ++i) expected.push_back(dy[i] / (1 + std::exp(-y[i])));
  expect_close(softplus.run("z", {{"a", tensor(y)}, {"b", tensor(dy)}}), expected);
}

// Queues whose handles are references.
BOOST_AUTO_TEST_CASE(old_queues_are_resources) {
  const std::string types = attr("component_types", "list { type: DT_FLOAT }");
  const std::string value = attr("Tcomponents", "list { type: DT_FLOAT }");
  for (const std::string kind : {"FIFOQueue", "RandomShuffleQueue"}) {
    const Graph graph =
        parse_graph(placeholder("x", "DT_FLOAT", dims({2})) +
                    node("q", kind, {}, types + attr("shapes", "list { shape { dim { size: 2 } } }")) +
                    node("put", "QueueEnqueue", {"q", "x"}, value) + node("take", "QueueDequeue", {"q"}, types) +
                    node("close", "QueueClose", {"q"}) + node("size", "QueueSize", {"q"}));
    BOOST_TEST(graph.info(graph.output("take")).shape.to_string() == "[2]");
    Session session(graph);
    session.run({"put"}, {{"x", tensor({1.f, 2.f})}});
    BOOST_TEST(session.run("size").item<int32_t>() == 1);
    session.run("close");
    BOOST_TEST(session.run("take").to_vector<float>() == Floats({1, 2}), boost::test_tools::per_element());
    expect_error_begins([&] { session.run("take"); }, "OutOfRange: queue \"q\": ");
  }
}

// A graph that is written has the op whose handle is a reference, for accumulators of rows have no other.
BOOST_AUTO_TEST_CASE(accumulators_of_resources_are_those_of_references) {
  const std::string of_floats = type_attr("dtype", "DT_FLOAT");
  const auto number = [](const char* name, const char* type, const char* value) {
    return node(name, "Const", {},
                type_attr("dtype", type) +
                    attr("value", std::string("tensor { dtype: ") + type + " tensor_shape {} " + value + " }"));
  };
  const Graph graph = parse_graph(
      placeholder("x", "DT_FLOAT", dims({2})) + number("step", "DT_INT64", "int64_val: 0") +
      number("one", "DT_INT32", "int_val: 1") +
      node("a", "ResourceConditionalAccumulator", {}, of_floats + attr("shape", "shape { dim { size: 2 } }")) +
      node("apply", "ResourceAccumulatorApplyGradient", {"a", "step", "x"}, of_floats) +
      node("take", "ResourceAccumulatorTakeGradient", {"a", "one"}, of_floats) +
      node("set", "ResourceAccumulatorSetGlobalStep", {"a", "step"}) +
      node("count", "ResourceAccumulatorNumAccumulated", {"a"}));
  BOOST_TEST(graph.info(graph.output("take")).shape.to_string() == "[2]");
  Session session(graph);
  session.run({"apply"}, {{"x", tensor({1.f, 2.f})}});
  BOOST_TEST(session.run("count").item<int32_t>() == 1);
  BOOST_TEST(session.run("take").to_vector<float>() == Floats({1, 2}), boost::test_tools::per_element());
  session.run("set");
  const std::string text = to_graph_def_text(graph);
  BOOST_TEST(text.find("op: \"ConditionalAccumulator\"") != std::string::npos);
  BOOST_TEST(text.find("Resource") == std::string::npos);
}

// Readers and dense tables whose handles are references.
BOOST_AUTO_TEST_CASE(old_readers_and_dense_tables_are_resources) {
  const std::string strings = attr("component_types", "list { type: DT_STRING }");
  const auto text = [](const char* name, const char* value) {
    return node(
        name, "Const", {},
        type_attr("dtype", "DT_STRING") +
            attr("value", std::string("tensor { dtype: DT_STRING tensor_shape {} string_val: \"") + value + "\" }"));
  };
  Session readers(
      parse_graph(text("name", "a") + node("q", "FIFOQueue", {}, strings) +
                  node("put", "QueueEnqueue", {"q", "name"}, attr("Tcomponents", "list { type: DT_STRING }")) +
                  node("r", "IdentityReader", {}) + node("read", "ReaderRead", {"r", "q"}) +
                  node("count", "ReaderNumRecordsProduced", {"r"}) + node("reset", "ReaderReset", {"r"})));
  readers.run({"put"});
  BOOST_TEST(readers.run("read:1").item<std::string>() == "a");
  BOOST_TEST(readers.run("count").item<int64_t>() == 1);
  readers.run("reset");
  BOOST_TEST(readers.run("count").item<int64_t>() == 0);
}

// Arrays of version 2 have no flow beside their handle.
BOOST_AUTO_TEST_CASE(old_arrays_and_stacks_are_resources) {
  const std::string of_floats = type_attr("dtype", "DT_FLOAT");
  const auto number = [](const char* name, int value) {
    return node(name, "Const", {},
                type_attr("dtype", "DT_INT32") +
                    attr("value", "tensor { dtype: DT_INT32 tensor_shape {} int_val: " + std::to_string(value) + " }"));
  };
  Session arrays(parse_graph(placeholder("x", "DT_FLOAT", dims({2})) + placeholder("flow", "DT_FLOAT", "") +
                             number("one", 1) + number("two", 2) + node("a", "TensorArrayV2", {"two"}, of_floats) +
                             node("write", "TensorArrayWriteV2", {"a", "one", "x", "flow"}, kFloatT) +
                             node("read", "TensorArrayReadV2", {"a", "one", "write"}, of_floats) +
                             node("size", "TensorArraySizeV2", {"a", "write"})));
  const auto got = arrays.run({"read", "size"}, {{"x", tensor({1.f, 2.f})}, {"flow", 0.f}});
  BOOST_TEST(got[0].to_vector<float>() == Floats({1, 2}), boost::test_tools::per_element());
  BOOST_TEST(got[1].item<int32_t>() == 2);
  Session stacks(parse_graph(placeholder("x", "DT_FLOAT", dims({2})) +
                             node("s", "Stack", {}, type_attr("elem_type", "DT_FLOAT")) +
                             node("push", "StackPush", {"s", "x"}, kFloatT) +
                             node("pop", "StackPop", {"s", "^push"}, type_attr("elem_type", "DT_FLOAT"))));
  BOOST_TEST(stacks.run("pop", {{"x", tensor({1.f, 2.f})}}).to_vector<float>() == Floats({1, 2}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(bad_nodes_of_old_ops_are_refused) {
  const std::string x = placeholder("x", "DT_FLOAT", dims({2, 3})) + placeholder("b", "DT_BOOL", dims({3}));
  struct Fault {
    std::string node, error;
  };
  const Fault faults[] = {
      {node("y", "Select", {"b", "x"}, kFloatT), "inputs: expected 3, got 2"},
      {node("y", "Select", {"x", "x", "x"}, kFloatT), "input 0: expected bool, got float32"},
      {node("y", "Select", {"b", "x", "x"}, ""), "attribute T: expected a value, got none"},
      {node("y", "Reverse", {"x", "b"}, kFloatT), "dims: expected a flag for each of 2 dimensions, got shape [3]"},
      {node("y", "TopK", {"x"}, kFloatT), "attribute k: expected a value, got none"},
      {node("y", "TopK", {"x"}, kFloatT + attr("k", "i: -1")), "attribute k: expected at least 0, got -1"},
      {node("y", "TopK", {"x"}, kFloatT + attr("k", "i: 4294967296")),
       "k: expected one that fits int32, got 4294967296"},
      {node("y", "Concat", {"x", "x", "x"}, kFloatT + attr("N", "i: 2")), "input 0: expected int32, got float32"},
      {node("y", "Concat", {"x"}, kFloatT + attr("N", "i: 1")), "attribute N: expected at least 2, got 1"},
  };
  for (const Fault& fault : faults) {
    expect_error([&] { parse_graph(x + fault.node); }, "InvalidArgument: " + fault.error + " [node 'y']");
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto::test
