// Import: every way in which a GraphDef can be wrong has its one message; what is right is read as TensorFlow reads it.
#include <google/protobuf/text_format.h>
#include <google/protobuf/util/message_differencer.h>

#include <boost/test/unit_test.hpp>
#include <complex>
#include <map>
#include <set>

#include "panto/lib/base/file.h"
#include "panto/lib/graph/files/io.h"
#include "panto/lib/graph/proto/graph.pb.h"
#include "panto/lib/graph/validate.h"
#include "panto/tests/expect.h"
#include "panto/tests/folder.h"
#include "panto/tests/graph/text_graph.h"
#include "panto/tests/runtime/reference_graphs.h"

namespace panto::test {
namespace {

struct Fault {
  const char* graph;  // GraphDef text
  const char* error;
};

constexpr const char* kX =
    "node { name: 'x' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } "
    "attr { key: 'shape' value { shape { dim { size: 2 } } } } } ";
constexpr const char* kI =
    "node { name: 'i' op: 'Placeholder' attr { key: 'dtype' value { type: DT_INT32 } } "
    "attr { key: 'shape' value { shape { dim { size: 3 } } } } } ";

std::string with_inputs(std::string_view rest) {
  return "versions { producer: 175 } " + std::string(kX) + kI + std::string(rest);
}

BOOST_AUTO_TEST_SUITE(import_suite)

BOOST_AUTO_TEST_CASE(names_the_node_and_the_operand_at_fault) {
  const Fault faults[] = {
      // Names.
      {"node { name: '' op: 'NoOp' }",
       "InvalidArgument: name of node 2: expected letters, digits, '.', '_', '-' and '/' after a letter, digit or '.', "
       "got ''"},
      {"node { name: '_x' op: 'NoOp' }",
       "InvalidArgument: name of node 2: expected letters, digits, '.', '_', '-' and '/' after a letter, digit or '.', "
       "got '_x'"},
      {"node { name: 'a\\nb' op: 'NoOp' }",
       "InvalidArgument: name of node 2: expected letters, digits, '.', '_', '-' and '/' after a letter, digit or '.', "
       "got 'a\\nb'"},
      {"node { name: 'x' op: 'NoOp' }", "InvalidArgument: node names: expected each once, got 'x' twice"},
      // Ops.
      {"node { name: 'y' }", "InvalidArgument: op: expected a name, got none [node 'y']"},
      // Inputs.
      {"node { name: 'y' op: 'Tanh' input: 'xx' }",
       "InvalidArgument: input 0: expected a node of the graph, got 'xx' (closest: 'x') [node 'y']"},
      {"node { name: 'y' op: 'Tanh' input: '' }",
       "InvalidArgument: tensor name: expected 'node' or 'node:output', got '' [node 'y']"},
      {"node { name: 'y' op: 'Tanh' input: 'x:' }",
       "InvalidArgument: tensor name: expected 'node' or 'node:output', got 'x:' [node 'y']"},
      {"node { name: 'y' op: 'Tanh' input: 'x:-1' }",
       "InvalidArgument: tensor name: expected 'node' or 'node:output', got 'x:-1' [node 'y']"},
      {"node { name: 'y' op: 'Tanh' input: 'x:4294967296' }",
       "InvalidArgument: tensor name: expected 'node' or 'node:output', got 'x:4294967296' [node 'y']"},
      {"node { name: 'y' op: 'Tanh' input: 'x:1' }",
       "InvalidArgument: input 0: expected an output of 'x' below 1, got 1 [node 'y']"},
      {"node { name: 'y' op: 'Tanh' input: '^x:0' }",
       "InvalidArgument: control input: expected '^node', got '^x:0' [node 'y']"},
      {"node { name: 'y' op: 'Tanh' input: '^i' input: 'x' }",
       "InvalidArgument: input 1: expected control inputs after all data inputs, got 'x' after one [node 'y']"},
      {"node { name: 'y' op: 'Tanh' }", "InvalidArgument: inputs: expected 1, got 0 [in Tanh()] [node 'y']"},
      {"node { name: 'y' op: 'Tanh' input: 'x' input: 'x' }",
       "InvalidArgument: inputs: expected 1, got 2 [in Tanh(x: float32[2])] [node 'y']"},
      {"node { name: 'y' op: 'Tanh' input: 'z' } node { name: 'z' op: 'Tanh' input: 'y' }",
       "InvalidArgument: graph: expected no cycle, got 'y' -> 'z' -> 'y'"},
      {"node { name: 'y' op: 'NoOp' input: '^y' }", "InvalidArgument: graph: expected no cycle, got 'y' -> 'y'"},
      // Types and shapes.
      {"node { name: 'y' op: 'AddV2' input: 'x' input: 'i' }",
       "InvalidArgument: y: expected float32, got int32 [in AddV2(x: float32[2], y: int32[3])] [node 'y']"},
      {"node { name: 'y' op: 'Tanh' input: 'x' attr { key: 'T' value { type: DT_DOUBLE } } }",
       "InvalidArgument: x: expected float64, got float32 [in Tanh(x: float32[2])] [node 'y']"},
      {"node { name: 'y' op: 'Tanh' input: 'i' }",
       "InvalidArgument: T: expected one of (float32, float64, complex64, bfloat16, complex128, float16), got int32 "
       "[in Tanh(x: int32[3])] [node 'y']"},
      {"node { name: 'y' op: 'MatMul' input: 'x' input: 'x' }",
       "InvalidArgument: a: expected a matrix, got shape [2] [in MatMul(a: float32[2], b: float32[2])] [node 'y']"},
      {"node { name: 'y' op: 'Tanh' input: 'x' device: '/gpu:' }",
       "InvalidArgument: device name: expected a form like \"/job:localhost/replica:0/task:0/device:GPU:0\", "
       "\"/device:CPU:*\" or \"/gpu:1\", got \"/gpu:\" [node 'y']"},
      // Attributes.
      {"node { name: 'y' op: 'Cast' input: 'x' }",
       "InvalidArgument: attribute DstT: expected a value, got none [in Cast(x: float32[2])] [node 'y']"},
      {"node { name: 'y' op: 'Cast' input: 'x' attr { key: 'DstT' value { i: 1 } } }",
       "InvalidArgument: attribute DstT: expected type, got int [node 'y']"},
      {"node { name: 'y' op: 'Cast' input: 'x' attr { key: 'DstT' value { } } }",
       "InvalidArgument: attribute DstT: expected type, got nothing [node 'y']"},
      {"node { name: 'y' op: 'Cast' input: 'x' attr { key: 'DstT' value { type: DT_INVALID } } }",
       "InvalidArgument: attribute DstT: dtype: expected the number of a dtype, got 0 [node 'y']"},
      {"node { name: 'y' op: 'BiasAdd' input: 'x' input: 'x' attr { key: 'data_format' value { s: 'NWHC' } } }",
       "InvalidArgument: attribute data_format: expected one of \"NHWC\", \"NCHW\", got \"NWHC\" [node 'y']"},
      {"node { name: 'y' op: 'Tanh' input: 'x' attr { key: '' value { f: 0 } } }",
       "InvalidArgument: attribute: expected a name, got none [node 'y']"},
      {"node { name: 'y' op: 'Tanh' input: 'x' attr { key: '_a\\303\\244' value { f: 0 } } }",
       "InvalidArgument: attribute: expected a name of visible ASCII characters, got '_a\xc3\xa4' [node 'y']"},
      {"node { name: 'y' op: 'AddN' attr { key: 'N' value { i: 0 } } attr { key: 'T' value { type: DT_FLOAT } } }",
       "InvalidArgument: attribute N: expected at least 1, got 0 [node 'y']"},
      {"node { name: 'y' op: 'AddN' input: 'x' attr { key: 'N' value { i: 1000000000000 } } }",
       "InvalidArgument: inputs: expected 1000000000000 more for 'inputs', got 1 [in AddN(inputs: float32[2])] [node "
       "'y']"},
      {"node { name: 'y' op: 'IdentityN' attr { key: 'T' value { list { } } } }",
       "InvalidArgument: attribute T: expected a list of at least 1, got 0 [node 'y']"},
      {"node { name: 'y' op: 'IdentityN' input: 'x' attr { key: 'T' value { list { i: 1 } } } }",
       "InvalidArgument: attribute T: expected list(type), got a list with elements of another kind [node 'y']"},
      {"node { name: 'y' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } "
       "attr { key: 'shape' value { shape { dim { size: -2 } } } } }",
       "InvalidArgument: attribute shape: shape: expected dimension 0 to be at least -1, got -2 [node 'y']"},
      {"node { name: 'y' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } "
       "attr { key: 'shape' value { shape { dim { size: 1 } unknown_rank: true } } } }",
       "InvalidArgument: attribute shape: shape: expected no dimensions beside unknown_rank, got 1 [node 'y']"},
      {"node { name: 'y' op: 'Tanh' input: 'x' attr { key: '_output_shapes' value { list { shape { } } } } }",
       "InvalidArgument: _output_shapes of output 0: expected one compatible with [2], got [] [node 'y']"},
      // Versions.
      {"versions { min_consumer: 99999 }",
       "InvalidArgument: versions: expected a graph for readers of version 2314 or earlier, got one for 99999 or "
       "later"},
      {"versions { bad_consumers: 2314 }",
       "InvalidArgument: versions: expected a graph for readers of version 2314, got one that excludes it"},
      {"versions { producer: -1 }", "InvalidArgument: versions: expected a producer of at least 0, got -1"},
  };
  for (const Fault& fault : faults) {
    const std::string inputs = std::string(kX) + kI;
    BOOST_TEST_CONTEXT(fault.graph) {
      expect_error([&] { parse_graph(inputs + fault.graph); }, fault.error);
    }
  }
}

BOOST_AUTO_TEST_CASE(refuses_constants_that_two_readers_could_read_differently) {
  const Fault faults[] = {
      {"dtype: DT_FLOAT tensor_shape { dim { size: -1 } }", "shape of a constant: expected a known one, got [?]"},
      {"dtype: DT_FLOAT tensor_shape { unknown_rank: true }", "shape of a constant: expected a known one, got ?"},
      {"dtype: DT_FLOAT tensor_shape { dim { size: 2 } } tensor_content: 'abc'",
       "tensor_content: expected 8 bytes for float32[2], got 3"},
      {"dtype: DT_FLOAT tensor_content: 'abcd' float_val: 1",
       "constant: expected either tensor_content or typed values, got both"},
      {"dtype: DT_FLOAT int_val: 1",
       "constant: expected values of float32 only, got some in the field of another dtype"},
      {"dtype: DT_FLOAT float_val: 1 double_val: 1",
       "constant: expected values of float32 only, got some in the field of another dtype"},
      {"dtype: DT_FLOAT float_val: 1 float_val: 2", "constant of shape []: expected at most 1 values, got 2"},
      {"dtype: DT_INT8 int_val: 128", "value: expected one that fits int8, got 128"},
      {"dtype: DT_UINT8 int_val: -1", "value: expected one that fits uint8, got -1"},
      {"dtype: DT_HALF half_val: 65536", "value: expected one that fits uint16, got 65536"},
      {"dtype: DT_BOOL tensor_content: '\\002'", "tensor_content: expected bytes 0 and 1, got 2"},
      {"dtype: DT_COMPLEX64 scomplex_val: 1", "scomplex_val: expected pairs, got 1 values"},
      {"dtype: DT_STRING tensor_shape { dim { size: 2 } } tensor_content: '\\001'",
       "tensor_content: expected 2 lengths, got 1 bytes"},
      {"dtype: DT_STRING tensor_shape { dim { size: 2 } } tensor_content: '\\001\\005a'",
       "tensor_content: expected 6 bytes of strings, got 1"},
      {"dtype: DT_STRING tensor_content: '\\377\\377\\377\\377\\377\\001'",
       "tensor_content: expected lengths below 2^32, got a longer one"},
      {"dtype: DT_FLOAT tensor_shape { dim { size: 0 } dim { size: 4294967296 } dim { size: 4294967296 } }",
       "shape: expected fewer than 2^63 elements, got the dimensions [0,4294967296,4294967296]"},
      {"dtype: DT_FLOAT tensor_shape { dim { size: 4611686018427387904 } }",
       "bytes of a constant: expected a product below 2^63, got 4611686018427387904 * 4"},
  };
  for (const Fault& fault : faults) {
    const std::string text =
        "node { name: 'c' op: 'Const' attr { key: 'dtype' value { type: DT_FLOAT } } "
        "attr { key: 'value' value { tensor { " +
        std::string(fault.graph) + " } } } }";
    BOOST_TEST_CONTEXT(fault.graph) {
      expect_error([&] { parse_graph(text); },
                   "InvalidArgument: attribute value: " + std::string(fault.error) + " [node 'c']");
    }
  }
  // What 40 bytes ask for is limited.
  const std::string large =
      "node { name: 'c' op: 'Const' attr { key: 'dtype' value { type: DT_FLOAT } } attr { key: "
      "'value' value { tensor { dtype: DT_FLOAT tensor_shape { dim { size: 1000000000 } } } } } }";
  expect_error(
      [&] { parse_graph(large); },
      "ResourceExhausted: attribute value: constants: expected at most 268435456 more bytes of repeated values, "
      "got 4000000000 [node 'c']");
  expect_error(
      [&] {
        parse_graph(
            "node { name: 'c' op: 'Const' attr { key: 'dtype' value { type: DT_INT32 } } attr { "
            "key: 'value' value { tensor { dtype: DT_FLOAT float_val: 1 } } } }");
      },
      "InvalidArgument: value: expected dtype int32, got float32 [in Const(; value=float32[] 1.0, dtype=int32)] "
      "[node 'c']");
}

Tensor constant(const std::string& proto) {
  const std::string dtype = proto.substr(0, proto.find(' ', 7));
  const Graph g = parse_graph("node { name: 'c' op: 'Const' attr { key: 'dtype' value { type" + dtype.substr(5) +
                              " } } attr { key: 'value' value { tensor { " + proto + " } } } }");
  return g.at("c").attr("value").as<Tensor>();
}

BOOST_AUTO_TEST_CASE(reads_constants_in_every_form) {
  BOOST_TEST(constant("dtype: DT_FLOAT float_val: 1.5").item<float>() == 1.5f);
  BOOST_TEST(constant("dtype: DT_FLOAT").item<float>() == 0.f);
  BOOST_TEST((constant("dtype: DT_INT32 tensor_shape { dim { size: 4 } } int_val: 1 int_val: 7").to_vector<int32_t>() ==
              std::vector<int32_t>{1, 7, 7, 7}));
  BOOST_TEST((constant("dtype: DT_INT64 tensor_shape { dim { size: 2 } } tensor_content: "
                       "'\\001\\000\\000\\000\\000\\000\\000\\000\\377\\377\\377\\377\\377\\377\\377\\377'")
                  .to_vector<int64_t>() == std::vector<int64_t>{1, -1}));
  BOOST_TEST(
      (constant("dtype: DT_STRING tensor_shape { dim { size: 3 } } string_val: 'a' string_val: '\\000b'")
           .to_vector<std::string>() == std::vector<std::string>{"a", std::string("\0b", 2), std::string("\0b", 2)}));
  BOOST_TEST((constant("dtype: DT_STRING tensor_shape { dim { size: 2 } } tensor_content: '\\002\\001abc'")
                  .to_vector<std::string>() == std::vector<std::string>{"ab", "c"}));
  BOOST_TEST(constant("dtype: DT_FLOAT tensor_shape { dim { size: 0 } dim { size: 3 } }").numel() == 0);
  BOOST_TEST((constant("dtype: DT_COMPLEX64 scomplex_val: 1 scomplex_val: -2").to_vector<std::complex<float>>()[0] ==
              std::complex<float>(1, -2)));
  BOOST_TEST(static_cast<float>(constant("dtype: DT_HALF half_val: 15360").to_vector<Half>()[0]) == 1.f);
  BOOST_TEST(static_cast<float>(constant("dtype: DT_BFLOAT16 half_val: 16256").to_vector<BFloat16>()[0]) == 1.f);
  BOOST_TEST(
      (constant("dtype: DT_BOOL tensor_shape { dim { size: 2 } } bool_val: true bool_val: false").to_vector<bool>() ==
       std::vector<bool>{true, false}));
}

BOOST_AUTO_TEST_CASE(is_lenient_where_tensorflow_is) {
  // Old names, defaults that are written out, inferred attributes that are not, notes, unknown attributes at rest.
  const Graph g = parse_graph(with_inputs(
      "node { name: 'y' op: 'Add' input: 'x:0' input: 'x' attr { key: 'T' value { type: DT_FLOAT } } "
      "attr { key: '_class' value { list { s: 'loc:@x' } } } attr { key: '_foo' value { func { name: 'f' } } } "
      "attr { key: '_output_shapes' value { list { shape { dim { size: -1 } } } } } "
      "attr { key: 'grad_z' value { b: false } } }"
      "node { name: 'z' op: 'MatMul' input: 'm' input: 'm' attr { key: 'transpose_a' value { b: false } } } "
      "node { name: 'm' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } }"));
  BOOST_TEST(g.node_text(g.at("y")) == "y = Add(x, x; _class=[\"loc:@x\"], _foo=f) -> float32[2]");
  BOOST_TEST(g.at("z").explicitly_set(0));
  BOOST_TEST(!g.at("z").explicitly_set(1));
  // A scalar shape written before version 22 means an unknown one.
  const std::string old =
      "node { name: 'p' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } "
      "attr { key: 'shape' value { shape { } } } }";
  BOOST_TEST(!parse_graph(old).at("p").output(0).shape.known_rank());
  BOOST_TEST(parse_graph("versions { producer: 22 } " + old).at("p").output(0).shape.rank() == 0);
  BOOST_TEST(parse_graph("").num_nodes() == 0);
}

BOOST_AUTO_TEST_CASE(knows_source_lines_that_are_in_the_file) {
  const Graph g = parse_graph(
      with_inputs("node { name: 'y' op: 'Tanh' input: 'x' } debug_info { files: 'model.py' traces { key: 'y@' value { "
                  "file_line_cols { file_index: 0 line: 12 } } } }"));
  BOOST_TEST(g.at("y").where().to_string() == "model.py:12");
}

BOOST_AUTO_TEST_CASE(keeps_composites) {
  const Graph g =
      parse_graph(with_inputs("node { name: 'y' op: 'Gelu' input: 'x' } "
                              "node { name: 'z' op: 'Neg' input: 'y' input: '^y' }"));
  validate(g);
  BOOST_TEST(g.at("y").op().name() == "Gelu");
  BOOST_TEST(g.at("y").output(0).shape.to_string() == g.at("x").output(0).shape.to_string());
  BOOST_TEST(g.at(g.at("z").input(0).node).name() == "y");
  // Written for others it is the ops that it is made of, the last of which has its name.
  const Graph again = parse_graph(to_graph_def(g));
  BOOST_TEST(again.num_nodes() > 5);
  for (int id : again.ids()) BOOST_TEST(!again.at(id).op().is_composite());
  BOOST_TEST(again.at(again.at("z").input(0).node).name() == "y");
  BOOST_TEST((again.at("z").control_inputs()[0] == again.at("y").id()));
  BOOST_TEST(parse_graph(to_graph_def(g, {.own_ops = true})).to_string() == g.to_string());
}

BOOST_AUTO_TEST_CASE(tells_text_from_bytes_by_their_content) {
  const TestFolder folder;
  const Graph g = text_graph("x = Placeholder(; dtype=float32, shape=[2])\n y = Tanh(x)");
  write_graph(g, folder / "g.pb");
  write_graph(g, folder / "g.pbtxt");
  BOOST_TEST(read_file(folder / "g.pbtxt").starts_with("node {\n  name: \"x\""));
  BOOST_TEST(read_graph(folder / "g.pb").to_string() == g.to_string());
  BOOST_TEST(read_graph(folder / "g.pbtxt").to_string() == g.to_string());
  write_file(folder / "text.pb", to_graph_def_text(g));
  BOOST_TEST(read_graph(folder / "text.pb").to_string() == g.to_string());
  BOOST_TEST(folder.files() == 3u);

  expect_error([&] { read_graph(folder / "none.pb"); },
               "NotFound: cannot open file '" + (folder / "none.pb") + "': No such file or directory");
  expect_error([&] { read_graph(folder.path().string()); },
               "Unimplemented: model '" + folder.path().string() +
                   "': expected a GraphDef in a file, got a folder (SavedModel)");
  write_file(folder / "bad.pb", std::string("\x0a\x05\x12\x01", 4));
  expect_error([&] { read_graph(folder / "bad.pb"); },
               "DataLoss: GraphDef: expected a well-formed message of 4 bytes, got a fault at or before byte 4 [file " +
                   (folder / "bad.pb") + "]");
  expect_error([&] { parse_graph("node {\n  name \"x\"\n}"); },
               "DataLoss: GraphDef: expected its text form, got a fault at line 2, column 8: Expected \":\", found "
               "\"\"x\"\".");
  expect_error([&] { parse_graph("node { nom: 'x' }"); },
               "DataLoss: GraphDef: expected its text form, got a fault at line 1, column 11: Message type "
               "\"panto.graphdef.NodeDef\" has no field named \"nom\".");
  expect_error([&] { write_graph(g, folder / "no/such/folder.pb"); },
               "NotFound: cannot write file '" + (folder / "no/such/folder.pb") + "': No such file or directory");
  expect_error([&] { parse_graph(read_file(folder / "g.pb"), {.max_bytes = 10}); },
               "ResourceExhausted: GraphDef: expected at most 10 bytes, got 76");
  expect_error([&] { parse_graph(read_file(folder / "g.pb"), {.max_nodes = 1}); },
               "ResourceExhausted: graph: expected at most 1 nodes, got 2");
}

// Node by node, what stands in the file is what TensorFlow wrote there, but for attributes at their defaults, notes
// that are not kept.
BOOST_AUTO_TEST_CASE(writes_what_tensorflow_writes) {
  int constants = 0;
  for (const ReferenceGraph& reference : reference_graphs()) {
    if (reference.name.starts_with("old_")) continue;  // other nodes stand for theirs
    graphdef::GraphDef theirs, ours;
    const std::string bytes = read_file(reference.path);
    if (!reference.path.ends_with(".pb")) {
      BOOST_REQUIRE(google::protobuf::TextFormat::ParseFromString(bytes, &theirs));
    } else {
      BOOST_REQUIRE(theirs.ParseFromString(bytes));
    }
    BOOST_REQUIRE(ours.ParseFromString(to_graph_def(parse_graph(bytes))));
    BOOST_TEST(ours.node_size() == theirs.node_size());
    std::map<std::string, const graphdef::NodeDef*> by_name;
    for (const auto& node : theirs.node()) by_name[node.name()] = &node;
    for (const auto& node : ours.node()) {
      const graphdef::NodeDef& original = *by_name.at(node.name());
      BOOST_TEST_CONTEXT(reference.name << ", node " << node.name()) {
        BOOST_TEST(node.op() == original.op());
        BOOST_TEST(node.device() == original.device());
        BOOST_TEST(std::multiset<std::string>(node.input().begin(), node.input().end()) ==
                   std::multiset<std::string>(original.input().begin(), original.input().end()));
        for (const auto& [name, value] : node.attr()) {
          BOOST_REQUIRE(original.attr().contains(name));
          // A constant of equal elements TensorFlow writes in one of two forms, as its user wrote it.
          const auto& tensor = value.tensor();
          const bool repeated = tensor.tensor_shape().dim_size() > 0 && tensor.tensor_content().empty();
          if (repeated && tensor.string_val_size() <= 1 && tensor.bool_val_size() <= 1) continue;
          BOOST_TEST(value.ShortDebugString() == original.attr().at(name).ShortDebugString());
        }
        constants += node.op() == "Const" ? 1 : 0;
      }
    }
    BOOST_TEST(ours.versions().ShortDebugString() == theirs.versions().ShortDebugString());
    BOOST_TEST(google::protobuf::util::MessageDifferencer::Equals(ours.library(), theirs.library()));
  }
  BOOST_TEST(constants > 50);
}

BOOST_AUTO_TEST_CASE(writes_graphs_of_its_own) {
  const Graph g = text_graph(R"(
    x = Placeholder(; dtype=float32, shape=[?,2])
    ones = Const(; value=float32[70]{1})
    axis = Const(; value=int32{1})
    two = Split(axis, x, ^ones, ^axis; num_split=2) @/cpu:0
    z = Neg(two:1; _class=["loc:@x"])
  )");
  graphdef::GraphDef proto;
  BOOST_REQUIRE(proto.ParseFromString(to_graph_def(g)));
  const auto text = [&](int node) { return proto.node(node).ShortDebugString(); };
  // A constant of many equal elements has one in the file.
  BOOST_TEST(
      text(1) ==
      "name: \"ones\" op: \"Const\" attr { key: \"dtype\" value { type: DT_FLOAT } } attr { key: \"value\" value { "
      "tensor { dtype: DT_FLOAT tensor_shape { dim { size: 70 } } float_val: 1 } } }");
  // Inferred attributes are written, control inputs come last and sorted, the short form stands for output 0.
  BOOST_TEST(
      text(3) ==
      "name: \"two\" op: \"Split\" input: \"axis\" input: \"x\" input: \"^axis\" input: \"^ones\" device: \"/cpu:0\" "
      "attr { key: \"T\" value { type: DT_FLOAT } } attr { key: \"num_split\" value { i: 2 } }");
  BOOST_TEST(
      text(4) ==
      "name: \"z\" op: \"Neg\" input: \"two:1\" attr { key: \"T\" value { type: DT_FLOAT } } attr { key: \"_class\" "
      "value { list { s: \"loc:@x\" } } }");
  BOOST_TEST(proto.versions().producer() == 175);
  BOOST_TEST(proto.versions().min_consumer() == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto::test
