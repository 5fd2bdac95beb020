"""Sessions: files that are run, and what they print, exactly. Each runs on one of the interpreters that are there, in
turn, and with PANTO_SLOW on all of them.

PANTO_ACCEPT=1 writes the .expected files anew: read the difference before it is committed.
"""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

BUILD = pathlib.Path(os.environ["PANTO_BUILD"])
PANTO = BUILD / "apps" / "panto"
HERE = pathlib.Path(__file__).resolve().parent
SCRIPTS = [*(HERE / "sessions").glob("*.cc"), HERE.parents[2] / "apps" / "repl" / "tour.cc"]
ENGINES = ("cling", "clang")


def there(engine):
    return (BUILD / "apps" / "repl" / f"libpanto_{engine}.so").exists()


def run(engine, *arguments, cwd, text=None):
    result = subprocess.run([PANTO, "repl", "--engine", engine, *arguments], cwd=cwd, input=text, capture_output=True,
                            text=True, timeout=900)
    return result.returncode, result.stdout, result.stderr


def steady(text):
    """Without what differs from run to run: times, and the interpreters' own words about faults."""
    return re.sub(r"replayed in [0-9.]+ s", "replayed", text)


class Sessions(unittest.TestCase):
    def check(self, engine, script):
        if not there(engine):
            self.skipTest(f"{engine} was not built: ./dev repl --engine {engine}")
        with tempfile.TemporaryDirectory() as folder:
            # Both streams in one, in order: errors stand where they happen.
            result = subprocess.run([PANTO, "repl", "--engine", engine, "--keep-going", script], cwd=folder, text=True,
                                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300)
        output = steady(result.stdout.replace(str(script), script.name))
        expected = HERE / "sessions" / f"{script.stem}.expected"
        if os.environ.get("PANTO_ACCEPT") == engine:
            expected.write_text(output)
        own = expected.with_suffix(f".{engine}.expected")
        self.assertEqual(output, (own if own.exists() else expected).read_text())


built = [engine for engine in ENGINES if there(engine)] or ENGINES
for number, script in enumerate(sorted(SCRIPTS, key=lambda path: path.stem)):
    # One that has words of its own runs where it has them, too.
    alone = [engine for engine in built if script.with_suffix(f".{engine}.expected").exists()]
    for engine in built if os.environ.get("PANTO_SLOW") else {built[number % len(built)], *alone}:
        def test(self, engine=engine, script=script):
            self.check(engine, script)
        setattr(Sessions, f"test_{script.stem}_on_{engine}", test)


