// Saving and loading a small graph, checks included.
#include <stdlib.h>

#include <filesystem>
#include <string>

#include "panto/benchmarks/support.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/lib/ops/products.h"
#include "panto/trace/trace.h"

namespace panto::bench {
namespace {

class Folder {
 public:
  Folder() : path_((std::filesystem::temp_directory_path() / "panto-bench-XXXXXX").string()) {
    made_ = mkdtemp(path_.data()) != nullptr;
  }
  ~Folder() {
    std::error_code ignored;
    if (made_) std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  // Returns "" if the folder could not be made.
  std::string file(const std::string& name) const { return made_ ? path_ + "/" + name : ""; }

 private:
  std::string path_;
  bool made_ = false;
};

Function small_model() {
  const Tensor w1 = numbers({16, 32}), b1 = numbers({32}), w2 = numbers({32, 4}), b2 = numbers({4});
  return trace([=](const Tensor& x) { return matmul(relu(matmul(x, w1) + b1), w2) + b2; },
               {TensorSpec(kFloat32, {-1, 16}, "x")});
}

void save_small_graph(benchmark::State& state, const char* name) {
  const Folder folder;
  const std::string path = folder.file(name);
  if (path.empty()) return state.SkipWithError("no temporary folder");
  const Function f = small_model();
  for (auto _ : state) f.save(path);
}
BENCHMARK_CAPTURE(save_small_graph, binary, "small.pb")->UseRealTime()->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(save_small_graph, text, "small.pbtxt")->UseRealTime()->Unit(benchmark::kMicrosecond);

void load_small_graph(benchmark::State& state, const char* name) {
  const Folder folder;
  const std::string path = folder.file(name);
  if (path.empty()) return state.SkipWithError("no temporary folder");
  small_model().save(path);
  for (auto _ : state) benchmark::DoNotOptimize(load(path));
}
BENCHMARK_CAPTURE(load_small_graph, binary, "small.pb")->UseRealTime()->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(load_small_graph, text, "small.pbtxt")->UseRealTime()->Unit(benchmark::kMicrosecond);

// Loads a graph and runs it once, which includes optimizing and planning.
void load_and_run_small_graph(benchmark::State& state) {
  const Folder folder;
  const std::string path = folder.file("small.pb");
  if (path.empty()) return state.SkipWithError("no temporary folder");
  small_model().save(path);
  const Tensor x = numbers({8, 16});
  for (auto _ : state) benchmark::DoNotOptimize(load(path)(x));
}
BENCHMARK(load_and_run_small_graph)->UseRealTime()->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace panto::bench
