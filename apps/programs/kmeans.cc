// k-means of 10,000 points in the style of TensorFlow 1: one run moves all centers and tells whether any point changed
// its cluster.
#include <chrono>
#include <cstdio>

#include "panto/apps/programs/programs.h"
#include "panto/panto.h"

namespace panto::apps {
namespace {

// Returns the mean of the rows of `data` for each id below `count`.
Tensor bucket_means(const Tensor& data, const Tensor& ids, int count) {
  return unsorted_segment_sum(data, ids, count) / unsorted_segment_sum(ones_like(data), ids, count);
}

const char* yes_or_no(bool is) { return is ? "yes" : "no"; }

}  // namespace

void kmeans(Run& run) {
  constexpr int kPoints = 10000, kClusters = 4;
  const Tensor truth = tensor({{0.f, 0.f}, {4.f, 0.f}, {0.f, 4.f}, {4.f, 4.f}});
  Graph graph;
  Variable points, centers, clusters;
  Tensor changed;
  Operation init, update;
  {
    const GraphScope building(graph);
    const Tensor cloud = gather(truth, arange(kPoints) % kClusters);
    points = Variable(cloud + random_normal({kPoints, 2}, {.seed = run.seed()}), "points");
    centers = Variable(slice(points.initialized_value(), {0, 0}, {kClusters, 2}), "centers");
    clusters = Variable(zeros({kPoints}, kInt64), "clusters");
    // Pairs each point with each center.
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
  const auto start = std::chrono::steady_clock::now();
  const int64_t most = run.steps(1000, 1000);
  int64_t iterations = 1;
  while (session.run({changed, update})[0].item<bool>() && iterations < most) ++iterations;
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  const auto [x, found, cluster] = session.run<3>({points, centers, clusters});
  std::printf("Found in %.2f seconds %d iterations\n", seconds.count(), static_cast<int>(iterations));

  for (int k = 0; k < kClusters; ++k) {
    std::printf("center %d: %.3f %.3f, %d points\n", k, found(k, 0).item<double>(), found(k, 1).item<double>(),
                static_cast<int>(sum(cast(cluster == k, kInt32)).item<int32_t>()));
  }
  const Tensor distances = sum(square(x(Slice(), NewAxis) - found), -1);
  std::printf("each center within 0.1 of its cloud's: %s\n", yes_or_no(max(abs(found - truth)).item<double>() < 0.1));
  std::printf("each point in the cluster of the nearest center: %s\n",
              yes_or_no(all(argmin(distances, 1) == cluster).item<bool>()));
  bool is_mean = true;
  for (int k = 0; k < kClusters; ++k) is_mean = is_mean && allclose(found[k], mean(x(cluster == k), 0), 1e-3, 1e-3);
  std::printf("each center the mean of its points: %s\n", yes_or_no(is_mean));
  run.save(session, {centers});
}

}  // namespace panto::apps