class WithoutTerminal(unittest.TestCase):
    def setUp(self):
        self.engine = next((e for e in ENGINES if there(e)), None)
        if self.engine is None:
            self.skipTest("no interpreter was built: ./dev repl")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_command_line_code(self):
        self.assertEqual(run(self.engine, "-c", "1 + 1", cwd=self.folder), (0, "2\n", ""))

    def test_standard_input(self):
        self.assertEqual(run(self.engine, cwd=self.folder, text="int x = 2;\nx * 3\n"), (0, "6\n", ""))

    def test_the_first_error_ends_it_with_status_1(self):
        status, output, errors = run(self.engine, "-c", "1\nnothing\n2", cwd=self.folder)
        self.assertEqual((status, output), (1, "1\n"))
        self.assertIn("command:2:1: error: use of undeclared identifier 'nothing'", errors)

    def test_keep_going(self):
        status, output, _ = run(self.engine, "--keep-going", "-c", "1\nnothing\n*(int*)nullptr = 1;\n2", cwd=self.folder)
        self.assertEqual((status, output), (1, "1\n2\n"))

    def test_a_crash_ends_it_with_status_1(self):
        status, output, errors = run(self.engine, "-c", "1\n*(int*)nullptr = 1;\n2", cwd=self.folder)
        self.assertEqual((status, output, errors), (1, "1\n", "segmentation fault\n"))

    def test_a_list_where_another_is_expected(self):
        """The interpreters spell the type in different ways."""
        code = "GradientTape t; Variable v(zeros({2}), \"v\");\nt.gradients(sum(v), {v})"
        status, _, errors = run(self.engine, "-c", code, cwd=self.folder)
        self.assertEqual(status, 1)
        self.assertIn("hint: tape.gradient(y, {a, b})", errors)

    def test_a_missing_file(self):
        status, _, errors = run(self.engine, "none.cc", cwd=self.folder)
        self.assertEqual(status, 1)
        self.assertIn("NotFound", errors)

    def test_an_unknown_interpreter(self):
        status, _, errors = run("gcc", "-c", "1", cwd=self.folder)
        self.assertEqual(status, 1)
        self.assertIn("expected cling or clang, got 'gcc'", errors)

    def test_nothing_stays_behind(self):
        temporary = self.folder / "tmp"
        temporary.mkdir()
        for code in ("1", "nothing", "*(int*)nullptr = 1;", ":quit"):
            subprocess.run([PANTO, "repl", "--engine", self.engine, "-c", code], env=os.environ | {"TMPDIR": str(temporary)},
                           capture_output=True, timeout=100)
        self.assertEqual(list(temporary.iterdir()), [])

    PICTURE = "auto f = trace([](const Tensor& x) { return relu(x); });\nf(tensor({1.f}));\n:graph f f.svg\n"

    @unittest.skipUnless(shutil.which("dot"), "Graphviz is missing: apt-get install graphviz")
    def test_a_graph_as_a_picture(self):
        self.assertEqual(run(self.engine, "-c", self.PICTURE, cwd=self.folder), (0, "", "wrote f.svg\n"))
        self.assertIn("Relu", (self.folder / "f.svg").read_text())
        self.assertEqual(os.listdir(self.folder), ["f.svg"])

    def test_a_picture_where_nobody_draws(self):
        result = subprocess.run([PANTO, "repl", "--engine", self.engine, "-c", self.PICTURE], cwd=self.folder, text=True,
                                env=os.environ | {"PATH": str(self.folder)}, capture_output=True, timeout=100)
        self.assertEqual(result.returncode, 1)
        self.assertIn("apt-get install graphviz", result.stderr)
        self.assertEqual(os.listdir(self.folder), [])

    def test_a_saved_session_is_a_program(self):
        script = ('Tensor x = tensor({1.f, 2.f});\nint f(int a) { return a; }\nint f(int a) { return a + 1; }\n'
                  'auto y = f(1);\nauto y = 2.5;\nfor (int i = 0; i < 2; ++i) std::cout << i << "\\n";\nx + 1.0f\ny\n'
                  ':save saved.cc\n')
        status, output, errors = run(self.engine, "-c", script, cwd=self.folder)
        self.assertEqual(status, 0, errors)
        subprocess.run(["g++", "-std=c++20", "saved.cc", f"-I{BUILD}/include", f"-I{BUILD}/gen", f"-L{BUILD}", "-lpanto",
                        f"-Wl,-rpath,{BUILD}", "-o", "saved"], cwd=self.folder, check=True, timeout=300)
        program = subprocess.run([self.folder / "saved"], capture_output=True, text=True, timeout=60)
        self.assertEqual((program.returncode, program.stdout), (0, output))


    def test_a_saved_session_that_uses_what_was_shown(self):
        script = "x = 20\nx + 1\n_ * 2\ny = Out[2] + _;\ny\n:save saved.cc\n"
        status, output, errors = run(self.engine, "-c", script, cwd=self.folder)
        self.assertEqual((status, output, errors), (0, "20\n21\n42\n63\n", "wrote saved.cc\n"))
        subprocess.run(["g++", "-std=c++20", "saved.cc", f"-I{BUILD}/include", f"-I{BUILD}/gen", f"-L{BUILD}", "-lpanto",
                        f"-Wl,-rpath,{BUILD}", "-o", "saved"], cwd=self.folder, check=True, timeout=300)
        program = subprocess.run([self.folder / "saved"], capture_output=True, text=True, timeout=60)
        self.assertEqual((program.returncode, program.stdout), (0, "21\n42\n63\n"))

    def test_time(self):
        for line in ("%timeit 1 + 1", ":time 1 + 1"):
            status, output, _ = run(self.engine, "-c", line, cwd=self.folder)
            self.assertEqual(status, 0)
            self.assertRegex(output, r"^[0-9.e+]+ \w+ \(best of \d+, \d+ runs each\)\n$")
        status, output, _ = run(self.engine, "-c", "%time once = 4\nonce", cwd=self.folder)
        self.assertEqual(status, 0)
        self.assertRegex(output, r"^4\n[0-9.e+-]+ \w+ \(once\)\n4\n$")


@unittest.skipUnless(os.environ.get("PANTO_SLOW"), "slow: ./dev test slow")
class Memory(unittest.TestCase):
    """Code that was compiled stays, as older inputs may be called; what it made is given back."""

    def check(self, engine, kilobytes):
        if not there(engine):
            self.skipTest(f"{engine} was not built: ./dev repl --engine {engine}")
        count = 600
        kinds = "t = t * 1.0f;\n", "Tensor u = t + t;\n"
        inputs = "".join(kinds[i % 2] for i in range(count))
        with tempfile.TemporaryDirectory() as folder:
            status, output, errors = run(engine, cwd=folder, text="Tensor t = fill({1000, 1000}, 1.0f);\nTensor u = t;\n:mem\n"
                                         + kinds[1] * 20 + ":mem\n" + inputs + ":mem\n")
        self.assertEqual((status, errors), (0, ""))
        process = [float(m) for m in re.findall(r"process +([0-9.]+) MB", output)]
        tensors = re.findall(r"CPU:0 +([0-9.]+) kB in use", output)
        self.assertEqual(tensors, ["4000.0", "8000.0", "8000.0"])
        self.assertEqual(len(process), 3, output)
        self.assertLess((process[2] - process[1]) * 1000 / count, kilobytes)  # the first ones load what all need

    def test_on_cling(self):
        self.check("cling", 150)

    def test_on_clang(self):
        self.check("clang", 70)


if __name__ == "__main__":
    unittest.main()
