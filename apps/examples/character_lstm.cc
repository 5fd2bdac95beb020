// A recurrent network learns a line character by character, and goes on from "hello ".
#include <panto/panto.h>

#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

using namespace panto;

struct CharacterLstm : Layer {
  CharacterLstm(int characters, int units)
      : embed(characters, 16), memory(16, units, {.return_sequences = true}), head(units, characters) {}
  Parts parts() const override { return {embed, memory, head}; }
  Tensor forward(const Tensor& codes) const override { return head(memory(embed(codes))); }
  Embedding embed;
  Lstm memory;
  Dense head;
};

int main() {
  set_seed(1);
  const std::string line = "hello world, hello tensors; ";
  std::string alphabet = line;
  std::ranges::sort(alphabet);
  alphabet.erase(std::ranges::unique(alphabet).begin(), alphabet.end());
  const auto code = [&](char c) { return static_cast<int>(alphabet.find(c)); };
  std::vector<int> text;
  for (int i = 0; i < 8; ++i) std::ranges::transform(line, std::back_inserter(text), code);
  const Tensor all = tensor(text);

  const int steps = 24;
  const CharacterLstm model(static_cast<int>(alphabet.size()), 32);
  Adam adam(model.variables(), {.learning_rate = 0.02});
  for (int step = 0; step < 150; ++step) {
    const Tensor at = randint(all.numel() - steps, {8})[{Slice(), NewAxis}] + arange(steps);
    GradientTape tape;
    const Tensor loss = mean(sparse_softmax_cross_entropy_with_logits(model(all[at]), all[at + 1]));
    adam.apply(tape.gradient(loss, adam.variables()));
  }

  std::vector<int> said;
  std::ranges::transform(std::string("hello "), std::back_inserter(said), code);
  while (said.size() < 2 * line.size()) {
    const Tensor logits = model(tensor(said)[NewAxis]);
    said.push_back(logits[{0, -1}].argmax().item<int>());
  }
  for (const int c : said) std::cout << alphabet[static_cast<size_t>(c)];
  std::cout << '\n';
}
