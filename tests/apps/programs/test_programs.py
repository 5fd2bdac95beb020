"""The programs of `panto train`: what a quick form of each prints, and that they lose as TensorFlow does.

tests/reference/training/program_cases.py has made the first values, orders and losses of tests/reference/programs/NAME.npz.
"""
import fractions
import os
import pathlib
import re
import struct
import subprocess
import tempfile
import unittest
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
BUILD = pathlib.Path(os.environ.get("PANTO_BUILD", ROOT / "build" / "release"))
PANTO = BUILD / "apps" / "panto"
SOURCES = ROOT / "apps" / "programs"
REFERENCE = ROOT / "tests" / "reference" / "programs"

LOSS = r"step \d+ loss \d+\.\d{6}"
# Of each program the lines that it prints, as (pattern, how often); 0: as often as it likes.
OUTPUTS = {
    "autoencoder": [(LOSS, 10), (r"[ ░▒▓█]*", 0), (r"kept of other digits [4-9]\d\.\d % of the variance", 1)],
    "character_gpt": [(LOSS, 10), (r"And God .*", 1), (r".*", 0), (r"\d+ tokens a second", 1)],
    "character_lstm": [(LOSS, 10), (r"And God .*", 1), (r".*", 0), (r"\d+ tokens a second", 1)],
    "feature_dnn": [(r"2201 people, 440 of them kept", 1), (LOSS, 10), (r"right about [78]\d\.\d % of those kept", 1)],
    "kmeans": [(r"Found in \d+\.\d\d seconds \d+ iterations", 1),
               (r"center \d: -?\d\.\d{3} -?\d\.\d{3}, 2\d\d\d points", 4),
               (r"each center within 0\.1 of its cloud's: yes", 1),
               (r"each point in the cluster of the nearest center: yes", 1),
               (r"each center the mean of its points: yes", 1)],
    "linear_regression": [(r"iter step \d+ training loss \d+\.\d{6}", 1000), (r"W \d\.\d{5} b \d\.\d{5}", 1)],
    "linear_regression_eager": [(r"iter step \d+ training loss \d+\.\d{6}", 1000), (r"W \d\.\d{5} b \d\.\d{5}", 1)],
    "logistic_regression": [(r"iter step \d+ training loss \d\.\d{6} accuracy 0\.\d{6}", 100)],
    "mnist_cnn": [(LOSS, 2), (r"accuracy on 2000 other digits [89]\d\.\d\d %", 1)],
    "mnist_dnn": [(r"After \d+ training step\(s\), loss on training batch is 0\.\d+\.", 10), (r"Finish Model Train:", 1),
                  (r"Layer-Weight-0:", 1), (r"[\[ ].*", 0), (r"Layer-Weight-1:", 1), (r"[\[ ].*", 0),
                  (r"MNIST DNN All Finish", 1)],
    "queue_pipeline": [(r"batches of 8 8 8 8 8 8 6", 1), (r"54 lines read", 1), (r"(apple|cherry|plum): 90", 3)],
    "seq2seq": [(LOSS, 10), (r"digits right (9\d|100)\.\d %", 1),
                (r"/device:CPU:0 has nodes, /device:CPU:1 has nodes, transfers between them", 1)],
    "transfer": [(LOSS, 10), (r"accuracy on other digits from 5 to 9 9[5-9]\.\d\d %", 1),
                 (r"the body's bytes are unchanged", 1)],
    "wide_deep": [(r"2201 people, 440 of them kept", 1),
                  (r"(deep|wide and deep): loss 0\.\d{6}, right about [78]\d\.\d % of those kept", 2)],
    "word2vec": [(r"step \d+ mean loss \d+\.\d{6}", 10), (r"near '\w+':( \w+){5}", 3)],
}
# Whose losses must have fallen to this share of the first one.
FALLS = {"autoencoder": 0.5, "character_gpt": 0.75, "character_lstm": 0.75, "feature_dnn": 0.8, "seq2seq": 0.5, "word2vec": 0.98}


def run(*arguments, **options):
    return subprocess.run([PANTO, "train", *arguments], capture_output=True, text=True, timeout=120, **options)


def quick(name, *arguments):
    result = run(name, "--quick", *arguments)
    assert (result.returncode, result.stderr) == (0, ""), result.stderr
    return result.stdout


def read_npy(data):
    length = struct.unpack("<H", data[8:10])[0]
    assert b"'<f8'" in data[:10 + length]
    body = data[10 + length:]
    return list(struct.unpack(f"<{len(body) // 8}d", body))


def reference_losses(name):
    with zipfile.ZipFile(REFERENCE / f"{name}.npz") as archive:
        return read_npy(archive.read("losses.npy"))


