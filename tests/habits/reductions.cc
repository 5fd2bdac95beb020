// Reducing: as functions and as methods, axes as a list, a number or by name.
Tensor x = reshape(arange(6.f), {2, 3});
x.sum()
// 15.0  float32[], CPU:0
sum(x)
// 15.0  float32[], CPU:0
sum(x, 1)
// [ 3. 12.]  float32[2], CPU:0
sum(x, {0, 1})
// 15.0  float32[], CPU:0
sum(x, {.axis = {1}})
// [ 3. 12.]  float32[2], CPU:0
x.sum({.axis = {1}, .keep_dims = true}).shape()
// [2,1]
x.mean({.axis = {0}})
// [1.5 2.5 3.5]  float32[3], CPU:0
max(x)
// 5.0  float32[], CPU:0
max(x, {.axis = {1}})
// [2. 5.]  float32[2], CPU:0
min(x, 0)
// [0. 1. 2.]  float32[3], CPU:0
max(x, 4.f - x)
// [[4. 3. 2.]
//  [3. 4. 5.]]
// float32[2,3], CPU:0
prod(x + 1.f)
// 720.0  float32[], CPU:0
all(x > -1.f)
// True  bool[], CPU:0
panto::any(x > 4.f)
// True  bool[], CPU:0
(x > 4.f).any()
// True  bool[], CPU:0
var(x)
// 2.9166667  float32[], CPU:0
x.std()
// 1.7078252  float32[], CPU:0
stddev(x, {.correction = 1})
// 1.8708287  float32[], CPU:0
norm(tensor({3.f, 4.f}))
// 5.0  float32[], CPU:0
norm(tensor({3.f, -4.f}), {.ord = 1})
// 7.0  float32[], CPU:0
logsumexp(tensor({0.f, 0.f}))
// 0.6931472  float32[], CPU:0
x.argmax(1)
// [2 2]  int64[2], CPU:0
Variable v(x, "v");
max(v)
// 5.0  float32[], CPU:0
sum(v, {.axis = {0}})
// [3. 5. 7.]  float32[3], CPU:0
allclose(x, x + 1e-9f)
// true
allclose(x, x + 0.1f)
// false
if (all(x == x) && !panto::any(x < 0.f)) x = x + 1.f;
x.sum(1)
// [ 6. 15.]  float32[2], CPU:0
x.max({0, 1})
// 6.0  float32[], CPU:0
var(x, 0)
// [2.25 2.25 2.25]  float32[3], CPU:0
Tensor r = reshape(arange(6.f), {2, 3});
reduce_sum(r)
// 15.0  float32[], CPU:0
reduce_sum(r, 1)
// [ 3. 12.]  float32[2], CPU:0
reduce_sum(r, {0, 1})
// 15.0  float32[], CPU:0
reduce_sum(r, {.axis = {1}, .keep_dims = true}).shape()
// [2,1]
reduce_sum(r, {1}, {.keep_dims = true}).shape()
// [2,1]
reduce_mean(r, 0)
// [1.5 2.5 3.5]  float32[3], CPU:0
reduce_mean(r, -1, true)
// [[1.]
//  [4.]]
// float32[2,1], CPU:0
reduce_prod(r, {.axis = {1}})
// [ 0. 60.]  float32[2], CPU:0
reduce_max(r, {1}, true).shape()
// [2,1]
reduce_max(r, {.axis = {0}})
// [3. 4. 5.]  float32[3], CPU:0
reduce_min(r, 1)
// [0. 3.]  float32[2], CPU:0
reduce_any(r > 4.f, 1)
// [False  True]  bool[2], CPU:0
reduce_all(r > 0.f, {.axis = {1}})
// [False  True]  bool[2], CPU:0
reduce_all(r > 0.f, 1, true).shape()
// [2,1]
reduce_std(r)
// 1.7078252  float32[], CPU:0
reduce_variance(r, 0)
// [2.25 2.25 2.25]  float32[3], CPU:0
reduce_variance(r, {.axis = {0}, .correction = 1})
// [4.5 4.5 4.5]  float32[3], CPU:0
reduce_logsumexp(panto::zeros({2, 2}), 1)
// [0.6931472 0.6931472]  float32[2], CPU:0
reduce_max(Variable(r, "r"), 1, true).shape()
// [2,1]
sum(r, 1, true).shape()
// [2,1]
max(r, {0, 1}, true)
// [[5.]]  float32[1,1], CPU:0
min(r, {0}, true)
// [[0. 1. 2.]]  float32[1,3], CPU:0
auto centred = trace([](const Tensor& t) { return t - reduce_mean(t, 1, true) + reduce_max(t, {.axis = {0, 1}}); });
centred(r)
// [[4. 5. 6.]
//  [4. 5. 6.]]
// float32[2,3], CPU:0
