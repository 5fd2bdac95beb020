// Making, joining, choosing, ordering.
Tensor x = reshape(arange(6.f), {2, 3});
arange(5)
// [0 1 2 3 4]  int32[5], CPU:0
arange(2, 10, 2)
// [2 4 6 8]  int32[4], CPU:0
full({2}, 7.f)
// [7. 7.]  float32[2], CPU:0
randn({2, 2}).shape()
// [2,2]
rand({3}).shape()
// [3]
rand(3).shape()
// [3]
random_uniform({600}, 0, 3, kInt32).max()
// 2  int32[], CPU:0
random_uniform({600}, 0, 3, kInt32).min()
// 0  int32[], CPU:0
all(random_uniform({2, 300}, -1.f, 1.f) >= -1.f)
// True  bool[], CPU:0
random_uniform({2, 300}, -1.f, 1.f).min() < 0.f
// True  bool[], CPU:0
random_uniform({2}, 0, 1, kFloat64, 7) == random_uniform({2}, {.seed = 7, .dtype = kFloat64})
// [ True  True]  bool[2], CPU:0
random_uniform({2}, 1.f, 1.f)
// InvalidArgument: min: expected less than max 1, got 1
abs(random_normal({4000}, 5.f, 0.01f) - 5.f).max() < 0.1f
// True  bool[], CPU:0
randint(0, 10, {3}).shape()
// [3]
randint(2, {2, 300}).max()
// 1  int64[], CPU:0
randint(-1, 1, {600}, kInt32).min()
// -1  int32[], CPU:0
randint(3, 3, {2})
// InvalidArgument: low: expected less than high 3, got 3
bincount(tensor({0, 1, 1, 3, 2, 1, 7}))
// [1 3 1 1 0 0 0 1]  int64[8], CPU:0
bincount(tensor({0, 1, 1, 2, 2, 2}), {.weights = tensor({0.3, 0.5, 0.2, 0.7, 1., -0.6})})
// [0.3 0.7 1.1]  float64[3], CPU:0
bincount(tensor({1, 1}), {.minlength = 5})
// [0 2 0 0 0]  int64[5], CPU:0
bincount(tensor({2, 0}), {.minlength = 1, .weights = tensor({2, 3})})
// [3. 0. 2.]  float64[3], CPU:0
bincount(cast(zeros({0}), kInt32)).shape()
// [0]
bincount(tensor({1, -2}))
// InvalidArgument: input[1]: expected at least 0, got -2
bincount(tensor({1.f}))
// InvalidArgument: x: expected a vector of integers, got float32[1]
auto counted = trace([](const Tensor& t) { return bincount(t, {.minlength = 3}); });
counted(tensor({1, 1, 4}))
// [0 2 0 0 1]  int64[5], CPU:0
counted(tensor({0, 1, 1}))
// [1 2 0]  int64[3], CPU:0
searchsorted(tensor({1, 3, 3, 8}), tensor({{0, 3}, {4, 9}}))
// [[0 1]
//  [3 4]]
// int64[2,2], CPU:0
searchsorted(tensor({1, 3, 3, 8}), 3, {.right = true})
// 3  int64[], CPU:0
searchsorted(tensor({{1, 2}, {3, 4}}), tensor({{2, 9, 0}, {3, 4, 5}}))
// [[1 2 0]
//  [0 1 2]]
// int64[2,3], CPU:0
searchsorted(tensor({{1, 2}, {3, 4}}), tensor({1, 2}))
// InvalidArgument: searchsorted: expected values with the leading dimensions of the sequence, [2,2], got shape [2]
segment_sum(tensor({1, 2, 3}), {0, 0, 2})
// [3 0 3]  int32[3], CPU:0
unsorted_segment_max(tensor({1, 2, 3}), {1, 0, 1}, 2)
// [2 3]  int32[2], CPU:0
panto::stack({x, x}).shape()
// [2,2,3]
cat({x, x}, 1).shape()
// [2,6]
where(x > 2.f, x, 0.f)
// [[0. 0. 0.]
//  [3. 4. 5.]]
// float32[2,3], CPU:0
nonzero(x > 3.f)
// [[1 1]
//  [1 2]]
// int64[2,2], CPU:0
clip(x, 1.f, 3.f)
// [[1. 1. 2.]
//  [3. 3. 3.]]
// float32[2,3], CPU:0
sort(tensor({3.f, 1.f, 2.f}))
// [1. 2. 3.]  float32[3], CPU:0
sort(x, {.axis = 0, .descending = true})
// [[3. 4. 5.]
//  [0. 1. 2.]]
// float32[2,3], CPU:0
argsort(tensor({3, 1, 2}))
// [1 2 0]  int64[3], CPU:0
auto [values, indices] = top_k(x, 2);
values
// [[2. 1.]
//  [5. 4.]]
// float32[2,2], CPU:0
indices
// [[2 1]
//  [2 1]]
// int32[2,2], CPU:0
unique(tensor({3, 1, 3})).y
// [3 1]  int32[2], CPU:0
flip(x, {0})
// [[3. 4. 5.]
//  [0. 1. 2.]]
// float32[2,3], CPU:0
roll(x, 1, 1)
// [[2. 0. 1.]
//  [5. 3. 4.]]
// float32[2,3], CPU:0
tril(full({2, 2}, 1.f))
// [[1. 0.]
//  [1. 1.]]
// float32[2,2], CPU:0
triu(full({2, 2}, 1.f), 1)
// [[0. 1.]
//  [0. 0.]]
// float32[2,2], CPU:0
panto::repeat(tensor({1, 2}), 2)
// [1 1 2 2]  int32[4], CPU:0
one_hot(tensor({0, 2}), 3)
// [[1. 0. 0.]
//  [0. 0. 1.]]
// float32[2,3], CPU:0
gather(x, tensor({1, 0}))
// [[3. 4. 5.]
//  [0. 1. 2.]]
// float32[2,3], CPU:0
softmax(zeros({2, 1}), {.axis = 0})
// [[0.5]
//  [0.5]]
// float32[2,1], CPU:0
x.T().shape()
// [3,2]
x.reshape({3, -1}).shape()
// [3,2]
x.cast(kInt32)
// [[0 1 2]
//  [3 4 5]]
// int32[2,3], CPU:0
floor(x / 2.f)
// [[0. 0. 1.]
//  [1. 2. 2.]]
// float32[2,3], CPU:0
round(tensor({0.5f, 1.5f}))
// [0. 2.]  float32[2], CPU:0
isnan(tensor({1.f}))
// [False]  bool[1], CPU:0
x == 2.f
// [[False False  True]
//  [False False False]]
// bool[2,3], CPU:0
!(x > 2.f)
// [[ True  True  True]
//  [False False False]]
// bool[2,3], CPU:0
x % 4.f
// [[0. 1. 2.]
//  [3. 0. 1.]]
// float32[2,3], CPU:0
categorical(zeros({2, 3}), 4).shape()
// [2,4]
tensor({"a", "b"})
// [b'a' b'b']  string[2], CPU:0
x.dtype()
// float32
transpose(x).shape()
// [3,2]
argmax(x)
// 5  int64[], CPU:0
x.argmin()
// 0  int64[], CPU:0
einsum("ij,kj->ik", panto::ones({2, 3}), panto::ones({4, 3})).shape()
// [2,4]
einsum("ij->ji", tensor({{1, 2}, {3, 4}}))
// [[1 3]
//  [2 4]]
// int32[2,2], CPU:0
einsum("ij,jk,kl->il", panto::ones({2, 2}), panto::ones({2, 2}), panto::ones({2, 2}))
// [[4. 4.]
//  [4. 4.]]
// float32[2,2], CPU:0
Tensor six = reshape(arange(6), {2, 3});
split(six, 3, 1)
// [[[0]
//   [3]]
//  int32[2,1], CPU:0,
//  [[1]
//   [4]]
//  int32[2,1], CPU:0,
//  [[2]
//   [5]]
//  int32[2,1], CPU:0]
split(six, {1, -1}, 1)[1]
// [[1 2]
//  [4 5]]
// int32[2,2], CPU:0
split(six, {1, 1}, 1)
// InvalidArgument: sizes: expected a sum of 3, dimension 1 of [2,3], got 2
split(six, 2)[1]
// [[3 4 5]]  int32[1,3], CPU:0
flip(six, 1)
// [[2 1 0]
//  [5 4 3]]
// int32[2,3], CPU:0
unique(tensor({7, 8, 7}))
// y: [7 8]  int32[2], CPU:0
// idx: [0 1 0]  int32[3], CPU:0
top_k(tensor({{1.f, 3.f}, {5.f, 4.f}}), 1)
// values:
// [[3.]
//  [5.]]
// float32[2,1], CPU:0
// indices:
// [[1]
//  [0]]
// int32[2,1], CPU:0
atan2(tensor({1.f, -1.f}), 1.f)
// [ 0.7853982 -0.7853982]  float32[2], CPU:0
left_shift(tensor({1, 2}), 3)
// [ 8 16]  int32[2], CPU:0
leaky_relu(tensor({-1.f, 2.f}), {.alpha = 0.5f})
// [-0.5  2. ]  float32[2], CPU:0
