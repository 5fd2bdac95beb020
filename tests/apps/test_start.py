"""What a program loads when it starts, and what only when it is used (lib/base/delay_load)."""
import os
import pathlib
import re
import subprocess
import tempfile
import unittest
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("PANTO_BUILD", ROOT / "build" / "release"))
PANTO = BUILD / "apps" / "panto"


def libraries():
    """The libraries that lib/base/delay_load/functions.txt names, without "lib" and ".so"."""
    text = (ROOT / "lib/base/delay_load/functions.txt").read_text()
    return re.findall(r"^\[(\w+)", text, re.MULTILINE)


def run(arguments, **environment):
    result = subprocess.run([PANTO, *arguments], capture_output=True, text=True, env=os.environ | environment,
                            timeout=120)
    return result.returncode, result.stdout, result.stderr


def loaded(arguments):
    """File names of the shared libraries that a run of the command has loaded."""
    status, _, trace = run(arguments, LD_DEBUG="files")
    assert status == 0, trace
    return {pathlib.Path(path).name for path in re.findall(r"calling init: (\S+)", trace)}


class Start(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.archive = self.folder / "a.npz"
        with zipfile.ZipFile(self.archive, "w") as file:
            header = "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }".ljust(117) + "\n"
            file.writestr("x.npy", b"\x93NUMPY\x01\x00\x76\x00" + header.encode() + bytes(4))

    def test_nothing_heavy_is_loaded_before_it_is_used(self):
        names = libraries()
        self.assertIn("dnnl", names)
        at_start, reading = loaded(["--version"]), loaded(["inspect", self.archive])
        self.assertTrue(any(file.startswith("libpanto.so") for file in at_start), at_start)
        for name in names:
            with self.subTest(library=name):
                self.assertFalse([file for file in at_start if file.startswith(f"lib{name}.so")])
        self.assertEqual({name for name in names if any(file.startswith(f"lib{name}.so") for file in reading)}, {"zip"})

    def test_a_library_that_is_no_library_is_an_error_of_the_call(self):
        soname = next(file for file in loaded(["inspect", self.archive]) if file.startswith("libzip.so"))
        (self.folder / soname).write_bytes(b"")
        status, output, errors = run(["inspect", self.archive], LD_LIBRARY_PATH=str(self.folder))
        self.assertEqual((status, output), (1, ""), errors)
        self.assertRegex(errors, rf"\Aerror: NotFound: [^\n]*{re.escape(soname)}: expected a library with the function "
                                 r"zip_\w+, got: [^\n]+\n\Z")


if __name__ == "__main__":
    unittest.main()
