"""What the interop tests share: running the `panto` command, comparing arrays, and the closing line of counts."""

import contextlib
import dataclasses
import hashlib
import io
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
# oneDNN's kernels inside TensorFlow sum in another order; the plain ones are the reference.
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
REFERENCE = ROOT / "tests" / "reference"
CASES = [str(REFERENCE), str(REFERENCE / "ops")]  # where its modules are
PANTO = os.environ.get("PANTO")

needs_panto = unittest.skipUnless(PANTO, "the environment variable PANTO does not name the panto command")


class PantoFailed(AssertionError):
    """`panto` ended with another exit status than 0."""


def panto(*arguments, expect=0):
    """Runs the command; returns what it wrote to standard output. Its messages go into the error if it fails."""
    result = subprocess.run([PANTO, *map(str, arguments)], capture_output=True, text=True, timeout=600)
    if result.returncode != expect:
        command = " ".join(["panto", *map(str, arguments)])
        raise PantoFailed(f"`{command}` ended with {result.returncode}, not {expect}\n{result.stderr.strip()}")
    return result.stdout


def panto_run(model, feeds=None, fetches=(), targets=(), options=()):
    """`panto run MODEL` with arrays in and arrays out: {fetch name: array}."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        arguments = ["run", model, *options]
        if feeds:
            np.savez(folder / "feeds.npz", **feeds)
            arguments += ["--feeds", folder / "feeds.npz"]
        for name in fetches:
            arguments += ["--fetch", name]
        for name in targets:
            arguments += ["--target", name]
        arguments += ["--out", folder / "results.npz"]
        panto(*arguments)
        if not fetches and not (folder / "results.npz").exists():
            return {}
        with np.load(folder / "results.npz", allow_pickle=False) as results:
            return {name: results[name] for name in results.files}


def panto_gradient(model, feeds, x, outputs, second=False):
    """Of the sum of all elements of the outputs by x, or of the sum of its squares."""
    with tempfile.TemporaryDirectory() as folder:
        base = pathlib.Path(folder)
        np.savez(base / "feeds.npz", **feeds)
        program = pathlib.Path(os.environ["PANTO_BUILD"]) / "tests/gradients"
        command = [program, model, base / "feeds.npz", base / "out.npz", x + ("," if second else ""), *outputs]
        result = subprocess.run(command, capture_output=True, text=True, timeout=600)
        if result.returncode != 0:
            raise AssertionError(f"gradients of {model}: {result.stderr}")
        with np.load(base / "out.npz") as file:
            return file["gradient"]


def panto_function_library(model, name, inputs, outputs):
    """The bytes of a FunctionDefLibrary in which the model is a function of that name."""
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "library.pb"
        program = pathlib.Path(os.environ["PANTO_BUILD"]) / "tests/function_library"
        command = [program, model, name, out, ",".join(inputs), ",".join(outputs)]
        result = subprocess.run(command, capture_output=True, text=True, timeout=600)
        if result.returncode != 0:
            raise AssertionError(f"function library of {model}: {result.stderr}")
        return out.read_bytes()


def panto_fails(*arguments):
    """Runs the command, which must end with status 1 and, after what the graph printed, one line `error: ...` on
    standard error; returns that line."""
    result = subprocess.run([PANTO, *map(str, arguments)], capture_output=True, text=True, timeout=600)
    lines = result.stderr.strip().splitlines()
    errors = [line for line in lines if line.startswith("error: ")]
    if result.returncode != 1 or len(errors) != 1 or lines[-1] != errors[0]:
        raise PantoFailed(f"expected status 1 and one error line, got {result.returncode} and:\n{result.stderr}")
    return errors[0]


graphs = set()  # that TensorFlow made and our command read, in this process


def note_graph(graph_def):
    graphs.add(hashlib.sha256(graph_def.SerializeToString(deterministic=True)).hexdigest())


@contextlib.contextmanager
def saved(graph_def, suffix=".pb"):
    """A file with the graph, for as long as the block runs."""
    from google.protobuf import text_format

    note_graph(graph_def)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / f"graph{suffix}"
        if suffix == ".pbtxt":
            path.write_text(text_format.MessageToString(graph_def))
        else:
            path.write_bytes(graph_def.SerializeToString(deterministic=True))
        yield path


def as_array(value):
    """What a Session gives, as the array that an .npz file can hold: strings become NumPy's fixed-width `S`."""
    array = np.asarray(value)
    return array.astype("S") if array.dtype.kind in "OU" else array


