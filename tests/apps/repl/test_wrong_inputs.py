"""After an input that is rejected, every later valid one works: wrong inputs of 41 kinds, five of each with
`./dev test slow`, each followed by a valid one that uses what templates the wrong one may have spoiled."""
import os
import subprocess
import tempfile
import unittest

from test_sessions import ENGINES, PANTO, there

WRONG = [  # {} is a number, so that no two inputs are the same
    "nothing{} + 1",                                                  # unknown names
    "unknown_function{}(1)",
    "std::nothing{}(1)",
    "panto::nothing{}(1)",
    "Nothing{} x;",
    "int x{} = ;",                                                    # syntax
    "1 + ;",
    "int 3x{} = 1;",
    "return_{} return;",
    "for (int i = 0; i < {}) {{ }}",
    "if {} {{ }}",
    "struct A{} {{ int a }};",
    "class {{{}",
    "f{}(1, 2;",
    "std::vector<Nothing{}> v;",                                      # wrong template arguments
    "std::vector<int, {}> v;",
    "std::unique_ptr<int, int> p{};",
    "std::map<int> m{};",
    "std::pair<int> p{};",
    "std::vector<int> v{}(\"a\", 3.5, nullptr);",
    "std::make_unique<int>(1, {})",
    "std::tuple<void> t{};",
    "std::function<int> f{};",
    "std::max(1, 2.0 + {})",                                          # ambiguous or no calls that fit
    "std::swap(1, {})",
    "matmul({})",
    "matmul(\"a\", \"b{}\")",
    "trace({}, 2)",
    "trace([](int a, std::string b) {{ return {}; }}, {{}})",
    "value_and_grad({})(1)",
    "tensor({{1, 2.5f, \"a{}\"}})",
    "std::unique_ptr<int> q{} = std::make_unique<int>(1); std::unique_ptr<int> r{} = q{};",  # deleted functions
    "GradientTape a{}; GradientTape b{} = a{};",
    "struct D{} {{ D{}() = delete; }}; D{} d{};",
    "#include <nothing{}.h>",                                         # missing includes
    "#include \"none{}.h\"",
    "std::string s{} = \"unterminated;",                              # unterminated
    "'{}",
    "const int c{} = 1; c{} = 2;",                                    # types
    "int* p{} = 2.5;",
    "static_assert({} < 0, \"too large\");",
]

VALID = [
    ("auto f = trace([](const Tensor& a) {{ return relu(a * {}.0f); }}, {{TensorSpec(kFloat32, {{2}}, \"a\")}}); "
     "f(tensor({{1.f, -1.f}}))(0).item<float>() == {}.0f", "true"),
    ("std::vector<std::unique_ptr<int>> v; v.push_back(std::make_unique<int>({})); *v.back() == {}", "true"),
    ("[] {{ GradientTape tape; Tensor a = tensor({}.0f); tape.watch(a); return tape.gradient(a * a, a).item<float>(); }}()"
     " == 2 * {}.0f", "true"),
    ("std::map<std::string, std::vector<int>> m; m[\"k\"].push_back({}); m[\"k\"][0] == {}", "true"),
    ("std::function<int(int)> g = [](int a) {{ return a + {}; }}; g(0) == {}", "true"),
]


class WrongInputs(unittest.TestCase):
    def check(self, engine, count):
        if not there(engine):
            self.skipTest(f"{engine} was not built: ./dev repl --engine {engine}")
        pieces, expected = [], []
        for i in range(count):
            wrong = WRONG[i % len(WRONG)]
            code, answer = VALID[i % len(VALID)]
            pieces += [wrong.replace("{}", str(i)).replace("{{", "{").replace("}}", "}"), f"// mark {i}"]
            pieces.append(code.replace("{}", str(i + 1)).replace("{{", "{").replace("}}", "}"))
            expected.append(answer)
        # One at a time, as at a prompt: what is unterminated must not take the next line with it.
        outputs = []
        with tempfile.TemporaryDirectory() as folder:
            names = []
            for i in range(count):
                with open(os.path.join(folder, f"w{i}.cc"), "w") as file:
                    file.write(pieces[3 * i] + "\n")
                with open(os.path.join(folder, f"v{i}.cc"), "w") as file:
                    file.write(pieces[3 * i + 2] + "\n")
                names += [f":load w{i}.cc", f":load v{i}.cc"]
            result = subprocess.run([PANTO, "repl", "--engine", engine, "--keep-going"], input="\n".join(names) + "\n",
                                    cwd=folder, capture_output=True, text=True, timeout=900)
            outputs = result.stdout.split("\n")[:-1]
        self.assertEqual(outputs, expected, result.stderr[-3000:])
        for i in range(count):
            self.assertIn(f"error: Aborted: w{i}.cc: ", result.stderr, pieces[3 * i])
            self.assertNotIn(f"v{i}.cc: expected", result.stderr, pieces[3 * i + 2])
        self.assertNotIn("started anew", result.stderr)


# Each kind once; five times takes minutes.
for engine in ENGINES:
    def test(self, engine=engine):
        self.check(engine, 5 * len(WRONG) if os.environ.get("PANTO_SLOW") else len(WRONG))
    setattr(WrongInputs, f"test_on_{engine}", test)


if __name__ == "__main__":
    unittest.main()
