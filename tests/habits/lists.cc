// Lists of integers: of any types, with numbers that tensors hold.
Tensor x = reshape(arange(6.f), {2, 3});
std::vector<float> v = {1, 2, 3, 4, 5, 6};
const int rows = 2;
reshape(x, {shape(x)[1], -1}).shape()
// [3,2]
x.reshape({v.size(), 1}).shape()
// [6,1]
reshape(tensor(7.f), {})
// 7.0  float32[], CPU:0
tensor(v, {rows, -1})
// [[1. 2. 3.]
//  [4. 5. 6.]]
// float32[2,3], CPU:0
tensor(v, {rows, -1, 2})
// InvalidArgument: shape: expected dimensions that divide 6 elements, got [2,?,2]
Shape({v.size(), 3})
// [6,3]
panto::zeros({shape(x)[0], rows}).shape()
// [2,2]
full({v.size()}, 7.f).shape()
// [6]
random_normal({shape(x)[0], 4}, {.seed = 1}).shape()
// [2,4]
pack({shape(x)[0], -1})
// [ 2 -1]  int32[2], CPU:0
pack({x[0][0], 1, 2.5})
// [0.  1.  2.5]  float32[3], CPU:0
slice(x, {0, 1}, {rows, shape(x)[1] - 1}).shape()
// [2,2]
broadcast_to(tensor(1.f), {shape(x)[0], 2}).shape()
// [2,2]
reshape(x, {x})
// InvalidArgument: list of integers: expected element 0 to be an integer, got float32[2,3]
auto halves = trace([](const Tensor& a) { return reshape(a, {shape(a)[0], 2, -1}); }, {TensorSpec(kFloat32, {-1, -1})});
halves(panto::zeros({3, 8})).shape()
// [3,2,4]
