#!/usr/bin/env python3
"""Runs the test_*.py of a folder (unittest) and ends with `N passed, N failed[, N skipped]`.

run_python.py FOLDER [--part K/N] [NAME...]

With --part every N-th test, from the K-th: N processes that are given each K from 1 to N run them all, side by side.
"""
import argparse
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


def tests_in(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from tests_in(test)
        else:
            yield test


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--part", metavar="K/N", type=lambda text: tuple(map(int, text.split("/"))), default=(1, 1))
    parser.add_argument("names", nargs="*")
    options = parser.parse_intermixed_args()
    folder, (part, parts) = options.folder.resolve(), options.part
    loader = unittest.TestLoader()
    if options.names:
        loader.testNamePatterns = [f"*{word}*" for word in options.names]
    suite = loader.discover(str(folder), pattern="test_*.py", top_level_dir=str(folder))
    suite = unittest.TestSuite(list(tests_in(suite))[part - 1::parts])
    result = unittest.TextTestRunner(stream=sys.stderr, verbosity=1, resultclass=Result).run(suite)
    sys.stderr.flush()
    failed = len(result.failures) + len(result.errors) + len(result.unexpectedSuccesses)
    for test, reason in result.skipped:
        print(f"skipped: {test.id()}: {reason}")
    print(f"{result.passed} passed, {failed} failed" + (f", {len(result.skipped)} skipped" if result.skipped else ""))
    return 1 if failed else 0


sys.exit(main())
