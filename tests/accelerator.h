// The device that the op table is asked on beside the CPU.
#pragma once

#include <boost/test/unit_test.hpp>
#include <cstdlib>

#include "panto/lib/core/tensor/device.h"
#include "panto/tests/gpu.h"

namespace panto::test {

// That of the environment's PANTO_TEST_DEVICE, which may be of the library PANTO_TEST_LIBRARY; else the first GPU, null
// where there is none.
inline Device* accelerator() {
  static Device* const device = [] {
    open_test_library();
    const char* name = std::getenv("PANTO_TEST_DEVICE");  // NOLINT(concurrency-mt-unsafe): read once
    return name != nullptr ? &find_device(name) : gpu();
  }();
  return device;
}

inline boost::test_tools::assertion_result has_accelerator(boost::unit_test::test_unit_id) {
  boost::test_tools::assertion_result result(accelerator() != nullptr);
  if (!result) result.message() << "there is no GPU here";
  return result;
}

}  // namespace panto::test
