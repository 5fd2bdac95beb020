// A matrix product on four CPU devices: placed by hand, then the same pieces placed by cost. Logs to standard error
// where each node of each session runs.
#include <iostream>
#include <string>
#include <vector>

#include "panto/panto.h"

using namespace panto;

// x w, cut by columns of w; `by_hand`: each piece on its own device.
Graph product(bool by_hand) {
  Graph graph;
  const GraphScope building(graph);
  const Tensor x = placeholder(kFloat32, {256, 512}, "x");
  std::vector<Tensor> pieces;
  for (int i = 0; i < 4; ++i) {
    const std::string number = std::to_string(i);
    const DeviceScope scope(by_hand ? "/cpu:" + number : "");
    const Tensor w = named("w" + number, placeholder(kFloat32, {512, 128}));
    pieces.push_back(named("product" + number, matmul(x, w)));
  }
  const DeviceScope scope(by_hand ? "/cpu:0" : "");
  named("y", concat(pieces, 1));
  return graph;
}

int main() {
  set_cpu_device_count(4);
  const Tensor x = random_normal({256, 512}, {.seed = 1});
  const Tensor w = random_normal({512, 512}, {.seed = 2});
  Feeds feeds{{"x", x}};
  for (int i = 0; i < 4; ++i) feeds.emplace_back("w" + std::to_string(i), w(Slice(), Slice(128 * i, 128 * (i + 1))));
  const Tensor whole = matmul(x, w);
  for (const bool by_hand : {true, false}) {
    Session session(product(by_hand),
                    {.passes = "off", .log_device_placement = true, .placement = by_hand ? "" : "by_cost"});
    const Tensor y = session.run("y", feeds);
    const Graph placed = session.optimized_graph();
    std::cout << (by_hand ? "by hand:" : "by cost:");
    for (int i = 0; i < 4; ++i) std::cout << ' ' << placed.at("product" + std::to_string(i)).device();
    std::cout << ", " << session.plan_stats().transfers << " transfers, right: " << std::boolalpha
              << all(abs(y - whole) < 1e-3F).item<bool>() << '\n';
    if (by_hand) continue;
    const PlanStats stats = session.plan_stats();
    std::cout << "predicted " << stats.predicted_seconds * 1e3 << " ms, on " << stats.single_device << ' '
              << stats.single_device_seconds * 1e3 << " ms\n";
  }
}
