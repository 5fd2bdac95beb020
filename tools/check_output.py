#!/usr/bin/env python3
"""Runs a program and compares what it prints with a file: check_output.py EXPECTED PROGRAM [ARG...]

`*` in the file stands for anything within a line (times, paths).
"""
import difflib
import fnmatch
import pathlib
import re
import subprocess
import sys


def main():
    expected = pathlib.Path(sys.argv[1]).read_text().splitlines()
    result = subprocess.run(sys.argv[2:], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    actual = result.stdout.splitlines()
    # Only `*` is special; fnmatch would also read ? and [.
    patterns = [re.sub(r"([?\[])", r"[\1]", line) for line in expected]
    same = len(actual) == len(patterns) and all(fnmatch.fnmatchcase(a, p) for a, p in zip(actual, patterns))
    if not same:
        print("\n".join(difflib.unified_diff(expected, actual, "expected", "printed", lineterm="")))
    if result.returncode != 0:
        print(f"exit status {result.returncode}")
    return 0 if same and result.returncode == 0 else 1


sys.exit(main())
