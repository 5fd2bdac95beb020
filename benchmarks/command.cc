// Whole processes: the cost of starting the command and of running a small graph with it.
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "panto/benchmarks/support.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/lib/ops/products.h"
#include "panto/trace/trace.h"

extern char** environ;

namespace panto::bench {
namespace {

// <build>/benchmarks/panto_benchmarks -> <build>/apps/panto
std::string command_path() {
  std::error_code ignored;
  return (std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path() / "../apps/panto").string();
}

// Returns the exit status; -1 if the process could not be started.
int run_process(std::vector<std::string> arguments) {
  std::vector<char*> pointers;
  for (std::string& a : arguments) pointers.push_back(a.data());
  pointers.push_back(nullptr);
  posix_spawn_file_actions_t quiet;
  posix_spawn_file_actions_init(&quiet);
  posix_spawn_file_actions_addopen(&quiet, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  const int failed = posix_spawn(&child, pointers[0], &quiet, nullptr, pointers.data(), environ);
  posix_spawn_file_actions_destroy(&quiet);
  int status = 0;
  if (failed != 0 || waitpid(child, &status, 0) < 0) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void measure(benchmark::State& state, const std::vector<std::string>& arguments) {
  for (auto _ : state) {
    if (run_process(arguments) != 0) {
      state.SkipWithError((arguments[0] + " failed").c_str());
      return;
    }
  }
}

void start_command(benchmark::State& state) { measure(state, {command_path(), "--version"}); }
BENCHMARK(start_command)->UseRealTime()->Unit(benchmark::kMillisecond);

void list_devices(benchmark::State& state) { measure(state, {command_path(), "devices"}); }
BENCHMARK(list_devices)->UseRealTime()->Unit(benchmark::kMillisecond);

void list_ops(benchmark::State& state) { measure(state, {command_path(), "ops"}); }
BENCHMARK(list_ops)->UseRealTime()->Unit(benchmark::kMillisecond);

// y = relu(c w + b) with constants only, so that nothing is fed.
void run_small_graph(benchmark::State& state) {
  std::string folder = (std::filesystem::temp_directory_path() / "panto-bench-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return state.SkipWithError("no temporary folder");
  const Tensor w = numbers({16, 4}), b = numbers({4});
  const Tensor c = numbers({2, 16});
  const Function f = trace([&] { return relu(matmul(c, w) + b); }, std::vector<TensorSpec>());
  f.save(folder + "/small.pb");
  measure(state, {command_path(), "run", folder + "/small.pb"});
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
}
BENCHMARK(run_small_graph)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace panto::bench
