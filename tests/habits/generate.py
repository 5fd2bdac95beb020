#!/usr/bin/env python3
"""generate.py SESSION.cc... > habits.cc: lines as one types them, and what they show, as test cases.

A session is C++ as at the prompt of `panto repl`: statements end with `;` or `}`, and a line that does not is a value to
be shown. Comments behind it are what it shows; an error is its message. The same files are run at the prompt itself by
test_habits.py.
"""
import pathlib
import re
import sys


def pieces(path):
    """(code, expected lines, number of the first line), by statement or value."""
    code, expected, begin, result = [], [], 0, []

    def finish():
        nonlocal code, expected
        if code:
            result.append(("\n".join(code), expected, begin))
        code, expected = [], []

    depth = 0
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if line.startswith("//"):
            if code:
                expected.append(line[3:])
            continue
        if not line.strip():
            continue
        if depth == 0:
            finish()
            begin = number
        code.append(line)
        bare = re.sub(r'"(\\.|[^"\\])*"', '""', line)
        depth += sum(bare.count(c) for c in "([{") - sum(bare.count(c) for c in ")]}")
    finish()
    return result


def is_statement(code):
    return code.rstrip().endswith((";", "}"))


def quoted(lines):
    return 'R"habit(' + "\n".join(lines) + ')habit"'


def case(path):
    out = [f"BOOST_AUTO_TEST_CASE({path.stem}) {{"]
    for code, expected, line in pieces(path):
        out.append(f'#line {line} "{path}"')
        if not is_statement(code):
            out.append(f"check_habit([&] {{ return panto::repl::text({code}); }}, {quoted(expected)}, {line});")
        elif expected:
            out.append(f"check_habit([&] {{ {code} return std::string(); }}, {quoted(expected)}, {line});")
        else:
            out.append(code)
    out.append("}")
    return "\n".join(out)


def main():
    print('#include "panto/tests/habits/check.h"\n')
    print("using namespace std;  // as in many a program\nusing namespace panto;\n")
    print("namespace {\n\nBOOST_AUTO_TEST_SUITE(habits)\n")
    for name in sys.argv[1:]:
        print(case(pathlib.Path(name).resolve()), end="\n\n")
    print("BOOST_AUTO_TEST_SUITE_END()\n\n}  // namespace")


if __name__ == "__main__":
    main()
