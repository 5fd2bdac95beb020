// A small GPT learns a text character by character, and says it from its first 16 on.
#include <panto/panto.h>

#include <algorithm>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

using namespace panto;

const std::string kText =
    "the quick brown fox jumps over the lazy dog. pack my box with five dozen jugs. how vexingly quick daft zebras "
    "jump.";

constexpr int kLength = 16, kWidth = 32;

struct Block : Layer {
  Tensor forward(const Tensor& x) const override {
    const Tensor attended = x + attend(before(x));
    return attended + down(up(between(attended)));
  }
  Parts parts() const override { return {before, attend, between, up, down}; }
  LayerNorm before{kWidth}, between{kWidth};
  MultiHeadAttention attend{kWidth, {.heads = 4, .causal = true}};
  Dense up{kWidth, 4 * kWidth, {.activation = gelu_tanh}}, down{4 * kWidth, kWidth};
};

struct Gpt : Layer {
  explicit Gpt(int characters) : tokens(characters, kWidth), head(kWidth, characters) {}
  Tensor forward(const Tensor& x) const override {
    return head(norm(blocks(tokens(x) + places(arange(x.shape()[1])))));
  }
  Parts parts() const override { return {tokens, places, blocks, norm, head}; }
  Embedding tokens, places{kLength, kWidth};
  Sequential blocks{Block(), Block()};
  LayerNorm norm{kWidth};
  Dense head;
};

int main() {
  set_seed(0);
  std::string alphabet = kText;
  std::ranges::sort(alphabet);
  alphabet.erase(std::ranges::unique(alphabet).begin(), alphabet.end());
  std::vector<int32_t> codes;
  std::ranges::transform(kText, std::back_inserter(codes), [&](char c) { return static_cast<int>(alphabet.find(c)); });
  const Tensor all = tensor(codes);
  std::vector<Tensor> windows;
  for (int64_t i = 0; i + kLength < all.numel(); ++i) windows.push_back(all(Slice(i, i + kLength + 1)));
  const Tensor both = stack(windows), x = both(Slice(), Slice(0, -1)), y = both(Slice(), Slice(1, {}));

  const Gpt model(static_cast<int>(alphabet.size()));
  AdamW adam(model.variables(), {.learning_rate = 5e-3});
  for (int step = 0; step < 150; ++step) {
    GradientTape tape;
    const Tensor loss = sparse_categorical_cross_entropy(model(x), y, {.from_logits = true});
    adam.apply(clip_by_global_norm(tape.gradient(loss, adam.variables()), 1));
  }
  Tensor said = all(Slice(0, kLength));
  while (said.numel() < all.numel()) {
    const Tensor logits = model(said(NewAxis, Slice(-kLength, {})))(0, -1);
    said = concat({said, argmax(logits, 0).reshape({1}).cast(kInt32)}, 0);
  }
  for (const int32_t code : said.to_vector<int32_t>()) std::cout << alphabet[static_cast<size_t>(code)];
  std::cout << '\n';
}
