// A grid of CUDA threads on the CPU: blocks one after the other, the threads of a block in turns. A thread runs until
// it waits for others (__syncthreads, a shuffle); then another goes on. So a kernel computes what it would on a GPU,
// but for rounding in the device's own functions, and its order is always the same.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <functional>

#include "panto/tests/device/cuda/pretend_cuda.h"

namespace panto::emulation {

// Where the running thread is.
struct Position {
  uint3 thread{}, block{}, threads{}, blocks{};
};
// Kernels ask for it all the time, so it is where no call is needed to find it.
extern constinit thread_local Position position [[gnu::tls_model("initial-exec"), gnu::visibility("default")]];

// Runs `thread` for each thread of each block. Ends the process if threads wait for others that never come.
void run_grid(dim3 blocks, dim3 threads, const std::function<void()>& thread);

// Waits for all threads of the block that have not ended.
void wait_for_block();
// Returns the word that another lane of the warp gives: lane `from(own)`, the thread's own if there is none.
uint32_t exchange(uint32_t word, int from);
// The lane of the running thread in its warp.
int lane();

// Stands for kernel<<<blocks, threads, bytes, stream>>>: returns what is called with the kernel's arguments.
template <class Kernel>
auto launcher(dim3 blocks, dim3 threads, size_t /*bytes*/, cudaStream_t stream, Kernel kernel) {
  return [=](auto... arguments) {
    test::launch(stream, [=] { run_grid(blocks, threads, [&] { kernel(arguments...); }); });
  };
}

}  // namespace panto::emulation
