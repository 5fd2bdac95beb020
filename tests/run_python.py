#!/usr/bin/env python3
"""Runs the test_*.py of a folder (unittest) and ends with `N passed, N failed[, N skipped]`.

run_python.py FOLDER [NAME...]
"""
import pathlib
import sys
import unittest


class Result(unittest.TextTestResult):
    """Counts what passed; the base class counts only what did not."""

    def __init__(self, *arguments, **keywords):
        super().__init__(*arguments, **keywords)
        self.passed = 0

    def addSuccess(self, test):
        super().addSuccess(test)
        self.passed += 1


def main():
    folder = pathlib.Path(sys.argv[1]).resolve()
    loader = unittest.TestLoader()
    if sys.argv[2:]:
        loader.testNamePatterns = [f"*{word}*" for word in sys.argv[2:]]
    suite = loader.discover(str(folder), pattern="test_*.py", top_level_dir=str(folder))
    result = unittest.TextTestRunner(stream=sys.stderr, verbosity=1, resultclass=Result).run(suite)
    sys.stderr.flush()
    failed = len(result.failures) + len(result.errors) + len(result.unexpectedSuccesses)
    for test, reason in result.skipped:
        print(f"skipped: {test.id()}: {reason}")
    print(f"{result.passed} passed, {failed} failed" + (f", {len(result.skipped)} skipped" if result.skipped else ""))
    return 1 if failed else 0


sys.exit(main())
