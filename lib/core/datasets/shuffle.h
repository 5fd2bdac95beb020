// Random order, by TensorFlow's rule: of a buffer of elements, which is kept full, a random one is given each time.
//
// Numbers come from a generator of words that a seed of two numbers starts (TensorFlow's is Philox); every pass has a
// seed of its own, which a SeedGenerator gives. So the order depends on the seed, the number of the pass and the
// buffer's size only.
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
// The words of a stream that these seeds start.
using WordsOfSeeds = Callable<RandomWords(Seeds)>;

// The seeds of passes: the same each time, or, where passes differ, two words for each from the stream of its own seed.
// Thread-safe.
class PANTO_EXPORT SeedGenerator final : public Resource {
 public:
  SeedGenerator(Seeds seeds, bool passes_differ, const WordsOfSeeds& words);
  std::string_view kind() const noexcept override { return "SeedGenerator"; }
  Seeds next();

  // Where it is, for a pass that is to be made once more.
  struct State {
    Seeds seeds;
    uint64_t passes = 0;  // that have got seeds
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
  int64_t buffer = 0;  // kUnknown: of all elements
  int64_t count = 1;   // passes over the input, whose elements may mix; -1: without end
  std::shared_ptr<SeedGenerator> seeds;
  WordsOfSeeds words;
};
// Throws InvalidArgument unless the buffer's size is positive or kUnknown.
PANTO_EXPORT DatasetHandle shuffle_dataset(std::string name, DatasetHandle input, ShuffleOptions options,
                                           ElementSpec spec);
// Words as int64, without end.
PANTO_EXPORT DatasetHandle random_dataset(std::shared_ptr<SeedGenerator> seeds, WordsOfSeeds words, ElementSpec spec);

}  // namespace panto::datasets
