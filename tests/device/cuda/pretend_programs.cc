// Programs that are compiled at run time, for the CUDA runtime that the host pretends to be (pretend_cuda.h): they
// load, unless a test says that there is no memory, and are not run.
#include "panto/tests/device/cuda/pretend_cuda.h"

using panto::test::pretended_cuda;

cudaError_t cudaLibraryLoadData(cudaLibrary_t* library, const void* /*code*/, cudaJitOption* /*options*/,
                                void** /*values*/, unsigned /*count*/, cudaLibraryOption* /*options*/,
                                void** /*values*/, unsigned /*count*/) {
  if (pretended_cuda().refused_libraries > 0) {
    --pretended_cuda().refused_libraries;
    return cudaErrorMemoryAllocation;
  }
  static int made = 0;
  *library = reinterpret_cast<cudaLibrary_t>(&made);
  return cudaSuccess;
}
cudaError_t cudaLibraryUnload(cudaLibrary_t /*library*/) { return cudaSuccess; }
cudaError_t cudaLibraryGetKernel(cudaKernel_t* kernel, cudaLibrary_t library, const char* /*name*/) {
  *kernel = reinterpret_cast<cudaKernel_t>(library);
  return cudaSuccess;
}
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* /*attributes*/, const void* /*function*/) { return cudaSuccess; }
