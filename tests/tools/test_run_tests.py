"""The test runner counts right, also when a program crashes, hangs or says nothing."""
import contextlib
import io
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import run_tests


class RunnerTest(unittest.TestCase):
    def script(self, text, timeout=20):
        with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
            file.write(text)
            file.flush()
            with contextlib.redirect_stdout(io.StringIO()):
                count = run_tests.run_script("x", [sys.executable, file.name], {}, timeout)
        return (count.passed, count.failed, count.skipped), count.failures

    def boost(self, text, filters=(), timeout=20, shown=False):
        """A abstract value for a Boost.Test program: `case(what, name)` writes a line of the log."""
        with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
            file.write("import os, sys\n"
                       "def case(*words): open(os.environ['PANTO_TEST_LOG'], 'a').write(' '.join(words) + '\\n')\n" + text)
            file.flush()
            with contextlib.redirect_stderr(io.StringIO()):
                count = run_tests.run_boost("x", [sys.executable, file.name], {}, timeout, list(filters))
        if shown:
            return count.shown
        return count and ((count.passed, count.failed, count.skipped), count.failures)

    def test_scripts(self):
        self.assertEqual(self.script("print('3 passed, 0 failed')"), ((3, 0, 0), []))
        self.assertEqual(self.script("print('3 passed, 0 failed, 2 skipped')"), ((3, 0, 2), []))
        self.assertEqual(self.script("print('3 passed, 1 failed'); exit(1)"), ((3, 1, 0), ["x: 1 failed"]))
        self.assertEqual(self.script("print('1 passed, 0 failed'); print('4 passed, 0 failed')"), ((4, 0, 0), []))
        self.assertEqual(self.script("pass"), ((1, 0, 0), []))
        self.assertEqual(self.script("exit(3)"), ((0, 1, 0), ["x: exit status 3"]))

    def test_a_script_that_says_it_passed_and_fails(self):
        self.assertEqual(self.script("print('3 passed, 0 failed'); exit(2)"), ((3, 1, 0), ["x: exit status 2"]))
        text = "print('3 passed, 0 failed', flush=True); import os; os.abort()"
        self.assertEqual(self.script(text), ((3, 1, 0), ["x: killed by SIGABRT"]))

    def test_a_script_that_hangs(self):
        self.assertEqual(self.script("import time; time.sleep(60)", timeout=1), ((0, 1, 0), ["x: did not end within 1 s"]))

    def test_unittest_scripts(self):
        text = ("import unittest\nclass T(unittest.TestCase):\n  def test_a(self): pass\n  def test_b(self): {}\n"
                "  @unittest.skip('why')\n  def test_c(self): pass\nunittest.main()\n")
        self.assertEqual(self.script(text.format("pass")), ((2, 0, 1), []))
        self.assertEqual(self.script(text.format("self.fail()")), ((1, 1, 1), ["x: 1 failed"]))

    def test_a_part_of_the_tests_of_a_folder(self):
        names = [f"test_{name}" for name in "abcde"]
        with tempfile.TemporaryDirectory() as folder:
            text = "import unittest\n" + "".join(f"class {c}(unittest.TestCase):\n" + "".join(
                f"  def {name}(self): print('{c}.{name}')\n" for name in names) for c in "AB")
            (pathlib.Path(folder) / "test_x.py").write_text(text)
            outputs = [subprocess.run([sys.executable, ROOT / "tests/run_python.py", folder, f"--part={k}/3"], text=True,
                                      check=True, capture_output=True).stdout.splitlines() for k in (1, 2, 3)]
        self.assertEqual([lines[-1] for lines in outputs], ["4 passed, 0 failed", "3 passed, 0 failed", "3 passed, 0 failed"])
        self.assertEqual(sorted(line for lines in outputs for line in lines[:-1]),
                         [f"{c}.{name}" for c in "AB" for name in names])

    def test_boost_programs(self):
        self.assertEqual(self.boost("case('start', 'a/b'); case('pass', 'a/b'); case('skip', 'a/c')"), ((1, 0, 1), []))
        self.assertEqual(self.boost("case('start', 'a/b'); case('fail', 'a/b'); exit(201)"), ((0, 1, 0), ["x: a/b"]))
        self.assertIsNone(self.boost("print('no test cases matching filter', file=sys.stderr); exit(200)", ["zz"]))

    def test_names_take_the_place_of_the_suites_of_a_program(self):
        self.assertEqual(run_tests.for_names(["x", "--run_test=a,b"], ["c"]), ["x"])
        self.assertEqual(run_tests.for_names(["x", "--run_test=a,b"], []), ["x", "--run_test=a,b"])

    def test_what_was_skipped_is_said(self):
        text = ("case('skip-suite', 'gpu: no GPU here'); case('skip', 'a/b: no kernel'); case('skip', 'a/c: no kernel')\n"
                "case('start', 'a/d'); case('pass', 'a/d')")
        self.assertEqual(self.boost(text), ((1, 0, 2), []))
        self.assertEqual(self.boost(text, shown=True), ["x: skipped the suite gpu: no GPU here", "x: skipped 2 cases: no kernel"])

    def test_a_program_of_many_cases_is_divided(self):
        listed = "".join(f"{suite}*\n" + "".join(f"    {row}*\n" + "        asked*\n" * cases for row in rows)
                         for suite, rows, cases in (("a", ["x y", "z"], 2), ("ops", ["A", "B-of 2^53", "C", "D"], 500)))
        with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
            file.write(f"import sys\nassert sys.argv[1:] == ['--list_content']\nsys.stderr.write({listed!r})\n")
            file.flush()
            command = [sys.executable, file.name]
            cases = run_tests.cases_of(command, {})
            parts = run_tests.parts_of(command, {}, 3)
            one = run_tests.parts_of(command, {}, 1)
            chosen = run_tests.parts_of([*command, "--run_test=a"], {}, 3)
        self.assertEqual(cases, {"a": {"x y": 2, "z": 2}, "ops": {"A": 500, "B-of 2^53": 500, "C": 500, "D": 500}})
        self.assertEqual([part[2:] for part in parts], [["--run_test=!ops/A,B-of 2^53", "--run_test=!ops/C,D"],
                                                        ["--run_test=ops/A,B-of 2^53"], ["--run_test=ops/C,D"]])
        self.assertEqual(one, [command])
        self.assertEqual(chosen, [[*command, "--run_test=a"]])

    def test_a_boost_program_that_crashes(self):
        counts, failures = self.boost("case('start', 'a'); case('pass', 'a'); case('start', 'b'); os.abort()")
        self.assertEqual(counts, (1, 1, 0))
        self.assertEqual(failures, ["x: b: killed by SIGABRT; the cases after it did not run"])
        self.assertEqual(self.boost("os.abort()"), ((0, 1, 0), ["x: killed by SIGABRT, outside any test case"]))
        # What a leak checker does: all cases pass and the program fails.
        self.assertEqual(self.boost("case('start', 'a'); case('pass', 'a'); exit(23)"),
                         ((1, 1, 0), ["x: exit status 23, outside any test case"]))

    def test_what_a_crashed_program_said_is_shown_again_at_the_end(self):
        said = "sys.stderr.write('warning: old\\n==7==ERROR: LeakSanitizer: detected\\n    #0 in f\\n'); exit(1)"
        _, failures = self.boost("case('start', 'a'); case('pass', 'a'); " + said)
        self.assertEqual(failures, ["x: exit status 1, outside any test case\n  ==7==ERROR: LeakSanitizer: detected\n"
                                    "      #0 in f"])
        _, failures = self.boost("case('start', 'a'); sys.stderr.write('terminate called\\n'); sys.stderr.flush(); os.abort()")
        self.assertEqual(failures, ["x: a: killed by SIGABRT; the cases after it did not run\n  terminate called"])

    def test_a_boost_program_that_hangs(self):
        counts, failures = self.boost("case('start', 'a'); import time; time.sleep(60)", timeout=1)
        self.assertEqual(counts, (0, 1, 0))
        self.assertEqual(failures, ["x: a: did not end within 1 s; the cases after it did not run"])


if __name__ == "__main__":
    unittest.main()
