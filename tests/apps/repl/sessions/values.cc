1 + 1
2.5f
1e-5
true
'a'
"text\n"
std::string("a\"b")
std::vector<int>{1, 2, 3}
std::vector<std::string>{"x", "y"}
std::map<std::string, int>{{"a", 1}}
std::make_pair(1, 2.5)
std::optional<int>()
std::optional<int>(3)
std::make_unique<int>(7)
nullptr
int counts[] = {1, 2};
counts
kFloat32
Shape{2, 3}
TensorSpec(kFloat32, {-1, 2}, "a")
Error(Code::kNotFound, "nothing there")
std::runtime_error("plain")
Tensor()
tensor(2.25f)
tensor({{1.f, 2.f}, {3.f, 4.f}})
tensor({true, false})
tensor("text")
std::vector<Tensor>{tensor(1), tensor({{1.f, 2.f}, {3.f, 4.f}})}
Variable k(tensor({{0.5f}, {-0.5f}}), "k");
k
GradientTape tape;
tape
Function f = trace([&](const Tensor& a) { return relu(matmul(a, k)); }, {TensorSpec(kFloat32, {-1, 2}, "a")});
f
f.graph()
struct Point { int x; };
Point{1}
struct Shown { std::string to_string() const { return "shown"; } };
Shown()
struct Streamed {};
std::ostream& operator<<(std::ostream& out, const Streamed&) { return out << "streamed"; }
Streamed()
int x = 5
x = 6
x = 7;
std::cout << x << '\n';
(void)x
[](int a) { return a; }(3)
