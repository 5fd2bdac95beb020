// Several threads call one traced function and run one session, with tensors of changing sizes.
#include <panto/panto.h>

#include <atomic>
#include <iostream>
#include <thread>
#include <vector>

using namespace panto;

int main() {
  const Variable w(tensor({{1.f, 2.f}, {3.f, 4.f}}), "w");
  const Function row_sums =
      trace([&](const Tensor& a) { return sum(matmul(a, w), 1); }, {TensorSpec(kFloat32, {-1, 2}, "a")});
  Graph graph;
  {
    GraphScope building(graph);
    named("b", placeholder(kFloat32, {-1}, "a") * 2.f + 1.f);
  }
  Session session(graph);
  std::atomic<int> right = 0;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, value = static_cast<float>(t)] {
        for (int rows = 1; rows <= 250; ++rows) {
          const Tensor sums = row_sums(full({rows, 2}, value));
          const Tensor b = session.run("b", {{"a", full({rows}, value)}});
          if (sums.numel() == rows && all(sums == 10.f * value).item<bool>()) ++right;
          if (b.numel() == rows && all(b == 2.f * value + 1.f).item<bool>()) ++right;
        }
      });
    }
  }
  std::cout << right << " right of 2000\n";
}
