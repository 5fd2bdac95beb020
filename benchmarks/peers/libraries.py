"""What it costs to use a library at all: compiling a small program, starting it, and the shared libraries it loads."""
import os
import pathlib
import statistics
import subprocess
import time

import roster

# Each adds two vectors and prints the sum.
PROGRAMS = {
    roster.OURS: """#include <panto/panto.h>
#include <iostream>
int main() {
  const panto::Tensor x = panto::tensor({1.f, 2.f});
  std::cout << panto::add(x, x) << '\\n';
}
""",
    "PyTorch": """#include <torch/torch.h>
#include <iostream>
int main() {
  const torch::Tensor x = torch::tensor({1.f, 2.f});
  std::cout << x + x << '\\n';
}
""",
    "MLX": """#include <mlx/mlx.h>
#include <iostream>
int main() {
  const mlx::core::array x({1.f, 2.f});
  std::cout << x + x << '\\n';
}
""",
    "JAX": """import jax.numpy as jnp
x = jnp.array([1.0, 2.0])
print(x + x)
""",
    "TensorFlow": """import tensorflow as tf
x = tf.constant([1.0, 2.0])
print(x + x)
""",
    "Eigen": """#include <Eigen/Dense>
#include <iostream>
int main() {
  const Eigen::Vector2f x(1.f, 2.f);
  std::cout << x + x << '\\n';
}
""",
    "xtensor": """#include <xtensor/xarray.hpp>
#include <xtensor/xio.hpp>
#include <iostream>
int main() {
  const xt::xarray<float> x = {1.f, 2.f};
  std::cout << x + x << '\\n';
}
""",
}
NOTHING = """#include <functional>
#include <iostream>
int main() { std::cout << "[2. 4.]" << '\\n'; }
"""
# Of every C++ program.
RUNTIME = ("ld-linux", "libc.so", "libm.so", "libstdc++", "libgcc_s", "libdl.so", "libpthread", "librt.so", "libutil.so")


def seconds_of(command, environment=None):
    """The median of five, or of as many as end within ten seconds; the first is not counted where there are others."""
    times, start = [], time.perf_counter()
    while len(times) < 6 and (not times or time.perf_counter() - start < 10):
        begin = time.perf_counter()
        subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        times.append(time.perf_counter() - begin)
    return statistics.median(times[1:] or times)


def loaded_bytes(pid):
    """The sizes of the shared libraries in a process, but those of every C++ program."""
    files = set()
    for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines():
        path = line.split(maxsplit=5)[5:]
        if path and ".so" in pathlib.Path(path[0]).name and not pathlib.Path(path[0]).name.startswith(RUNTIME):
            files.add(path[0])
    return sum(os.path.getsize(f) for f in files)


def compile_and_start(name, text, places, environment):
    """(seconds to compile, seconds from start to end) of a program in C++."""
    source, program = places.own / f"smallest_{name}.cc", places.own / f"smallest_{name}"
    source.write_text(text)
    flags = roster.compiler_flags(name, places) if text != NOTHING else roster.Flags([], [], [])
    compiler = ["g++", "-std=c++20", *flags.includes]
    compiling = seconds_of([*compiler, "-c", str(source), "-o", f"{program}.o"], environment)
    subprocess.run([*compiler, str(source), "-o", str(program), *flags.links], check=True, env=environment)
    return compiling, seconds_of([str(program)], environment)


def measure(places, contestants, threads):
    """{library: {"compile", "start" in seconds, "loaded" in bytes}}, without what does not apply."""
    environment = roster.environment(str(threads)) | {"CCACHE_DISABLE": "1", "TF_CPP_MIN_LOG_LEVEL": "3"}
    pids = {c.name: c.process.pid for c in contestants}
    found = {}
    for name, text in PROGRAMS.items():
        if text.startswith("import"):
            script = places.own / f"smallest_{name}.py"
            script.write_text(text)
            found[name] = {"start": seconds_of([str(places.python), str(script)], environment)}
        else:
            compiling, starting = compile_and_start(name, text, places, environment)
            found[name] = {"compile": compiling, "start": starting}
        if name in pids:
            found[name]["loaded"] = loaded_bytes(pids[name])
    compiling, starting = compile_and_start("nothing", NOTHING, places, environment)
    found["<iostream> and <functional> alone"] = {"compile": compiling, "start": starting, "loaded": 0}
    return found
