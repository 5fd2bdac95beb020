// What is assigned to is declared where it must be.
count = 3
count + 1
count = 4;
count
int doubled() { return 2 * count; }
count = 5;
doubled()
count = std::string("text")
doubled()
count.size()
t = tensor({{1.f, 2.f}, {3.f, 4.f}});
t = t * 2.f;
t
t = std::vector<int>{1, 2}
square_of = [](int a) { return a * a; };
square_of(7)
offset = 10;
add = [offset](int a) { return a + offset; };
add(1)
fresh_one = nothing_like_it;
fresh_one
unset_value = []() -> int { throw std::runtime_error("no value"); }();
unset_value
const int fixed = 3;
fixed = 4;
t = t.nothing();
t
struct Point { int x = 1; };
p = Point();
p.x = 5;
p.x
Variable w(zeros({2}), "w");
w = ones({2});
long_one = 1 +
    2;
long_one
a = b = 3;
b = 1; a = b; a
:save saved.cc
:undo
a
