"""Compiles a .cu file for the host, as the kernels of a GPU that the CPU emulates (grid.h).

usage: compile.py SOURCE_ROOT OBJECT DEPFILE FILE.cu COMPILER...

What is CUDA's own in such a file is the launch, `kernel<<<blocks, threads, bytes, stream>>>(arguments)`. It becomes a call
of `panto::emulation::launcher`; all else are macros and functions of device.h. The headers below device/cuda contain
launches, too, so they are rewritten beside the object, and found there first.
"""

import pathlib
import re
import subprocess
import sys

OPENING, CLOSING = "([{", ")]}"


def end_of_bracket(text, start):
    """Returns the position after the bracket that closes the one at `start`."""
    depth = 0
    for i in range(start, len(text)):
        depth += (text[i] in OPENING) - (text[i] in CLOSING)
        if depth == 0:
            return i + 1
    raise ValueError("a bracket is not closed")


def start_of_name(text, end):
    """Returns where the name that ends at `end`, with its template arguments, begins."""
    i = end
    if text[i - 1] == ">":
        depth = 0
        while True:
            i -= 1
            depth += (text[i] == ">") - (text[i] == "<")
            if depth == 0:
                break
    while re.match(r"[\w:]", text[i - 1]):
        i -= 1
    return i


def without_launches(text):
    """Rewrites all launches; lines keep their numbers."""
    while (at := text.find("<<<")) >= 0:
        name_end = len(text[:at].rstrip())
        begin = start_of_name(text, name_end)
        end = at + 3
        while not text.startswith(">>>", end):
            end = end_of_bracket(text, end) if text[end] in OPENING else end + 1
        name, how = text[begin:name_end], text[at + 3:end]
        call = f"[=](auto... of_launch) {{ {name}(of_launch...); }}"
        text = text[:begin] + f"::panto::emulation::launcher({how}, {call})" + text[name_end:at] + text[end + 3:]
    return text


def write(path, text):
    """Writes a file unless it has this text."""
    if path.exists() and path.read_text() == text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def main():
    root, target, depfile, source = map(pathlib.Path, sys.argv[1:5])
    rewritten = target.with_suffix(".rewritten")
    for path in sorted((root / "device/cuda").rglob("*.cu*")):
        text = f'#line 1 "{path}"\n' + without_launches(path.read_text())
        write(rewritten / "panto" / path.relative_to(root), text)
    unit = rewritten / "unit.cc"
    is_unit = root / "device/cuda" not in source.parents  # that includes several of those files
    write(unit, source.read_text() if is_unit else f'#include "panto/{source.relative_to(root)}"\n')
    compiler = sys.argv[5:]
    first_option = next(i for i, word in enumerate(compiler) if word.startswith("-"))
    compiler.insert(first_option, f"-I{rewritten}")  # before the folders that have the same headers
    status = subprocess.run([*compiler, "-MD", "-MT", target, "-MF", depfile, "-c", unit, "-o",
                             target]).returncode
    if status == 0:
        depends = depfile.read_text().replace(str(rewritten / "panto"), str(root)).replace(str(unit), str(source))
        depfile.write_text(depends)
    return status


if __name__ == "__main__":
    sys.exit(main())
