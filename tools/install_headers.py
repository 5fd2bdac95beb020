#!/usr/bin/env python3
"""Installs the public headers below <prefix>/include/panto. `meson install` runs this.

install_headers.py SOURCE_ROOT (FOLDER | HEADER)... --not HEADER...

A FOLDER stands for all its *.h (not those of its subfolders), so a new header needs no line in a list. What follows
--not stays out.
"""
import os
import pathlib
import shutil
import sys


def main() -> None:
    root = pathlib.Path(sys.argv[1])
    prefix = pathlib.Path(os.environ["MESON_INSTALL_DESTDIR_PREFIX"]) / "include" / "panto"
    end = sys.argv.index("--not")
    internal = {root / name for name in sys.argv[end + 1:]}
    headers = []
    for name in sys.argv[2:end]:
        path = root / name
        headers += sorted(path.glob("*.h")) if path.is_dir() else [path]
    headers = [h for h in headers if h not in internal]
    for header in headers:
        target = prefix / header.relative_to(root)
        if not os.environ.get("MESON_INSTALL_QUIET"):
            print(f"Installing {header.relative_to(root)} to {target.parent}")
        if os.environ.get("MESON_INSTALL_DRY_RUN"):
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(header, target)


main()
