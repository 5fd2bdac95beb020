// What passes make of a graph: optimize(A) prints the same as B.
#pragma once

#include <boost/test/unit_test.hpp>

#include "panto/lib/runtime/optimizer.h"
#include "panto/tests/graph/text_graph.h"

namespace panto::test {

struct PassCase {
  const char* passes;
  const char* before;
  const char* after = nullptr;  // nullptr: as it was
};

inline void check(const PassCase& c) {
  BOOST_TEST_CONTEXT(c.passes << " of" << c.before) {
    std::vector<PassRun> runs;
    const Graph optimized = optimize(text_graph(c.before), {}, {}, c.passes, &runs);
    for (const PassRun& run : runs) BOOST_TEST(run.error == "");
    BOOST_TEST(optimized.to_string() == text_graph(c.after == nullptr ? c.before : c.after).to_string());
  }
}

}  // namespace panto::test
