// A tour of `panto repl`: panto repl apps/repl/tour.cc, or type it line by line.
// An expression without a semicolon shows its value.
Tensor x = tensor({{1.f, 2.f}, {3.f, 4.f}});
x
x * tensor({10.f, 100.f}) + 1.0f  // shapes broadcast
softmax(x)

// A tape records what is computed, and differentiates it.
Variable k(tensor({{0.5f}, {-0.5f}}), "k");
GradientTape tape;
Tensor loss = mean(square(matmul(x, k) - 1.0f))
tape.gradient(loss, k)

// A function is traced into a graph, which is saved, loaded and run without this session.
Function f = trace([&](const Tensor& a) { return relu(matmul(a, k) + 1.0f); }, {TensorSpec(kFloat32, {-1, 2}, "a")})
:graph f
f.save("tour.pb");
load("tour.pb")(x)

// What is wrong is said, and the session goes on.
matmul(x, tensor({{1.f, 2.f, 3.f}}))
x.shape()

// A regression: y = 2 x + 0.5, from 64 points with noise.
Tensor xs = random_uniform({64, 1}, {.seed = 1});
Tensor ys = 2.0f * xs + 0.5f + 0.01f * random_normal({64, 1}, {.seed = 2});
Variable w(tensor({{0.f}}), "w");
Variable b(tensor({0.f}), "b");
for (int step = 0; step < 500; ++step) {
  GradientTape tape;
  Tensor loss = mean(square(matmul(xs, w) + b - ys));
  auto grads = tape.gradient(loss, {w, b});
  w.assign_sub(0.5f * grads[0]);
  b.assign_sub(0.5f * grads[1]);
}
w.value()
b.value()
