// Tests that need a GPU: suites with the label `cuda` and this precondition are skipped, by name, where there is none.
#pragma once

#include <dlfcn.h>

#include <boost/test/unit_test.hpp>
#include <cstdlib>

#include "panto/lib/core/op/library.h"
#include "panto/lib/core/op/op.h"
#include "panto/lib/core/tensor/device.h"

namespace panto::test {

// Opens the back-end in the library that the environment's PANTO_TEST_LIBRARY names, if it does: for example that of a
// GPU which the CPU emulates (tests/device/cuda/emulation).
inline void open_test_library() {
  static const bool done = [] {
    const char* library = std::getenv("PANTO_TEST_LIBRARY");  // NOLINT(concurrency-mt-unsafe): read once
    if (library != nullptr) load_library(library);
    return true;
  }();
  static_cast<void>(done);
}

// The first GPU; null where there is none.
inline Device* gpu() {
  open_test_library();
  for (Device* d : devices()) {
    if (device_kind_name(d->kind()) == "GPU") return d;
  }
  return nullptr;
}

// Enters the kernels of a build's CUDA library without its devices, which need a driver. False where it was not built.
inline bool enter_cuda_kernels() {
  static const bool opened = dlopen(PANTO_TEST_BUILD "/libpanto_cuda.so", RTLD_NOW | RTLD_LOCAL) != nullptr;
  link_ops();
  return opened;
}

inline boost::test_tools::assertion_result has_gpu(boost::unit_test::test_unit_id) {
  boost::test_tools::assertion_result result(gpu() != nullptr);
  if (!result) result.message() << "there is no GPU here";
  return result;
}

}  // namespace panto::test
