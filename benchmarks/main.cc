// The benchmark program. Options are Google Benchmark's: --benchmark_filter=REGEX, --benchmark_format=json, ...
#include <benchmark/benchmark.h>
#include <omp.h>

#include <string>

#include "panto/benchmarks/support.h"

int main(int argc, char** argv) {
  panto::bench::enter_elementwise_ops();
  panto::bench::enter_growth();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::AddCustomContext("threads", std::to_string(omp_get_max_threads()));
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
