// Random order, by TensorFlow's rule: keep a buffer of elements full, and return a random one of them each time.
//
// Random numbers come from a generator that a seed of two numbers starts (TensorFlow's is Philox). A SeedGenerator
// gives every pass a seed of its own. So the order depends only on the seed, the number of the pass and the buffer's
// size.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "panto/lib/base/callable.h"
#include "panto/lib/base/export.h"
#include "panto/lib/core/datasets/dataset_value.h"
#include "panto/lib/core/tensor/resource.h"

namespace panto::datasets {

struct Seeds {
  uint64_t first = 0, second = 0;
};
using RandomWords = Callable<uint32_t()>;
// Starts a stream of random words with these seeds.
using WordsOfSeeds = Callable<RandomWords(Seeds)>;

// Gives each pass its seeds: always the same ones, or, if passes differ, two new words of the stream that its own seeds
// start. Thread-safe.
class PANTO_EXPORT SeedGenerator final : public Resource {
 public:
  SeedGenerator(Seeds seeds, bool passes_differ, const WordsOfSeeds& words);
  std::string_view kind() const noexcept override { return "SeedGenerator"; }
  Seeds next();

  // The generator's position, to repeat a pass.
  struct State {
    Seeds seeds;
    uint64_t passes = 0;  // passes that have got seeds
  };
  State state();
  void restore(const State& state);

 private:
  std::mutex mutex_;
  Seeds seeds_;
  bool passes_differ_;
  WordsOfSeeds words_of_;
  RandomWords words_;
  uint64_t passes_ = 0;
};

struct ShuffleOptions {
  int64_t buffer = 0;  // kUnknown: as large as the input
  int64_t count = 1;   // passes over the input, whose elements may mix; -1: endless
  std::shared_ptr<SeedGenerator> seeds;
  WordsOfSeeds words;
};
// Throws InvalidArgument unless the buffer's size is positive or kUnknown.
PANTO_EXPORT DatasetHandle shuffle_dataset(std::string name, DatasetHandle input, ShuffleOptions options,
                                           ElementSpec spec);
// Random words as int64, endless.
PANTO_EXPORT DatasetHandle random_dataset(std::shared_ptr<SeedGenerator> seeds, WordsOfSeeds words, ElementSpec spec);

}  // namespace panto::datasets
