"""Runs every test_*.py here and in the rooms graphs and files; ends with `N passed, N failed`. Needs requirements.txt installed.

The environment variable PANTO names the `panto` command; without it only TensorFlow's half runs. As many processes as
there are processors, up to four, share the tests. With PANTO_INTEROP_EACH=N every N-th test of each class runs.
"""

import concurrent.futures
import multiprocessing
import os
import pathlib
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOMS = [str(HERE), str(HERE / "graphs"), str(HERE / "files")]
sys.path[:0] = ROOMS

import support

AT_ONCE = 20  # tests of one class that a process takes
EACH = int(os.environ.get("PANTO_INTEROP_EACH", "1"))


def leaves(suite):
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            yield from leaves(item)
        else:
            yield item


def portions(tests):
    """Lists of names of tests of one class, which share what setUpClass makes."""
    classes = {}
    for test in tests:
        classes.setdefault(type(test), []).append(test.id())
    for number, every in enumerate(classes.values()):
        names = every[number % min(EACH, len(every)) :: EACH]  # of every class at least one
        for first in range(0, len(names), AT_ONCE):
            yield names[first : first + AT_ONCE]


def main():
    loader = unittest.TestLoader()
    if sys.argv[1:]:
        loader.testNamePatterns = [f"*{word}*" for word in sys.argv[1:]]
    tests = [test for room in ROOMS for test in leaves(loader.discover(room, "test_*.py", room))]
    total = support.Outcome()
    for error in loader.errors:  # files that could not be read
        print(error, file=sys.stderr)
        total.failed += 1
    tests = [test for test in tests if type(test).__module__ != "unittest.loader"]
    # TensorFlow does not survive a fork.
    processes = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(min(4, os.cpu_count()), mp_context=processes) as pool:
        running = {pool.submit(support.run_tests, names): names for names in portions(tests)}
        for future in concurrent.futures.as_completed(running):
            try:
                outcome = future.result()
            except concurrent.futures.process.BrokenProcessPool:  # one of those that ran has crashed
                names = running[future]
                outcome = support.Outcome(failed=len(names), messages=f"not run to their end: {' '.join(names)}")
            if outcome.failed:
                print(outcome.messages, file=sys.stderr)
            total.add(outcome)
    return total.report()


if __name__ == "__main__":
    sys.exit(main())
