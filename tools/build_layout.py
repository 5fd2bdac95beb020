#!/usr/bin/env python3
"""Lays out a build folder so that "panto/lib/core/tensor/tensor.h" is found in it. Meson runs this when it configures.

build_layout.py SOURCE_ROOT BUILD_ROOT

<build>/include/panto    is a link to the source tree.
<build>/gen/panto/...    holds one line per generated header that leads to the file Meson makes. (Meson can only put its
                         outputs at <build>/<folder of the meson.build>; a link would hide them from Ninja, which
                         compares the names of files and would rebuild too late.)
"""
import os
import pathlib
import sys


def write_if_different(path: pathlib.Path, text: str) -> None:
    if path.exists() and path.read_text() == text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def main() -> None:
    source, build = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    (build / "include").mkdir(exist_ok=True)
    link = build / "include" / "panto"
    target = os.path.relpath(source, link.parent)
    if not link.is_symlink() or os.readlink(link) != target:
        link.unlink(missing_ok=True)
        link.symlink_to(target)

    # As it is included, and as Meson makes it.
    generated = {"lib/base/version.h": "lib/base/version.h"}
    families = {p.parent.name for p in source.glob("lib/ops/*/*.cc")}
    generated |= {f"ops/{family}.h": f"lib/ops/{family}.h" for family in sorted(families)}
    generated |= {f"lib/ops/{family}_types.h": f"lib/ops/{family}_types.h" for family in sorted(families)}
    for proto in sorted(source.glob("lib/graph/proto/*.proto")):
        header = proto.relative_to(source).with_suffix(".pb.h").as_posix()
        generated[header] = header
    for stale in (build / "gen" / "panto").rglob("*.h"):  # of an older layout: it would hide a header of that name
        if stale.relative_to(build / "gen" / "panto").as_posix() not in generated:
            stale.unlink()
    for name, made in generated.items():
        here = build / "gen" / "panto" / name
        write_if_different(here, f'#include "{os.path.relpath(build / made, here.parent)}"\n')


main()
