#!/usr/bin/env python3
"""Runs a program and compares what it prints with a file: check_output.py [--tolerance T] EXPECTED PROGRAM [ARG...]

`*` in the file stands for anything within a line (times, paths). With --tolerance, numbers with a point or an exponent
may differ by T, or by T times their size where that is more, and blanks count only as one or none: the last digits of a
float, and so the width of a printed column, differ between processors. All else is equal, character by character.
"""
import argparse
import difflib
import pathlib
import re
import subprocess
import sys

NUMBER = r"[-+]?(?:\d+\.\d*|\.\d+|\d+(?=[eE][-+]?\d))(?:[eE][-+]?\d+)?"


def same_line(expected, actual, tolerance=0.0):
    if tolerance > 0:
        expected, actual = (re.sub(r"\s+", " ", re.sub(r"\s+(?=\])|(?<=\[)\s+", "", t)).strip() for t in (expected, actual))
    numbers = []

    def pattern(part):
        if part == "*":
            return ".*"
        if tolerance > 0 and re.fullmatch(NUMBER, part):
            numbers.append(float(part))
            return f"({NUMBER})"
        return re.escape(part)

    parts = re.split(rf"(\*|{NUMBER})", expected)
    found = re.fullmatch("".join(map(pattern, parts)), actual)
    return found is not None and all(
        abs(float(got) - want) <= tolerance * max(1.0, abs(want)) for got, want in zip(found.groups(), numbers))


def difference(expected, actual, tolerance=0.0):
    """Of two texts, as lines of a diff; "" where they agree."""
    old, new = expected.splitlines(), actual.splitlines()
    if len(old) == len(new) and all(same_line(e, a, tolerance) for e, a in zip(old, new)):
        return ""
    return "\n".join(difflib.unified_diff(old, new, "expected", "printed", lineterm=""))


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--tolerance", type=float, default=0.0)
    parser.add_argument("expected", type=pathlib.Path)
    parser.add_argument("program", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    result = subprocess.run(options.program, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    differs = difference(options.expected.read_text(), result.stdout, options.tolerance)
    if differs:
        print(differs)
    if result.returncode != 0:
        print(f"exit status {result.returncode}")
    return 1 if differs or result.returncode != 0 else 0


if __name__ == "__main__":
    sys.exit(main())
