// What people who know NumPy type first, and what they are told.
zeros(2, 3)
arange(10)
Tensor a = reshape(range(0, 6, 1), {2, 3});
a.reshape({3, 2})
a.T()
transpose(a)
a.sum({.axis = {0}})
where(a > 2, a, 0)
a == 5
a % 2
a += 1;
b = a;
len(a)
print(a)
np::zeros({2})
stack({a, a})
argmax(a)
a(0, 1).item()
std::cout << a.shape() << '\n'
std::cout << a(0, 1) << '\n'
a @ a
a ** 2
a[0:2]
a[a > 2]
tensor([1, 2, 3])
tensor({1, 2.5f})
float(a(0, 1))
float f = a(0, 1);
Tensor q = zeros({2}) Tensor w
sum(a, keep_dims=true)
Variable v = ones({2});
Variable v(ones({2}), "v");
v = ones({2});
:vars
:graph v
:help arange
:help zeros
:help TensorSpec
:help load
:time nothing(3)
"text" % 2
// What the hints say compiles.
zeros({2, 3}, kInt32).shape()
random_uniform({2, 3}, {.dtype = kInt32, .min = 0, .max = 6}).dtype()
fill({2}, 7.0f)
concat({a, a}, 1)
pack({a, a}).shape()
select(a > 2, a, 0)
reduce_max(a, {1})
reduce_all(a > 0)
reduce_any(a > 0)
reduce_prod(a, {1})
Tensor x = cast(a, kFloat32);
sqrt(mean(square(x - mean(x))))
minimum(maximum(x, 1), 3)
floor_mod(a, 2)
pow(a, 2)
slice(a, {0, 0}, {2, 3})
cast(a, kFloat32)(0, 1).item<float>()
sum(a, {0}, {.keep_dims = true})
equal(a, 5)
not_equal(a, 5)
logical_and(a > 1, a < 4)
transpose(a, {1, 0})
reshape(x, {-1}).to_vector<float>()
std::cout << a.shape().to_string() << '\n'
