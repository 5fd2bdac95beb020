Tensor x = tensor({{1.f, 2.f}, {3.f, 4.f}});
Variable k(tensor({{0.5f}, {-0.5f}}), "k");
GradientTape tape;
Tensor loss = mean(square(matmul(x, k) - 1.0f));
loss
Tensor dk = tape.gradient(loss, k)
tape.gradient(loss, k)
k.assign_sub(0.1f * dk);
k
auto [value, grads] = value_and_grad([](const Tensor& a) { return sum(a * a * a); })(x);
value
grads
for (int i = 0; i < 3; ++i) {
  GradientTape tape;
  Tensor loss = mean(square(matmul(x, k) - 1.0f));
  k.assign_sub(0.05f * tape.gradient(loss, k));
}
mean(square(matmul(x, k) - 1.0f)).item<float>() < 1.0f
Function f = trace([&](const Tensor& a) { return relu(matmul(a, k) + 1.0f); }, {TensorSpec(kFloat32, {-1, 2}, "a")});
equal(f(x), relu(matmul(x, k) + 1.0f))
f.save("f.pb");
equal(load("f.pb")(x), f(x))
:graph f
