// Independent branches of one graph run in parallel on four CPU devices; results are bit-identical to one device.
#include <panto/panto.h>

#include <iostream>
#include <string>
#include <vector>

using namespace panto;

// Four chains of layers over one input, spread over `devices` devices, and the mean of their results.
Graph ensemble(int devices) {
  Graph graph;
  const GraphScope building(graph);
  const Tensor x = placeholder(kFloat32, {64, 128}, "x");
  std::vector<Tensor> results;
  for (int branch = 0; branch < 4; ++branch) {
    const DeviceScope scope("/cpu:" + std::to_string(branch % devices));
    Tensor h = x;
    for (int layer = 0; layer < 3; ++layer) {
      h = tanh(matmul(h, random_normal({128, 128}, {.seed = 10 * branch + layer}) * 0.1f));
    }
    results.push_back(named("branch" + std::to_string(branch), h));
  }
  const DeviceScope scope("/cpu:0");
  named("mean", add_n(results) / 4.f);
  return graph;
}

int main() {
  set_cpu_device_count(4);
  const Feeds feeds{{"x", random_normal({64, 128}, {.seed = 1})}};
  Session one(ensemble(1)), four(ensemble(4));
  const Tensor expected = one.run("mean", feeds);
  int same = 0;
  for (int run = 0; run < 100; ++run) same += all(four.run("mean", feeds) == expected).item<bool>() ? 1 : 0;
  std::cout << "one device: " << one.plan_stats().transfers << " transfers\n"
            << "four devices: " << four.plan_stats().transfers << " transfers, " << same << " of 100 runs the same\n";
}
