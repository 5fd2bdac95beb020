// Reading and assigning parts.
Tensor x = reshape(arange(6.f), {2, 3});
x[1]
// [3. 4. 5.]  float32[3], CPU:0
x(0, -1)
// 2.0  float32[], CPU:0
x(Slice(), -1)
// [2. 5.]  float32[2], CPU:0
x(Slice(), Slice(1, 3))
// [[1. 2.]
//  [4. 5.]]
// float32[2,2], CPU:0
x(Slice(1, {}))
// [[3. 4. 5.]]  float32[1,3], CPU:0
x(Slice({}, {}, -1), 0)
// [3. 0.]  float32[2], CPU:0
x(Ellipsis, 0)
// [0. 3.]  float32[2], CPU:0
x(Slice(), NewAxis).shape()
// [2,1,3]
x(x > 2.f)
// [3. 4. 5.]  float32[3], CPU:0
x[x > 3.f]
// [4. 5.]  float32[2], CPU:0
x(tensor({1, 0}), 0)
// [3. 0.]  float32[2], CPU:0
x(Slice(), tensor({-1, 0}))
// [[2. 0.]
//  [5. 3.]]
// float32[2,2], CPU:0
x(tensor({0, 1}), tensor({2, 0}))
// [2. 3.]  float32[2], CPU:0
x[{0, Slice(1, 3)}]
// [1. 2.]  float32[2], CPU:0
x[{1, -1}]
// 5.0  float32[], CPU:0
x[{Slice(), NewAxis}].shape()
// [2,1,3]
x[Slice(1, 3)]
// [[3. 4. 5.]]  float32[1,3], CPU:0
x[Ellipsis].shape()
// [2,3]
x[{Ellipsis, 0}]
// [0. 3.]  float32[2], CPU:0
x[tensor({1, 0})]
// [[3. 4. 5.]
//  [0. 1. 2.]]
// float32[2,3], CPU:0
x[{tensor({0, 1}), tensor({2, 0})}]
// [2. 3.]  float32[2], CPU:0
x[{0, 0, 0}]
// InvalidArgument: index: expected at most 2, for shape [2,3], got 3
x(5)
// OutOfRange: index: expected one in [-2, 2) along dimension 0, got 5
x(tensor({true, false, true}))
// InvalidArgument: mask: expected shape [2,3] from dimension 0 on, got [3]
Variable v(zeros({2, 4}), "v");
v(0, Slice(1, 3)) = tensor({5.f, 6.f});
v(1) += 2.f;
v(v > 4.f) = -1.f;
v.value()
// [[ 0. -1. -1.  0.]
//  [ 2.  2.  2.  2.]]
// float32[2,4], CPU:0
mean(v(0))
// -0.5  float32[], CPU:0
v[{0, 1}] = 7.f;
v[{Slice(), -1}] += 1.f;
v[Slice(0, 1)].value()
// [[ 0.  7. -1.  1.]]  float32[1,4], CPU:0
v[Ellipsis] = 0.f;
v[tensor({1})] = tensor({1.f, 2.f, 3.f, 4.f});
v[v.value() > 3.f] = 9.f;
v[{1, Ellipsis}] * 1.f
// [1. 2. 3. 9.]  float32[4], CPU:0
auto part = trace([](const Tensor& t) { return t[{Slice(), Slice(1, 3)}] + t[{Ellipsis, NewAxis, 0}]; });
part(x)
// [[1. 2.]
//  [7. 8.]]
// float32[2,2], CPU:0
Tensor y = x;
y += 1.f;
y *= x;
y
// [[ 0.  2.  6.]
//  [12. 20. 30.]]
// float32[2,3], CPU:0
x
// [[0. 1. 2.]
//  [3. 4. 5.]]
// float32[2,3], CPU:0
