#!/usr/bin/env python3
"""Compiles a function of PyTorch's ahead of time (AOTInductor), for torch.cc.

torch_package.py FOLDER WORK INPUT...   prints the path of a package in FOLDER, made now if it is not there; or "none"
"""
import hashlib
import os
import pathlib
import sys

import torch

import contestant
import torch_contestant


def function_of(work, x):
    """(function, its inputs), or None."""
    if work == "resnet_inference":
        return torch_contestant.resnet_for_inference(x[2:]), x[:1]
    if work in torch_contestant.NEEDS_GRADIENTS:
        return None  # which are not exported
    f = torch_contestant.WORKS.get(work)
    return f and (f, x)


def main():
    folder, work, *inputs = sys.argv[1:]
    source = pathlib.Path(torch_contestant.__file__).read_text()
    key = hashlib.sha256("\n".join([torch.__version__, source, work, *inputs]).encode()).hexdigest()[:16]
    path = pathlib.Path(folder) / f"{work}_{key}.pt2"
    if not path.exists():
        x = [torch_contestant.tensor(contestant.input_array(text, i + 1), contestant.form_of(text))
             for i, text in enumerate(inputs)]
        if not (found := function_of(work, x)):
            print("none")
            return
        f, x = found

        class Module(torch.nn.Module):
            def forward(self, *x):
                return f(*x)
        with torch.inference_mode():
            program = torch.export.export(Module(), tuple(x))
            partial = path.with_name("partial_" + path.name)  # it wants this ending
            path.parent.mkdir(parents=True, exist_ok=True)
            configs = {"aot_inductor.link_libtorch": False}  # whoever loads it has it, without CUDA
            torch._inductor.aoti_compile_and_package(program, package_path=str(partial), inductor_configs=configs)
        os.replace(partial, path)
    print(path)


if __name__ == "__main__":
    main()
