"""docs/names.md at the prompt: what is typed elsewhere gives a value or a hint of its own row, and what the page says is
written here is C++ that compiles."""
import os
import pathlib
import re
import shlex
import subprocess
import tempfile
import unittest

BUILD = pathlib.Path(os.environ["PANTO_BUILD"])
ROOT = pathlib.Path(__file__).resolve().parents[3]
ENGINES = [e for e in ("cling", "clang") if (BUILD / "apps" / "repl" / f"libpanto_{e}.so").exists()]

# What the page's lines use. A section may have other things by the same name.
COMMON = """
Tensor x = tensor({{1.f, 2.f}, {3.f, 4.f}});
Tensor a = x; Tensor b = x; Tensor c = x > 2.f; Tensor m = c; Tensor l = x; Tensor y = x; Tensor target = x;
Tensor labels = tensor({0, 1}); Tensor p = x; Tensor w = x; Tensor query = x; Tensor value = x;
Variable v(x, "v");
Sgd opt({v}, {.learning_rate = 0.5}); Sgd sgd({v}, {.learning_rate = 0.5}); Adam adam({v}); AdamW adamw({v});
Dense model(2, 3);
std::vector<Tensor> g{x};
GradientTape tape; Tensor loss = sum(v * 2.f);
"""
SECTIONS = {
    "Sparse tensors": "Tensor i = cast(tensor({{0, 1}, {1, 0}}), kInt64); Tensor s = tensor({5.f, 6.f});\n"
                      "Tensor n = cast(tensor({2, 2}), kInt64); Tensor t = x;\n",
    "Strings": "Tensor s = tensor({\"a b\", \"C\"}); Tensor t = tensor({\"1\", \"2.5\"});\n",
    "Images": "Tensor i = zeros({1, 4, 4, 3}) + 0.25f; Tensor s = tensor({0.5f, 0.75f});\n"
              "Tensor b = tensor({{0.f, 0.f, 0.5f, 0.5f}, {0.f, 0.25f, 1.f, 1.f}});\n",
    "Training": "MultiHeadAttention attend(8, {.heads = 2}); std::vector<Variable> v{Variable(x, \"v\")}; Variable b(x, \"b\"); AdamW adamw({b});\n"
                "ExponentialMovingAverage smooth(v); GradientAccumulator accumulator(adam, {.steps = 4}); LossScale scaler;\n",
    "Transforms": "auto f = [](const Tensor& x) { return x * x; }; auto f2 = [](const Tensor& x, const Tensor& y) { return x * y; };\n"
                  "auto loss_of = [](const Tensor& x) { return sum(x * x); };\n",
    "Graphs and functions": "Graph g; Variable w(x, \"w\"); Variable step(tensor(int64_t{0}), \"step\");\n"
                            "std::vector<GradientAndVariable> gv;\n"
                            "auto f = trace([](const Tensor& x) { return std::pair(x, x); });\n"
                            "auto h = trace([](const Tensor& x) { return std::map<std::string, Tensor>{{\"sum\", x}}; });\n"
                            "Tensor rate = tensor(0.1f); Tensor init = x; Tensor train = x; Tensor batch = x; Session sess(g);\n",
    "Data and files": "Dense m(2, 2); Dataset d = Dataset::from_tensors({x, x}); std::vector<double> losses{1.0}; float l = 1; int n = 3;\n"
                      "Tensor contents = tensor(\"bytes\"); Tensor s = scalar_summary(\"loss\", loss);\n"
                      "auto f = [](const Tensor& x, const Tensor& y) { return std::pair(x, y); };\n",
}
# `//` begins a comment.
NO_ERROR_AND_NO_HINT = {"a // b"}


def sections():
    """(section, [(what is typed elsewhere or None, the row's own spans, line)])"""
    name, found = None, {}
    for number, line in enumerate((ROOT / "docs" / "names.md").read_text().splitlines(), 1):
        if line.startswith("## "):
            name = line[3:]
        if not line.startswith("|") or name is None:
            continue
        cells = [re.findall(r"`([^`]+)`", cell) for cell in line.split("|")[1:-1]]
        if cells[-1]:
            found.setdefault(name, []).append((number, [s for cell in cells[:-1] for s in cell], cells[-1], line))
    return found


