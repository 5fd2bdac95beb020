#!/usr/bin/env python3
"""name_rows.py names.md > name_rows.cc: the rows of docs/names.md as a table for the prompt's hints.

Each foreign name is a row: what stands between backticks in one column, and the text of the last column.
"""
import pathlib
import re
import sys


def rows(text):
    """(what is typed elsewhere, the text of the column "here"), in the page's order."""
    for line in text.splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if len(cells) < 2 or cells[-1] == "here" or set("".join(cells)) <= set("-"):
            continue
        here = cells[-1].replace("\\|", "|")
        ours = re.findall(r"`([^`]+)`", here)
        for cell in cells[:-1]:
            for theirs in re.findall(r"`([^`]+)`", cell.replace("\\|", "|")):
                if theirs not in ours:
                    yield theirs, here.replace("`", "")


def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def main():
    found = list(rows(pathlib.Path(sys.argv[1]).read_text()))
    if not found:
        raise SystemExit(f"{sys.argv[1]}: expected tables whose last column is `here`, got none")
    print('#include "panto/apps/repl/text/names.h"\n\nnamespace panto::repl {\nnamespace {\n')
    print("constexpr NameRow kRows[] = {")
    for theirs, here in found:
        print(f"    {{{quoted(theirs)}, {quoted(here)}}},")
    print("};\n\n}  // namespace\n\nstd::span<const NameRow> name_rows() { return kRows; }\n\n}  // namespace panto::repl")


if __name__ == "__main__":
    main()
