#!/usr/bin/env python3
"""The figures of docs/repl.md: how long `panto repl` takes to start and to answer, and what it keeps.

repl.py BUILD: prints a table. Each time is the best of several, in wall time and in processor time (of the session and
of the child that tries each input); on a busy machine the second tells more.
"""
import os
import pathlib
import re
import resource
import subprocess
import sys
import tempfile
import time

BUILD = pathlib.Path(sys.argv[1]).resolve()
PANTO = BUILD / "apps" / "panto"
LOOP = """#include <panto/panto.h>
#include <chrono>
#include <cstdio>
int main() {
  using namespace panto;
  Tensor a = random_normal({8, 8}, {.seed = 1}), b = random_normal({8, 8}, {.seed = 2});
  double best = 1;
  for (int r = 0; r < 9; ++r) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < 300000; ++i) a + b;
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() / 300000);
  }
  std::printf("%g", best * 1e9);
}
"""


def run(engine, text):
    """(wall seconds, processor seconds, output)"""
    def spent():
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime
    began, before = time.monotonic(), spent()
    result = subprocess.run([PANTO, "repl", "--engine", engine], input=text, capture_output=True, text=True, check=True)
    return time.monotonic() - began, spent() - before, result.stdout


def best(engine, text, times=5):
    runs = [run(engine, text) for _ in range(times)]
    return min(r[0] for r in runs), min(r[1] for r in runs)


def per_input(engine, line, count=40):
    head = "int x = 3; Tensor t = tensor({1.f, 2.f});\n" + line + "\n"
    few, many = best(engine, head, 3), best(engine, head + (line + "\n") * count, 3)
    return [(m - f) / count for m, f in zip(many, few)]


def nanoseconds(text):
    value, unit = re.match(r"([0-9.]+) (ns|us|ms)", text).groups()
    return float(value) * {"ns": 1, "us": 1e3, "ms": 1e6}[unit]


def main():
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "loop.cc"
        source.write_text(LOOP)
        program = pathlib.Path(folder) / "loop"
        subprocess.run(["g++", "-std=c++20", "-O2", source, f"-I{BUILD}/include", f"-I{BUILD}/gen", f"-L{BUILD}", "-lpanto",
                        f"-Wl,-rpath,{BUILD}", "-o", program], check=True)
        compiled = lambda: float(subprocess.run([program], capture_output=True, text=True, check=True).stdout)
        rows = {}
        for engine in ("cling", "clang"):
            if not (BUILD / "apps" / "repl" / f"libpanto_{engine}.so").exists():
                continue
            column = rows.setdefault(engine, [])
            pair = lambda p, unit=1, f="{:.2f} s ({:.2f} s)": f.format(p[0] * unit, p[1] * unit)
            column.append(("start to the first input, wall (processor)", pair(best(engine, "\n"))))
            ms = "{:.0f} ms ({:.0f} ms)"
            for line in ("x + 1", "t + 1.0f", "Tensor u = t * t;", "x = x + 1;"):
                column.append((f"`{line}`", pair(per_input(engine, line), 1e3, ms)))
            setup = "Tensor a = random_normal({8, 8}, {.seed = 1}); Tensor b = random_normal({8, 8}, {.seed = 2});\n"
            here, there = [], []
            for _ in range(3):  # turn about, so that both meet the same neighbours
                here.append(nanoseconds(run(engine, setup + ":time a + b\n")[2].splitlines()[-1]))
                there.append(compiled())
            column.append(("`a + b`, 8x8, `:time` (compiled by g++ -O2)", f"{min(here):.0f} ns ({min(there):.0f} ns)"))
            count = 2000
            inputs = "".join(f"t = t + {i}.0f;\n" if i % 2 else "Tensor u = t * t;\n" for i in range(count))
            memory = run(engine, setup + "Tensor t = tensor({1.f, 2.f});\nTensor u = t;\n:mem\n" + inputs + ":mem\n")[2]
            first, last = (float(m) for m in re.findall(r"process +([0-9.]+) MB", memory))
            column.append((f"memory before and after {count} inputs", f"{first:.0f} MB, {last:.0f} MB"))
    names = list(rows)
    print("| | " + " | ".join(names) + " |\n|---|" + "---|" * len(names))
    for i, (what, _) in enumerate(rows[names[0]]):
        print(f"| {what} | " + " | ".join(rows[n][i][1] for n in names) + " |")
    print(f"\nLoad average {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors.")


main()