def replies(engine, preamble, lines):
    """What each line prints."""
    code = preamble + "".join(f'std::cout << "\\n@{i}\\n";\n{line}\n' for i, line in enumerate(lines))
    code += f'std::cout << "\\n@{len(lines)}\\n";\n'
    with tempfile.TemporaryDirectory() as folder:
        script = pathlib.Path(folder) / "lines.cc"
        script.write_text(code)
        printed = subprocess.run([BUILD / "apps" / "panto", "repl", "--engine", engine, "--keep-going", script], cwd=folder,
                                 text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=500).stdout
    parts = re.split(r"^@(\d+)\n", printed, flags=re.M)
    texts = dict(zip(map(int, parts[1::2]), parts[2::2]))
    assert list(texts) == list(range(len(lines) + 1)), f"a line took others with it:\n{printed}"
    return parts[0].strip(), [texts[i] for i in range(len(lines))]


@unittest.skipUnless(ENGINES, "no interpreter was built: ./dev cling")
class Names(unittest.TestCase):
    def check_hints(self, engine, section, rows):
        typed = [(theirs, ours, number) for number, foreign, ours, _ in rows for theirs in foreign if theirs not in ours]
        before, printed = replies(engine, COMMON + SECTIONS.get(section, ""), [t for t, _, _ in typed])
        self.assertEqual(before, "")
        for (theirs, ours, number), text in zip(typed, printed):
            with self.subTest(line=number, theirs=theirs):
                hint = text[text.find("hint: "):] if "hint: " in text else ""
                if theirs in NO_ERROR_AND_NO_HINT or "error" not in text:
                    continue
                self.assertTrue(any(o in hint for o in ours), f"expected a hint with one of {ours}, got\n{text}")

    def test_what_is_written_here_compiles(self):
        """All lines at once: at the prompt each takes a third of a second."""
        code = f"#include <panto/apps/repl/prelude.h>\nusing namespace panto;\nnamespace page {{\n{COMMON}"
        for i, (section, rows) in enumerate(sections().items()):
            code += f"namespace section_{i} {{\n{SECTIONS.get(section, '')}"
            lines = [f'#line {number} "names.md"\n{line};\n' for number, _, here, _ in rows for line in here
                     if "..." not in line]
            functions = [line for line in lines if re.search(r"^\w+ \w+\(.*\) \{", line, re.M)]
            statements = [line for line in lines if line not in functions]
            # Each in a block within the one before: it sees that one's variables, and may have others by their names.
            code += "".join(functions) + "void lines() {\n" + "{\n".join(statements) + "}" * len(statements) + "\n}\n"
        code += "}\n"
        command = [*shlex.split(os.environ.get("CXX", "c++")), "-std=c++20", "-fsyntax-only", "-w", "-x", "c++", "-I",
                   BUILD / "include", "-I", BUILD / "gen", "-"]
        said = subprocess.run(command, input=code, text=True, stderr=subprocess.PIPE, timeout=500).stderr
        errors = [line for line in said.splitlines() if "error: " in line and
                  not re.search("address of overloaded function|does not declare anything", line)]  # a name alone
        self.assertEqual(errors, [], said)


EACH = 1 if os.environ.get("PANTO_SLOW") else 4  # every so many rows: a line that is refused takes half a second

# Of two interpreters each is asked half of the page.
for number, (section, rows) in enumerate(sections().items()):
    rows = rows[number % min(EACH, len(rows))::EACH]  # of every section at least one
    def test(self, engine=ENGINES[number % len(ENGINES)] if ENGINES else None, section=section, rows=rows):
        self.check_hints(engine, section, rows)
    setattr(Names, "test_hints_of_" + re.sub(r"\W+", "_", section.lower()), test)


if __name__ == "__main__":
    unittest.main()
