// The GPU that libpanto_emulated_gpu.so has.
#include "panto/tests/device/cuda/pretend_cuda.h"

namespace panto::test {
namespace {

const bool kHasGpu = [] {
  pretended_cuda().gpus.push_back({.memory = size_t{4} << 30});
  return true;
}();

}  // namespace
}  // namespace panto::test
