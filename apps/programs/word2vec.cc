// Word vectors that predict the surrounding words (Mikolov et al. 2013), trained with a sampled softmax.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>

#include "panto/apps/programs/data/text.h"
#include "panto/apps/programs/programs.h"
#include "panto/panto.h"

namespace panto::apps {

void word2vec(Run& run) {
  constexpr int64_t kWindow = 3, kSampled = 32;
  const int64_t batch = 128, features = run.quick() ? 32 : 64;
  const Vocabulary vocabulary = read_words(run.data("kjv/genesis.txt"), run.quick() ? 500 : 5000);
  const auto words = static_cast<int64_t>(vocabulary.words.size());
  const int64_t length = vocabulary.text.numel();

  const Variable vectors(run.first_value("vectors", random_uniform({words, features}, {.min = -0.05, .max = 0.05})),
                         "vectors");
  const Variable weights(
      run.first_value("weights",
                      truncated_normal({words, features}, {.stddev = 1 / std::sqrt(static_cast<double>(features))})),
      "weights");
  const Variable biases(run.first_value("biases", zeros({words})), "biases");
  Adagrad adagrad({vectors, weights, biases}, {.learning_rate = 0.3});
  const auto learn = [&](const Tensor& centers, const Tensor& around, const SampledValues& sampled) {
    GradientTape tape;
    const Tensor losses =
        sampled_softmax_loss(weights, biases, around(Slice(), NewAxis), embedding_lookup(vectors, centers), kSampled,
                             words, {.sampled = sampled});
    const Tensor loss = mean(losses);
    adagrad.apply(tape.sparse_gradient(loss, adagrad.variables()));
    return loss;
  };
  const auto train = trace([&](const Tensor& centers, const Tensor& around) { return learn(centers, around, {}); });
  // With sampled words and their expected counts from another program.
  const auto train_as =
      trace([&](const Tensor& centers, const Tensor& around, const Tensor& drawn, const Tensor& expected,
                const Tensor& expected_drawn) { return learn(centers, around, {drawn, expected, expected_drawn}); });
  const int64_t steps = run.steps(20000, 400);
  double sum = 0;
  for (int64_t i = 1; i <= steps; ++i) {
    double loss = 0;
    if (run.is_compared()) {
      const auto part = [&](const char* name) { return run.from_file(name)(i - 1); };
      const Tensor at = part("order");
      loss = train_as(gather(vocabulary.text, at), gather(vocabulary.text, at + part("away")), part("drawn"),
                      part("expected"), part("expected_drawn"))
                 .item<double>();
    } else {
      const Tensor at = randint(length - 2 * kWindow, {batch}) + kWindow;
      const Tensor away = randint(kWindow, {batch}) + 1, before = randint(2, {batch}) * 2 - 1;
      loss = train(gather(vocabulary.text, at), gather(vocabulary.text, at + away * before)).item<double>();
    }
    run.keep_loss(loss);
    sum += loss;
    const int64_t part = std::max<int64_t>(steps / 10, 1);
    if (i % part == 0)
      std::printf("step %d mean loss %f\n", static_cast<int>(i), sum / static_cast<double>(part)), sum = 0;
  }

  const Tensor unit = vectors.value() / sqrt(panto::sum(square(vectors.value()), 1)(Slice(), NewAxis));
  for (const int64_t word : {10, 20, 30}) {
    const Tensor nearest = top_k(matmul(unit, unit(word)(Slice(), NewAxis))(Slice(), 0), 6).indices;
    std::printf("near '%s':", vocabulary.words[static_cast<size_t>(word)].c_str());
    for (const int64_t k : cast(nearest, kInt64).to_vector<int64_t>()) {
      if (k != word) std::printf(" %s", vocabulary.words[static_cast<size_t>(k)].c_str());
    }
    std::printf("\n");
  }
  run.save({{"vectors", vectors}, {"weights", weights}, {"biases", biases}});
}

}  // namespace panto::apps
