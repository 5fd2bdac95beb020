// k-means: finds three clouds from their points alone.
#include <panto/panto.h>

#include <iostream>

using namespace panto;

int main() {
  set_seed(3);
  const Tensor truth = tensor({{0.f, 0.f}, {5.f, 5.f}, {0.f, 6.f}});
  const Tensor cloud = random_uniform({900}, {.dtype = kInt32, .max = 3});
  const Tensor points = gather(truth, cloud) + randn({900, 2});

  // The first center is any point; each next center is the point farthest from all previous centers.
  Tensor centers = points(Slice(0, 1));
  for (int k = 1; k < 3; ++k) {
    const Tensor distances = min(sum(square(points(Slice(), NewAxis) - centers), -1), 1);
    centers = concat({centers, points[argmax(distances, 0)].reshape({1, 2})}, 0);
  }
  Tensor nearest;
  for (bool moved = true; moved;) {
    nearest = argmin(sum(square(points(Slice(), NewAxis) - centers), -1), 1);
    const Tensor members = one_hot(nearest, 3);
    const Tensor means = matmul(members.T(), points) / sum(members, 0).reshape({-1, 1});
    moved = any(means != centers).item<bool>();
    centers = means;
  }
  // The clouds are the same, but numbered differently.
  const Tensor from_truth = min(sqrt(sum(square(truth(Slice(), NewAxis) - centers), -1)), 1);
  std::cout << "each center found within 0.3: " << std::boolalpha << all(from_truth < 0.3f).item<bool>() << '\n';
  const Tensor number = argmin(sum(square(centers(Slice(), NewAxis) - truth), -1), 1);
  const double right = mean(cast(cast(gather(number, nearest), kInt32) == cloud, kFloat32)).item<double>();
  std::cout << "more than 97 % of the points in their cloud: " << (right > 0.97) << '\n';
}
