// Whatever bytes a GraphDef is made of: it is refused with an Error, or it loads and runs, or its run is refused with
// an Error. Under the sanitizers nothing is read or written out of bounds; memory and time stay bounded.
//
// PANTO_MUTATIONS=100000 tries more variants, PANTO_MUTATION_SEED=7 others; PANTO_MUTATION_MS=9000 gives runs more time
// where everything is slow.
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "panto/device/cpu/device.h"
#include "panto/lib/base/error.h"
#include "panto/lib/base/file.h"
#include "panto/lib/core/step/step.h"
#include "panto/lib/core/tensor/device.h"
#include "panto/lib/graph/files/io.h"
#include "panto/lib/graph/files/unknown.h"
#include "panto/lib/graph/proto/graph.pb.h"
#include "panto/lib/runtime/session.h"
#include "panto/tests/runtime/function_graphs.h"
#include "panto/tests/runtime/reference_graphs.h"

namespace panto::test {
namespace {

// What a variant may take, above what was in use before: no graph here needs a hundredth of it.
constexpr int64_t kMemory = int64_t{64} << 20;

struct Saved {
  const ReferenceGraph* reference;
  std::string bytes;
  bool text;
};

class Mutator {
 public:
  explicit Mutator(unsigned seed) : random_(seed) {}

  // Below n; 0 if n is 0.
  size_t below(size_t n) { return n == 0 ? 0 : static_cast<size_t>(random_() % n); }

  // A variant of `one`, perhaps with a piece of `other` in it.
  std::string variant(const Saved& one, const Saved& other) {
    std::string out = one.bytes;
    switch (below(one.text ? 12 : 6)) {
      case 0:  // one bit
        out[below(out.size())] ^= static_cast<char>(1 << below(8));
        break;
      case 1:  // some bytes
        for (size_t i = 1 + below(8); i > 0; --i) out[below(out.size())] = static_cast<char>(below(256));
        break;
      case 2: out.resize(below(out.size())); break;
      case 3: {  // a piece of another
        const size_t from = below(other.bytes.size()), n = below(std::min<size_t>(200, other.bytes.size() - from));
        const size_t at = below(out.size());
        out.replace(at, std::min(n, out.size() - at), other.bytes, from, n);
        break;
      }
      case 4: {  // a piece twice
        const size_t from = below(out.size()), n = below(std::min<size_t>(200, out.size() - from));
        const std::string piece = out.substr(from, n);
        out.insert(below(out.size()), piece);
        break;
      }
      case 5: {  // bytes at their edges
        constexpr char kEdges[] = {0, 1, 2, 0x7f, static_cast<char>(0x80), static_cast<char>(0xff)};
        for (size_t i = 1 + below(3); i > 0; --i) out[below(out.size())] = kEdges[below(sizeof(kEdges))];
        break;
      }
      // What still parses gets further: into inference, the passes and the kernels.
      case 6:
      case 7:
      case 8:
        for (size_t i = 1 + below(3); i > 0; --i) change_number(out);
        break;
      default:
        for (size_t i = 1 + below(2); i > 0; --i) change_value(out, other.text ? other.bytes : one.bytes);
    }
    return out;
  }

 private:
  static constexpr std::string_view kDigits = "-0123456789";

  void change_number(std::string& text) {
    constexpr std::string_view kNumbers[] = {"0",          "1",          "2",
                                             "3",          "-1",         "-2",
                                             "7",          "100",        "65536",
                                             "2147483647", "2147483648", "-2147483648",
                                             "1000000000", "4294967296", "9223372036854775807",
                                             "1e38",       "nan",        "-9223372036854775808"};
    const auto [at, n] = value(text, kDigits);
    if (n > 0) text.replace(at, n, kNumbers[below(std::size(kNumbers))]);
  }

  // A name of an op, a node, an attribute, a type or a device by one from elsewhere; a number, a flag.
  void change_value(std::string& text, const std::string& source) {
    const auto [at, n] = value(text, {});
    if (n == 0) return;
    const char first[] = {text[at]};
    const bool number = kDigits.find(first[0]) != std::string::npos;
    const auto [from, m] = value(source, number ? kDigits : std::string_view(first, 1));
    text.replace(at, n, source.substr(from, m));
  }

  // Position and length of what stands after a colon, somewhere, beginning with one of `first` if that is not empty;
  // of nothing if there is none.
  std::pair<size_t, size_t> value(const std::string& text, std::string_view first) {
    size_t at = below(text.size());
    for (int round = 0; round < 2; at = 0, ++round) {
      while ((at = text.find(": ", at)) != std::string::npos) {
        at += 2;
        if (at == text.size() || (!first.empty() && first.find(text[at]) == std::string::npos)) continue;
        return {at, std::min(text.find('\n', at), text.size()) - at};
      }
    }
    return {0, 0};
  }

