"""Runs every tests/interop/test_*.py; ends with `N passed, N failed`. Needs requirements.txt installed.

The environment variable PANTO names the `panto` command; without it only TensorFlow's half runs.
"""

import pathlib
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import support

if __name__ == "__main__":
    loader = unittest.TestLoader()
    if sys.argv[1:]:
        loader.testNamePatterns = [f"*{word}*" for word in sys.argv[1:]]
    sys.exit(support.run_suite(loader.discover(str(HERE), pattern="test_*.py")))
