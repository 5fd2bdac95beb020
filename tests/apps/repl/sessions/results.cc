// What was shown is at hand.
6 * 7
_ + 1
_ * 2;
_
Out[2]
Out[1] + 1
Tensor t = tensor({1.f, 2.f});
t * 2.f
_ + 1.f
Tensor u = _;
u
auto v = Out[8];
v
_.shape()
_[0]
std::string("text")
_ + " more"
_.size()
"literal"
std::string(_) + "!"
std::vector<int>{1, 2, 3}
for (int i : _) std::cout << i << '\n';
for (int _ : {7, 8}) std::cout << _ << '\n';
[](int a) { return a + 1; }
_(4)
5
auto add = [](int a) { return a + _; };
add(1)
std::make_unique<int>(3)
*_
std::vector<std::unique_ptr<int>> owners(2);
owners
_
Out[99]
int f() { return _; }
1.5f
float two = _ * 2;
two
const float three = _ * 1.5f;
:type _
struct Local { int a = 1; };
Local()
_.a
int _ = 3;
_
_ + 1
