// A small GPT learns to write a text character by character, then writes some with a cache: each step computes only the
// new position and attends to the cached keys and values of all previous steps.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "panto/apps/programs/data/text.h"
#include "panto/apps/programs/programs.h"
#include "panto/panto.h"

namespace panto::apps {
namespace {

struct Block : Layer {
  explicit Block(int64_t width)
      : before(width),
        between(width),
        attend(width, {.heads = 4, .causal = true}),
        up(width, 4 * width, {.activation = gelu_tanh}),
        down(4 * width, width) {}
  Parts parts() const override { return {before, attend, between, up, down}; }
  Tensor forward(const Tensor& x) const override { return fed_forward(x + attend(before(x))); }
  Tensor step(const Tensor& x, AttentionCache& cache) const { return fed_forward(x + attend.step(before(x), cache)); }
  Tensor fed_forward(const Tensor& x) const { return x + down(up(between(x))); }
  LayerNorm before, between;
  MultiHeadAttention attend;
  Dense up, down;
};

struct Gpt : Layer {
  Gpt(int64_t characters, int64_t length, int64_t width, int64_t depth)
      : tokens(characters, width), places(length, width), norm(width), head(width, characters) {
    for (int64_t i = 0; i < depth; ++i) blocks.emplace_back(width);
  }
  Parts parts() const override { return {tokens, places, blocks, norm, head}; }
  Tensor forward(const Tensor& codes) const override {
    Tensor x = tokens(codes) + places(arange(codes.shape()[1]));
    for (const Block& block : blocks) x = block(x);
    return head(norm(x));
  }
  // Returns the logits of the character after codes [1, n], which follow those in the caches (one per block).
  Tensor step(const Tensor& codes, std::vector<AttentionCache>& caches) const {
    const int64_t begin = caches[0].keys.defined() ? caches[0].keys.dim(2) : 0;
    Tensor x = tokens(codes) + places(arange(begin, begin + codes.dim(1)));
    for (size_t i = 0; i < blocks.size(); ++i) x = blocks[i].step(x, caches[i]);
    return head(norm(x))(0, -1);
  }
  Embedding tokens, places;
  std::vector<Block> blocks;
  LayerNorm norm;
  Dense head;
};

// Continues `said`. When all positions are used, clears the caches and reads the last half again.
void write_on(const Gpt& model, const CharacterText& text, std::string said, int64_t count, int64_t length) {
  std::vector<AttentionCache> caches(model.blocks.size());
  Tensor logits = model.step(text.encode(said)(NewAxis), caches);
  const auto start = std::chrono::steady_clock::now();
  for (int64_t i = 0; i < count; ++i) {
    said += text.decode(draw(logits, {.temperature = 0.7, .top_k = 20}));
    int64_t read = 1;
    if (caches[0].keys.dim(2) == length) {
      caches.assign(caches.size(), {});
      read = length / 2;
    }
    logits = model.step(text.encode(said.substr(said.size() - static_cast<size_t>(read)))(NewAxis), caches);
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  std::printf("%s\n%.0f tokens a second\n", said.c_str(), static_cast<double>(count) / seconds.count());
}

}  // namespace

void character_gpt(Run& run) {
  const bool quick = run.quick();
  const int64_t batch = 16, length = quick ? 24 : 128;
  const CharacterText text = read_characters(run.data("kjv/genesis.txt"), length + 1);
  const Gpt model(text.size(), length, quick ? 32 : 128, quick ? 2 : 4);
  run.begin(model);
  AdamW adam(model.variables(), {.learning_rate = quick ? 0.01 : 0.001});
  const auto train = trace([&](const Tensor& x, const Tensor& y) {
    GradientTape tape;
    const Tensor loss = mean(sparse_softmax_cross_entropy_with_logits(model(x), y));
    adam.apply(clip_by_global_norm(tape.gradient(loss, adam.variables()), 1));
    return loss;
  });
  const int64_t steps = run.steps(2000, 60);
  const Tensor starts = run.drawn_batches(text.codes.numel() - length, batch, steps);
  for (int64_t i = 1; i <= steps; ++i) {
    const auto [x, y] = text.pieces(starts(i - 1), length);
    const double loss = train(x, y).item<double>();
    run.keep_loss(loss);
    if (i % std::max<int64_t>(steps / 10, 1) == 0) std::printf("step %d loss %f\n", static_cast<int>(i), loss);
  }
  write_on(model, text, "And God ", quick ? 100 : 500, length);
  run.save(model);
}

}  // namespace panto::apps
