#!/usr/bin/env python3
"""keras_names.py keras_names.tsv > keras_names_test.cc: that each name of the list which is said to be here is, in what
panto.h includes.

A line of the list has a module of Keras, a public name in it, and the name here (in namespace panto). Behind it stands
nothing, or `planned`: there is none yet. Without a name here, `-`, it is why there will be none.
tests/interop/test_keras_names.py holds that the list has Keras's names and no others.
"""
import pathlib
import sys


def rows(path):
    """(module, Keras's name, ours, note)"""
    lines = pathlib.Path(path).read_text().splitlines()
    return [tuple((line.split("\t") + [""])[:4]) for line in lines[1:]]


def main():
    here = sorted({ours for _, _, ours, note in rows(sys.argv[1]) if ours != "-" and note != "planned"})
    print('#include <boost/test/unit_test.hpp>\n\n#include "panto/panto.h"\n')
    print("// Each in a namespace of its own: some differ by their namespaces only.")
    for number, name in enumerate(here):
        print(f"namespace panto_keras_name_{number} {{ using panto::{name}; }}")
    print("\nBOOST_AUTO_TEST_SUITE(nn)\n")
    print("// They are found when this is compiled.")
    print(f"BOOST_AUTO_TEST_CASE(keras_names) {{ BOOST_TEST({len(here)} > 100); }}\n")
    print("BOOST_AUTO_TEST_SUITE_END()")


if __name__ == "__main__":
    main()
