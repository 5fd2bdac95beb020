// The gradient of a loop whose length is known only when it runs: Newton's iteration for a square root, the square
// root's first two derivatives through it, and the closed forms beside them.
#include <panto/panto.h>

#include <cmath>
#include <cstdio>
#include <tuple>

using namespace panto;

int main() {
  Graph graph;
  Tensor a, rounds, root, slope, curvature;
  {
    const GraphScope building(graph);
    a = placeholder(kFloat64, {}, "a");
    std::tie(rounds, root) =
        while_loop([&](const Tensor&, const Tensor& y) { return abs(y * y - a) > 1e-12 * a; },
                   [&](const Tensor& i, const Tensor& y) { return std::tuple(i + 1, 0.5 * (y + a / y)); },
                   std::tuple(tensor(0), a));
    slope = gradients(root, {{a}})[0];
    curvature = gradients(slope, {{a}})[0];
  }
  Session session(graph);
  for (const double value : {2.0, 10.0, 144.0, 1e6}) {
    const auto [n, y, first, second] = session.run<4>({rounds, root, slope, curvature}, {{a, value}});
    std::printf("a = %g, %d rounds\n", value, n.item<int>());
    std::printf("  root   %.6e, sqrt a          %.6e\n", y.item<double>(), std::sqrt(value));
    std::printf("  first  %.6e, 1 / (2 sqrt a)  %.6e\n", first.item<double>(), 0.5 / std::sqrt(value));
    std::printf("  second %.6e, -1 / (4 a^1.5) %.6e\n", second.item<double>(), -0.25 * std::pow(value, -1.5));
  }
}
