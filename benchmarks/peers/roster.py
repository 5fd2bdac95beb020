"""The contestants: how each is compiled, started and asked for its version."""
import os
import pathlib
import re
import subprocess

from race import Contestant
from workloads import TRACED_TOO

HERE = pathlib.Path(__file__).resolve().parent
COMPILER = ["g++", "-std=c++20", "-O2"]


class Places:
    """`build`: what Meson made; `own`: what is compiled here; `venv`: where requirements.txt is installed."""

    def __init__(self, build, own, venv):
        self.build, self.own, self.venv = build, own, venv
        self.python = venv / "bin" / "python3"
        self.packages = next(venv.glob("lib/python3*/site-packages"))


class Torch:
    """Of the CUDA build's libraries these two are what its CPU part needs."""
    header = "torch/torch.h"

    @staticmethod
    def flags(places):
        torch, cuda = places.packages / "torch", places.packages / "nvidia/cu13/lib"
        return ([f"-isystem{torch}/include", f"-isystem{torch}/include/torch/csrc/api/include"],
                [f"-L{torch}/lib", "-ltorch_cpu", "-lc10", f"-Wl,-rpath,{torch}/lib:{cuda}",
                 "-Wl,--allow-shlib-undefined"])


def compile_contestant(places, name, library):
    """Where it is older than its source."""
    source, program = HERE / f"{name}.cc", places.own / f"{name}_contestant"
    newest = max(p.stat().st_mtime for p in (source, HERE / "contestant.h", HERE / "requirements.txt"))
    if program.exists() and program.stat().st_mtime > newest:
        return program
    print(f"peers: compiling {source.name}", flush=True)
    places.own.mkdir(parents=True, exist_ok=True)
    before, after = library.flags(places)
    command = [*COMPILER, f"-I{places.build}/include", *before, str(source), "-o", str(program), *after]
    if subprocess.run(command).returncode != 0:
        raise SystemExit(f"peers: {source.name} does not compile")
    return program


OURS, TRACED, LIMIT = "Pantograph", "traced", "limit"
# Ours first, as they are listed.
NAMES = [OURS, TRACED, "PyTorch", "JAX", "TensorFlow", "XLA"]


def command(name, places, threads):
    if name in (OURS, TRACED):
        return [str(places.build / "benchmarks/panto_contestant"), threads]
    if name == "PyTorch":
        return [str(compile_contestant(places, "torch", Torch)), threads]
    script = {"JAX": "jax", "TensorFlow": "tensorflow", "XLA": "tensorflow"}[name]
    return [str(places.python), str(HERE / f"{script}_contestant.py"), threads, *(["xla"] if name == "XLA" else [])]


def mode(name):
    """What it is asked for, by row: our traced function does eager rows, those where the comparison is wanted."""
    if name == TRACED:
        return lambda row: "traced" if row.name in TRACED_TOO else None
    return lambda row: row.mode


def environment(threads):
    """Two threads for each library that asks its environment; the others are told in their programs."""
    own = {name: threads for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}
    return os.environ | own | {"PYTHONDONTWRITEBYTECODE": "1"}


def start(places, threads):
    return [Contestant(name, command(name, places, str(threads)), environment(str(threads)), name == LIMIT, mode(name))
            for name in NAMES]


def versions(places):
    """{contestant: version}, as requirements.txt pins them."""
    pins = dict(re.findall(r"^([\w-]+)==([\w.]+)", (HERE / "requirements.txt").read_text(), re.MULTILINE))
    return {"PyTorch": pins["torch"], "JAX": pins["jax"], "TensorFlow": pins["tensorflow-cpu"]}
