"""`panto run --library` and `panto ops --library` with the library of tests/ops/plugin."""
import os
import pathlib
import struct
import subprocess
import tempfile
import unittest

BUILD = pathlib.Path(os.environ["PANTO_BUILD"])
PANTO = os.environ.get("PANTO", str(BUILD / "apps" / "panto"))
LIBRARY = str(BUILD / "tests" / "ops" / "plugin" / "libcube.so")

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

    def test_ops(self):
        text = self.panto("ops", "Cube", "--library", LIBRARY).stdout
        self.assertIn("x * x * x, element by element.", text)
        # In a namespace that the command cannot know.
        self.assertIn("\nC++        cube\n", text)
        self.assertIn("\nC++        panto::tanh\n", self.panto("ops", "Tanh", "--library", LIBRARY).stdout)


if __name__ == "__main__":
    unittest.main()
