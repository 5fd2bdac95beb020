Tensor t = tensor({{1.f, 2.f}, {3.f, 4.f}});
matmul(t, tensor({{1.f, 2.f, 3.f}}))
Tensor y = matmul(t, tensor({{1.f, 2.f, 3.f}}));
y
auto x = 1;
auto x = []() -> int { throw std::runtime_error("no value"); }();
x
throw 3;
throw std::logic_error("wrong")
struct Mine {};
throw Mine();
int values[2] = {1, [] { throw 1; return 2; }()};
values
t.shap()
std::vector<Nothing> v;
int missing(int);
missing(3)
int unclosed = (1 + 2
