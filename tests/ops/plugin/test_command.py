"""`panto run --library`, `panto ops --library` and `panto optimize --pass-library` with the libraries of tests/ops/plugin."""
import os
import pathlib
import struct
import subprocess
import tempfile
import unittest

BUILD = pathlib.Path(os.environ["PANTO_BUILD"])
PANTO = os.environ.get("PANTO", str(BUILD / "apps" / "panto"))
LIBRARY = str(BUILD / "tests" / "ops" / "plugin" / "libcube.so")

PASSES = str(BUILD / "tests" / "ops" / "plugin" / "libsquares_pass.so")

SQUARE = """
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
node { name: "y" op: "Square" input: "x" attr { key: "T" value { type: DT_FLOAT } } }
node { name: "z" op: "Neg" input: "y" attr { key: "T" value { type: DT_FLOAT } } }
"""

GRAPH = """
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
node { name: "y" op: "Cube" input: "x" attr { key: "T" value { type: DT_FLOAT } } }
"""


def npy(values):
    """The bytes of a float32 vector's .npy file."""
    header = "{'descr': '<f4', 'fortran_order': False, 'shape': (%d,), }" % len(values)
    header += " " * (-(len(header) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + struct.pack(f"<{len(values)}f", *values)


class Command(unittest.TestCase):
    def panto(self, *arguments, status=0):
        result = subprocess.run([PANTO, *map(str, arguments)], capture_output=True, text=True, timeout=60)
        self.assertEqual(result.returncode, status, result.stderr)
        return result

    def test_run(self):
        with tempfile.TemporaryDirectory() as folder:
            model, feed = pathlib.Path(folder) / "cube.pbtxt", pathlib.Path(folder) / "x.npy"
            model.write_text(GRAPH)
            feed.write_bytes(npy([1, -2, 3]))
            run = ["run", model, "--feed", f"x={feed}"]
            self.assertIn("[ 1. -8. 27.]", self.panto(*run, "--library", LIBRARY).stdout)
            self.assertIn("error: Unimplemented: ", self.panto(*run, status=1).stderr)

    def test_passes(self):
        with tempfile.TemporaryDirectory() as folder:
            model, out = pathlib.Path(folder) / "square.pbtxt", pathlib.Path(folder) / "out.pbtxt"
            feed = pathlib.Path(folder) / "x.npy"
            model.write_text(SQUARE)
            feed.write_bytes(npy([1, -2, 3]))
            text = self.panto("optimize", model, out, "--pass-library", PASSES).stdout
            self.assertRegex(text, r"\nsquares_to_products +1 changes\n")
            self.assertIn('op: "Mul"', out.read_text())
            self.assertNotIn('op: "Square"', out.read_text())
            self.panto("optimize", model, out, "--pass-library", PASSES, "--optimize", "-squares_to_products")
            self.assertIn('op: "Square"', out.read_text())
            self.assertIn("error: InvalidArgument: passes: ",
                          self.panto("optimize", model, out, "--optimize", "squares_to_products", status=1).stderr)
            run = ["run", model, "--feed", f"x={feed}", "--optimize", "squares_to_products"]
            self.assertIn("[-1. -4. -9.]", self.panto(*run, "--pass-library", PASSES).stdout)
            self.assertIn("expected a library whose panto_add_passes adds passes",
                          self.panto(*run, "--pass-library", LIBRARY, status=1).stderr)

    def test_ops(self):
        text = self.panto("ops", "Cube", "--library", LIBRARY).stdout
        self.assertIn("x * x * x, element by element.", text)
        # In a namespace that the command cannot know.
        self.assertIn("\nC++        cube\n", text)
        self.assertIn("\nC++        panto::tanh\n", self.panto("ops", "Tanh", "--library", LIBRARY).stdout)


if __name__ == "__main__":
    unittest.main()
