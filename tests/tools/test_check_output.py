"""tools/check_output.py: what counts as the same output."""
import importlib.util
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "tools" / "check_output.py"
spec = importlib.util.spec_from_file_location("check_output", SCRIPT)
check_output = importlib.util.module_from_spec(spec)
spec.loader.exec_module(check_output)
same = check_output.same_line


class CheckOutput(unittest.TestCase):
    def test_text_is_equal(self):
        self.assertTrue(same("a [b]? 1.5", "a [b]? 1.5"))
        self.assertFalse(same("a [b]? 1.5", "a [b]? 1.50"))
        self.assertFalse(same("iter 100 loss", "iter 101 loss", 1))
        self.assertFalse(same("iter 100 loss", "iter 100 losses", 1))

    def test_a_star_is_anything(self):
        self.assertTrue(same("took * s (*)", "took 0.3 s ([x])"))
        self.assertFalse(same("took * s", "took 0.3 m"))

    def test_numbers_within_the_tolerance(self):
        self.assertTrue(same("loss 0.100000", "loss 0.100009", 1e-5))
        self.assertFalse(same("loss 0.100000", "loss 0.100011", 1e-5))
        self.assertTrue(same("y = 2000.5 x + 1e-3", "y = 2000.51 x + 1.001e-3", 1e-5))
        self.assertFalse(same("y = 2.0 x", "y = -2.0 x", 1e-5))
        self.assertFalse(same("y = 2.0 x", "y = nan x", 1e-5))

    def test_the_width_of_a_column_is_free_with_a_tolerance(self):
        self.assertTrue(same("[[0.5       0.25 ]", "[[ 0.5000001 0.25]", 1e-5))
        self.assertFalse(same("[[0.5       0.25 ]", "[[ 0.5000001 0.25]"))

    def test_lines_are_not_lost(self):
        self.assertEqual(check_output.difference("a\nb\n", "a\nb\n"), "")
        self.assertIn("-b", check_output.difference("a\nb\n", "a\n"))
        self.assertIn("+c", check_output.difference("a\nb\n", "a\nb\nc\n"))

    def test_the_exit_status(self):
        with tempfile.TemporaryDirectory() as folder:
            expected = pathlib.Path(folder) / "x.expected"
            expected.write_text("ok 1.5\n")

            def check(program, *options):
                command = [sys.executable, SCRIPT, *options, expected, sys.executable, "-c", program]
                return subprocess.run(command, capture_output=True).returncode

            self.assertEqual(check("print('ok 1.5')"), 0)
            self.assertEqual(check("print('ok 1.6')"), 1)
            self.assertEqual(check("print('ok 1.6')", "--tolerance", "0.1"), 0)
            self.assertEqual(check("print('ok 1.5'); raise SystemExit(3)"), 1)


if __name__ == "__main__":
    unittest.main()
