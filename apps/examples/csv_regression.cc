// Reads a table from a CSV file through an input pipeline, and trains a network to predict its last column.
#include <panto/panto.h>

#include <fstream>
#include <iostream>

using namespace panto;

void write_houses(const std::string& path) {
  std::ofstream file(path);
  file << "rooms,area,age,price\n";
  const Tensor drawn = rand({800, 3}) * tensor({5.f, 120.f, 50.f}) + tensor({1.f, 30.f, 0.f});
  for (int i = 0; i < 800; ++i) {
    const auto house = drawn[i].to_vector<float>();
    const float price = 20 * house[0] + 2 * house[1] - 0.02f * house[2] * house[2];
    file << house[0] << ',' << house[1] << ',' << house[2] << ',' << price << '\n';
  }
}

int main() {
  set_seed(5);
  write_houses("houses.csv");
  const Tensor table = read_csv("houses.csv").values;
  const Tensor center = mean(table, 0), spread = stddev(table, 0);
  const auto scaled = [&](const Tensor& x) { return (x - center(Slice(0, 3))) / spread(Slice(0, 3)); };

  const Dataset all = Dataset::from_csv("houses.csv", {.label = "price"});
  Dataset train = all.take(600).shuffle(600, 1).batch(50).prefetch(2);
  Dataset test = all.skip(600).batch(200);
  const Sequential model(Dense(3, 32, {.activation = tanh}), Dense(32, 1));
  Adam adam(model.variables(), {.learning_rate = 0.01});
  for (int epoch = 0; epoch < 60; ++epoch) {
    for (const auto& [x, y] : train) {
      GradientTape tape;
      const Tensor loss = mean_squared_error(model(scaled(x)), ((y - center[3]) / spread[3]).reshape({-1, 1}));
      adam.apply(tape.gradient(loss, adam.variables()));
    }
  }
  for (const auto& [x, y] : test) {
    const Tensor predicted = (model(scaled(x)) * spread[3] + center[3]).reshape({-1});
    const double explained = 1 - (mean(square(y - predicted)) / var(y)).item<double>();
    std::cout << y.numel() << " houses, more than 99 % of the variance explained: " << std::boolalpha
              << (explained > 0.99) << '\n';
  }
}
