// A Dataset's throughput beside that of the libraries it uses. CPU time is that of one thread.
#include <stdlib.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

// Included after the standard headers, which it needs.
#include <jpeglib.h>  // lint: allow(third-party) what ours is measured beside

#include "panto/benchmarks/support.h"
#include "panto/ops/image.h"
#include "panto/panto.h"

namespace panto::bench {
namespace {

// Rows of eight numbers, each doubled by an op, in batches of 128.
void map_and_batch(benchmark::State& state) {
  constexpr int64_t kRows = 20000;
  const Dataset rows = Dataset::from_tensors({numbers({kRows, 8})});
  const Dataset batches = rows.map([](const Tensor& x) { return x * 2.f; }).batch(128);
  for (auto _ : state) {
    for (const Tensor x : batches) benchmark::DoNotOptimize(x.numel());
  }
  state.SetItemsProcessed(state.iterations() * kRows);
}
BENCHMARK(map_and_batch)->Unit(benchmark::kMillisecond);

// The same with the op called for a batch.
void batch_and_map(benchmark::State& state) {
  constexpr int64_t kRows = 200000;
  const Dataset batches =
      Dataset::from_tensors({numbers({kRows, 8})}).batch(128).map([](const Tensor& x) { return x * 2.f; });
  for (auto _ : state) {
    for (const Tensor x : batches) benchmark::DoNotOptimize(x.numel());
  }
  state.SetItemsProcessed(state.iterations() * kRows);
}
BENCHMARK(batch_and_map)->Unit(benchmark::kMillisecond);

// Examples of 256 float32, four int64 and a string of 16 bytes, about 1.1 KB each, in batches of 128.
void records_and_parse(benchmark::State& state) {
  std::string path = (std::filesystem::temp_directory_path() / "panto-bench-XXXXXX").string();
  const int made = mkstemp(path.data());
  if (made < 0) return state.SkipWithError("no temporary file");
  {
    RecordWriter writer(path);
    for (int i = 0; i < 4000; ++i) {
      writer.write(make_example({{"x", numbers({256})},
                                 {"ids", tensor(std::vector<int64_t>{i, i + 1, i + 2, i + 3})},
                                 {"name", tensor(std::vector<std::string>{"sixteen letters!"})}}));
    }
    writer.close();
  }
  const auto bytes = static_cast<int64_t>(std::filesystem::file_size(path));
  const ExampleSpec spec = {{"x", FixedLenFeature{{256}, kFloat32}},
                            {"ids", FixedLenFeature{{4}, kInt64}},
                            {"name", FixedLenFeature{{}, kString}}};
  for (auto _ : state) {
    for (const Tensor batch : Dataset::from_tfrecord(path).batch(128)) {
      benchmark::DoNotOptimize(parse_example(batch, spec).size());
    }
  }
  state.SetBytesProcessed(state.iterations() * bytes);
  std::filesystem::remove(path);
}
BENCHMARK(records_and_parse)->Unit(benchmark::kMillisecond);

std::string picture() {
  const Tensor x = cast(128.f + 100.f * sin(numbers({480, 640, 3}) * 9.f), kUint8);
  return encode_jpeg(x).item<std::string>();
}

void jpeg(benchmark::State& state) {
  const std::string bytes = picture();
  for (auto _ : state) benchmark::DoNotOptimize(decode_image(bytes).numel());
  state.SetItemsProcessed(state.iterations() * 480 * 640);
}
BENCHMARK(jpeg)->Unit(benchmark::kMillisecond);

void jpeg_by_the_library(benchmark::State& state) {
  const std::string bytes = picture();
  std::vector<unsigned char> pixels(480 * 640 * 3);
  for (auto _ : state) {
    jpeg_decompress_struct decoder{};
    jpeg_error_mgr errors{};
    decoder.err = jpeg_std_error(&errors);
    jpeg_create_decompress(&decoder);
    jpeg_mem_src(&decoder, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
    jpeg_read_header(&decoder, TRUE);
    jpeg_start_decompress(&decoder);
    while (decoder.output_scanline < decoder.output_height) {
      unsigned char* row = pixels.data() + size_t{decoder.output_scanline} * 640 * 3;
      jpeg_read_scanlines(&decoder, &row, 1);
    }
    jpeg_finish_decompress(&decoder);
    jpeg_destroy_decompress(&decoder);
  }
  benchmark::DoNotOptimize(pixels.data());
  state.SetItemsProcessed(state.iterations() * 480 * 640);
}
BENCHMARK(jpeg_by_the_library)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace panto::bench