def run_graph_def(graph_def, feeds=None, fetches=(), targets=()):
    """The same run in TensorFlow: {fetch name: array}."""
    import tensorflow as tf

    graph = tf.Graph()
    with graph.as_default():
        tf.import_graph_def(graph_def, name="")
    with tf.compat.v1.Session(graph=graph) as session:
        results = session.run(
            # Copies: some ops write to what they are given.
            [*map(tensor_name, fetches), *targets],
            {tensor_name(name): np.array(value) for name, value in (feeds or {}).items()},
        )
    return {name: as_array(value) for name, value in zip(fetches, results)}


def tensor_name(name):
    return name if ":" in name else name + ":0"


def read_graph_def(path):
    """A GraphDef from a .pb or .pbtxt file, as TensorFlow reads it."""
    from google.protobuf import text_format
    from tensorflow.core.framework import graph_pb2

    path = pathlib.Path(path)
    if path.suffix == ".pbtxt":
        return text_format.Parse(path.read_text(), graph_pb2.GraphDef())
    return graph_pb2.GraphDef.FromString(path.read_bytes())


def assert_same(test, actual, expected, name, rtol=2e-6, atol=2e-6):
    """Same dtype and shape; integers, bools and strings equal, floats within the tolerance and with the same NaNs."""
    actual, expected = np.asarray(actual), np.asarray(expected)
    test.assertEqual(actual.shape, expected.shape, f"shape of {name}")
    if expected.dtype.kind == "S":
        test.assertEqual(actual.dtype.kind, "S", f"dtype of {name}")
        test.assertEqual(actual.tolist(), expected.tolist(), name)
        return
    test.assertEqual(actual.dtype, expected.dtype, f"dtype of {name}")
    if expected.dtype.kind in "fc":
        np.testing.assert_allclose(actual, expected, rtol=rtol, atol=atol, err_msg=name)
    else:
        np.testing.assert_array_equal(actual, expected, err_msg=name)


class _Result(unittest.TextTestResult):
    """Counts what passed; the base class counts only what did not."""

    def __init__(self, *arguments, **keywords):
        super().__init__(*arguments, **keywords)
        self.passed = 0

    def addSuccess(self, test):
        super().addSuccess(test)
        self.passed += 1


@dataclasses.dataclass
class Outcome:
    """What running tests came to."""

    passed: int = 0
    failed: int = 0
    skipped: list = dataclasses.field(default_factory=list)  # a reason for each
    messages: str = ""
    graphs: set = dataclasses.field(default_factory=set)  # that TensorFlow made

    def add(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        self.graphs |= other.graphs

    def report(self):
        """Prints, last, `N passed, N failed`. Returns the exit status."""
        for reason in sorted(set(self.skipped)):
            print(f"skipped: {reason}")
        if self.graphs:
            print(f"{len(self.graphs)} graphs that TensorFlow made")
        print(f"{self.passed} passed, {self.failed} failed" + (f", {len(self.skipped)} skipped" if self.skipped else ""))
        return 1 if self.failed else 0


def run_suite(suite):
    """Runs it here; the messages tell what failed, and why."""
    messages = io.StringIO()
    result = unittest.TextTestRunner(stream=messages, verbosity=1, resultclass=_Result).run(suite)
    failed = len(result.failures) + len(result.errors) + len(result.unexpectedSuccesses)
    return Outcome(result.passed, failed, [reason for _, reason in result.skipped], messages.getvalue(), set(graphs))


def run_tests(names):
    """Runs the tests of these names (module.Class.test_x), in this process."""
    return run_suite(unittest.defaultTestLoader.loadTestsFromNames(names))


def main():
    """For `PYTHONPATH=tests/interop python test_x.py [NAME ...]`: this file's tests, or those whose name contains one of the words given."""
    words = sys.argv[1:]
    loader = unittest.TestLoader()
    if words:
        loader.testNamePatterns = [f"*{word}*" for word in words]
    outcome = run_suite(loader.loadTestsFromModule(sys.modules["__main__"]))
    print(outcome.messages, file=sys.stderr)
    sys.exit(outcome.report())