  std::mt19937 random_;
};

struct Tally {
  int refused = 0, failed = 0, ran = 0, exhausted = 0;
};

// True if `body` throws no Error. Anything else that it throws is a failure of the test.
template <class Body>
bool succeeds(Tally& tally, Body&& body) {
  try {
    body();
    return true;
  } catch (const Error& error) {
    BOOST_TEST_MESSAGE(error.what());
    if (error.code() == Code::kResourceExhausted) ++tally.exhausted;
    BOOST_TEST((error.code() != Code::kInternal), error.what());
  } catch (const std::exception& other) {
    BOOST_ERROR("expected an Error, got " << other.what());
  }
  return false;
}

// `seconds`: that a run may take, as a loop may have become endless.
void try_variant(const std::string& bytes, const ReferenceGraph& reference, double seconds, Tally& tally) {
  ImportOptions limits;
  limits.max_expanded_bytes = int64_t{1} << 20;
  Graph graph;
  if (!succeeds(tally, [&] { graph = parse_graph(bytes, limits); })) {
    ++tally.refused;
    return;
  }
  bool ran = true;
  for (const char* passes : {"", "off"}) {
    ran &= succeeds(tally, [&] {
      Session session(graph, {.passes = passes});
      for (const ReferenceRun& run : reference.runs) {
        ran &= succeeds(tally, [&] {
          Feeds feeds;
          for (const auto& [name, value] : run.feeds) feeds.emplace_back(name, value);
          Fetches fetches(run.fetches.begin(), run.fetches.end());
          for (const std::string& target : run.targets) fetches.emplace_back("^" + target);
          Step step = current_step();
          step.deadline = Step::deadline_in(seconds);
          const StepScope scope(step);
          session.run(fetches, feeds);
        });
      }
    });
  }
  ++(ran ? tally.ran : tally.failed);
  // What was let in can be printed, and what is written can be read.
  for (const std::string& shown : {graph.to_string(), graph.to_dot(), missing_text(graph)}) {
    BOOST_TEST(std::ranges::none_of(shown, [](char c) { return c >= 0 && c < ' ' && c != '\n'; }));
  }
  std::string written, text;
  if (succeeds(tally, [&] { written = to_graph_def(graph), text = to_graph_def_text(graph); })) {
    for (const std::string& copy : {written, text}) {
      std::string again;
      BOOST_TEST(succeeds(tally, [&] { again = to_graph_def(parse_graph(copy, limits)); }));
      BOOST_TEST((again == written));
    }
  }
}

int64_t from_environment(const char* name, int64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoll(text);
}

BOOST_AUTO_TEST_SUITE(mutation_suite)

BOOST_AUTO_TEST_CASE(no_bytes_do_harm) {
  const auto variants = static_cast<int>(from_environment("PANTO_MUTATIONS", 2000));

  // Both forms of each graph; text finds what a flipped bit rarely reaches.
  std::vector<Saved> saved;
  const auto add = [&](const ReferenceGraph& reference, const std::string& file, bool is_text) {
    graphdef::GraphDef proto;
    std::string text;
    BOOST_REQUIRE(is_text ? google::protobuf::TextFormat::ParseFromString(file, &proto) : proto.ParseFromString(file));
    BOOST_REQUIRE(google::protobuf::TextFormat::PrintToString(proto, &text));
    saved.push_back({&reference, text, true});
    saved.push_back({&reference, is_text ? proto.SerializeAsString() : file, false});
  };
  for (const ReferenceGraph& reference : reference_graphs()) {
    add(reference, read_file(reference.path), reference.path.ends_with(".pbtxt"));
  }
  const size_t without_functions = saved.size();
  for (const FunctionGraph& with : function_graphs()) add(with.reference, with.text, true);
  BOOST_REQUIRE(without_functions >= 30u);
  BOOST_REQUIRE(saved.size() >= without_functions + 16);

  const int64_t before = cpu_device().memory_stats().bytes_in_use;
  struct Limit {
    explicit Limit(int64_t bytes) { cpu::set_memory_limit(bytes); }
    ~Limit() { cpu::set_memory_limit(0); }
  };
  const Limit limit(before + kMemory);
  Mutator mutator(static_cast<unsigned>(from_environment("PANTO_MUTATION_SEED", 20260101)));
  const auto seconds = static_cast<double>(from_environment("PANTO_MUTATION_MS", 250)) / 1e3;
  Tally tally;
  double slowest = 0;
  for (int i = 0; i < variants; ++i) {
    const Saved& one = saved[mutator.below(saved.size())];
    const Saved& other = saved[mutator.below(saved.size())];
    const std::string bytes = mutator.variant(one, other);
    const auto start = std::chrono::steady_clock::now();
    BOOST_TEST_CONTEXT("variant " << i << " of " << one.reference->name << (one.text ? ", as text" : "")) {
      try_variant(bytes, *one.reference, seconds, tally);
    }
    slowest = std::max(slowest, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  BOOST_TEST_MESSAGE("refused " << tally.refused << ", failed " << tally.failed << ", ran " << tally.ran
                                << "; out of memory " << tally.exhausted << " times; slowest " << slowest << " s");
  BOOST_TEST(tally.refused + tally.failed + tally.ran == variants);
  BOOST_TEST(tally.refused > variants / 4);
  BOOST_TEST(tally.ran > variants / 20);
  BOOST_TEST(cpu_device().memory_stats().bytes_in_use == before);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto::test
