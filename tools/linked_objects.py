#!/usr/bin/env python3
"""Prints what the programs of a build folder are linked from: a line `program object` for each object file.

linked_objects.py BUILD
"""
import pathlib
import re
import sys

build = pathlib.Path(sys.argv[1]).resolve()
for line in (build / "build.ninja").read_text().splitlines():
    if match := re.match(r"build (\S+): cpp_LINKER ([^|]*)", line):
        program = pathlib.PurePosixPath(match[1])
        if not program.suffix:
            print(*(f"{program.name} {build / name}\n" for name in match[2].split() if name.endswith(".o")), sep="", end="")
