// A recurrent network learns to write a text character by character, and writes some.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>

#include "panto/apps/programs/data/text.h"
#include "panto/apps/programs/programs.h"
#include "panto/panto.h"

namespace panto::apps {
namespace {

struct CharacterLstm : Layer {
  CharacterLstm(int64_t characters, int64_t units)
      : embed(characters, 32), memory(32, units, {.return_sequences = true}), head(units, characters) {}
  Parts parts() const override { return {embed, memory, head}; }
  Tensor forward(const Tensor& codes) const override { return head(memory(embed(codes))); }
  // Returns the logits of the character after codes [1, n], and updates the state.
  Tensor step(const Tensor& codes, LstmState& state) const {
    const LstmOutput made = memory.run(embed(codes), state);
    state = made.state;
    return head(made.sequence)(0, -1);
  }
  Embedding embed;
  Lstm memory;
  Dense head;
};

}  // namespace

void character_lstm(Run& run) {
  const int64_t batch = run.quick() ? 16 : 32, length = run.quick() ? 24 : 64;
  const CharacterText text = read_characters(run.data("kjv/genesis.txt"), length + 1);
  const CharacterLstm model(text.size(), run.quick() ? 48 : 256);
  run.begin(model);
  Adam adam(model.variables(), {.learning_rate = run.quick() ? 0.01 : 0.003});
  const auto train = trace([&](const Tensor& x, const Tensor& y) {
    GradientTape tape;
    const Tensor loss = mean(sparse_softmax_cross_entropy_with_logits(model(x), y));
    adam.apply(tape.gradient(loss, adam.variables()));
    return loss;
  });
  const int64_t steps = run.steps(1500, 60);
  const Tensor starts = run.drawn_batches(text.codes.numel() - length, batch, steps);
  for (int64_t i = 1; i <= steps; ++i) {
    const auto [x, y] = text.pieces(starts(i - 1), length);
    const double loss = train(x, y).item<double>();
    run.keep_loss(loss);
    if (i % std::max<int64_t>(steps / 10, 1) == 0) std::printf("step %d loss %f\n", static_cast<int>(i), loss);
  }

  LstmState state;
  std::string said = "And God ";
  Tensor logits = model.step(text.encode(said)(NewAxis), state);
  const int64_t count = run.quick() ? 100 : 500;
  const auto start = std::chrono::steady_clock::now();
  for (int64_t i = 0; i < count; ++i) {
    const int32_t next = draw(logits, {.temperature = 0.7, .top_k = 20});
    said += text.decode(next);
    logits = model.step(fill({1, 1}, next), state);
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  std::printf("%s\n%.0f tokens a second\n", said.c_str(), static_cast<double>(count) / seconds.count());
  run.save(model);
}

}  // namespace panto::apps
