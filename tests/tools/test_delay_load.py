"""tools/delay_load.py writes stubs for the machine of the compiler that it is given, with the compiler's options."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


class DelayLoadTest(unittest.TestCase):
    def write(self, functions, *compiler):
        with tempfile.TemporaryDirectory() as folder:
            names = pathlib.Path(folder) / "functions.txt"
            names.write_text(functions)
            made = pathlib.Path(folder) / "made.cc"
            run = subprocess.run([sys.executable, ROOT / "tools/delay_load.py", names, made, "--compiler", *compiler],
                                 capture_output=True, text=True)
            return run, made.read_text() if made.exists() else ""

    def test_a_compiler_may_have_options(self):
        run, text = self.write("[jpeg]\njpeg_read_header\njpeg_destroy\n", "cc", "--sysroot=/")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("num_delay_loaded = 2;", text)
        self.assertIn("libjpeg.so", text)

    def test_a_library_that_is_not_there_is_named(self):
        run, _ = self.write("[no_such_library]\nf\n", "cc")
        self.assertNotEqual(run.returncode, 0)
        self.assertIn("no_such_library", run.stderr)


if __name__ == "__main__":
    unittest.main()
