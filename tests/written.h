// What is written to standard error, as a test sees it.
#pragma once

#include <unistd.h>

#include <array>
#include <boost/test/unit_test.hpp>
#include <cstdio>
#include <string>

namespace panto::test {

// What `body` writes to standard error, which must be little enough for one buffer.
template <class Body>
std::string written(Body body) {
  std::fflush(stderr);
  std::FILE* file = std::tmpfile();
  BOOST_REQUIRE(file != nullptr);
  const int saved = dup(STDERR_FILENO);
  dup2(fileno(file), STDERR_FILENO);
  const auto restore = [&] {
    std::fflush(stderr);
    dup2(saved, STDERR_FILENO);
    close(saved);
  };
  try {
    body();
  } catch (...) {
    restore();
    std::fclose(file);
    throw;
  }
  restore();
  std::array<char, 4096> buffer;
  std::rewind(file);
  const size_t n = std::fread(buffer.data(), 1, buffer.size(), file);
  std::fclose(file);
  return {buffer.data(), n};
}

}  // namespace panto::test
