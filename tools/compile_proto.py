#!/usr/bin/env python3
"""Compiles one .proto for Meson, which wants the outputs in one folder while protoc keeps the path of the import.

compile_proto.py PROTOC IMPORT_ROOT PROTO DEPFILE OUT.pb.h OUT.pb.cc
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile


def main() -> None:
    protoc, root, proto, depfile, *outputs = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [protoc, f"--proto_path={root}", f"--cpp_out=dllexport_decl=PANTO_PROTO_API:{folder}",
             f"--dependency_out={folder}/deps", proto],
            check=True)
        made = pathlib.Path(folder) / proto
        for output in outputs:
            suffix = ".pb.h" if output.endswith(".h") else ".pb.cc"
            shutil.copyfile(made.with_suffix(suffix), output)
        text = (pathlib.Path(folder) / "deps").read_text()
    # protoc names the outputs it wrote; Ninja wants the ones it asked for.
    pathlib.Path(depfile).write_text(outputs[0] + ": " + text.split(": ", 1)[1])


main()
