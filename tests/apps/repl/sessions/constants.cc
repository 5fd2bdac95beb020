// Constants: what is known when it is compiled stays as it is written, the others are made as variables are.
int zero = 0;
const int c = 4 / zero;
const auto d = 4 % zero;
static const int e = 4 / zero;
constexpr int f = 4 / zero;
c
const int n = 3;
int list[n] = {1, 2, 3};
list[2]
std::array<int, n>{}.size()
const int m = zero + 5;
m
m = 6
m
const auto [p, q] = std::pair(zero, 2);
q
const int m = zero + 7;
m
int m = 1;
m = 2
const Tensor t = ones({2});
t
const char* word = "word";
word
const auto* pointer = &zero;
*pointer
*pointer = 3
int made() { std::cout << "made\n"; return 1; }
const int now = made(), later = made();
const int& reference = made();
static const int several = made(), more = several + 1;
more
// Several at once are made by the compiler: the session starts anew.
const int g = 1, h = 4 / zero;
m
