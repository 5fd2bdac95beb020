// Walks the registry: is every op complete? An op without documentation, samples, gradient (or a reason), kernel or a
// way into a file and back is named here.
#include <fmt/format.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <deque>
#include <fstream>
#include <functional>
#include <iostream>
#include <set>
#include <sstream>

#include "panto/lib/core/call/call.h"
#include "panto/lib/core/op/op.h"
#include "panto/lib/core/tensor/device.h"
#include "panto/lib/graph/files/unknown.h"
#include "panto/tests/expect.h"
#include "panto/tests/gpu.h"
#include "panto/tests/ops/families.h"
#include "panto/tests/ops/questions/questions.h"
#include "panto/tests/ops/table.h"

namespace panto::test {
namespace {

// Fails with the names of the library's ops of which `good` is not true.
void every_op(const std::function<bool(const Op&)>& good) {
  for (const Op* op : all_ops()) {
    if (op->name().starts_with("Test")) continue;  // tests define ops too
    if (is_unknown_op(*op)) continue;              // stands in graphs for ops that are none here, and never runs
    BOOST_CHECK_MESSAGE(good(*op), op->name());
  }
}

std::string read_file(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

BOOST_AUTO_TEST_SUITE(ops)
BOOST_AUTO_TEST_SUITE(registry)

BOOST_AUTO_TEST_CASE(links) {
  BOOST_CHECK_NO_THROW(link_ops());
  BOOST_CHECK_GT(all_ops().size(), 80);
}

// The dispatcher has room for so many and no more.
BOOST_AUTO_TEST_CASE(ops_with_too_many_arguments_are_refused) {
  const auto list = [](size_t n, const char* one) {
    std::string text;
    for (size_t i = 0; i < n; ++i)
      text += fmt::format("{}{}{}", i > 0 ? ", " : "", static_cast<char>('a' + i % 26), i) + one;
    return text;
  };
  const auto define = [](const std::string& signature) {
    static std::deque<std::string> kept;  // definitions keep pointers
    kept.push_back(signature);
    define_op(kept.back().c_str(), {.doc = "A test's.", .shape = shapes::scalar, .no_gradient = "it is a test's"});
    link_ops();
  };
  expect_error([&] { define("TestManyInputs(" + list(21, ": float32") + ") -> (y: float32)"); },
               "InvalidArgument: op TestManyInputs: expected at most 20 inputs, got 21");
  expect_error([&] { define("TestManyOutputs(x: float32) -> (" + list(21, ": float32") + ")"); },
               "InvalidArgument: op TestManyOutputs: expected at most 20 outputs, got 21");
  expect_error([&] { define("TestManyAttributes(x: float32; " + list(33, ": int = 0") + ") -> (y: float32)"); },
               "InvalidArgument: op TestManyAttributes: expected at most 32 attributes, got 33");
  BOOST_TEST(find_op("TestManyInputs") == nullptr);
  BOOST_CHECK_NO_THROW(define("TestTwenty(" + list(20, ": float32") + ") -> (y: float32)"));
  BOOST_CHECK_NO_THROW(define("TestThirtyTwo(x: float32; " + list(32, ": int = 0") + ") -> (y: float32)"));
}

// What a call does to a resource is said of each one: who orders calls, or drops them, asks nothing else.
BOOST_AUTO_TEST_CASE(effects_name_the_resources) {
  expect_error(
      [] {
        define_op("TestSilent(x: resource) -> (y: float32)",
                  {.doc = "A test's.", .shape = shapes::scalar, .no_gradient = "it is a test's"});
        link_ops();
      },
      "InvalidArgument: op TestSilent: expected `effects` to say what it does to the resource of input 0, got nothing");
  expect_error(
      [] {
        define_op("TestMisled(x: resource, y: float32) -> (z: float32)", {.doc = "A test's.",
                                                                          .effects = {effects::reads(1)},
                                                                          .shape = shapes::scalar,
                                                                          .no_gradient = "it is a test's"});
        link_ops();
      },
      "InvalidArgument: op TestMisled: expected `effects` to name an argument that is a resource, got 1");

  const Op& adam = get_op("ResourceApplyAdam");
  BOOST_TEST(!adam.is_pure());
  for (const int variable : {0, 1, 2}) BOOST_TEST(adam.effect_on(variable) == (Effect::kReads | Effect::kWrites));
  BOOST_TEST(adam.effect_on(3) == 0);
  BOOST_TEST(get_op("ReadVariableOp").effect_on(0) == Effect::kReads);
  BOOST_TEST(get_op("AssignVariableOp").effect_on(0) == Effect::kWrites);
  BOOST_TEST(get_op("RandomUniform").has_effect(Effect::kRandom));
  BOOST_TEST(!get_op("Placeholder").is_pure());
  BOOST_TEST(get_op("MatMul").is_pure());
}

BOOST_AUTO_TEST_CASE(documentation) {
  every_op([](const Op& op) { return op.doc().size() > 3 && (op.doc().ends_with('.') || op.doc().ends_with(".)")); });
}

BOOST_AUTO_TEST_CASE(samples) {
  std::set<std::string> sampled;
  for (const Row* row : all_rows()) {
    if (!row->d.samples.empty() || !row->d.own.empty()) sampled.insert(row->op_name);
  }
  every_op([&](const Op& op) { return sampled.contains(op.name()); });
}

BOOST_AUTO_TEST_CASE(gradient_or_reason) {
  every_op([](const Op& op) {
    // A composite may have a gradient of its own beside that of its body, or say why there is none.
    const int ways = (op.gradient() != nullptr) + !op.no_gradient().empty();
    return ways == 1 || (ways == 0 && op.is_composite());
  });
}

BOOST_AUTO_TEST_CASE(kernel_or_body) {
  every_op([](const Op& op) { return op.has_kernel(DeviceKind::kCpu) || op.is_composite(); });
}

// What a block says of a body beside kernels, or in files.
BOOST_AUTO_TEST_CASE(composites) {
  every_op([](const Op& op) { return op.is_composite() || op.units_from_body() == 0; });
  every_op([](const Op& op) { return op.is_composite() || op.name().starts_with('_') || !op.in_tensorflow(); });
  every_op([](const Op& op) { return op.has_kernel(DeviceKind::kCpu) || op.units_from_body() == 0; });
  every_op([](const Op& op) { return op.shape() != nullptr || !op.has_kernel(DeviceKind::kCpu); });
  std::set<std::string> in_tensorflow;
  for (const Op* op : all_ops()) {
    if (op->in_tensorflow()) in_tensorflow.insert(op->name());
  }
  BOOST_TEST((in_tensorflow == std::set<std::string>{"AccumulateNV2",
                                                     "Add",
                                                     "AdjustContrastv2",
                                                     "AdjustHue",
                                                     "AdjustSaturation",
                                                     "ApproximateEqual",
                                                     "AudioSpectrogram",
                                                     "BatchToSpace",
                                                     "BiasAddGrad",
                                                     "Bincount",
                                                     "Case",
                                                     "CholeskyGrad",
                                                     "ClipByValue",
                                                     "ConjugateTranspose",
                                                     "DataFormatDimMap",
                                                     "DeserializeManySparse",
                                                     "Empty",
                                                     "EuclideanNorm",
                                                     "GRUBlockCell",
                                                     "GRUBlockCellGrad",
                                                     "HSVToRGB",
                                                     "If",
                                                     "InTopK",
                                                     "InplaceAdd",
                                                     "InplaceSub",
                                                     "InplaceUpdate",
                                                     "LSTMBlockCell",
                                                     "LSTMBlockCellGrad",
                                                     "LeakyRelu",
                                                     "LeakyReluGrad",
                                                     "MatrixDiag",
                                                     "MatrixDiagPart",
                                                     "MatrixDiagPartV2",
                                                     "MatrixDiagV2",
                                                     "MatrixSetDiag",
                                                     "MatrixSetDiagV2",
                                                     "NearestNeighbors",
                                                     "ParallelConcat",
                                                     "PartitionedCall",
                                                     "QuantizeAndDequantizeV4Grad",
                                                     "QuantizedReshape",
                                                     "RGBToHSV",
                                                     "RaggedFillEmptyRows",
                                                     "RaggedFillEmptyRowsGrad",
                                                     "SegmentMaxV2",
                                                     "SegmentMinV2",
                                                     "SegmentProdV2",
                                                     "SegmentSumV2",
                                                     "SelfAdjointEig",
                                                     "SpaceToBatch",
                                                     "SparseMatMul",
                                                     "SparseSegmentMean",
                                                     "SparseSegmentMeanGrad",
                                                     "SparseSegmentMeanGradV2",
                                                     "SparseSegmentMeanWithNumSegments",
                                                     "SparseSegmentSqrtN",
                                                     "SparseSegmentSqrtNGrad",
                                                     "SparseSegmentSqrtNGradV2",
                                                     "SparseSegmentSqrtNWithNumSegments",
                                                     "SparseSegmentSum",
                                                     "SparseSegmentSumGrad",
                                                     "SparseSegmentSumGradV2",
                                                     "SparseSegmentSumWithNumSegments",
                                                     "StatefulPartitionedCall",
                                                     "StatefulStandardNormalV2",
                                                     "StatefulTruncatedNormal",
                                                     "StatefulUniform",
                                                     "StatefulUniformFullInt",
                                                     "StatefulUniformInt",
                                                     "StatelessCase",
                                                     "StatelessIf",
                                                     "StatelessRandomGetAlg",
                                                     "StatelessRandomGetKeyCounterAlg",
                                                     "StatelessRandomNormal",
                                                     "StatelessRandomUniform",
                                                     "StatelessRandomUniformFullInt",
                                                     "StatelessRandomUniformInt",
                                                     "StatelessTruncatedNormal",
                                                     "StatelessWhile",
                                                     "SymbolicGradient",
                                                     "TileGrad",
                                                     "UniqueWithCounts",
                                                     "UniqueWithCountsV2",
                                                     "While",
                                                     "_HostRecv",
                                                     "_HostSend",
                                                     "_Recv",
                                                     "_Send"}));
}

// Kernels are for types that the signature allows.
BOOST_AUTO_TEST_CASE(kernel_types) {
  every_op([](const Op& op) {
    if (op.primary_attr() < 0) return (op.kernel_types(DeviceKind::kCpu) - DTypeSet{DType::kInvalid}).empty();
    const DTypeSet allowed = op.signature().attrs[static_cast<size_t>(op.primary_attr())].allowed_types;
    return (op.kernel_types(DeviceKind::kCpu) - allowed).empty();
  });
}

// A type that the signature allows has a kernel, unless the block says why not; then there is such a type.
BOOST_AUTO_TEST_CASE(every_allowed_type_or_reason) {
  for (const Op* op : all_ops()) {
    if (op->name().starts_with("Test") || op->body() != nullptr || op->primary_attr() < 0) continue;
    const DTypeSet allowed = op->signature().attrs[static_cast<size_t>(op->primary_attr())].allowed_types;
    const DTypeSet missing = allowed - op->kernel_types(DeviceKind::kCpu);
    BOOST_CHECK_MESSAGE(missing.empty() == op->types_reason().empty(),
                        op->name() << ": no kernel for (" << dtype_set_text(missing) << "), types_reason \""
                                   << op->types_reason() << '"');
  }
}

// What a gradient does not need is not kept: an op without gradient keeps nothing.
BOOST_AUTO_TEST_CASE(saves) {
  every_op([](const Op& op) { return op.gradient() != nullptr || op.saves().empty(); });
}

// A node of every op is written to a GraphDef, read and run: by a question about its rows, or by a test of its own that
// is called "saved".
BOOST_AUTO_TEST_CASE(round_trip) {
  std::set<std::string> asked;
  for (const Row* row : all_rows()) {
    for (const Question& q : questions()) {
      const std::string_view name = q.name;
      if ((name == "round_trip" || name == "saved") && q.applies(*row, row->op())) asked.insert(row->op_name);
    }
    for (const OwnTest& test : row->d.own) {
      if (test.name == "saved") asked.insert(row->op_name);
    }
  }
  // Graphs that TensorFlow wrote ask this of datasets (tests/interop/files/test_datasets.py).
  every_op([&](const Op& op) { return asked.contains(op.name()) || of_passes(op) || writes_summaries(op); });
}

BOOST_AUTO_TEST_CASE(signature_text) {
  every_op([](const Op& op) {
    const std::string text = op.signature().to_string();
    return parse_signature(text).to_string() == text;
  });
}

// Each op is in a file that the generator reads, and the function there has the name that the op gives.
BOOST_AUTO_TEST_CASE(typed_functions) {
  std::string header;
  for (const char* family : {"array",  "audio",   "control", "datasets", "fft",     "files",     "image",
                             "linalg", "lists",   "math",    "nn",       "parsing", "quantized", "queues",
                             "random", "readers", "sparse",  "state",    "strings", "summaries", "tables"}) {
    header += read_file(fmt::format(PANTO_TEST_BUILD "/lib/ops/{}.h", family));
  }
  every_op([&](const Op& op) { return header.find(" " + op.cpp_name() + "(") != std::string::npos; });
}

// CUDA kernels are in a library of their own. It is opened where there is a GPU; what it has can be counted anywhere.
bool cuda_kernels_are_known() {
  const auto known = [] {
    return std::ranges::any_of(all_ops(), [](const Op* op) { return op->has_kernel(find_device_kind("GPU")); });
  };
  devices();
  if (!known()) test::enter_cuda_kernels();
  return known();
}

boost::test_tools::assertion_result can_count_cuda_kernels(boost::unit_test::test_unit_id) {
  boost::test_tools::assertion_result result(cuda_kernels_are_known());
  if (!result) result.message() << "libpanto_cuda.so was not built (no nvcc, or switched off)";
  return result;
}

BOOST_AUTO_TEST_CASE(cuda_coverage, *boost::unit_test::precondition(can_count_cuda_kernels)) {
  size_t with = 0, of = 0;
  for (const Op* op : all_ops()) {
    if (op->is_composite() && !op->has_kernel(DeviceKind::kCpu)) continue;
    ++of;
    if (op->has_kernel(find_device_kind("GPU"))) ++with;
  }
  std::cout << fmt::format("CUDA kernels: {} of {} ops\n", with, of) << std::flush;
  // Kernels are for types that the signature allows, as on the CPU.
  every_op([](const Op& op) {
    if (op.primary_attr() < 0) return (op.kernel_types(find_device_kind("GPU")) - DTypeSet{DType::kInvalid}).empty();
    const DTypeSet allowed = op.signature().attrs[static_cast<size_t>(op.primary_attr())].allowed_types;
    return (op.kernel_types(find_device_kind("GPU")) - allowed).empty();
  });
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto::test
