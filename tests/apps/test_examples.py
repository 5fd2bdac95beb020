"""The example programs end where mathematics says: at the least-squares fit, computed here from its closed form.

That they print what their .expected files say is a test of its own for each (apps/meson.build).
"""
import fractions
import os
import pathlib
import re
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("PANTO_BUILD", ROOT / "build" / "release"))
EXAMPLES = ROOT / "apps" / "examples"
REGRESSIONS = ["linear_regression", "linear_regression_eager"]


def points(source):
    """The two lists of numbers of a program, as (x, y)."""
    lists = re.findall(r"= tensor\(\{([^{}]+)\}\)", source)
    xs, ys = ([fractions.Fraction(n.strip().removesuffix("f")) for n in text.split(",")] for text in lists)
    return list(zip(xs, ys, strict=True))


def least_squares(data):
    """Slope, intercept and mean square error of the best line, exactly."""
    n = len(data)
    mean_x, mean_y = sum(x for x, _ in data) / n, sum(y for _, y in data) / n
    slope = sum((x - mean_x) * (y - mean_y) for x, y in data) / sum((x - mean_x)**2 for x, _ in data)
    intercept = mean_y - slope * mean_x
    return slope, intercept, sum((slope * x + intercept - y)**2 for x, y in data) / n


class LinearRegression(unittest.TestCase):
    def check(self, name, text):
        slope, intercept, error = map(float, least_squares(points((EXAMPLES / f"{name}.cc").read_text())))
        lines = text.splitlines()
        iterations = [re.fullmatch(r"iter (\d+) training loss (\d+\.\d{6})", line) for line in lines[:-1]]
        self.assertEqual([int(m[1]) for m in iterations], list(range(100, 1001, 100)))
        for found in iterations:
            # At 100 steps (1 - 2 * 0.3 * var x)^100 < 1e-11 of the way is left: what remains is float32's rounding.
            self.assertAlmostEqual(float(found[2]), error, delta=2e-6)
        found = re.fullmatch(r"y = (-?\d+\.\d{3}) x \+ (-?\d+\.\d{3})", lines[-1])
        self.assertAlmostEqual(float(found[1]), slope, delta=6e-4)
        self.assertAlmostEqual(float(found[2]), intercept, delta=6e-4)

    def test_ends_at_the_least_squares_fit(self):
        for name in REGRESSIONS:
            with self.subTest(example=name):
                program = BUILD / "apps" / f"example_{name}"
                result = subprocess.run([program], capture_output=True, text=True, timeout=60)
                self.assertEqual((result.returncode, result.stderr), (0, ""))
                self.check(name, result.stdout)

    def test_the_expected_output_is_that_fit(self):
        for name in REGRESSIONS:
            with self.subTest(example=name):
                self.check(name, (EXAMPLES / "expected" / f"{name}.expected").read_text())

    def test_both_have_the_same_points(self):
        first, second = (points((EXAMPLES / f"{name}.cc").read_text()) for name in REGRESSIONS)
        self.assertEqual(first, second)


class Placement(unittest.TestCase):
    def test_logs_every_node_of_both_sessions_as_tensorflow_does(self):
        """Four products on four devices by hand; by cost each is on one of its own, too."""
        result = subprocess.run([BUILD / "apps" / "example_placement"], capture_output=True, text=True, timeout=60)
        self.assertEqual(result.returncode, 0, result.stderr)
        line = r"(\S+): \((\w+)\): /job:localhost/replica:0/task:0/device:CPU:(\d)"
        found = [re.fullmatch(line, text).groups() for text in result.stderr.splitlines()]
        self.assertEqual(len(found), 2 * 11)
        by_hand, by_cost = dict((n, (o, d)) for n, o, d in found[:11]), dict((n, (o, d)) for n, o, d in found[11:])
        for i in range(4):
            self.assertEqual(by_hand[f"product{i}"], ("MatMul", str(i)))
            self.assertEqual(by_hand[f"w{i}"], ("Placeholder", str(i)))
        self.assertEqual(by_hand["y"][1], "0")
        self.assertEqual({by_cost[f"product{i}"][1] for i in range(4)}, set("0123"))


if __name__ == "__main__":
    unittest.main()
