// An integer divided by zero is an error, and the session goes on.
int kept = 7;
1 / 0
7 % 0
int zero = 0;
1 / zero
kept % zero
kept /= zero;
kept
int quotient_of_none = 1 / zero;
quotient_of_none
int divide(int a, int b) { return a / b; }
divide(1, 0)
divide(6, 3)
[] { int a = 0; return 1 / a; }()
std::vector<int> list{1, 2};
for (int v : list) std::cout << v / (v - 1) << '\n';
auto inside = [](int b) { std::string text("held"); return static_cast<int>(text.size()) / b; };
inside(2)
inside(0)
long long large = -9223372036854775807LL - 1;
large / (zero - 1)
1 / 0.0
kept + 1
int array[2] = {1, 4 / zero};
kept
