// Kernels made at run time compile, whatever ops are in them: NVRTC needs no GPU for that. A program of its own, as
// libpanto_cuda shows nobody its inside.
#include <boost/test/unit_test.hpp>

#include "panto/device/cuda/fused/fused_source.h"
#include "panto/device/cuda/kernel.h"
#include "panto/device/cuda/rtc/compile.h"
#include "panto/lib/core/op/op.h"
#include "panto/tests/gpu.h"

namespace panto {
namespace {

struct Kernels {
  Kernels() { BOOST_TEST_REQUIRE(test::enter_cuda_kernels()); }
};

// A program of all ops that have a kernel for this type: each step reads inputs, and is an output.
ElementwiseProgram all_ops_of(DType type) {
  ElementwiseProgram program;
  program.inputs = {type, type, kBool, kBool};
  const std::vector<std::vector<int>> operand_lists = {{0}, {0, 1}, {2, 0, 1}, {2}, {2, 3}};
  for (const Op* op : all_ops()) {
    const DType selects = op->primary_attr() < 0 ? DType::kInvalid : type;
    if (!may_be_step(*op) || op->kernel(cuda::gpu_kind(), selects).run == nullptr) continue;
    if (!op->is(OpKind::kCast) && op->kernel(cuda::gpu_kind(), selects).payload == nullptr) continue;
    for (const std::vector<int>& operands : operand_lists) {
      std::vector<DType> types;
      for (int value : operands) types.push_back(program.type_of(value));
      const DType result = step_result(*op, selects, types);
      if (result == DType::kInvalid) continue;
      ElementwiseStep step{.op = op, .type = selects, .operands = {}, .result = result};
      for (int value : operands) step.operands.push_back(value);
      program.steps.push_back(std::move(step));
      program.outputs.push_back(program.num_values() - 1);
    }
  }
  return program;
}

cuda::FusedKernel kernel_of(const ElementwiseProgram& program, cuda::Indexing indexing, int pack) {
  cuda::FusedKernel kernel{{}, indexing, pack};
  for (size_t k = 0; k < program.outputs.size(); ++k) kernel.outputs.push_back(static_cast<int>(k));
  return kernel;
}

BOOST_AUTO_TEST_SUITE(cuda_programs, *boost::unit_test::fixture<Kernels>())

BOOST_AUTO_TEST_CASE(of_all_ops_compile) {
  for (const DType type : {kFloat32, kFloat64, kInt32, kInt64, kBool, kFloat16, kUint8}) {
    const ElementwiseProgram program = all_ops_of(type);
    BOOST_TEST(program.steps.size() >= 3, dtype_name(type));
    const cuda::FusedKernel kernel = kernel_of(program, cuda::Indexing::kStraight, cuda::pack_of(program));
    BOOST_TEST(!cuda::compile(cuda::fused_source(program, kernel), 90).empty(), dtype_name(type));
  }
}

BOOST_AUTO_TEST_CASE(of_every_indexing_and_architecture_compile) {
  const ElementwiseProgram program = all_ops_of(kFloat32);
  for (const cuda::Indexing indexing :
       {cuda::Indexing::kStraight, cuda::Indexing::kMapped, cuda::Indexing::kMappedWide}) {
    const std::string source = cuda::fused_source(program, kernel_of(program, indexing, 1));
    BOOST_TEST(!cuda::compile(source, 75).empty());
    BOOST_TEST(!cuda::compile(source, 999).empty());  // as PTX
  }
}

BOOST_AUTO_TEST_CASE(say_what_does_not_compile) {
  BOOST_CHECK_EXCEPTION(static_cast<void>(cuda::compile("no program", 90)), Error, [](const Error& e) {
    return e.code() == Code::kInternal && std::string(e.what()).find("compiling a kernel") != std::string::npos;
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
