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
