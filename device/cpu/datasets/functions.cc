// Kernels of datasets that call functions for their elements.
#include <algorithm>

#include "panto/device/cpu/datasets/arguments.h"
#include "panto/lib/core/datasets/ahead.h"
#include "panto/lib/core/datasets/datasets.h"
#include "panto/lib/core/step/threads.h"

namespace panto {
namespace {

using namespace datasets;

// The cycle length; -1, which leaves the choice to us, gives the number of threads.
int64_t chosen(int64_t cycle) { return cycle == -1 ? std::max(1, num_threads()) : cycle; }

void run_map(KernelContext& c) {
  const DatasetArguments a(c);
  DatasetHandle input = a.dataset();
  DatasetFunction f = a.function("f", 1, input->spec().types);
  give_dataset(c, map_dataset(c.op().name(), std::move(input), std::move(f), c.flag("preserve_cardinality"), a.spec()));
}
// `calls`: the number of concurrent calls.
DatasetHandle parallel_map(KernelContext& c, int64_t calls, bool ordered, ElementSpec spec) {
  const DatasetArguments a(c);
  DatasetHandle input = a.dataset();
  DatasetFunction f = a.function("f", 1, input->spec().types);
  f.giving(spec.types);
  return parallel_map_dataset(
      c.op().name(), std::move(input), std::move(f),
      {.calls = calls, .ordered = ordered, .preserve_cardinality = c.flag("preserve_cardinality")}, std::move(spec));
}
void run_parallel_map(KernelContext& c) {
  const DatasetArguments a(c);
  give_dataset(c, parallel_map(c, *static_cast<const int32_t*>(a.tensor(2).impl()->data), !c.flag("sloppy"), a.spec()));
}
void run_parallel_map_2(KernelContext& c) {
  const DatasetArguments a(c);
  give_dataset(c, parallel_map(c, a.integer(2), c.text("deterministic") != "false", a.spec()));
}
void run_map_and_batch(KernelContext& c) {
  const DatasetArguments a(c);
  const ElementSpec spec = a.spec();
  ElementSpec rows{spec.types, {}};
  for (const PartialShape& shape : spec.shapes) {
    rows.shapes.push_back(shape.rank() > 0 ? PartialShape(shape.dims().subspan(1)) : PartialShape());
  }
  give_dataset(c, batch_dataset(parallel_map(c, a.integer(3), true, std::move(rows)), a.integer(2), a.flag(4), spec));
}
void run_filter(KernelContext& c) {
  const DatasetArguments a(c);
  DatasetHandle input = a.dataset();
  DatasetFunction f = a.function("predicate", 1, input->spec().types);
  give_dataset(c, filter_dataset(c.op().name(), std::move(input), std::move(f), a.spec()));
}
void run_take_while(KernelContext& c) {
  const DatasetArguments a(c);
  DatasetHandle input = a.dataset();
  DatasetFunction f = a.function("predicate", 1, input->spec().types);
  give_dataset(c, take_while_dataset(std::move(input), std::move(f), a.spec()));
}
void run_flat_map(KernelContext& c) {
  const DatasetArguments a(c);
  DatasetHandle input = a.dataset();
  DatasetFunction f = a.function("f", 1, input->spec().types);
  give_dataset(c, flat_map_dataset(std::move(input), std::move(f), a.spec()));
}
void give_interleaved(KernelContext& c, const DatasetArguments& a, InterleaveOptions options) {
  DatasetHandle input = a.dataset();
  DatasetFunction f = a.function("f", 1, input->spec().types);
  options.cycle = chosen(a.integer(2));
  options.block = a.integer(3);
  // By default the buffer holds two blocks: the elements of the next turn are computed while those of this turn are
  // taken.
  if (options.buffer == -1) options.buffer = 2 * std::max<int64_t>(options.block, 1);
  give_dataset(c, interleave_dataset(c.op().name(), std::move(input), std::move(f), options, a.spec()));
}
void run_interleave(KernelContext& c) { give_interleaved(c, DatasetArguments(c), {}); }
// Each of the interleaved datasets is read by its own thread. `buffer`: the input with the number of elements that a
// thread buffers.
void run_interleave_of_threads(KernelContext& c, int buffer) {
  const DatasetArguments a(c);
  give_interleaved(c, a, {.threads = chosen(a.integer(2)), .buffer = a.integer(buffer)});
}
void run_parallel_interleave(KernelContext& c) { run_interleave_of_threads(c, 5); }
void run_legacy_interleave(KernelContext& c) { run_interleave_of_threads(c, 4); }
// `calls`: the input with the number of threads.
void run_interleave_of_calls(KernelContext& c, int calls, int64_t buffer) {
  const DatasetArguments a(c);
  const int64_t threads = a.integer(calls);
  if (threads < 1 && threads != -1) invalid("num_parallel_calls: expected at least 1, or -1, got {}", threads);
  give_interleaved(c, a, {.threads = chosen(threads), .buffer = buffer});
}
void run_parallel_interleave_2(KernelContext& c) { run_interleave_of_calls(c, 4, -1); }
void run_parallel_interleave_4(KernelContext& c) { run_interleave_of_calls(c, 6, DatasetArguments(c).integer(4)); }
void run_scan(KernelContext& c) {
  const DatasetArguments a(c);
  DatasetHandle input = a.dataset();
  std::vector<Tensor> initial = a.tensors(1);
  const auto states = c.types("Tstate");
  DatasetFunction f = a.function("f", 2, joined_types({states.begin(), states.end()}, input->spec().types));
  give_dataset(
      c, scan_dataset(std::move(input), std::move(f), std::move(initial), c.flag("preserve_cardinality"), a.spec()));
}
void run_generator(KernelContext& c) {
  const DatasetArguments a(c);
  DatasetFunction init = a.function("init_func", 0, {});
  DatasetFunction next = a.function("next_func", 1, init.results());
  DatasetFunction finalize = a.function("finalize_func", 2, init.results());
  give_dataset(c, generator_dataset(std::move(init), std::move(next), std::move(finalize), a.spec()));
}
void run_group_by_window(KernelContext& c) {
  const DatasetArguments a(c);
  DatasetHandle input = a.dataset();
  DatasetFunction key = a.function("key_func", 1, input->spec().types);
  DatasetFunction reduce = a.function("reduce_func", 2, {kInt64, kVariant});
  DatasetFunction size = a.function("window_size_func", 3, {kInt64});
  give_dataset(c,
               group_by_window_dataset(std::move(input), std::move(key), std::move(reduce), std::move(size), a.spec()));
}
void run_group_by_reducer(KernelContext& c) {
  const DatasetArguments a(c);
  DatasetHandle input = a.dataset();
  DatasetFunction key = a.function("key_func", 1, input->spec().types);
  DatasetFunction init = a.function("init_func", 2, {kInt64});
  DatasetFunction reduce = a.function("reduce_func", 3, joined_types(init.results(), input->spec().types));
  DatasetFunction finalize = a.function("finalize_func", 4, init.results());
  give_dataset(c, group_by_reducer_dataset(std::move(input), std::move(key), std::move(init), std::move(reduce),
                                           std::move(finalize), a.spec()));
}

const CpuKernel map_kernel("MapDataset", run_map);
const CpuKernel parallel_map_kernel("ParallelMapDataset", run_parallel_map);
const CpuKernel parallel_map_2_kernel("ParallelMapDatasetV2", run_parallel_map_2);
const CpuKernel map_and_batch_kernel("MapAndBatchDataset", run_map_and_batch);
const CpuKernel filter_kernel("FilterDataset", run_filter);
const CpuKernel parallel_filter_kernel("ParallelFilterDataset", run_filter);
const CpuKernel take_while_kernel("TakeWhileDataset", run_take_while);
const CpuKernel flat_map_kernel("FlatMapDataset", run_flat_map);
const CpuKernel interleave_kernel("InterleaveDataset", run_interleave);
const CpuKernel parallel_interleave_kernel("ParallelInterleaveDataset", run_parallel_interleave);
const CpuKernel legacy_interleave_kernel("LegacyParallelInterleaveDatasetV2", run_legacy_interleave);
const CpuKernel parallel_interleave_2_kernel("ParallelInterleaveDatasetV2", run_parallel_interleave_2);
const CpuKernel parallel_interleave_3_kernel("ParallelInterleaveDatasetV3", run_parallel_interleave_2);
const CpuKernel parallel_interleave_4_kernel("ParallelInterleaveDatasetV4", run_parallel_interleave_4);
const CpuKernel scan_kernel("ScanDataset", run_scan);
const CpuKernel generator_kernel("GeneratorDataset", run_generator);
const CpuKernel group_by_window_kernel("GroupByWindowDataset", run_group_by_window);
const CpuKernel group_by_reducer_kernel("GroupByReducerDataset", run_group_by_reducer);

}  // namespace
}  // namespace panto
