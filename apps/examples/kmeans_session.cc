// k-means of 10,000 points as TensorFlow 1 programs have it: one run moves all centers and says whether a point has
// changed its cluster.
#include <panto/panto.h>

#include <iostream>

using namespace panto;

// The means of the rows of `data` that have the same id below `count`.
Tensor bucket_means(const Tensor& data, const Tensor& ids, int count) {
  return unsorted_segment_sum(data, ids, count) / unsorted_segment_sum(ones_like(data), ids, count);
}

int main() {
  constexpr int kPoints = 10000, kClusters = 4;
  const Tensor truth = tensor({{0.f, 0.f}, {4.f, 0.f}, {0.f, 4.f}, {4.f, 4.f}});
  Graph graph;
  Variable points, centers, clusters;
  Tensor changed;
  Operation init, update;
  {
    const GraphScope building(graph);
    const Tensor cloud = gather(truth, arange(kPoints) % kClusters);
    points = Variable(cloud + random_normal({kPoints, 2}, {.seed = 1}), "points");
    centers = Variable(slice(points.initialized_value(), {0, 0}, {kClusters, 2}), "centers");
    clusters = Variable(zeros({kPoints}, kInt64), "clusters");
    // Each point beside each center.
    const Tensor all_points = reshape(tile(points, {1, kClusters}), {kPoints, kClusters, 2});
    const Tensor all_centers = reshape(tile(centers, {kPoints, 1}), {kPoints, kClusters, 2});
    const Tensor nearest = argmin(sum(square(all_points - all_centers), 2), 1);
    changed = any(nearest != clusters);
    const Tensor means = bucket_means(points.value(), nearest, kClusters);
    const ControlDependencies compared({changed});
    update = group({centers.assign(means), clusters.assign(nearest)});
    init = global_variables_initializer();
  }

  Session session(graph);
  session.run(init);
  int iterations = 1;
  while (session.run({changed, update})[0].item<bool>() && iterations < 1000) ++iterations;
  std::cout << std::boolalpha << "nothing changes after fewer than 50 iterations: " << (iterations < 50) << '\n';

  const auto [x, found, cluster] = session.run<3>({points, centers, clusters});
  std::cout << "each center within 0.1 of its cloud's: " << (max(abs(found - truth)).item<float>() < 0.1f) << '\n';
  const Tensor distances = sum(square(x(Slice(), NewAxis) - found), -1);
  std::cout << "each point in the cluster of the nearest center: " << all(argmin(distances, 1) == cluster).item<bool>()
            << '\n';
  bool is_mean = true;
  for (int k = 0; k < kClusters; ++k) is_mean = is_mean && allclose(found[k], mean(x(cluster == k), 0), 1e-3, 1e-3);
  std::cout << "each center the mean of its points: " << is_mean << '\n';
}
