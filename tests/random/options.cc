#include "panto/tests/random/options.h"

#include <algorithm>
#include <cstdlib>

#include "panto/lib/base/error.h"

namespace panto::random {

Options parse(int count, char** arguments) {
  Options o;
  if (std::getenv("PANTO_SLOW") != nullptr) o.programs = 12'000;
  if (const char* text = std::getenv("PANTO_PROGRAMS")) o.programs = std::strtoull(text, nullptr, 10);
  for (int i = 1; i < count; ++i) {
    const std::string name = arguments[i];
    const auto value = [&]() -> std::string {
      if (i + 1 >= count) fail(Code::kInvalidArgument, name + ": expected a value, got none");
      return arguments[++i];
    };
    if (name == "--programs") {
      o.programs = std::stoull(value());
    } else if (name == "--seed") {
      o.seed = std::stoull(value());
    } else if (name == "--only") {
      const std::string only = value();
      if (only.find('/') != std::string::npos) {
        o.only_call = only;
      } else {
        o.seed = std::stoull(only);
        o.programs = 1;
      }
    } else if (name == "--calls") {
      o.calls = std::stoull(value());
      if (std::getenv("PANTO_SLOW") != nullptr) o.calls = std::max<uint64_t>(o.calls, 200);
    } else if (name == "--mode") {
      o.mode = value();
    } else if (name == "--export") {
      o.folder = value();
    } else if (name == "--no-shrink") {
      o.shrinks = false;
    } else if (name == "--shrink") {
      o.shrinks = true;
    } else if (name == "--print") {
      o.prints = true;
    } else if (name == "--all") {
      o.all = true;
    } else if (name == "--coverage") {
      o.coverage = true;
    } else {
      fail(Code::kInvalidArgument, "argument: expected one of those at the top of tests/random/main.cc, got " + name);
    }
  }
  return o;
}

}  // namespace panto::random
