"""The lines of tests/habits at the prompt: each shows what it shows in a compiled program. Each file runs on one of the
interpreters, in turn, and with PANTO_SLOW on all of them."""
import os
import pathlib
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(os.environ["PANTO_BUILD"])
sys.path.insert(0, str(HERE))
import generate  # noqa: E402: it stands beside this file

ENGINES = [e for e in ("cling", "clang") if (BUILD / "apps" / "repl" / f"libpanto_{e}.so").exists()]


class Habits(unittest.TestCase):
    def check(self, engine, script):
        result = subprocess.run([BUILD / "apps" / "panto", "repl", "--engine", engine, "--keep-going", script],
                                text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300)
        printed = result.stdout.splitlines()
        expected = [line for _, lines, _ in generate.pieces(script) for line in lines]
        # Errors end with source lines.
        shown = [got[:len(want)] if ": expected " in want else got for got, want in zip(printed, expected)]
        self.assertEqual(shown + printed[len(expected):], expected)


for number, script in enumerate(sorted(HERE.glob("*.cc"))):
    first = number % max(len(ENGINES), 1)
    for engine in ENGINES if os.environ.get("PANTO_SLOW") else ENGINES[first:first + 1]:
        def test(self, engine=engine, script=script):
            self.check(engine, script)
        setattr(Habits, f"test_{script.stem}_on_{engine}", test)

if not ENGINES:
    @unittest.skip("no interpreter was built: ./dev cling")
    class NoInterpreter(unittest.TestCase):
        def test(self):
            pass
