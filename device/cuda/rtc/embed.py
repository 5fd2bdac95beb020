"""Writes C++ that holds the texts of headers, for programs that are compiled at run time.

usage: embed.py OUTPUT NAME=FILE...   (NAME: as #include writes it)
"""

import pathlib
import sys

DELIMITER = "header"


def main(output, *pairs):
    lines = [
        "// Made by device/cuda/rtc/embed.py.",
        '#include "panto/device/cuda/rtc/compile.h"',
        "",
        "namespace panto::cuda {",
        "",
        "std::span<const Header> headers() {",
        "  static constexpr Header kHeaders[] = {",
    ]
    for pair in pairs:
        name, file = pair.split("=", 1)
        text = pathlib.Path(file).read_text(encoding="utf-8")
        if f"){DELIMITER}\"" in text:
            sys.exit(f"embed.py: {file} has the text that ends a literal")
        lines.append(f'      {{"{name}", R"{DELIMITER}({text}){DELIMITER}"}},')
    lines += ["  };", "  return kHeaders;", "}", "", "}  // namespace panto::cuda", ""]
    pathlib.Path(output).write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
