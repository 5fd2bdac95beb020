// Everything may be declared again; older code keeps what it knew.
auto x = 1;
int twice() { return 2 * x; }
x = 5;
twice()
auto x = std::string("now text");
x
twice()
auto x = x + " again";
x
int f(int a) { return a + 1; }
int g(int a) { return f(a); }
int f(int a) { return a + 2; }
f(1)
g(1)
double f(double a) { return a / 2; }
f(1.0)
f(1)
struct S { int a = 1; };
S s;
struct S { double b = 2; };
S s2;
s.a
s2.b
template <class T>
T add(T a, T b) {
  return a + b;
}
add(1, 2)
add(std::string("a"), std::string("b"))
struct Base { virtual ~Base() = default; virtual int id() const { return 1; } };
struct Derived : Base { int id() const override { return 2; } };
std::unique_ptr<Base> p = std::make_unique<Derived>();
p->id()
auto [first, second] = std::make_pair(1, std::string("two"));
second
auto [first, second] = std::make_pair(3, std::string("four"));
first
const int n = 3;
float array[n] = {1, 2, 3};
array
int first_value = 7; int& r = first_value;
r = 8;
first_value
int a = 1, b = 2;
a + b
using Row = std::vector<int>;
Row{1}
enum class Color { kRed, kBlue };
Color::kBlue == Color::kBlue
#include <numeric>
std::gcd(12, 18)
#define TWO 2
TWO * 3
namespace outer { int inner() { return 4; } }
outer::inner()
using namespace outer;
inner()
auto by_value = [a](int v) { return a + v; };
auto by_reference = [&a](int v) { return a + v; };
a = 10;
by_value(1)
by_reference(1)
if (a > 5) {
  std::cout << "large\n";
} else {
  std::cout << "small\n";
}
for (int i = 0; i < 3; ++i)
  std::cout << i << ' ';
std::cout << "done"
          << '\n';
int total = 0; for (int i : {1, 2, 3}) total += i; total
switch (total) { case 6: std::cout << "six\n"; break; default: break; }
try { throw std::runtime_error("inside"); } catch (const std::exception& e) { std::cout << e.what() << '\n'; }
static int counter = 0;
++counter
++counter
struct Key {};
template <> struct std::hash<Key> { size_t operator()(const Key&) const { return 42; } };
std::hash<Key>()(Key())
