// Kernels of datasets that call no function.
#include <random>

#include "panto/device/cpu/datasets/arguments.h"
#include "panto/device/cpu/datasets/file_cache.h"
#include "panto/lib/core/collections/handle.h"
#include "panto/lib/core/datasets/ahead.h"
#include "panto/lib/core/datasets/datasets.h"
#include "panto/lib/core/datasets/file_datasets.h"
#include "panto/lib/core/io/graph_files.h"

namespace panto {

datasets::Seeds given_seeds(int64_t seed, int64_t seed2) {
  if (seed != 0 || seed2 != 0) return {static_cast<uint64_t>(seed), static_cast<uint64_t>(seed2)};
  std::random_device device;
  const auto number = [&] { return (uint64_t{device()} << 32) | device(); };
  const uint64_t first = number();
  return {first, number()};
}

namespace {

using namespace datasets;

void run_range(KernelContext& c) {
  const DatasetArguments a(c);
  give_dataset(c, range_dataset(a.integer(0), a.integer(1), a.integer(2), a.spec()));
}
void run_tensor(KernelContext& c) {
  const DatasetArguments a(c);
  give_dataset(c, tensor_dataset(a.tensors(0), a.spec("Toutput_types")));
}
void run_slices(KernelContext& c) {
  const DatasetArguments a(c);
  give_dataset(c, tensor_slice_dataset(a.tensors(0), a.spec("Toutput_types")));
}
void run_sparse_slices(KernelContext& c) {
  const DatasetArguments a(c);
  const int64_t inner = a.tensor(2).numel() - 1;
  ElementSpec spec{{kInt64, c.type("Tvalues"), kInt64},
                   {PartialShape{-1, inner}, PartialShape{-1}, PartialShape{inner}}};
  give_dataset(c, sparse_slice_dataset(shared_tensor(a.tensor(0)), shared_tensor(a.tensor(1)),
                                       shared_tensor(a.tensor(2)), std::move(spec)));
}

// ---- One input -----------------------------------------------------------------------------------------------------

template <DatasetHandle (*make)(DatasetHandle, int64_t, ElementSpec)>
void run_counted(KernelContext& c) {
  const DatasetArguments a(c);
  give_dataset(c, make(a.dataset(), a.integer(1), a.spec()));
}
void run_zip(KernelContext& c) {
  const DatasetArguments a(c);
  give_dataset(c, zip_dataset(a.datasets(0), a.spec()));
}
void run_concatenate(KernelContext& c) {
  const DatasetArguments a(c);
  give_dataset(c, concatenate_dataset(a.dataset(0), a.dataset(1), a.spec()));
}
void run_shard(KernelContext& c) {
  const DatasetArguments a(c);
  give_dataset(c, shard_dataset(a.dataset(), a.integer(1), a.integer(2), c.flag("require_non_empty"), a.spec()));
}
void run_same(KernelContext& c) {
  const DatasetArguments a(c);
  give_dataset(c, same_dataset(c.op().name(), a.dataset(), a.spec()));
}
void run_prefetch(KernelContext& c) {
  const DatasetArguments a(c);
  give_dataset(c, prefetch_dataset(a.dataset(), a.integer(1), a.spec()));
}
void run_ignore_errors(KernelContext& c) {
  const DatasetArguments a(c);
  give_dataset(c, ignore_errors_dataset(a.dataset(), c.flag("log_warning"), a.spec()));
}
void run_unique(KernelContext& c) {
  const DatasetArguments a(c);
  give_dataset(c, unique_dataset(a.dataset(), a.spec()));
}
void run_unbatch(KernelContext& c) {
  const DatasetArguments a(c);
  give_dataset(c, unbatch_dataset(a.dataset(), a.spec()));
}
void run_directed(KernelContext& c) {
  const DatasetArguments a(c);
  give_dataset(c, directed_interleave_dataset(a.dataset(0), a.datasets(1), c.flag("stop_on_empty_dataset"), a.spec()));
}

// ---- Batches -------------------------------------------------------------------------------------------------------

void run_batch(KernelContext& c) {
  const DatasetArguments a(c);
  give_dataset(c, batch_dataset(a.dataset(), a.integer(1), false, a.spec()));
}
template <int drop>
void run_batch_dropping(KernelContext& c) {
  const DatasetArguments a(c);
  give_dataset(c, batch_dataset(a.dataset(), a.integer(1), a.flag(drop), a.spec()));
}
void padded_batch(KernelContext& c, bool drop_remainder) {
  const DatasetArguments a(c);
  std::vector<PartialShape> shapes;
  for (const Tensor& t : a.tensors(2)) {
    if (t.rank() != 1) invalid("padded_shapes: expected vectors, got {}", t.shape().to_string());
    shapes.emplace_back(
        std::span<const int64_t>(static_cast<const int64_t*>(t.impl()->data), static_cast<size_t>(t.numel())));
  }
  give_dataset(c, padded_batch_dataset(a.dataset(), a.integer(1), std::move(shapes), a.tensors(3), drop_remainder,
                                       a.spec("Toutput_types")));
}
void run_padded_batch(KernelContext& c) { padded_batch(c, false); }
void run_padded_batch_dropping(KernelContext& c) { padded_batch(c, DatasetArguments(c).flag(4)); }
void run_window(KernelContext& c) {
  const DatasetArguments a(c);
  give_dataset(c, window_dataset(a.dataset(), a.integer(1), a.integer(2), a.integer(3), a.flag(4), a.spec()));
}
void run_sliding(KernelContext& c) {
  const DatasetArguments a(c);
  give_dataset(c, sliding_window_dataset(a.dataset(), a.integer(1), a.integer(2), a.integer(3),
                                         c.flag("drop_remainder"), a.spec()));
}
void run_rebatch(KernelContext& c) {
  const DatasetArguments a(c);
  give_dataset(c, rebatch_dataset(a.dataset(), a.integers(1), a.flag(2), a.spec()));
}

void run_dense_to_sparse(KernelContext& c) {
  const DatasetArguments a(c);
  const std::vector<int64_t> dims = a.integers(2);
  give_dataset(c, dense_to_sparse_batch_dataset(a.dataset(), a.integer(1), PartialShape(std::span<const int64_t>(dims)),
                                                a.spec()));
}
void run_batch_size(KernelContext& c) { *c.out_data<int64_t>(0) = dataset_of(c.in(0))->batch_size(); }

// ---- Random order --------------------------------------------------------------------------------------------------

std::shared_ptr<SeedGenerator> seed_generator(int64_t seed, int64_t seed2, bool passes_differ) {
  return std::make_shared<SeedGenerator>(given_seeds(seed, seed2), passes_differ, philox_words);
}
// Returns the seed generator; null for a DummySeedGenerator, which the graph has if the generator was left out.
std::shared_ptr<SeedGenerator> generator_in(const Tensor& handle) {
  if (handle.dtype() != kResource || handle.numel() != 1)
    invalid("seed_generator: expected a resource scalar, got another tensor");
  return std::dynamic_pointer_cast<SeedGenerator>(*static_cast<const ResourceHandle*>(handle.impl()->data));
}
void shuffled(KernelContext& c, int64_t count, std::shared_ptr<SeedGenerator> seeds) {
  const DatasetArguments a(c);
  give_dataset(
      c, shuffle_dataset(c.op().name(), a.dataset(),
                         {.buffer = a.integer(1), .count = count, .seeds = std::move(seeds), .words = philox_words},
                         a.spec()));
}
void run_shuffle(KernelContext& c) {
  const DatasetArguments a(c);
  shuffled(c, 1, seed_generator(a.integer(2), a.integer(3), c.flag("reshuffle_each_iteration")));
}
void run_shuffle_2(KernelContext& c) {
  auto seeds = generator_in(DatasetArguments(c).tensor(2));
  shuffled(c, 1, seeds == nullptr ? seed_generator(0, 0, true) : std::move(seeds));
}
void run_shuffle_3(KernelContext& c) {
  const DatasetArguments a(c);
  auto seeds = generator_in(a.tensor(4));
  if (seeds == nullptr) seeds = seed_generator(a.integer(2), a.integer(3), c.flag("reshuffle_each_iteration"));
  shuffled(c, 1, std::move(seeds));
}
void run_shuffle_and_repeat(KernelContext& c) {
  const DatasetArguments a(c);
  shuffled(c, a.integer(4), seed_generator(a.integer(2), a.integer(3), c.flag("reshuffle_each_iteration")));
}
void run_shuffle_and_repeat_2(KernelContext& c) {
  const DatasetArguments a(c);
  auto seeds = generator_in(a.tensor(5));
  if (seeds == nullptr) seeds = seed_generator(a.integer(2), a.integer(3), c.flag("reshuffle_each_iteration"));
  shuffled(c, a.integer(4), std::move(seeds));
}
void run_random(KernelContext& c) {
  const DatasetArguments a(c);
  give_dataset(c, random_dataset(seed_generator(a.integer(0), a.integer(1), false), philox_words, a.spec()));
}
void run_random_2(KernelContext& c) {
  const DatasetArguments a(c);
  auto seeds = generator_in(a.tensor(2));
  if (seeds == nullptr) seeds = seed_generator(a.integer(0), a.integer(1), c.flag("rerandomize_each_iteration"));
  give_dataset(c, random_dataset(std::move(seeds), philox_words, a.spec()));
}
void run_seed_generator(KernelContext& c) {
  const DatasetArguments a(c);
  c.set_out(0, resource_tensor(seed_generator(a.integer(0), a.integer(1), a.flag(2))));
  c.set_out(1, deleter_tensor());
}
void run_random_seed_generator(KernelContext& c) {
  const DatasetArguments a(c);
  c.set_out(0, resource_tensor(seed_generator(a.integer(0), a.integer(1), true)));
  c.set_out(1, deleter_tensor());
}

// A placeholder resource: there is no generator or cache.
class Nothing final : public Resource {
 public:
  Nothing() : Resource("", "") {}
  std::string_view kind() const noexcept override { return "nothing"; }
};
void run_dummy(KernelContext& c) { c.set_out(0, resource_tensor(std::make_shared<Nothing>())); }
// Does nothing: the resource is freed with its last handle.
void run_delete(KernelContext&) {}

class CacheResource final : public Resource {
 public:
  CacheResource() : Resource("", ""), cache(std::make_shared<ElementCache>()) {}
  std::string_view kind() const noexcept override { return "MemoryCache"; }
  const std::shared_ptr<ElementCache> cache;
};
void run_memory_cache(KernelContext& c) {
  c.set_out(0, resource_tensor(std::make_shared<CacheResource>()));
  c.set_out(1, deleter_tensor());
}
void cached(KernelContext& c, std::shared_ptr<ElementCache> cache) {
  const DatasetArguments a(c);
  if (!a.text(1).empty()) {
    expect_graph_files_allowed(a.text(1));
    return give_dataset(c, file_cache_dataset(a.dataset(), a.text(1), a.spec()));
  }
  give_dataset(c, cache_dataset(a.dataset(), std::move(cache), a.spec()));
}
void run_cache(KernelContext& c) { cached(c, std::make_shared<ElementCache>()); }
void run_cache_2(KernelContext& c) {
  const Tensor& handle = DatasetArguments(c).tensor(2);
  const auto found = std::dynamic_pointer_cast<CacheResource>(resource_in(handle, "memory cache"));
  cached(c, found == nullptr ? std::make_shared<ElementCache>() : found->cache);
}

// ---- Files ---------------------------------------------------------------------------------------------------------

void run_tf_record(KernelContext& c) {
  const DatasetArguments a(c);
  give_dataset(c, tf_record_dataset(a.texts(0), compression_named(a.text(1)), {}));
}
void run_tf_record_2(KernelContext& c) {
  const DatasetArguments a(c);
  give_dataset(c, tf_record_dataset(a.texts(0), compression_named(a.text(1)), a.integers(3)));
}
void run_text_line(KernelContext& c) {
  const DatasetArguments a(c);
  give_dataset(c, text_line_dataset(a.texts(0), compression_named(a.text(1))));
}
void fixed_length(KernelContext& c, std::string_view compression) {
  const DatasetArguments a(c);
  give_dataset(c, fixed_length_record_dataset(a.texts(0), {.header_bytes = a.integer(1),
                                                           .record_bytes = a.integer(2),
                                                           .footer_bytes = a.integer(3),
                                                           .compression = compression_named(compression)}));
}
void run_fixed_length(KernelContext& c) { fixed_length(c, ""); }
void run_fixed_length_2(KernelContext& c) { fixed_length(c, DatasetArguments(c).text(5)); }
void run_matching(KernelContext& c) { give_dataset(c, matching_files_dataset(DatasetArguments(c).texts(0))); }

const CpuKernel range_kernel("RangeDataset", run_range);
const CpuKernel tensor_kernel("TensorDataset", run_tensor);
const CpuKernel slices_kernel("TensorSliceDataset", run_slices);
const CpuKernel sparse_slices_kernel("SparseTensorSliceDataset", dtypes::kAny, run_sparse_slices);
const CpuKernel repeat_kernel("RepeatDataset", run_counted<repeat_dataset>);
const CpuKernel take_kernel("TakeDataset", run_counted<take_dataset>);
const CpuKernel skip_kernel("SkipDataset", run_counted<skip_dataset>);
const CpuKernel assert_cardinality_kernel("AssertCardinalityDataset", run_counted<assert_cardinality_dataset>);
const CpuKernel zip_kernel("ZipDataset", run_zip);
const CpuKernel concatenate_kernel("ConcatenateDataset", run_concatenate);
const CpuKernel shard_kernel("ShardDataset", run_shard);
const CpuKernel options_kernel("OptionsDataset", run_same);
const CpuKernel model_kernel("ModelDataset", run_same);
const CpuKernel optimize_kernel("OptimizeDataset", run_same);
const CpuKernel optimize_2_kernel("OptimizeDatasetV2", run_same);
const CpuKernel rewrite_kernel("RewriteDataset", run_same);
const CpuKernel finalize_kernel("FinalizeDataset", run_same);
const CpuKernel parallelism_kernel("MaxIntraOpParallelismDataset", run_same);
const CpuKernel pool_kernel("PrivateThreadPoolDataset", run_same);
const CpuKernel non_serializable_kernel("NonSerializableDataset", run_same);
const CpuKernel assert_next_kernel("AssertNextDataset", run_same);
const CpuKernel prefetch_kernel("PrefetchDataset", run_prefetch);
const CpuKernel ignore_errors_kernel("IgnoreErrorsDataset", run_ignore_errors);
const CpuKernel unique_kernel("UniqueDataset", run_unique);
const CpuKernel unbatch_kernel("UnbatchDataset", run_unbatch);
const CpuKernel directed_kernel("DirectedInterleaveDataset", run_directed);
const CpuKernel batch_kernel("BatchDataset", run_batch);
const CpuKernel batch_2_kernel("BatchDatasetV2", run_batch_dropping<2>);
const CpuKernel parallel_batch_kernel("ParallelBatchDataset", run_batch_dropping<3>);
const CpuKernel padded_batch_kernel("PaddedBatchDataset", run_padded_batch);
const CpuKernel padded_batch_2_kernel("PaddedBatchDatasetV2", run_padded_batch_dropping);
const CpuKernel dense_to_sparse_kernel("DenseToSparseBatchDataset", run_dense_to_sparse);
const CpuKernel batch_size_kernel("ComputeBatchSize", run_batch_size);
const CpuKernel window_kernel("WindowDataset", run_window);
const CpuKernel sliding_kernel("SlidingWindowDataset", run_sliding);
const CpuKernel rebatch_kernel("RebatchDatasetV2", run_rebatch);
const CpuKernel shuffle_kernel("ShuffleDataset", run_shuffle);
const CpuKernel shuffle_2_kernel("ShuffleDatasetV2", run_shuffle_2);
const CpuKernel shuffle_3_kernel("ShuffleDatasetV3", run_shuffle_3);
const CpuKernel shuffle_and_repeat_kernel("ShuffleAndRepeatDataset", run_shuffle_and_repeat);
const CpuKernel shuffle_and_repeat_2_kernel("ShuffleAndRepeatDatasetV2", run_shuffle_and_repeat_2);
const CpuKernel random_kernel("RandomDataset", run_random);
const CpuKernel random_2_kernel("RandomDatasetV2", run_random_2);
const CpuKernel seed_generator_kernel("AnonymousSeedGenerator", run_seed_generator);
const CpuKernel random_seed_generator_kernel("AnonymousRandomSeedGenerator", run_random_seed_generator);
const CpuKernel dummy_generator_kernel("DummySeedGenerator", run_dummy);
const CpuKernel delete_generator_kernel("DeleteSeedGenerator", run_delete);
const CpuKernel delete_random_generator_kernel("DeleteRandomSeedGenerator", run_delete);
const CpuKernel memory_cache_kernel("AnonymousMemoryCache", run_memory_cache);
const CpuKernel dummy_cache_kernel("DummyMemoryCache", run_dummy);
const CpuKernel delete_cache_kernel("DeleteMemoryCache", run_delete);
const CpuKernel cache_kernel("CacheDataset", run_cache);
const CpuKernel cache_2_kernel("CacheDatasetV2", run_cache_2);
const CpuKernel tf_record_kernel("TFRecordDataset", run_tf_record);
const CpuKernel tf_record_2_kernel("TFRecordDatasetV2", run_tf_record_2);
const CpuKernel text_line_kernel("TextLineDataset", run_text_line);
const CpuKernel fixed_length_kernel("FixedLengthRecordDataset", run_fixed_length);
const CpuKernel fixed_length_2_kernel("FixedLengthRecordDatasetV2", run_fixed_length_2);
const CpuKernel matching_kernel("MatchingFilesDataset", run_matching);

}  // namespace
}  // namespace panto