class Command(unittest.TestCase):
    def test_lists_every_program_with_a_line(self):
        lines = run("--list").stdout.splitlines()
        self.assertEqual([line.split()[0] for line in lines], sorted(OUTPUTS))
        for line in lines:
            self.assertRegex(line, r"\w+ +\w+.* \w+")

    def test_every_program_is_short_and_has_a_paragraph(self):
        readme = (SOURCES / "README.md").read_text()
        for name in OUTPUTS:
            self.assertLess(len((SOURCES / f"{name}.cc").read_text().splitlines()), 150)
            self.assertIn(f"## {name}\n", readme)

    def test_says_what_is_wrong(self):
        for arguments, status, text in [
            (["nothing"], 1, "error: NotFound: program 'nothing': expected one that `panto train --list` names, got none"),
            ([], 2, "NAME or --list is required"),
            (["kmeans", "--list"], 2, "NAME excludes --list"),
            (["kmeans", "--steps", "0"], 2, "--steps"),
            (["mnist_dnn", "--data", "/nowhere"], 1, "error: NotFound: "),
            (["mnist_dnn", "--start", str(REFERENCE / "linear_regression.npz")], 1, "expected an array 'W0'"),
            (["mnist_dnn", "--steps", "101", "--start", str(REFERENCE / "mnist_dnn.npz")], 1,
             "expected 'order' to be [101 or more, 100], got"),
            (["character_lstm", "--data", "/dev/null"], 1, "expected a file or a pipe, got a device"),
            (["linear_regression", "--save", "w.txt"], 1, "error: InvalidArgument: "),
        ]:
            with self.subTest(arguments=arguments):
                result = run(*arguments)
                self.assertEqual(result.returncode, status, result.stderr)
                self.assertIn(text, result.stderr)


class Programs(unittest.TestCase):
    def expect_lines(self, name, text):
        lines = text.splitlines()
        for pattern, count in OUTPUTS[name]:
            found = 0
            while lines and re.fullmatch(pattern, lines[0]) and (count == 0 or found < count):
                if count == 0 and len(lines) == 1:
                    break  # the last line belongs to the last pattern
                lines.pop(0)
                found += 1
            if count > 0:
                self.assertEqual(found, count, f"{name}: {pattern}: {text}")
        self.assertEqual(lines, [], name)

    def test_each_prints_what_it_should_and_learns(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in OUTPUTS:
                with self.subTest(program=name):
                    losses = pathlib.Path(folder) / f"{name}.npy"
                    saved, picture, graph = (
                        pathlib.Path(folder) / f"{name}.{end}" for end in ("safetensors", "png", "pb"))
                    text = quick(name, "--losses", losses, "--save", saved, "--picture", picture, "--graph", graph)
                    self.expect_lines(name, text)
                    self.assertEqual(saved.exists(), name != "queue_pipeline")
                    self.assertEqual(picture.exists(), name == "autoencoder")
                    self.assertEqual(graph.exists(), name in ("feature_dnn", "wide_deep"))
                    if name in FALLS:
                        values = read_npy(losses.read_bytes())
                        self.assertLess(sum(values[-5:]) / 5, FALLS[name] * values[0])

    def test_seeds_tell_runs_apart(self):
        one, again, other = (quick("mnist_dnn", "--seed", seed) for seed in "112")
        self.assertEqual(one, again)
        self.assertNotEqual(one, other)

    def test_the_losses_are_those_of_tensorflow(self):
        files = sorted(REFERENCE.glob("*.npz"))
        self.assertGreaterEqual(len(files), 12)
        line = REFERENCE / "linear_regression.npz"
        with tempfile.TemporaryDirectory() as folder:
            for name, file in [(file.stem, file) for file in files] + [("linear_regression_eager", line)]:
                with self.subTest(program=name):
                    expected = reference_losses(file.stem)
                    losses = pathlib.Path(folder) / f"{name}.npy"
                    quick(name, "--start", file, "--steps", str(len(expected)), "--losses", losses)
                    found = read_npy(losses.read_bytes())
                    self.assertEqual(len(found), len(expected))
                    for i, (got, want) in enumerate(zip(found, expected)):
                        self.assertLessEqual(abs(got - want), 1e-4 * max(1, abs(want)), f"step {i + 1}")


def points(source):
    """The two lists of numbers of a program, as (x, y)."""
    lists = re.findall(r"= tensor\(\s*\{([^{}]+)\}\)", source)
    xs, ys = ([fractions.Fraction(n.strip().removesuffix("f")) for n in text.split(",")] for text in lists)
    return list(zip(xs, ys, strict=True))


def least_squares(data):
    """Slope and intercept of the best line, and the sum of its squares, exactly."""
    n = len(data)
    mean_x, mean_y = sum(x for x, _ in data) / n, sum(y for _, y in data) / n
    slope = sum((x - mean_x) * (y - mean_y) for x, y in data) / sum((x - mean_x)**2 for x, _ in data)
    intercept = mean_y - slope * mean_x
    return slope, intercept, sum((slope * x + intercept - y)**2 for x, y in data)


class LinearRegression(unittest.TestCase):
    def test_both_end_at_the_least_squares_fit(self):
        data = points((SOURCES / "linear_regression.cc").read_text())
        self.assertEqual(points((SOURCES / "linear_regression_eager.cc").read_text()), data)
        slope, intercept, error = map(float, least_squares(data))
        for name in ["linear_regression", "linear_regression_eager"]:
            with self.subTest(program=name):
                lines = quick(name).splitlines()
                self.assertAlmostEqual(float(lines[-2].split()[-1]), error, delta=1e-5)
                found = re.fullmatch(r"W (\S+) b (\S+)", lines[-1])
                self.assertAlmostEqual(float(found[1]), slope, delta=1e-4)
                self.assertAlmostEqual(float(found[2]), intercept, delta=1e-4)


if __name__ == "__main__":
    unittest.main()
