// Lines of Python, and what they are told.
Tensor x = tensor({{1, 2}, {3, 4}});
x[0:2]
x[:, 1]
x[1:]
x[::-1]
x[..., 0]
x[:, None]
x[[1, 0]]
x[0, -1]
x(0, -1)
std::map<std::pair<int, int>, int> table{{{1, 2}, 3}};
table[std::pair<int, int>(1, 2)]
auto first = [table = 3, x](int i) { return i + table; };
first(1)
for i in range(3):
    print(i)
for (int i = 0; i < 2; ++i)
  std::cout << i << "\n";
def g(x):
class Net(nn.Module):
if x:
f = lambda x: x
struct B : Module {};
x.detach()
x.shape
x.to('cuda')
auto kept = x.detach();
x
Graph graph;
Session session(graph);
auto [l, a] = session.run({"loss", "acc"});
auto [l, a] = std::vector<int>{1, 2};
// Integers: an op that truncates says so.
mean(x)
x.mean(0)
mean(cast(x, kFloat32))
sum(x)
x
auto average = mean(x);
1 + mean(x)
bool m = true;
m && m
x.to(torch.int32)
nn.Module
tf.train.GradientDescentOptimizer(0.5)
tf.tanh(x)
np.nothing_like_it(x)
reduce_mean(x)
