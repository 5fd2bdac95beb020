"""docs/names.md at the prompt: what is typed elsewhere gives a value or a hint of its own row, and what the page says is
written here is C++ that compiles."""
import os
import pathlib
import re
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
    "Training": "MultiHeadAttention attend(8, {.heads = 2}); std::vector<Variable> v{Variable(x, \"v\")}; Variable b(x, \"b\"); AdamW adamw({b});\n",
    "Transforms": "auto f = [](const Tensor& x) { return x * x; }; auto f2 = [](const Tensor& x, const Tensor& y) { return x * y; };\n"
                  "auto loss_of = [](const Tensor& x) { return sum(x * x); };\n",
    "Graphs and functions": "Graph g; Variable w(x, \"w\");\n"
                            "auto f = trace([](const Tensor& x) { return std::pair(x, x); });\n"
                            "auto h = trace([](const Tensor& x) { return std::map<std::string, Tensor>{{\"sum\", x}}; });\n"
                            "Tensor rate = tensor(0.1f); Tensor init = x; Tensor train = x; Tensor batch = x; Session sess(g);\n",
    "Data and files": "Dense m(2, 2); Dataset d = Dataset::from_tensors({x, x}); std::vector<double> losses{1.0}; float l = 1; int n = 3;\n"
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

    def check_ours(self, engine, section, rows):
        ours = [(o, number) for number, _, here, _ in rows for o in here if "..." not in o]
        before, printed = replies(engine, COMMON + SECTIONS.get(section, ""), [o for o, _ in ours])
        self.assertEqual(before, "")
        for (line, number), text in zip(ours, printed):
            with self.subTest(line=number, ours=line):
                if "reference to overloaded function" in text:  # a name without its arguments
                    continue
                self.assertNotRegex(text, r"lines\.cc:\d+:\d+: error", "expected C++ that compiles")


# A line takes a third of a second: of two interpreters each is asked half of the page, and what one is not asked of a
# section, the hints or the lines that are written here, the other is.
for number, (section, rows) in enumerate(sections().items()):
    word = re.sub(r"\W+", "_", section.lower())
    for kind, check in enumerate((Names.check_hints, Names.check_ours)):
        def test(self, check=check, engine=ENGINES[(number + kind) % len(ENGINES)] if ENGINES else None,
                 section=section, rows=rows):
            check(self, engine, section, rows)
        name = ("hints_of", "what_is_written_here_of")[kind]
        setattr(Names, f"test_{name}_{word}", test)


if __name__ == "__main__":
    unittest.main()
