#include "panto/device/cuda/fused/fused_source.h"

#include <algorithm>

#include "panto/device/cuda/fused/fused_launches.h"
#include "panto/device/cuda/kernel.h"
#include "panto/lib/base/text/demangle.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/op/op.h"

namespace panto::cuda {
namespace {

std::string_view type_name(DType type) {
  switch (type) {
    case kFloat32: return "float";
    case kFloat64: return "double";
    case kFloat16: return "Half";
    case kBFloat16: return "BFloat16";
    case kInt8: return "int8_t";
    case kInt16: return "int16_t";
    case kInt32: return "int32_t";
    case kInt64: return "int64_t";
    case kUint8: return "uint8_t";
    case kUint16: return "uint16_t";
    case kUint32: return "uint32_t";
    case kUint64: return "uint64_t";
    case kBool: return "bool";
    default: failf(Code::kUnimplemented, "types: expected ones that GPUs compute with, got {}", dtype_name(type));
  }
}

std::string functor_name(const ElementwiseStep& step) {
  if (step.op->is(OpKind::kCast)) return fmt::format("ConvertTo<{}>", type_name(step.result));
  const std::type_info* functor = functor_of(step.op->kernel(gpu_kind(), step.type));
  if (functor == nullptr) {
    failf(Code::kUnimplemented, "ops: expected ones whose CUDA kernels can be fused, got {} of {}", step.op->name(),
          dtype_name(step.type));
  }
  return demangled(functor->name());
}

// Returns which steps the kernel's outputs need.
std::vector<bool> needed_steps(const ElementwiseProgram& program, const FusedKernel& kernel) {
  std::vector<bool> needed(program.steps.size(), false);
  const auto need = [&](int value) {
    if (!program.is_input(value)) needed[static_cast<size_t>(value) - program.inputs.size()] = true;
  };
  for (int k : kernel.outputs) need(program.outputs[static_cast<size_t>(k)]);
  for (size_t s = program.steps.size(); s-- > 0;) {
    if (!needed[s]) continue;
    for (int value : program.steps[s].operands) need(value);
  }
  return needed;
}

std::string how_text(Indexing indexing, size_t inputs) {
  switch (indexing) {
    case Indexing::kStraight: return fmt::format("Straight<{}>", inputs);
    case Indexing::kMapped: return fmt::format("Mapped<{}, uint32_t>", inputs);
    case Indexing::kMappedWide: return fmt::format("Mapped<{}, int64_t>", inputs);
  }
  return "";
}

}  // namespace

int pack_of(const ElementwiseProgram& program) {
  size_t widest = 2;
  for (DType type : program.inputs) widest = std::max(widest, dtype_size(type));
  for (int value : program.outputs) widest = std::max(widest, dtype_size(program.type_of(value)));
  return static_cast<int>(std::max<size_t>(1, 16 / widest));
}

std::string fused_source(const ElementwiseProgram& program, const FusedKernel& kernel) {
  const size_t inputs = program.inputs.size();
  if (inputs > kMostFusedInputs) {
    failf(Code::kUnimplemented, "Tin: expected at most {} inputs on a GPU, got {}", kMostFusedInputs, inputs);
  }
  const std::vector<bool> needed = needed_steps(program, kernel);
  std::vector<bool> read(inputs, false);
  std::string functors, reports, steps, loads, makes, stores;
  const auto value_text = [&](int value) {
    return program.is_input(value) ? fmt::format("x{}.v[j]", value) : fmt::format("v{}", value);
  };
  for (size_t s = 0; s < program.steps.size(); ++s) {
    if (!needed[s]) continue;
    const ElementwiseStep& step = program.steps[s];
    std::string operands;
    for (int value : step.operands) {
      operands.append(operands.empty() ? "" : ", ").append(value_text(value));
      if (program.is_input(value)) read[static_cast<size_t>(value)] = true;
    }
    functors += fmt::format("  {} f{};\n", functor_name(step), s);
    reports += fmt::format("  report(f.f{}, fault);\n", s);
    steps +=
        fmt::format("      const {} v{} = f.f{}({});\n", type_name(step.result), program.value_of_step(s), s, operands);
  }
  for (size_t i = 0; i < inputs; ++i) {
    if (!read[i]) continue;
    loads += fmt::format("    const auto x{0} = load<{1}, N>(in[{0}], from.at[{0}], (from.moves >> {0} & 1u) != 0);\n",
                         i, type_name(program.inputs[i]));
  }
  for (size_t k = 0; k < kernel.outputs.size(); ++k) {
    const int value = program.outputs[static_cast<size_t>(kernel.outputs[k])];
    makes += fmt::format("    Pack<{}, N> y{};\n", type_name(program.type_of(value)), k);
    steps += fmt::format("      y{}.v[j] = {};\n", k, value_text(value));
    stores += fmt::format("    store(out[{0}], i, y{0});\n", k);
  }
  return fmt::format(
      R"(#include "panto/device/math/convert.h"
#include "panto/device/cuda/elementwise/elements.cuh"
using namespace panto;
using namespace panto::cuda;
template <class To>
struct ConvertTo {{
  template <class From>
  __device__ To operator()(From x) const {{ return convert<To>(x); }}
}};
struct Functors {{
{functors}}};
struct Pointers {{
  const void* in[{inputs}];
  void* out[{outputs}];
  template <int N>
  __device__ void run(Functors& f, int64_t i, const Offsets<{inputs}>& from) const {{
{loads}{makes}#pragma unroll
    for (int j = 0; j < N; ++j) {{
{steps}    }}
{stores}  }}
}};
extern "C" __global__ void __launch_bounds__(kThreads) fused(int64_t n, Pointers pointers, {how} how, Fault* fault) {{
  Functors f;
  for_elements<{pack}>(f, n, pointers, how);
{reports}}}
)",
      fmt::arg("functors", functors), fmt::arg("inputs", inputs), fmt::arg("outputs", kernel.outputs.size()),
      fmt::arg("loads", loads), fmt::arg("makes", makes), fmt::arg("steps", steps), fmt::arg("stores", stores),
      fmt::arg("how", how_text(kernel.indexing, inputs)), fmt::arg("pack", kernel.pack), fmt::arg("reports", reports));
}

}  // namespace panto::cuda
