// A CUDA runtime and cuBLAS made of the host: GPUs with as much memory as a test gives them, which refuse what it says.
// What they are asked for is done at once, or kept while a stream captures. So what device/cuda does around its kernels
// is tested without a GPU.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

namespace panto::test {

struct PretendedGpu {
  int major = 9, minor = 0;
  size_t memory = size_t{1} << 30;
  bool answers = true;       // says what it is
  bool runs_kernels = true;  // else there is no code for it
  size_t used = 0;           // bytes that were asked for
  bool in_use = false;       // there is a context on it
};

struct PretendedCuda {
  std::vector<PretendedGpu> gpus;
  cudaError_t count_result = cudaSuccess;  // of asking how many there are
  int driver = 13000;                      // what the driver knows
  int refused_streams = 0;                 // that many are not made
  int refused_libraries = 0;               // for that many there is no memory
  cudaError_t graph_result = cudaSuccess;  // of making a graph ready
  size_t workspace_bytes = 0;              // what cuBLAS was given last
  const void* workspace = nullptr;
  int handles = 0;  // of cuBLAS, that were made and not destroyed
  int products = 0;
  int events = 0;                                  // that were made and not destroyed
  std::vector<std::pair<int, int>> stream_waits;   // a GPU whose stream waits, and the one whose event it is
  std::vector<std::pair<int, int>> direct_copies;  // to a GPU, from another
  int host_waits = 0;                              // of the host, for a stream or an event
};
PretendedCuda& pretended_cuda();

// Asks for a kernel, as <<<>>> does.
void launch(cudaStream_t stream, std::function<void()> kernel);

}  // namespace panto::test
