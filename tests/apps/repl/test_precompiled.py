"""The headers of a session are compiled once: where they are kept, and when they are compiled again."""
import os
import pathlib
import subprocess
import tempfile
import unittest

from test_sessions import ENGINES, PANTO, there


class Precompiled(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.cache = pathlib.Path(folder.name)

    def run_in(self, engine, **environment):
        if not there(engine):
            self.skipTest(f"{engine} was not built: ./dev repl --engine {engine}")
        # Inline functions and templates of the header, used and first used in different inputs.
        code = "Tensor t = tensor({1.f, 2.f});\nstd::vector<Tensor> v{t, t};\nv[1].at({0})\nt.shape() == Shape{2}"
        kept = {k: v for k, v in os.environ.items() if k not in ("XDG_CACHE_HOME", "HOME")}
        result = subprocess.run([PANTO, "repl", "--engine", engine, "-c", code], env=kept | environment,
                                capture_output=True, text=True, timeout=120)
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "1.0  float32[], CPU:0\ntrue\n", ""))

    def files(self, kind, folder):
        return list((self.cache / folder).glob(f"*.{kind}"))

    def kept(self, engine):
        self.run_in(engine, XDG_CACHE_HOME=str(self.cache))
        [header], [noted] = self.files("pch", "panto"), self.files("from", "panto")
        self.assertEqual(sorted(os.listdir(self.cache / "panto")), sorted([header.name, noted.name]))
        self.assertEqual((self.cache / "panto").stat().st_mode & 0o777, 0o700)
        self.assertIn("/panto/lib/core/tensor/tensor.h: ", noted.read_text())
        self.assertIn("/panto/apps/repl/prelude.h: ", noted.read_text())
        made = header.stat()
        self.run_in(engine, XDG_CACHE_HOME=str(self.cache))
        self.assertEqual((header.stat().st_ino, header.stat().st_mtime_ns), (made.st_ino, made.st_mtime_ns))

        # A header was another one then.
        text = noted.read_text()
        line = next(l for l in text.splitlines() if "/lib/core/tensor/tensor.h: " in l)
        noted.write_text(text.replace(line, line.replace(" bytes", "0 bytes")))
        self.run_in(engine, XDG_CACHE_HOME=str(self.cache))
        self.assertNotEqual(header.stat().st_ino, made.st_ino)
        self.assertEqual(noted.read_text().count("\n"), text.count("\n"))

        # Half of it is gone.
        remade = header.stat()
        os.truncate(header, remade.st_size // 2)
        self.run_in(engine, XDG_CACHE_HOME=str(self.cache))
        self.assertGreater(header.stat().st_size, remade.st_size // 2)

    def test_kept_on_cling(self):
        self.kept("cling")

    @unittest.skipUnless(os.environ.get("PANTO_SLOW"), "slow: ./dev test slow")
    def test_kept_on_clang(self):
        self.kept("clang")

    def test_without_a_place(self):
        engine = next((e for e in ENGINES if there(e)), "clang")
        self.run_in(engine)
        self.run_in(engine, XDG_CACHE_HOME="/proc/none")
        self.run_in(engine, HOME=str(self.cache))
        self.assertEqual(len(self.files("pch", ".cache/panto")), 1)


if __name__ == "__main__":
    unittest.main()
